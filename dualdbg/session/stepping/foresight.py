"""While the user looks at a Python line, gdb reads what a step into native code will need.

What any step into native code needs is read at once. The debug info of one source file of an extension takes gdb a
quarter of a second, as long as all the rest of the first step into it ten times over: it is read where the line names
the extension's code, and the user looks at it for a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import DualdbgError
from ...model import State
from ..inspect.stack_reader import StackReader
from ..loop import Loop
from .code_of_interest import CodeOfInterest
from .line_watch import LineWatch
from .momentary_breakpoints import MomentaryBreakpoints
from .probe import Probe

if TYPE_CHECKING:
    from ..stops.facts import PythonHold

_LOOK = 0.05  # seconds at a line; whoever steps on before does not wait for gdb


class Foresight:
    """Looks at each Python line once."""

    def __init__(
        self,
        loop: Loop,
        code: CodeOfInterest,
        watch: LineWatch,
        breakpoints: MomentaryBreakpoints,
        reader: StackReader,
        probe: Probe,
        has_command: Callable[[], bool],
    ) -> None:
        self._loop = loop
        self._code = code
        self._watch = watch
        self._breakpoints = breakpoints
        self._reader = reader
        self._probe = probe
        self._has_command = has_command
        self._seen: set[tuple[str | None, int | None]] = set()
        self._version = -1  # of the mapped files for which what any step needs was read

    def look(self) -> None:
        """The target has stopped."""
        state = self._loop.state
        if state.phase is not State.PYTHON_STOPPED or not state.python_holds or not self._code.modules():
            return
        if self._version != self._code.image.version:
            self._version = self._code.image.version
            self._loop.background(self._read_for_any())
        hold = next(iter(state.python_holds.values()))
        if hold.top is not None and (hold.top.file, hold.top.line) not in self._seen:
            self._loop.background(self._read(hold, state.epoch))

    async def _read_for_any(self) -> None:
        with contextlib.suppress(DualdbgError):  # a step asks for what it needs, and is told
            await self._watch.foresee()
            await self._reader.prepare_below()

    async def _read(self, hold: PythonHold, epoch: int) -> None:
        await asyncio.sleep(_LOOK)
        state = self._loop.state
        if hold.top is None or state.epoch != epoch or state.is_mute or self._has_command():
            return
        self._seen.add((hold.top.file, hold.top.line))
        # The user went on, say: a step asks for what it needs, and is told.
        with contextlib.suppress(DualdbgError):
            entries = await self._watch.named_entries(hold)
            if entries:
                await self._breakpoints.foresee(entries)
                self._probe.foresee()
