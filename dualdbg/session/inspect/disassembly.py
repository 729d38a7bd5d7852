"""Reads the machine code of the target: instructions around an address, and a frame's registers."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Protocol

from ...backends.native import AskingGdb
from ...errors import DualdbgError
from ...model import Language, NativeFrame, Value
from ...shared.requests.code import DecodedInstruction, Disassemble, DisassembleUntil
from ...shared.requests.threads import PrintRegisters
from ...snapshot.linux.memory import ProcessMemory
from ..ports import Halting, HeldThreads, Mapped

# jmp *DISTANCE(%rip), as in an entry of the procedure linkage table, maybe behind endbr64 and bnd.
_STUB = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\xf2?\xff\x25(....)", re.DOTALL)
_ADDRESS_AT_END = re.compile(r"\s(0x[0-9a-fA-F]+)(?: <([^>]*)>)?$")  # with its name where gdb knows one
_LONGEST_PADDING = 64  # bytes between two functions: they begin at multiples of at most that
REGISTER_GROUPS = ("general", "vector")


class Debuggee(Halting, Protocol):
    """What is read of a session. ``pid`` is its process."""

    pid: int

    @property
    def native(self) -> AskingGdb:
        """What is asked of gdb."""

    @property
    def inspector(self) -> HeldThreads:
        """The threads while gdb holds them."""

    @property
    def breakpoints(self) -> Mapped:
        """The files that are mapped into the process."""


@dataclass(frozen=True)
class Instruction:
    """One instruction. ``bytes`` is hexadecimal; ``function`` and ``offset`` (in bytes) say where it belongs.

    ``target`` names the code at the address with which ``text`` ends, where it calls or jumps to a known place.
    """

    address: int
    text: str
    bytes: str
    function: str | None
    offset: int
    file: str | None = None
    line: int | None = None
    target: str = ""


def _size(row: DecodedInstruction) -> int:
    """How many bytes the instruction has."""
    return len(bytes.fromhex(row.bytes))


def _cut(row: DecodedInstruction, end: int) -> DecodedInstruction:
    """The instruction; where it would reach beyond ``end``, the bytes before that, which are no code then."""
    if row.address + _size(row) <= end:
        return row
    data = bytes.fromhex(row.bytes)[: end - row.address]
    return row._replace(text=f".byte  {', '.join(f'{one:#04x}' for one in data)}", bytes=data.hex())


class Code:
    """Reads code while gdb holds the target, or within a short halt."""

    def __init__(self, session: Debuggee) -> None:
        self._halting: Halting = session
        self._pid, self._native, self._threads = session.pid, session.native, session.inspector
        self._image = session.breakpoints.image

    async def around(self, address: int, before: int, after: int) -> list[Instruction]:
        """Up to ``before`` instructions before the one at ``address``, and ``after`` from it on.

        Instructions have no fixed length, so those before are decoded from the start of the function, and of those
        before it. In code that belongs to no function there are none.
        """
        rows: list[Instruction] = await self._halting.interrupted(
            lambda: self._around(address, before, after)
        )
        return rows

    async def _around(self, address: int, before: int, after: int) -> list[Instruction]:
        native = self._native
        earlier: list[DecodedInstruction] = []
        end, start = address, self._function_start(address)
        while start is not None and len(earlier) < before:
            if start < end:
                rows = await native.ask(DisassembleUntil(start, end))
                earlier = [*(_cut(row, end) for row in rows), *earlier]
            end, start = start, self._function_before(start)
        earlier = earlier[max(len(earlier) - before, 0) :]
        return [self._instruction(row) for row in [*earlier, *await self._from(address, after)]]

    async def _from(self, address: int, count: int) -> list[DecodedInstruction]:
        """``count`` instructions, decoded anew where a function begins: padding before it is not always code."""
        found: list[DecodedInstruction] = []
        at: int | None = address
        while at is not None and len(found) < count:
            rows = await self._native.ask(Disassemble(at, count - len(found)))
            at = None
            for row in rows:
                start = self._function_start(row.address + _size(row) - 1)
                if start is not None and start > row.address:
                    found.append(_cut(row, start))
                    at = start
                    break
                found.append(row)
        return found

    def _function_start(self, address: int) -> int | None:
        return self._image.function_start(address + 1)

    def _function_before(self, start: int) -> int | None:
        """Where the function begins that ends before ``start``, perhaps with padding between the two."""
        ends = (self._function_start(start - gap) for gap in range(1, _LONGEST_PADDING + 1))
        return next((one for one in ends if one is not None), None)

    def _instruction(self, row: DecodedInstruction) -> Instruction:
        address = row.address
        function, _ = self._image.describe(address)
        start = self._function_start(address)
        offset = address - start if start is not None else 0
        return Instruction(
            address,
            row.text,
            row.bytes,
            function,
            offset,
            row.file,
            row.line,
            self._target(row.text),
        )

    def _target(self, text: str) -> str:
        """Immediate values, which begin with $ or #, and operands relative to a register name no code."""
        match = _ADDRESS_AT_END.search(text)
        if match is None:
            return ""
        address = int(match[1], 16)
        function, _ = self._image.describe(address)
        if function is None:
            address = self._behind_stub(address)
            function, _ = self._image.describe(address)
        start = self._function_start(address)
        if function is None or start is None:
            return match[2] or ""
        return function if start == address else f"{function}+{address - start}"

    def _behind_stub(self, address: int) -> int:
        """Where an entry of the procedure linkage table leads; ``address`` itself where there is none."""
        memory = ProcessMemory(self._pid, self._image.memory_file)
        try:
            match = _STUB.match(memory.read(address, 16))
            if match is not None:
                slot = address + match.end() + struct.unpack("<i", match[1])[0]
                return memory.u64(slot)
        except DualdbgError:  # no such memory, or a core, which has no process
            pass
        return address

    async def registers(self, tid: int, frame: NativeFrame, group: str) -> list[Value]:
        """The registers of a frame; ``group`` is one of REGISTER_GROUPS."""

        async def read() -> list[Value]:
            number = await self._threads.gdb_thread(tid)
            rows = await self._native.ask(PrintRegisters(number, frame.level, group))
            return [
                Value(row.name, "register", row.value, Language.NATIVE, expression=f"${row.name}")
                for row in rows
            ]

        rows: list[Value] = await self._halting.interrupted(read)
        return rows
