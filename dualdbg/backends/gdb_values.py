"""Our commands inside gdb that show values: variables, expressions, Python objects, the answers of helpers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ..errors import CommandError, EngineLost
from ..patience import patient
from . import gdb_answers as shapes
from .gdb_client import LONG_DEADLINE, GdbClient
from .gdb_process import GdbProcess
from .native import (
    CallerCode,
    CallEvidence,
    EntryCode,
    HelperAnswer,
    KeptArguments,
    MemoryRange,
    NativeVariable,
    ObjectPage,
    ObjectPath,
    ObjectRow,
    Passing,
)

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_CALL_DEADLINE = patient(5.0)  # seconds for what an expression calls that is not to stop


class GdbValues(GdbClient):
    """The client of these commands. A ``level`` counts frames from the innermost, 0."""

    def __init__(self, process: GdbProcess) -> None:
        super().__init__(process)
        self._has_handles = False  # gdb keeps values for us

    # -- C++ values ---------------------------------------------------------------------------

    async def variables(self, gdb_thread: int, level: int, style: str = "") -> list[NativeVariable]:
        """Arguments and locals of a frame, from debug info; empty without debug info.

        ``style``: gdb's letter of a format; empty for the usual one.
        """
        rows = shapes.rows(NativeVariable)
        return self._noted(await self._helper(rows, "variables", gdb_thread, level, style))

    async def argument_names(self, gdb_thread: int, level: int) -> list[str] | None:
        """The names of the arguments of a frame, as :meth:`variables` has them; None where they are not known."""
        return await self._helper(shapes.texts_or_none, "argument-names", gdb_thread, level)

    async def passed_arguments(
        self, gdb_thread: int, level: int, entry: int, what: Passing, kept: Mapping[str, tuple[str, int]]
    ) -> list[NativeVariable]:
        """The arguments of a frame of a function without debug info, which begins at ``entry``.

        ``kept``: as in :class:`KeptArguments`. Where a value is not known its text says so.
        """
        rows = shapes.rows(NativeVariable)
        found = await self._helper(
            rows, "passed-arguments", gdb_thread, level, entry, asdict(what), dict(kept)
        )
        return self._noted(found)

    def note_arguments(self, gdb_thread: int, entry: int, what: Passing) -> None:
        """Where a thread stands at ``entry``: keep what is passed, for :meth:`passed_arguments` later in this call.

        It is done before what is asked for next, and nobody waits for it.
        """
        with contextlib.suppress(EngineLost):  # gdb is gone, and what it has noted with it
            self._tell("note-arguments", gdb_thread, entry, asdict(what))

    async def call_evidence(
        self, gdb_thread: int, entry: int, called_by: CallerCode, through: CallerCode | None = None
    ) -> CallEvidence:
        """Where a thread stands at the ``entry`` of a function: what the code of its caller tells of this call, and
        that of a function which it calls and which passes the call on by a jump.
        """
        return await self._helper(
            shapes.call_evidence,
            "call-evidence",
            gdb_thread,
            entry,
            asdict(called_by),
            None if through is None else asdict(through),
        )

    async def entry_code(self, parts: Sequence[tuple[int, int]], pads: Sequence[int]) -> EntryCode:
        """What the code of a function tells of how it is called; the first of its ``parts`` begins with its entry.

        ``pads``: where exceptions land in it.
        """
        return await self._helper(shapes.entry_code, "entry-code", list(parts), list(pads))

    async def kept_arguments(self, parts: Sequence[tuple[int, int]], pc: int) -> KeptArguments:
        """Where arguments of a function still are at ``pc``; the first of its ``parts`` begins with its entry."""
        return await self._helper(shapes.kept_arguments, "kept-arguments", list(parts), pc)

    async def evaluate(
        self, gdb_thread: int, level: int, expression: str, style: str = "", may_stop: bool = False
    ) -> NativeVariable:
        """The value of a C++ expression in a frame; ``style`` as in :meth:`variables`.

        ``may_stop``: breakpoints hold in what it calls; else it passes them, and is undone where a signal ends it, or
        after a time.
        """
        shape, seconds = shapes.one(NativeVariable), None if may_stop else _CALL_DEADLINE
        one = await self._helper(shape, "evaluate", gdb_thread, level, expression, style, seconds)
        return self._noted([one])[0]

    async def allow_calls(self, allowed: bool) -> None:
        """Whether expressions may call functions of the program; a refusal is gdb's own then."""
        await self._process.console(f"set may-call-functions {'on' if allowed else 'off'}")

    async def evaluate_passed(
        self,
        gdb_thread: int,
        level: int,
        expression: str,
        entry: int,
        what: Passing,
        rows: Sequence[NativeVariable],
        style: str = "",
        may_stop: bool = False,
    ) -> NativeVariable:
        """As :meth:`evaluate`, of an expression about arguments of a function without debug info, of which
        :meth:`passed_arguments` has told the ``rows``.
        """
        told = {row.name: [row.type, row.value, row.handle] for row in rows}
        shape, seconds = shapes.one(NativeVariable), None if may_stop else _CALL_DEADLINE
        one = await self._helper(
            shape, "evaluate-passed", gdb_thread, level, expression, entry, asdict(what), told, style, seconds
        )
        return self._noted([one])[0]

    async def children(self, handle: int, start: int, count: int, style: str = "") -> list[NativeVariable]:
        """``count`` members of the value of a handle, from number ``start`` on; by default in the value's own style."""
        rows = shapes.rows(NativeVariable)
        return self._noted(await self._helper(rows, "children", handle, start, count, style))

    async def assign(
        self, gdb_thread: int, level: int, parent: int | None, name: str, text: str
    ) -> NativeVariable:
        """Set a local, or the child ``name`` of the value with the handle ``parent``, to a C++ expression's value."""
        shape = shapes.one(NativeVariable)
        one = await self._helper(shape, "assign", gdb_thread, level, parent, name, text, _CALL_DEADLINE)
        return self._noted([one])[0]

    def forget_values(self) -> None:
        """No handle is used any more: gdb lets go of the values. Nothing is waited for."""
        if self._has_handles:
            self._has_handles = False
            with contextlib.suppress(EngineLost):  # gdb is gone, and its values with it
                self._tell("forget-values")

    def _noted(self, found: list[NativeVariable]) -> list[NativeVariable]:
        """The same values; gdb keeps those that have handles."""
        self._has_handles = self._has_handles or any(one.handle is not None for one in found)
        return found

    async def memory_place(
        self, gdb_thread: int, level: int, parent: int | None, name: str, expression: str | None
    ) -> MemoryRange:
        """Where a variable lies (named as for :meth:`assign`), or the value of ``expression``."""
        return await self._helper(
            shapes.memory_place, "memory-place", gdb_thread, level, parent, name, expression
        )

    async def printed(self, expression: str, style: str) -> str:
        """A value in the selected frame as gdb prints it; ``style`` is one of its formats (``x``, ``4xb``)."""
        return await self._process.console(f"output/{style} {expression}")

    async def examined(self, address: str, style: str) -> str:
        """What lies at the value of an expression, in the same way (``i`` for instructions)."""
        return await self._process.console(f"x/{style} {address}")

    async def address(self, expression: str) -> int:
        """The value of an expression as an address. Raises CommandError where it is none."""
        text = (await self.printed(f"(unsigned long)({expression})", "x")).strip()
        if not _ADDRESS.fullmatch(text):
            raise CommandError(f"{expression} is no address: {text}")
        return int(text, 16)

    async def code_of_line(self, location: str) -> str:
        """gdb's words for where the code of a line or function is, or which line an address belongs to."""
        return await self._process.console(f"info line {location}")

    async def completions(self, gdb_thread: int, level: int, text: str) -> list[str]:
        """What gdb would complete an expression to, whole."""
        return await self._helper(shapes.texts, "completions", gdb_thread, level, text)

    # -- Python objects and the helpers' words, read from memory ------------------------------

    async def python_values(self, named: Sequence[tuple[str, int]], whole: bool) -> list[ObjectRow]:
        """Objects by name and address. ``whole``: as far as the user's limits allow, else short, as in a table."""
        return await self._helper(shapes.object_rows, "python-values", list(named), whole)

    async def python_children(self, address: int, start: int, count: int) -> ObjectPage:
        """``count`` children of an object from number ``start`` on."""
        return await self._helper(shapes.object_page, "python-children", address, start, count)

    async def python_path(self, address: int, steps: Sequence[str]) -> ObjectPath:
        """The object that attributes (``.name``) and elements (``[key]``) lead to, one step after the other."""
        return await self._helper(shapes.one(ObjectPath), "python-path", address, list(steps))

    async def word(self, gdb_thread: int | None, level: int, name: str, argument: str) -> HelperAnswer:
        """The answer of a helper's command (``tensor``, ``ivalue``) in a frame. Some commands need no thread."""
        return await self._helper(
            shapes.helper_answer, "word", gdb_thread, level, name, argument, deadline=LONG_DEADLINE
        )
