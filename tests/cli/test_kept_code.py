"""The code of `dataclasses` is kept between starts: the classes are the same, and no file can keep a start from it."""

from __future__ import annotations

import dataclasses
import marshal
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.cli import kept_code
from dualdbg.cli.kept_code import FEW, KeptCode
from dualdbg.symbols import cache

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
        (file,) = folder.glob("classes-run-*")
    assert len(set(texts)) == min(FEW, len(texts))
    assert not list(folder.glob(".*"))
    assert len(marshal.loads(file.read_bytes())) >= FEW


def test_few_classes_leave_no_file(folder: Path) -> None:
    check(kept("run", 1)[0])
    assert not list(folder.glob("*classes*"))


@pytest.mark.parametrize("content", [b"", b"rubbish", marshal.dumps([1]), marshal.dumps({})[:-1]])
def test_a_file_that_is_no_such_file_is_written_anew(folder: Path, content: bytes) -> None:
    kept("run", ENOUGH)
    (file,) = folder.glob("classes-run-*")
    file.write_bytes(content)
    check(kept("run", ENOUGH)[0])
    assert len(marshal.loads(file.read_bytes())) > FEW


def test_texts_of_versions_that_are_no_more_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept("run", ENOUGH)
    (file,) = folder.glob("classes-run-*")
    old = {f"text {number}": compile("", "<string>", "exec") for number in range(kept_code.MOST)}
    file.write_bytes(marshal.dumps(old))
    kept("run", ENOUGH)
    assert not marshal.loads(file.read_bytes()).keys() & old.keys()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home)}
    command = [sys.executable, "-m", "dualdbg", "ps"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_dataclasses_does_is_put_back(folder: Path) -> None:
    kept("run", ENOUGH)
    assert "exec" not in vars(dataclasses)
