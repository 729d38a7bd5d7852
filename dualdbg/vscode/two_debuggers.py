"""Starts a program for debugpy and cppdbg side by side: both find it without a picker, and gdb may attach."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import NoReturn

from ..errors import TargetError, UsageError
from .folder import set_member

PID_SETTING = "dualdbg.pid"  # vscode_templates/two-debuggers/launch.json reads it


def start(python: str, port: int, settings: Path, script: str, args: tuple[str, ...]) -> NoReturn:
    """Become the program, after writing this process's id into ``settings``. Raises DualdbgError."""
    if not Path(script).is_file():
        raise UsageError(f"vscode: there is no file {script}", "name the Python file to run")
    debugpy = importlib.util.find_spec("debugpy")
    if debugpy is None or debugpy.origin is None:
        raise TargetError("vscode: debugpy is missing beside dualdbg", "pip install debugpy")
    # Yama at level 1 would refuse the C++ extension's gdb. It concerns this process only, and survives exec.
    importlib.import_module("dualdbg.allow")
    set_member(settings, PID_SETTING, os.getpid())
    waiting = Path(__file__).with_name("waiting_program.py")
    folder = Path(debugpy.origin).parent.parent
    # debugpy asks for this from Python 3.11 on; an older one passes over an -X that it does not know.
    words = [python, "-Xfrozen_modules=off", str(waiting), str(port), str(folder), script, *args]
    try:
        os.execvp(python, words)
    except OSError as error:
        raise TargetError(f"{python} cannot be started: {error.strerror}", "--python PATH") from error
