"""Interpreters: found, checked, asked once and remembered; what is no Python is refused with a reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from dualdbg.errors import UsageError
from dualdbg.shared import python_versions
from dualdbg.target import interpreter as interpreters
from tests import support


def test_facts_about_our_own_interpreter() -> None:
    found = interpreters.inspect(sys.executable)
    assert found.path == sys.executable
    assert found.version == sys.version_info[:3]
    assert found.version_text == ".".join(map(str, sys.version_info[:3]))
    assert found.prefix == sys.prefix
    assert Path(found.executable) == Path(sys.executable).resolve()
    assert found.extension_suffix == sysconfig.get_config_var("EXT_SUFFIX")
    assert sysconfig.get_paths()["purelib"] in found.search_path
    mapped = Path(
        "/proc/self/maps"
    ).read_text()  # what is configured may not be what is loaded: Debian builds both
    assert found.libpython in mapped if found.libpython else "/libpython3." not in mapped


@pytest.mark.torch
def test_torch_is_found_without_being_imported() -> None:
    found = interpreters.inspect(sys.executable)
    assert found.torch is not None and (Path(found.torch) / "version.py").exists()


@pytest.mark.slow
@pytest.mark.parametrize("version", python_versions.NAMES)
def test_every_supported_version(version: str) -> None:
    path = support.other_interpreter(version)
    assert interpreters.inspect(str(path)).version[:2] == tuple(map(int, version.split(".")))


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_versions_out_of_range_are_named(version: str) -> None:
    [*candidates] = Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python")
    path = support.require(candidates and candidates[0], f"Python {version}", outside=True)
    with pytest.raises(UsageError, match=rf"is Python {version}\.\d+") as raised:
        interpreters.inspect(str(path))
    assert python_versions.RANGE in raised.value.hint


def program(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


ANSWER = {
    "implementation": "pypy",
    "version": [3, 10, 1],
    "executable": "/x",
    "extension_suffix": "",
    "prefix": "/x",
    "base_prefix": "/x",
    "search_path": [],
    "built_in": [],
    "libpython": None,
    "debug_build": False,
    "free_threaded": False,
    "torch": None,
}


@pytest.mark.parametrize("name", ["pypy", "graalpy"])
def test_another_implementation_is_named(name: str, tmp_path: Path) -> None:
    answer = json.dumps({**ANSWER, "implementation": name})
    path = program(tmp_path, f"#!/bin/sh\necho 'dualdbg:{answer}'\n")
    with pytest.raises(UsageError, match=f"is {name}, not CPython"):
        interpreters.inspect(path)


def test_an_interpreter_that_talks_before_it_answers(tmp_path: Path) -> None:
    path = program(tmp_path, f'#!/bin/sh\necho hello\necho welcome >&2\nexec {sys.executable} "$@"\n')
    found = interpreters.inspect(path)
    assert (found.path, found.version) == (path, sys.version_info[:3])


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nexit 0\n", "#!/bin/sh\nexec yes\n", "#!/nowhere/sh\n", "garbage"]
)
def test_what_is_not_python_is_refused(tmp_path: Path, text: str) -> None:
    path = program(tmp_path, text)
    with pytest.raises(UsageError) as raised:
        interpreters.inspect(path)
    assert raised.value.message.startswith(path)
    assert raised.value.hint


def test_what_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "SECONDS_TO_ANSWER", 0.2)
    path = program(tmp_path, "#!/bin/sh\nexec sleep 1000\n")
    with pytest.raises(UsageError, match="did not answer"):
        interpreters.inspect(path)


def test_find_by_name_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = program(tmp_path, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert interpreters.find() == interpreters.find("python") == interpreters.find(path) == path
    monkeypatch.chdir(tmp_path)
    assert interpreters.find("./python") == str(tmp_path / "python")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert interpreters.find("~/python") == path


def test_find_keeps_the_link_of_a_virtual_environment(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert interpreters.find(str(link)) == str(link)


def test_find_says_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for name, reason in [
        ("./nowhere", "there is no such file"),
        ("no-such-command", "there is no such command on PATH"),
        (str(tmp_path), "is a folder"),
        (str(tmp_path / "file"), "may not be executed"),
    ]:
        with pytest.raises(UsageError, match=reason) as raised:
            interpreters.find(name)
        assert raised.value.hint
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="no python on PATH"):
        interpreters.find()


def test_the_environment_of_the_program_counts(tmp_path: Path) -> None:
    (tmp_path / "lib" / "torch").mkdir(parents=True)
    (tmp_path / "lib" / "torch" / "__init__.py").write_text("raise ImportError('not to be imported')")
    found = interpreters.inspect(sys.executable, env={**os.environ, "PYTHONPATH": "lib"}, cwd=str(tmp_path))
    assert found.torch == str(tmp_path / "lib" / "torch")


def test_answers_are_remembered_until_something_changes(tmp_path: Path) -> None:
    """Counts how often the interpreter is asked."""
    count = tmp_path / "count"
    folder = tmp_path / "lib"
    folder.mkdir()
    path = program(tmp_path, f'#!/bin/sh\necho >> {count}\nexec {sys.executable} "$@"\n')
    env = {**os.environ, "PYTHONPATH": str(folder)}

    def asked() -> int:
        interpreters.inspect(path, env=env, cache=tmp_path / "cache")
        return len(count.read_text().splitlines())

    assert [asked(), asked()] == [1, 1]
    (folder / "torch").mkdir()  # the folder's time changes when a package is installed there
    assert [asked(), asked()] == [2, 2]
    os.utime(path, ns=(1, 1))
    assert [asked(), asked()] == [3, 3]
    env["PYTHONPATH"] = str(tmp_path)
    assert [asked(), asked()] == [4, 4]
    kept = list((tmp_path / "cache").iterdir())
    assert len(kept) == 2  # a question's facts are in a file of its own: nobody reads those of all the others
    for file in kept:
        file.write_text("not JSON")
    assert [asked(), asked()] == [5, 5]
    mine = max(kept, key=lambda file: file.stat().st_size)
    mine.write_text(json.dumps({**json.loads(mine.read_text()), "key": "another question"}))
    assert [asked(), asked()] == [6, 6]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = interpreters.inspect(sys.executable, cache=tmp_path / "file" / "cache")
    assert found.version == sys.version_info[:3]


def test_the_program_s_own_modules_are_not_imported(tmp_path: Path) -> None:
    """A json.py in the working directory is none of our business."""
    (tmp_path / "json.py").write_text("raise SystemExit('no')")
    command = "from dualdbg.target import interpreter; import sys; print(interpreter.inspect(sys.executable).version)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; del sys.path[0]; {command}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(support.ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{tuple(sys.version_info[:3])}\n", done.stderr
