"""What `dataclasses` and `re` compile is kept between starts: it is the same, and no file can keep a start from it."""

from __future__ import annotations

import _sre
import dataclasses
import marshal
import os
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dualdbg.cli import kept_code
from dualdbg.cli.kept_code import FEW, KeptCode
from dualdbg.symbols import cache
from dualdbg.system.patience import patient

ENOUGH = FEW + 4  # classes: from 3.13 on one text makes all the methods of a class


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache._directory.cache_clear()
    yield tmp_path / "dualdbg"
    cache._directory.cache_clear()


def make_classes(count: int) -> list[type]:
    return [
        dataclasses.make_dataclass(f"One{number}", [(f"field{number}", int)], frozen=True, order=True)
        for number in range(count)
    ]


def kept(user: str, count: int) -> tuple[list[type], KeptCode]:
    code = KeptCode(user)
    code.begin()
    try:
        return make_classes(count), code
    finally:
        code.end()


def check(classes: list[type]) -> None:
    for number, kind in enumerate(classes):
        assert kind(1) == kind(1) and kind(1) < kind(2) and hash(kind(3)) == hash(kind(3))
        assert repr(kind(4)) == f"One{number}(field{number}=4)"
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(kind(1), f"field{number}", 2)


def test_the_second_time_nothing_is_compiled_but_the_first_few(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def counted(text: str, *rest: object, **named: object) -> object:
        texts.append(text)
        return compile(text, *rest, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(kept_code, "compile", counted, raising=False)
    for _ in range(2):
        texts.clear()
        classes, _code = kept("run", ENOUGH)
        check(classes)
        (file,) = folder.glob("compiled-run-*")
    assert len(set(texts)) == min(FEW, len(texts))
    assert not list(folder.glob(".*"))
    assert len(marshal.loads(file.read_bytes())) >= FEW


PATTERNS = (
    r"(?P<word>[a-zä-ü]+)(?:-(\d+))?",
    rb"\x7fELF(.)",
    r"(?i)^STRASSE|ß$",
    r"a(?=b)(?<!x)c*?|\bw{2,3}",
)
TEXTS = ("Käse-12 strasse", b"..\x7fELF\x02", "abc xac", "www STRASSE", "")


def module_of_patterns(folder: Path, count: int) -> dict[str, Any]:
    """A module with these patterns and further ones, imported anew: `re` has none of them at hand."""
    re.purge()
    made = "".join(f"made{number} = re.compile('{number}(x|y)*')\n" for number in range(count))
    rows = "".join(f"pattern{number} = re.compile({text!r}, re.S)\n" for number, text in enumerate(PATTERNS))
    path = folder / "patterns.py"
    path.write_text(f"import re\n{made}{rows}def later(text):\n    return re.compile(text)\n")
    return runpy.run_path(str(path))


def test_patterns_of_modules_are_kept_and_others_are_not(folder: Path, tmp_path: Path) -> None:
    found = []
    for _ in range(3):
        code = KeptCode("run")
        code.begin()
        try:
            module = module_of_patterns(tmp_path, ENOUGH)
            module["later"]("what the user has typed")
        finally:
            code.end()
        found.append([module[f"pattern{number}"] for number in range(len(PATTERNS))])
        (file,) = folder.glob("compiled-run-*")
    assert code._new.keys() & {(text, int(re.S)) for text in PATTERNS} == set()  # they were known
    kept = marshal.loads(file.read_bytes())
    assert {(text, int(re.S)) for text in PATTERNS} <= kept.keys()
    assert not any("typed" in str(key) for key in kept)
    re.purge()
    for number, text in enumerate(PATTERNS):
        plain = re.compile(text, re.S)  # type: ignore[type-var]
        for one in (patterns[number] for patterns in found):
            assert (one, one.flags, one.groups, one.groupindex) == (
                *(plain, plain.flags, plain.groups, plain.groupindex),
            )
            for where in TEXTS:
                if type(where) is type(text):
                    assert [m.groups() for m in one.finditer(where)] == [
                        m.groups() for m in plain.finditer(where)
                    ]


def test_modules_that_two_threads_import_have_patterns_of_their_own(folder: Path, tmp_path: Path) -> None:
    """The prompt is imported in a thread of its own."""
    paths = [tmp_path / f"module{number}.py" for number in range(2)]
    for number, path in enumerate(paths):
        rows = "".join(f"made{one} = re.compile('{number}-{one}(?P<x>[a-f]+|y)*')\n" for one in range(300))
        path.write_text(f"import re\n{rows}")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    code = KeptCode("run")
    code.begin()
    try:
        threads = [threading.Thread(target=runpy.run_path, args=(str(path),)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        code.end()
        sys.setswitchinterval(before)
    kept = {key: value for key, value in code._new.items() if isinstance(key, tuple)}
    assert len(kept) == 600
    for (pattern, _flags), (given, codes, *rest) in kept.items():
        again = _sre.compile(pattern, given, memoryview(codes).cast("I").tolist(), *rest)
        assert again.fullmatch(pattern.partition("(")[0] + "abcy"), pattern


def test_a_pattern_that_is_wrong_is_told_as_ever(folder: Path) -> None:
    code = KeptCode("run")
    code.begin()
    try:
        with pytest.raises(re.error, match="unterminated"):
            re.compile("(unterminated")
        assert re.compile("x", re.I).match("X")
    finally:
        code.end()
    assert code._new == {}


def test_few_classes_leave_no_file(folder: Path) -> None:
    check(kept("run", 1)[0])
    assert not list(folder.glob("compiled-*"))


@pytest.mark.parametrize("content", [b"", b"rubbish", marshal.dumps([1]), marshal.dumps({})[:-1]])
def test_a_file_that_is_no_such_file_is_written_anew(folder: Path, content: bytes) -> None:
    kept("run", ENOUGH)
    (file,) = folder.glob("compiled-run-*")
    file.write_bytes(content)
    check(kept("run", ENOUGH)[0])
    assert len(marshal.loads(file.read_bytes())) > FEW


def test_texts_of_versions_that_are_no_more_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept("run", ENOUGH)
    (file,) = folder.glob("compiled-run-*")
    old = {f"text {number}": compile("", "<string>", "exec") for number in range(kept_code.MOST)}
    file.write_bytes(marshal.dumps(old))
    kept("run", ENOUGH)
    assert not marshal.loads(file.read_bytes()).keys() & old.keys()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home)}
    command = [sys.executable, "-m", "dualdbg", "ps"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patient(60))
    assert (done.returncode, done.stderr) == (0, "")


def test_what_dataclasses_does_is_put_back(folder: Path) -> None:
    kept("run", ENOUGH)
    assert "exec" not in vars(dataclasses)
    assert kept_code._COMPILER._sre is _sre and kept_code._COMPILER.compile.__module__ != kept_code.__name__
