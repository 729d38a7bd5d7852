"""Starts a program for debugpy and cppdbg side by side: both find it without a picker, and gdb may attach."""

from __future__ import annotations

import importlib
import importlib.util
import os
import socket
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
    listener = _listen(port)
    # Yama at level 1 would refuse the C++ extension's gdb. It concerns this process only, and survives exec.
    importlib.import_module("dualdbg.allow")
    set_member(settings, PID_SETTING, os.getpid())
    waiting = Path(__file__).with_name("waiting_program.py")
    folder = Path(debugpy.origin).parent.parent
    # debugpy asks for this from Python 3.11 on; an older one passes over an -X that it does not know.
    words = [python, "-Xfrozen_modules=off", str(waiting), str(listener.fileno()), str(folder), script, *args]
    try:
        os.execvp(python, words)
    except OSError as error:
        raise TargetError(f"{python} cannot be started: {error.strerror}", "--python PATH") from error


def _listen(port: int) -> socket.socket:
    """The socket that the editor comes to, for the program to inherit. Raises TargetError when another has the port."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else error
        raise TargetError(
            f"vscode: cannot listen on 127.0.0.1:{port}: {why}",
            '--port N with another number, which "connect" in launch.json has to have too',
        ) from error
    listener.set_inheritable(True)
    return listener
