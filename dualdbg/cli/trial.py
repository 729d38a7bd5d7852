"""A real session of two seconds, the last thing that ``dualdbg doctor`` tries: both engines, both kinds of stop."""

from __future__ import annotations

import asyncio
import os
import time

from ..errors import DualdbgError
from ..model import Event, Exited, Language, Notice, PythonFrame, Quality, Stack, Stopped
from ..session.options import Options
from ..session.session import Session
from ..session.start import launch
from ..system.open_files import require_enough
from ..system.patience import patient
from ..system.shortage import shortage
from ..target.doctor import Finding, Status
from ..target.launcher import Launch

# A function of the C library that nothing else calls here: the interpreter's own may be inlined where they are called.
_PROGRAM = "import os\nos.getsid(0)\n"
_FUNCTION = "getsid"
_DEADLINE = patient(60.0)  # seconds; a cold machine reads gdb and the interpreter from disk first


async def try_session(python: str, gdb: str | None) -> Finding:
    """Stop on the first line of a small program, then in a C function that it calls, and look at the stack."""
    started = time.monotonic()
    try:
        require_enough()
        stack = await asyncio.wait_for(_stack_in_both(python, gdb), _DEADLINE)
    except DualdbgError as error:
        return Finding("session", Status.ERROR, error.message, error.hint)
    except asyncio.TimeoutError:
        text = f"a session did not come to its stop within {_DEADLINE:g} s"
        return Finding(
            "session",
            Status.ERROR,
            text,
            "DUALDBG_PATIENCE=5 waits longer; dualdbg run --log-dir DIR shows for what",
        )
    except OSError as error:
        if (known := shortage(error)) is None:
            raise
        return Finding("session", Status.ERROR, known.message, known.hint)
    seconds = time.monotonic() - started
    if stack.quality is not Quality.FULL:
        return Finding(
            "session", Status.WARNING, f"stops work, but the stack is {stack.quality.value}: {stack.note}"
        )
    if not any(isinstance(frame, PythonFrame) for frame in stack.frames):
        return Finding("session", Status.ERROR, "the Python frames below a native one could not be read")
    return Finding("session", Status.OK, f"a stop in Python, a stop in C, one stack of both: {seconds:.1f} s")


async def _stack_in_both(python: str, gdb: str | None) -> Stack:
    events: asyncio.Queue[Event]

    def subscribe(session: Session) -> None:
        nonlocal events
        events = session.subscribe()

    with open(os.devnull, "r+b") as nothing:
        silent = nothing.fileno()
        what = Launch(python, code=_PROGRAM, stdin=silent, stdout=silent, stderr=silent)
        session = await launch(what, Options(gdb=gdb, stop_on_entry=True), None, subscribe=subscribe)
    try:
        await _stop(events, Language.PYTHON)
        await session.breakpoints.add(_FUNCTION, temporary=True)
        await session.resume()
        await _stop(events, Language.NATIVE)
        return await session.inspector.stack()
    finally:
        await session.close()


async def _stop(events: asyncio.Queue[Event], language: Language) -> None:
    """Wait for a stop. Raises DualdbgError when something else happens first."""
    while True:
        event = await events.get()
        if isinstance(event, Exited):
            raise DualdbgError(f"before its {language.value} stop the program {event.exit.in_words()}")
        if isinstance(event, Notice) and event.level == "error":
            raise DualdbgError(event.message, event.hint)
        if isinstance(event, Stopped):
            if event.stop.origin is not language:
                raise DualdbgError(
                    f"expected a {language.value} stop, but the program stopped for: "
                    f"{event.stop.description or event.stop.reason.value}"
                )
            return
