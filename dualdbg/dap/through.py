"""What starts the program's interpreter in our place, as debugpy has it: ``debugLauncherPython``, and ``sudo``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import PermissionRefused, UsageError
from ..symbols.cache import cache_directory
from ..system.source_files import read_regular
from ..target import become, interpreter
from ..target.launcher import Launch
from .configuration import Configuration


def launched_through(wanted: Configuration, what: Launch, variables: Mapping[str, str]) -> Launch:
    """``what`` with the words that start it. ``what.is_wrapped`` is known, ``variables`` are the program's.

    debugpy starts the program by an interpreter of its own, ``debugLauncherPython``, which is ``python`` where it is
    not named: what a wrapper puts into the environment there, the program has too. An interpreter that is no wrapper
    makes no difference, and is left out. Raises UsageError, or PermissionRefused where only root could do it.
    """
    words, wraps = _launcher(wanted.launcher_python, what, variables)
    sudo = _sudo() if wanted.sudo else None
    is_wrapped = what.is_wrapped or wraps or sudo is not None
    return replace(what, through=words, sudo=sudo, is_wrapped=is_wrapped)


def is_machine_code(path: str) -> bool:
    """Whether the file is a program that the kernel runs by itself."""
    try:
        return read_regular(path, 4) == b"\x7fELF"
    except OSError:
        return False  # whoever runs it says why it cannot be read


def _launcher(named: str | None, what: Launch, variables: Mapping[str, str]) -> tuple[tuple[str, ...], bool]:
    """The words that run the launcher, none where it makes no difference; and whether it waits for the program."""
    try:
        path = interpreter.find(named) if named is not None else what.python
        if path == what.python:
            # Words such as ``uv run python`` name their interpreter behind the program: alone it would be none.
            needed = wraps = what.is_wrapped and not (what.flags and not what.flags[0].startswith("-"))
        else:
            facts = interpreter.inspect(path, variables, what.cwd, cache_directory())
            facts.require_way_in()
            wraps = facts.is_wrapped
            needed = wraps or not is_machine_code(str(Path(path).resolve()))
    except UsageError as error:
        if named is None:
            raise
        hint = 'give "debugLauncherPython" an interpreter, or leave it out'
        raise UsageError(f"launch: debugLauncherPython: {error.message}", hint) from error
    return ((path, "-I", "-S", become.__file__) if needed else ()), wraps


def _sudo() -> str:
    """The path of sudo. A process of root can only be traced by root, so it changes the environment alone."""
    if os.geteuid() != 0:
        raise PermissionRefused(
            "launch: sudo would start the program as root, which only root can debug",
            "start dualdbg (or the editor) itself with sudo, and leave sudo out of the configuration",
        )
    found = shutil.which("sudo")
    if found is None:
        raise UsageError(
            "launch: sudo: there is no such command on PATH", "leave it out: dualdbg is root's already"
        )
    return found
