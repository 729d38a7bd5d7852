"""How a program is started: the options of the commands that start one, and what they mean."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..system.folders import here
from .arguments import Program, check_script


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """The interpreter, the folder and the environment of a program; the functions below read them."""
    add = parser.add_argument
    add(
        "--python",
        metavar="PATH",
        help="the interpreter (default: of the active virtual environment, else ours)",
    )
    add("--cwd", metavar="DIR", help="where the program is to run")
    add(
        "--env",
        metavar="K=V",
        action="append",
        default=[],
        help="set a variable of its environment; repeatable",
    )


def assignments(given: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """The names and values behind ``--env``. Raises UsageError."""
    return tuple(_assignment(text) for text in given.env)


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(
            f"--env wants NAME=VALUE, but was given {text!r}", "for example: --env OMP_NUM_THREADS=1"
        )
    return name, value


def checked_program(given: argparse.Namespace, program: Program, command: str) -> Program:
    """The program that is to be started, with the path of the executable that ``--native`` wants. Raises UsageError."""
    if given.native:
        program = _native(given, program, command)
    if given.cwd is not None and not Path(given.cwd).is_dir():
        raise UsageError(f"there is no folder {given.cwd}", "--cwd wants an existing folder")
    check_script(program, given.cwd, command)
    return program


def _native(given: argparse.Namespace, program: Program, command: str) -> Program:
    usage = f"dualdbg {command} --native PROGRAM [ARGS…]"
    name = program.script
    if name is None:
        raise UsageError(f"{command}: --native wants a program, not -m or -c", usage)
    found = shutil.which(name if "/" not in name else str(here() / (given.cwd or "") / name))
    if found is None:
        why = "there is no such program" if "/" in name else "there is no such command on PATH"
        path = Path(given.cwd or ".") / name
        if "/" in name and path.exists():
            why = "it is a folder" if path.is_dir() else f"it may not be executed: chmod +x {name}"
        raise UsageError(f"{command}: {name} cannot be run: {why}", usage)
    return replace(program, script=name if "/" in name else found)
