"""Memory of the target, read and written; and native values set, by name or as a child of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import CommandError, EvaluationError, UnreadableMemory
from ..model import NativeFrame, Value

if TYPE_CHECKING:
    from .session import Session

MAXIMUM = 1 << 20  # bytes of one request; an editor's memory view asks for far less


class Memory:
    """Works while gdb holds the target, or within a short halt."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def read(self, address: int, length: int) -> bytes:
        """What can be read from ``address`` on: up to ``length`` bytes, fewer before a hole, none in one."""
        if address < 0 or address >= 1 << 64:
            return b""
        length = min(length, MAXIMUM, (1 << 64) - address)
        text: str = await self._session.interrupted(
            lambda: self._session.native.helper("readable-memory", address, length)
        )
        return bytes.fromhex(text)

    async def write(self, address: int, data: bytes) -> int:
        """Write all of ``data``. Raises UnreadableMemory when it cannot be written there."""
        try:
            count: int = await self._session.interrupted(
                lambda: self._session.native.helper("write-memory", address, data.hex())
            )
        except CommandError as error:
            raise UnreadableMemory(
                f"{len(data)} bytes at {address:#x} cannot be written", error.message
            ) from error
        return count

    async def assign(self, tid: int, frame: NativeFrame, parent: int | None, name: str, text: str) -> Value:
        """Set a variable of a native frame to the value of the C++ expression ``text``.

        ``parent`` is the reference of the value whose child ``name`` is; None for a local. Raises EvaluationError.
        """
        return await self._in_frame("assign", tid, frame, parent, name, text)

    async def place(
        self, tid: int, frame: NativeFrame, parent: int | None, name: str, expression: str | None
    ) -> tuple[int, int]:
        """Address and size in bytes of a variable (as :meth:`assign` names it) or of an expression."""
        row = await self._ask("place", tid, frame, parent, name, expression)
        return int(row["address"]), int(row["size"])

    async def completions(self, tid: int, frame: NativeFrame, text: str) -> list[str]:
        """What gdb would complete the expression ``text`` to, whole."""

        async def ask() -> list[str]:
            number = await self._session.inspector.gdb_thread(tid)
            rows: list[str] = await self._session.native.helper("complete", number, frame.level, text)
            return rows

        rows: list[str] = await self._session.interrupted(ask)
        return rows

    async def _in_frame(
        self, helper: str, tid: int, frame: NativeFrame, parent: int | None, *rest: object
    ) -> Value:
        row = await self._ask(helper, tid, frame, parent, *rest)
        return self._session.inspector.values.native_value(row)

    async def _ask(
        self, helper: str, tid: int, frame: NativeFrame, parent: int | None, *rest: object
    ) -> dict[str, Any]:
        values = self._session.inspector.values
        handle = values.native_handle(parent) if parent is not None else None

        async def ask() -> dict[str, Any]:
            number = await self._session.inspector.gdb_thread(tid)
            try:
                row: dict[str, Any] = await self._session.native.helper(
                    helper, number, frame.level, handle, *rest
                )
            except CommandError as error:
                raise EvaluationError(error.message) from error
            return row

        row: dict[str, Any] = await self._session.interrupted(ask)
        return row
