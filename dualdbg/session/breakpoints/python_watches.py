"""Watchpoints of Python in the breakpoint table: rows here, and what the target does for them (dualdbg_watches.py)."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...backends import python as debugpy
from ...backends.python import PythonValue
from ...errors import CommandError, SpecError, WrongState
from ...model import BreakpointSpec, BreakpointState, Location, PythonFrame
from ..engines import PythonEngine
from ..ports import AskingPython
from ..stops.facts import PythonHold
from .python_answers import ask

_TARGET = "__import__('pydevd').get_global_debugger().watching()"  # bootstrap/dualdbg_pydevd.py
_NO_FRAME = "a value of Python is watched from a frame on: type watch EXPRESSION at a Python stop"
_HELD = "next or finish leads to a Python line; up and down select a frame of your own code"
_GONE = "the program has replaced itself with another: it is watched no more"
_HINT = (
    "what can be watched is a variable, with attributes and items that lie in the objects: watch self.rows[0]; "
    "break FILE:LINE if CONDITION runs any expression"
)


@dataclass(frozen=True)
class Change:
    """What a stop says of a watchpoint of this number.

    ``text`` are the values before and after, where it has changed. ``why_not``: why its condition has no value.
    ``over``: its function was left, and it is watched no more.
    """

    number: int
    text: str | None
    why_not: str | None
    over: bool


@dataclass
class _Row:
    spec: BreakpointSpec
    state: BreakpointState
    message: str | None = None


class PythonWatches:
    """The watchpoints of Python. The target reads the values; hits are counted in the table."""

    def __init__(self, python: PythonEngine, asking: AskingPython, mute: asyncio.Event) -> None:
        self._python = python
        self._asking = asking
        self._mute = mute
        self._rows: dict[int, _Row] = {}
        self._used = False
        self._offered: dict[str, PythonFrame] = {}

    async def add(self, id: int, spec: BreakpointSpec, frame: PythonFrame | None) -> None:
        """Watch an expression of a frame that debugpy holds. Raises SpecError where that cannot be done."""
        frame = frame or self._offered.get(spec.subject)
        if frame is None:
            self._rows[id] = _Row(spec, BreakpointState.REJECTED, _NO_FRAME)
            return
        if frame.engine_id is None or not self._python.connected or self._mute.is_set():
            why = "debugpy does not hold this frame"
            raise SpecError(f"{spec.subject} cannot be watched: {why}", _HELD)
        self._used = True
        await self._ask(id, spec.subject, spec.condition, frame)
        self._rows[id] = _Row(spec, BreakpointState.VERIFIED)

    async def offer(self, expression: str, frame: PythonFrame) -> None:
        """An editor may want a watchpoint on this expression next, and cannot name the frame then.

        Raises SpecError where it cannot be watched.
        """
        await self._ask(0, expression, None, frame)
        self._offered[expression] = frame

    async def _ask(self, id: int, expression: str, condition: str | None, frame: PythonFrame) -> None:
        """Have the target watch it; with number 0 only ask whether that could be."""
        call = f"{_TARGET}.add({id}, {expression!r}, {condition!r}, {frame.engine_id})"
        try:
            answer = await self._asking.ask(debugpy.evaluate(call, frame.engine_id, "clipboard"))
        except CommandError as error:
            raise SpecError(f"{expression} cannot be watched: {error.message}", _HINT) from error
        why = json.loads(ast.literal_eval(answer.text))  # debugpy shows the text of a string
        if why is not None:
            raise SpecError(f"{expression} cannot be watched: {why}", _HINT)

    def forget_offers(self) -> None:
        """The target runs: frames that were offered are no longer valid."""
        self._offered.clear()

    def has(self, id: int) -> bool:
        """Whether the breakpoint of this number is a watchpoint of Python."""
        return id in self._rows

    @property
    def may_stop(self) -> bool:
        """Whether the target may stop for one; also for one that is deleted, of which it has not heard yet."""
        return self._used

    def state(self, id: int) -> tuple[BreakpointState, tuple[Location, ...], str | None]:
        """Whether it is watched, and what there is to say of it. It has no place."""
        row = self._rows[id]
        return row.state, (), row.message

    async def remove(self, id: int) -> None:
        """Watch it no more."""
        row = self._rows.pop(id)
        if row.state is BreakpointState.VERIFIED:
            await self._do(f"remove({id})")

    async def enable(self, id: int, enabled: bool) -> None:
        """Switch it on or off. Raises CommandError where its frame has ended while it was off."""
        if self._rows[id].state is BreakpointState.VERIFIED:
            answer = await self._do(f"switch({id}, {enabled})")
            if enabled and answer is not None and answer.text == "False":
                raise CommandError(f"the function of {self._rows[id].spec.subject} was left")

    async def change(self, id: int, spec: BreakpointSpec) -> None:
        """Give it other suffixes. Raises SpecError for a condition that cannot be read."""
        row = self._rows[id]
        if row.state is BreakpointState.VERIFIED and spec.condition != row.spec.condition:
            try:
                if spec.condition is not None:
                    compile(spec.condition, "<condition>", "eval")
            except (SyntaxError, ValueError) as error:
                raise SpecError(f"{spec.condition!r} is no expression of Python: {error}", "") from error
            await self._do(f"condition({id}, {spec.condition!r})")
        row.spec = spec

    def program_replaced(self) -> None:
        """The process runs another program (exec): what was watched is gone."""
        for row in self._rows.values():
            if row.state is BreakpointState.VERIFIED:
                row.state, row.message = BreakpointState.REJECTED, _GONE

    async def at_stop(self, hold: PythonHold) -> list[Change] | None:
        """What the watchpoints say of a stop of debugpy; None where none of them has caused it.

        Raises WrongState when a native stop comes first.
        """
        answer = await ask(self._asking, hold, f"{_TARGET}.met()")
        rows = json.loads(answer) if isinstance(answer, str) else None
        if rows is None:
            return None
        return [self._change(row) for row in rows]

    def _change(self, row: dict[str, Any]) -> Change:
        number, text = int(row["number"]), None
        if "new" in row and number in self._rows:
            text = f"{self._rows[number].spec.subject}: {row['old']} -> {row['new']}"
            if "file" in row:
                word = "at" if row["sure"] else "after"
                text += f", {word} {PurePath(row['file']).name}:{row['line']}"
        return Change(number, text, row.get("why"), bool(row.get("over")))

    async def _do(self, call: str) -> PythonValue | None:
        """Have the target do it: at once, or when it runs again where gdb holds it. Its answer; None where that comes
        later.
        """
        if not self._python.connected:
            return None
        request = debugpy.evaluate(f"{_TARGET}.{call}", None)
        if self._mute.is_set():
            self._python.post(request)
            return None
        with contextlib.suppress(
            WrongState
        ):  # a native stop came first: it is done when the target runs again
            return await self._asking.ask(request)
        return None
