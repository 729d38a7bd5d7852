"""A program has the environment that dualdbg was started with, to the byte: nothing that Python has set for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.support import require

DUALDBG = [sys.executable, "-m", "dualdbg", "run", "--batch"]
PYTHON = (
    "import os, sys\n"
    "print(sorted(os.environb.items()), sys.flags.utf8_mode, sys.stdout.encoding, sys.stdout.errors, flush=True)\n"
)
NO_LOCALE = {
    name: value for name, value in os.environ.items() if name != "LANG" and not name.startswith("LC_")
}
ENVIRONMENTS: dict[str, dict[bytes, bytes]] = {
    "no locale": {},
    "the C locale": {b"LANG": b"C"},
    "the C locale for letters": {b"LC_CTYPE": b"C", b"LANG": b"C.UTF-8"},
    "UTF-8 for letters": {b"LC_CTYPE": b"C.UTF-8"},
    "UTF-8 for all": {b"LC_ALL": b"C.UTF-8"},
    "a locale that is not there": {b"LC_ALL": b"xx_YY.UTF-9"},
    "no coercion": {b"PYTHONCOERCECLOCALE": b"0"},
    "letters that are no text": {b"OF_BYTES": b"\xff\xfe", b"EMPTY": b"", b"SPACES": b" a=b\n"},
    "variables of Python": {
        b"PYTHONOPTIMIZE": b"1",
        b"PYTHONPATH": b":/nowhere:",
        b"PYTHONHASHSEED": b"7",
        b"PYTHONNOUSERSITE": b"1",
    },
}


def written(command: list[str], environment: dict[bytes, bytes], folder: Path) -> bytes:
    given = {os.fsencode(name): os.fsencode(value) for name, value in NO_LOCALE.items()}
    done = subprocess.run(
        command,
        env={**given, **environment},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=patient(120),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dualdbg").symlink_to(Path(__file__).parents[2] / "dualdbg")
    return tmp_path


NATIVE = ("no locale", "no coercion", "letters that are no text", "variables of Python")


@pytest.mark.parametrize("name", NATIVE)
def test_a_native_program_has_its_environment(name: str, folder: Path) -> None:
    """The rows where dualdbg's own interpreter changes variables, and those that are no text or Python's."""
    environment = ENVIRONMENTS[name]
    env = require(shutil.which("env"), "env")
    alone = entries(written([env, "-0"], environment, folder))
    _, _, shown = written([*DUALDBG, "--native", env, "-0"], environment, folder).partition(b"\n")
    ours = entries(shown.rpartition(b"\0")[0])
    # Python in the program is to join: it puts these back when it starts.
    assert {one for one in ours if not one.startswith((b"PYTHONPATH=", b"DUALDBG_TARGET="))} == alone


def entries(text: bytes) -> set[bytes]:
    return {one for one in text.split(b"\0") if one and not one.startswith(b"PYTHONPATH=")}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_a_program_of_python_has_its_environment(environment: dict[bytes, bytes], folder: Path) -> None:
    program = folder / "program.py"
    program.write_text(PYTHON)
    alone = written([sys.executable, str(program)], environment, folder)
    ours = written([*DUALDBG, str(program)], environment, folder)
    assert alone.strip() in ours.splitlines()
