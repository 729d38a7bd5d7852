"""Machine code of the target: instructions around an address, and the registers of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..model import Language, NativeFrame, Value

if TYPE_CHECKING:
    from .session import Session

REGISTER_GROUPS = ("general", "vector")


@dataclass(frozen=True)
class Instruction:
    """One instruction. ``bytes`` is hexadecimal; ``function`` and ``offset`` (in bytes) say where it belongs."""

    address: int
    text: str
    bytes: str
    function: str | None
    offset: int
    file: str | None = None
    line: int | None = None


class Code:
    """Reads code while gdb holds the target, or within a short halt."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def around(self, address: int, before: int, after: int) -> list[Instruction]:
        """Up to ``before`` instructions before the one at ``address`` and ``after`` from it on.

        Instructions have no fixed length, so those before are decoded from the start of the function; in code that
        belongs to no function there are none.
        """
        rows: list[Instruction] = await self._session.interrupted(
            lambda: self._around(address, before, after)
        )
        return rows

    async def _around(self, address: int, before: int, after: int) -> list[Instruction]:
        native = self._session.native
        earlier: list[dict[str, Any]] = []
        start = self._function_start(address)
        if before and start is not None and start < address:
            earlier = await native.helper("disassemble-until", start, address)
            earlier = earlier[-before:]
        later = await native.helper("disassemble", address, after) if after else []
        return [self._instruction(row) for row in [*earlier, *later]]

    def _function_start(self, address: int) -> int | None:
        return self._session.breakpoints.image.function_start(address + 1)

    def _instruction(self, row: dict[str, Any]) -> Instruction:
        address = int(row["address"])
        function, _ = self._session.breakpoints.image.describe(address)
        start = self._function_start(address)
        offset = address - start if start is not None else 0
        return Instruction(address, row["text"], row["bytes"], function, offset, row["file"], row["line"])

    async def registers(self, tid: int, frame: NativeFrame, group: str) -> list[Value]:
        """The registers of a frame; ``group`` is one of REGISTER_GROUPS."""

        async def read() -> list[Value]:
            number = await self._session.inspector.gdb_thread(tid)
            rows = await self._session.native.helper("frame-registers", number, frame.level, group)
            return [
                Value(row["name"], "register", row["value"], Language.NATIVE, expression=f"${row['name']}")
                for row in rows
            ]

        rows: list[Value] = await self._session.interrupted(read)
        return rows
