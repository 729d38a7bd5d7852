"""Compiles the types of a PyTorch that is not known beside the session, for the values that gdb's helpers show."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Protocol

from ... import afterwards
from ...backends.events import TypesWanted
from ...backends.native import AskingGdb
from ...environment import for_gdb
from ...errors import DualdbgError
from ...model import Event, Notice
from ...patience import patient
from ...resources import resource_directory
from ...shared.requests.values import TakeCompiledTypes
from ...waiting import to_its_end
from ..progress import progress

_DEADLINE = patient(1800.0)  # seconds; another session may be at it, and this one waits for that


class Debuggee(Protocol):
    """What this needs of a session."""

    @property
    def native(self) -> AskingGdb:
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
        problem = await _compiled(wanted)
    session.native.tell(TakeCompiledTypes(wanted.name, problem))
    if problem is None:
        seconds = time.monotonic() - began
        text = f"{what} are compiled ({seconds:.0f} s): values are shown by them from now on"
        session.emit(Notice("info", text, renews=True))
    else:
        hint = "gdb set dualdbg compiler PATH names another compiler, and dualdbg-layout says what is used"
        session.emit(Notice("warning", f"{what} could not be compiled: {problem}", hint, renews=True))


class _Compiler:
    """The process that compiles, in a session of its own: with all that it has started it ends when this is closed."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self._duty: afterwards.Duty | None = None

    async def start(self, wanted: TypesWanted) -> None:
        """Start it. Raises OSError or TargetError."""
        environment = for_gdb(os.environ)
        if wanted.folder is not None:
            environment["TMPDIR"] = (
                wanted.folder
            )  # what a compiler leaves that is killed goes with the session
        self.process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-I",
                str(resource_directory("gdb_scripts") / "dualdbg_types.py"),
                wanted.request,
            ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        self._duty = afterwards.end(self.process.pid)

    async def close(self) -> None:
        """End what has not ended of it: g++ may have ended before the compiler proper, which it had started."""
        if self.process is not None:
            with suppress(ProcessLookupError):  # nothing of it is left
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()
        if self._duty is not None:
            self._duty.drop()


async def _compiled(wanted: TypesWanted) -> str | None:
    """Compile them; why that failed, or None."""
    compiler = _Compiler()
    try:
        await to_its_end(
            compiler.start(wanted)
        )  # else nobody would know the process of a start that is given up
        assert compiler.process is not None
        output, errors = await asyncio.wait_for(compiler.process.communicate(), _DEADLINE)
    except asyncio.TimeoutError:
        return f"it took more than {_DEADLINE:.0f} s"
    except OSError as error:
        return f"{sys.executable}: {error.strerror}"
    except DualdbgError as error:
        return error.message
    finally:
        await compiler.close()
    if compiler.process.returncode == 0:
        return None
    said = (output or errors).decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"the compiler ended with status {compiler.process.returncode}"
