"""Compiles the types of a PyTorch that is not known beside the session, for the values that gdb's helpers show."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Protocol

from ...backends.events import TypesWanted
from ...environment import for_gdb
from ...errors import DualdbgError
from ...in_thread import in_thread, run
from ...model import Event, Notice
from ...patience import patient
from ...resources import resource_directory
from ..engines import Evaluating
from ..progress import progress

_DEADLINE = patient(1800.0)  # seconds; another session may be at it, and this one waits for that


class Debuggee(Protocol):
    """What this needs of a session."""

    @property
    def native(self) -> Evaluating:
        """What is asked of gdb."""

    def emit(self, event: Event) -> None:
        """Tell an event to every front end."""


async def compile_types(session: Debuggee, wanted: TypesWanted) -> None:
    """Compile them, and tell gdb and the user when they are there, or why they cannot be.

    When this is cancelled, and when we end in whatever way, the compiler ends too.
    """
    began = time.monotonic()
    what = f"the types of PyTorch {wanted.pytorch}"
    async with progress(session.emit, f"compiling {what}, once; the session goes on meanwhile"):
        problem = await in_thread(_compiled, wanted)
    session.native.types_compiled(wanted.name, problem)
    if problem is None:
        seconds = time.monotonic() - began
        text = f"{what} are compiled ({seconds:.0f} s): values are shown by them from now on"
        session.emit(Notice("info", text, renews=True))
    else:
        hint = "gdb set dualdbg compiler PATH names another compiler, and dualdbg-layout says what is used"
        session.emit(Notice("warning", f"{what} could not be compiled: {problem}", hint, renews=True))


def _compiled(wanted: TypesWanted) -> str | None:
    """Compile them; why that failed, or None. Not below a second niceness, so that the user's program goes first."""
    environment = for_gdb(os.environ)
    if wanted.folder is not None:
        environment["TMPDIR"] = wanted.folder  # what a compiler leaves that is killed goes with the session
    script = resource_directory("gdb_scripts") / "dualdbg_types.py"
    command = [sys.executable, "-I", str(script), wanted.request]
    try:
        done = run(
            command,
            timeout=_DEADLINE,
            env=environment,
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {_DEADLINE:.0f} s"
    except OSError as error:
        return f"{sys.executable}: {error.strerror}"
    except DualdbgError as error:
        return error.message
    if done.returncode == 0:
        return None
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"the compiler ended with status {done.returncode}"
