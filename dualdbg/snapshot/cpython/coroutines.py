"""Coroutines that are not running: in which frame each stands, and what it awaits.

How CPython tells it: ``_PyGen_yf`` in Objects/genobject.c of each version. 3.8 to 3.10 look for YIELD_FROM behind the
last instruction, 3.11 and 3.12 at the operand of RESUME there; 3.13 and later have a state of its own for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...errors import UnreadableMemory
from ...model import PythonFrame
from .fields import Fields
from .reader import PythonReader

_MOST_LINKS = 1000
_TAG_BITS = 7
_YIELD_FROM = 72  # opcode of 3.8 to 3.10
_FROM_YIELD_FROM = (
    2  # operand of RESUME: 2 after yield from, 3 after await (Include/internal/pycore_opcode_utils.h)
)
_CODE_BYTES = 48  # co_code, 3.8 to 3.10
_VALUE_STACK_3_10, _STATE_3_10, _EXECUTING_3_8 = 64, 108, 116  # f_valuestack, f_state, f_executing

_GENERATORS = ("coroutine", "generator", "async_generator")
# Awaitables in C that stand for one other object, which is their first member.
_WRAPPERS = ("coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable")
FUTURE_ITERATOR = "_asyncio.FutureIter"


class Standing(Enum):
    """Where a generator stands."""

    CREATED = "created"
    SUSPENDED = "suspended"  # in a yield of its own
    AWAITING = "awaiting"  # in await or yield from
    EXECUTING = "executing"
    DONE = "done"


# PyFrameState (Include/internal/pycore_frame.h); 3.10's are those of 3.11.
_STANDINGS_3_10 = {-2: Standing.CREATED, -1: Standing.SUSPENDED, 0: Standing.EXECUTING}
_STANDINGS_3_13 = {
    -3: Standing.CREATED,
    -2: Standing.SUSPENDED,
    -1: Standing.AWAITING,
    0: Standing.EXECUTING,
}
_STANDINGS_3_15 = {
    0: Standing.CREATED,
    1: Standing.SUSPENDED,
    2: Standing.AWAITING,
    3: Standing.AWAITING,
    4: Standing.EXECUTING,
}


@dataclass(frozen=True)
class Chain:
    """A coroutine, those that it awaits, and the object at the end.

    ``frames`` begin with the outermost. ``end`` is the type of the object at the end, None where no other one is
    awaited. ``standing`` is that of the first coroutine, None where that is no coroutine of Python's.
    """

    frames: tuple[PythonFrame, ...]
    standing: Standing | None
    end: str | None


class Coroutines:
    """Reads the coroutines of one process."""

    def __init__(self, reader: PythonReader, fields: Fields) -> None:
        self._reader = reader
        self._memory = reader.memory
        self._layout = reader.layout
        self._fields = fields

    def name(self, address: int) -> str:
        """The qualified name of a coroutine; of another object that of its type."""
        kind = self._fields.kind(address)
        if kind.tp_name in _GENERATORS:
            return self._reader.string(
                self._memory.u64(address + self._layout.objects.generator_qualname), 200
            )
        return str(kind.full_name)

    def chain(self, address: int) -> Chain:
        """What the coroutine at ``address`` awaits, through all coroutines in between."""
        frames: list[PythonFrame] = []
        first = self._standing(address) if self._fields.kind(address).tp_name in _GENERATORS else None
        seen: set[int] = set()
        while address not in seen and len(seen) < _MOST_LINKS:
            seen.add(address)
            kind = self._fields.kind(address)
            if kind.tp_name in _WRAPPERS:
                address = self._memory.u64(address + self._layout.head)
                continue
            if kind.tp_name not in _GENERATORS:
                return Chain(tuple(frames), first, kind.full_name)
            standing = self._standing(address)
            if standing is not Standing.DONE:
                frames.append(self._reader.frame_at(self.frame(address)))
            if standing is not Standing.AWAITING:
                return Chain(tuple(frames), first, None)
            address = self._awaited(self.frame(address))
        raise UnreadableMemory(f"more than {len(seen)} coroutines await each other")

    def frame(self, generator: int) -> int:
        """The address of the frame of a generator; 0 where a finished one has none."""
        at = generator + self._layout.generator_frame
        return self._memory.u64(at) if self._layout.has_frame_objects else at

    def _standing(self, generator: int) -> Standing:
        layout = self._layout
        frame = self.frame(generator)
        if layout.version >= (3, 13):
            table = _STANDINGS_3_15 if layout.version >= (3, 15) else _STANDINGS_3_13
            return table.get(self._signed_byte(generator + _known(layout.generator_state)), Standing.DONE)
        if not frame:
            return Standing.DONE
        if layout.version >= (3, 10):
            at = generator + layout.generator_state if layout.generator_state else frame + _STATE_3_10
            standing = _STANDINGS_3_10.get(self._signed_byte(at), Standing.DONE)
        else:
            standing = self._standing_3_8(frame)
        if standing is Standing.SUSPENDED and self._yields_from(frame):
            return Standing.AWAITING
        return standing

    def _standing_3_8(self, frame: int) -> Standing:
        if self._memory.u8(frame + _EXECUTING_3_8):
            return Standing.EXECUTING
        if not self._memory.u64(frame + self._layout.frame_stack):
            return Standing.DONE
        begun = self._memory.i32(frame + self._layout.frame_instruction) >= 0
        return Standing.SUSPENDED if begun else Standing.CREATED

    def _yields_from(self, frame: int) -> bool:
        """Whether a suspended frame of 3.8 to 3.12 stands in an await, or a yield from."""
        layout, memory = self._layout, self._memory
        if not layout.has_frame_objects:
            # prev_instr is that of the YIELD_VALUE; a RESUME follows it.
            following = memory.u64(frame + layout.frame_instruction) + 2
            return memory.u8(following + 1) & 3 >= _FROM_YIELD_FROM
        last = memory.i32(frame + layout.frame_instruction) * (2 if layout.version == (3, 10) else 1)
        code = self._reader.bytes_object(memory.u64(memory.u64(frame + layout.frame_code) + _CODE_BYTES))
        return last + 2 < len(code) and code[last + 2] == _YIELD_FROM

    def _awaited(self, frame: int) -> int:
        """The object that a frame awaits: on the top of its value stack; from 3.15 on one below it."""
        layout, memory = self._layout, self._memory
        if layout.version >= (3, 14):
            depth = 2 if layout.version >= (3, 15) else 1
            top = memory.u64(frame + layout.frame_stack) - 8 * depth
        elif not layout.has_frame_objects:
            top = frame + layout.frame_locals + 8 * (memory.i32(frame + layout.frame_stack) - 1)
        elif layout.version == (3, 10):
            depth = memory.i32(frame + layout.frame_stack)
            top = memory.u64(frame + _VALUE_STACK_3_10) + 8 * (depth - 1)
        else:
            top = memory.u64(frame + layout.frame_stack) - 8
        return memory.u64(top) & ~_TAG_BITS

    def _signed_byte(self, address: int) -> int:
        value = self._memory.u8(address)
        return value - 256 if value > 127 else value


def _known(offset: int | None) -> int:
    assert offset is not None
    return offset
