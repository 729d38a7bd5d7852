"""Reads and writes memory of the target, and sets native values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ...backends.native import AskingGdb
from ...errors import CommandError, EvaluationError, UnreadableMemory
from ...model import NativeFrame, Value
from ...shared.requests.threads import ReadReadableMemory, WriteMemory
from ...shared.requests.values import Assign, Complete, FindMemoryRange
from ..ports import Halting
from .inspector import Inspector
from .values import CALL_DEADLINE

_Answer = TypeVar("_Answer")

MAXIMUM = 1 << 20  # bytes of one request; an editor's memory view asks for far less


class Debuggee(Halting, Protocol):
    """What is read and written of a session."""

    @property
    def native(self) -> AskingGdb:
        """What is asked of gdb."""

    @property
    def inspector(self) -> Inspector:
        """The stacks and values of the stopped threads."""


class Memory:
    """Works while gdb holds the target, or within a short halt."""

    def __init__(self, session: Debuggee) -> None:
        self._halting: Halting = session
        self._native, self._threads = session.native, session.inspector
        self._values = session.inspector.values

    async def read(self, address: int, length: int) -> bytes:
        """What can be read from ``address`` on: up to ``length`` bytes, fewer before a hole, none within one."""
        if address < 0 or address >= 1 << 64:
            return b""
        length = min(length, MAXIMUM, (1 << 64) - address)
        data: bytes = await self._halting.interrupted(
            lambda: self._native.ask(ReadReadableMemory(address, length))
        )
        return data

    async def write(self, address: int, data: bytes, partly: bool = False) -> int:
        """Write ``data``; returns how many bytes were written.

        That is all of it, or nothing: raises UnreadableMemory then. ``partly``: as much as there is memory for.
        """

        async def attempt() -> int:
            # gdb would write up to a hole, and then say that it has failed.
            there = len(await self._native.ask(ReadReadableMemory(address, len(data))))
            if there < len(data) and not (partly and there):
                raise CommandError(f"there is no memory at {address + there:#x}")
            return await self._native.ask(WriteMemory(address, data[:there]))

        try:
            count: int = await self._halting.interrupted(attempt)
        except CommandError as error:
            raise UnreadableMemory(
                f"{len(data)} bytes at {address:#x} cannot be written", error.message
            ) from error
        return count

    async def assign(self, tid: int, frame: NativeFrame, parent: int | None, name: str, text: str) -> Value:
        """Set a variable of a native frame to the value of the C++ expression ``text``.

        With ``parent``, the reference of a value, ``name`` is one of its children; else it is a local. Raises
        EvaluationError.
        """
        handle = self._handle(parent)
        variable = await self._in_frame(
            tid,
            lambda number: self._native.ask(Assign(number, frame.level, handle, name, text, CALL_DEADLINE)),
        )
        return self._values.native_value(variable)

    async def place(
        self, tid: int, frame: NativeFrame, parent: int | None, name: str, expression: str | None
    ) -> tuple[int, int]:
        """The address and the size in bytes of a variable (named as in :meth:`assign`) or of an expression."""
        handle = self._handle(parent)
        place = await self._in_frame(
            tid,
            lambda number: self._native.ask(FindMemoryRange(number, frame.level, handle, name, expression)),
        )
        return place.address, place.size

    async def completions(self, tid: int, frame: NativeFrame, text: str) -> list[str]:
        """The whole expressions to which gdb would complete ``text``."""

        async def ask() -> list[str]:
            number = await self._threads.gdb_thread(tid)
            return await self._native.ask(Complete(number, frame.level, text))

        rows: list[str] = await self._halting.interrupted(ask)
        return rows

    def _handle(self, reference: int | None) -> int | None:
        return None if reference is None else self._values.native_handle(reference)

    async def _in_frame(self, tid: int, question: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        """The answer to a question about a thread, given as gdb's number of it."""

        async def ask() -> _Answer:
            number = await self._threads.gdb_thread(tid)
            try:
                return await question(number)
            except CommandError as error:
                raise EvaluationError(error.message) from error

        answer: _Answer = await self._halting.interrupted(ask)
        return answer
