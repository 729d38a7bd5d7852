"""Remembers where C++ exceptions are thrown, for the Python exceptions that they become.

When Python raises, the C++ stack is gone. So gdb stops at each throw while there are breakpoints on raises.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from ...backends import events as engine
from ...known.binding_layers import PYTHON_EXCEPTION
from ...model import BreakpointKind, BreakpointSpec, Notice, PythonFrame
from ...shared.requests.threads import ListThreads
from ..engines import NativeEngine
from ..loop import Loop
from ..ports import Reads
from ..stops.facts import PythonHold
from .cxx_exceptions import Throw, read_throw
from .native import NativeBreakpoints
from .python_answers import ask

ID = 0  # the number of our breakpoint; those of the user begin with 1
_SPEC = BreakpointSpec("throw", BreakpointKind.THROW, "")
_KEPT = 16  # throws of one thread that are remembered
_MOST = 500  # throws of a session that are looked at: each is a stop of some milliseconds
_CERTAIN = 8  # a text of so many characters is not found within another by accident


@dataclass
class _Origin:
    throw: Throw
    site: str
    line: tuple[str | None, int | None] | None  # the file and line of Python that led there
    exception: tuple[Any, str] | None = None  # id and text of the Python exception that it became


class ThrowOrigins:
    """The last throws of each thread, by OS thread id."""

    def __init__(
        self, loop: Loop, engine: NativeEngine, reads: Reads, breakpoints: NativeBreakpoints
    ) -> None:
        self._loop = loop
        self._engine = engine
        self._reads = reads
        self._breakpoints = breakpoints
        self._last: dict[int, deque[_Origin]] = {}
        self._count = 0
        self._watching = False

    async def watch(self, wanted: bool) -> None:
        """Begin or end to stop at throws."""
        if wanted == self._watching or self._count >= _MOST:
            return
        self._watching = wanted
        await (self._breakpoints.add(ID, _SPEC) if wanted else self._breakpoints.remove(ID))

    def program_replaced(self) -> None:
        """The process runs another program, and has other threads."""
        self._last.clear()

    async def take(self, event: engine.NativeStopped) -> None:
        """Note what is thrown, at a stop at ``__cxa_throw``."""
        thread = event.gdb_thread or 1
        function, _ = self._breakpoints.image.describe(event.pc or 0)
        throw = await read_throw(self._engine, thread, function)
        if throw.is_a(PYTHON_EXCEPTION):
            return
        threads = await self._engine.ask(ListThreads())
        tid = threads.get(thread, self._loop.state.pid)
        stack = await self._reads.stack_while_held(tid)
        python = next((frame for frame in stack.frames if isinstance(frame, PythonFrame)), None)
        line = (python.file, python.line) if python is not None else None
        self._last.setdefault(tid, deque(maxlen=_KEPT)).append(_Origin(throw, throw.site(stack), line))
        self._count += 1
        if self._count == _MOST:
            await self._breakpoints.remove(ID)
            self._watching = False
            text = (
                f"{_MOST} native exceptions were thrown: where Python's come from is not looked at any more"
            )
            self._loop.tell(Notice("info", text, "break throw stops at each"))

    async def of(self, hold: PythonHold) -> str | None:
        """Where the Python exception of a stop was thrown in C++, for people. None where that is not known."""
        last = self._last.get(hold.tid or 0)
        if not last or not hold.frames:
            return None
        raised = hold.event.description or ""
        identity = await ask(self._reads, hold, "id(__exception__[1])")
        # The next exception may lie where the last one lay.
        exception = None if identity is None else (identity, raised)
        line = hold.frames[0].file, hold.frames[0].line
        for origin in reversed(last):
            is_other = origin.exception not in (None, exception)
            if not is_other and _is_from(origin.throw.text, raised, origin.line == line):
                origin.exception = exception
                return origin.site if origin.throw.text else f"perhaps {origin.site}"
        return None


def _is_from(thrown: str | None, raised: str, same_line: bool) -> bool:
    """Whether Python's text may be that of C++. PyTorch removes what c10::Error adds to the text, or adds to it
    itself.
    """
    if thrown is None:
        return same_line
    shorter, longer = sorted((thrown, raised), key=len)
    return shorter in longer and ((bool(thrown) and thrown == raised) or len(shorter) >= _CERTAIN)
