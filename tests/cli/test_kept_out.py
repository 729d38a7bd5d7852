"""An interpreter whose options keep the debugger out of it: that is said at the start, with what to type instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.shared.python_command import with_site
from tests import support

PROGRAM = "import os\nprint(os.getpid() > 1)\n"


def run(folder: Path, *words: str) -> str:
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dualdbg",
            "run",
            "--batch",
            "-b",
            "program.py:2",
            "-b",
            "getpid",
            "--native",
            *words,
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(support.ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_it_is_told_before_the_program_runs_and_with_what_to_type(tmp_path: Path, option: str) -> None:
    text = run(tmp_path, sys.executable, option, "program.py")
    said, _, later = text.partition("True\n")
    assert f"warning: the interpreter's option {option} keeps the debugger out of Python" in said
    assert f"without it Python joins: dualdbg run --native {sys.executable} program.py\n" in said
    assert "Breakpoint 1 (program.py:2): rejected" in said
    assert "The program ended with status 0" in later


def test_so_it_is_where_a_script_names_the_option(tmp_path: Path) -> None:
    """The kernel makes it the interpreter's."""
    script = tmp_path / "script"
    script.write_text(f"#!{sys.executable} -I\n{PROGRAM}")
    script.chmod(0o755)
    assert "the interpreter's option -I keeps the debugger out of Python" in run(tmp_path, str(script))


def test_what_is_told_to_type_stops_there(tmp_path: Path) -> None:
    words = with_site([sys.executable, "-IB", "program.py"])
    assert "* Breakpoint 1: Python" in run(tmp_path, *words)


@pytest.mark.parametrize(
    "words, wanted",
    [
        ("python -I a.py -I", "python a.py -I"),
        ("python -IB -W error -Es -m a -S", "python -B -W error -s -m a -S"),
        ("python -SEI -c pass", "python -c pass"),
        ("python -WI a.py", "python -WI a.py"),
        ("python --check-hash-based-pycs never -I", "python --check-hash-based-pycs never"),
    ],
)
def test_the_same_command_with_its_site(words: str, wanted: str) -> None:
    assert with_site(words.split()) == wanted.split()
