"""The variables of a Python frame, and the part of its value stack that is certainly in use."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import UnreadableMemory
from ..cursor import Cursor
from .reader import PythonReader

_HIDDEN, _CELL, _FREE = 0x10, 0x40, 0x80  # co_localspluskinds, Include/internal/pycore_code.h
_OPTIMIZED = 0x1  # CO_OPTIMIZED: a function, whose variables are in the frame itself; Include/cpython/code.h
_TAG_BITS = 7
_FREE_NAMES = 8  # bytes from co_varnames to co_freevars; co_cellvars follows (3.10 and earlier)
_MOST_STACK = 500


@dataclass(frozen=True)
class _Code:
    names: tuple[str, ...]
    indirect: tuple[bool, ...]
    hidden: tuple[bool, ...]
    stack_size: int
    exceptions: tuple[tuple[int, int, int], ...]


class PythonSlots:
    """Reads frames that a :class:`PythonReader` has found; frames are named by their address."""

    def __init__(self, reader: PythonReader) -> None:
        self._reader = reader
        self._codes: dict[int, _Code] = {}

    def variables(self, frame: int) -> list[tuple[str, int]]:
        """Name and object address of the arguments and locals that are set, in the order of the code."""
        reader, code = self._reader, self._code(frame)
        rows = []
        for index, name in enumerate(code.names):
            address = self._slot(frame, index)
            if address and code.indirect[index] and reader.type_name(address) == "cell":
                address = reader.memory.u64(address + reader.layout.head) & ~_TAG_BITS
            if address and not code.hidden[index]:
                rows.append((name, address))
        return rows

    def namespace(self, frame: int) -> int | None:
        """The address of the mapping that holds the variables of a module, a class body or exec; None in a function."""
        layout, memory = self._reader.layout, self._reader.memory
        if memory.i32(self._code_address(frame) + layout.code_flags) & _OPTIMIZED:
            return None
        return memory.u64(frame + layout.frame_namespace) & ~_TAG_BITS or None

    def globals(self, frame: int) -> int:
        """The address of the dict with the variables of the module that the frame's code belongs to."""
        layout = self._reader.layout
        # f_builtins, f_globals, f_locals; from 3.11 on the first two are swapped.
        back = 8 if layout.has_frame_objects else 16
        return self._reader.memory.u64(frame + layout.frame_namespace - back) & ~_TAG_BITS

    def uses(self, frame: int, name: str) -> bool:
        """Whether the code of a frame uses a global name or an attribute."""
        names = self._reader.memory.u64(self._code_address(frame) + self._reader.layout.code_names)
        return any(self._reader.string(one) == name for one in self._reader.tuple_items(names))

    def free_names(self, code: int) -> list[str]:
        """The names of the variables that a function with this code object takes from the function around it."""
        reader, layout = self._reader, self._reader.layout
        if layout.code_local_kinds is None:
            names = reader.memory.u64(code + layout.code_local_names + _FREE_NAMES)
            return [reader.string(name) for name in reader.tuple_items(names)]
        names = reader.memory.u64(code + layout.code_local_names)
        kinds = reader.bytes_object(reader.memory.u64(code + layout.code_local_kinds))
        pairs = zip(reader.tuple_items(names), kinds, strict=True)
        return [reader.string(name) for name, kind in pairs if kind & _FREE]

    def all_objects(self, frame: int) -> list[int]:
        """Everything in the frame's variables and value stack, also what earlier calls have left there."""
        code = self._code(frame)
        count = len(code.names) + min(code.stack_size, _MOST_STACK)
        return [address for index in range(count) if (address := self._slot(frame, index))]

    def guarded_objects(self, frame: int) -> list[int]:
        """The part of the value stack below the innermost ``try`` or ``with`` block that runs: certainly in use.

        An empty place is 0.
        """
        code = self._code(frame)
        first = len(code.names)
        height = min(self._guarded_height(frame, code), _MOST_STACK)
        return [self._slot(frame, first + index) for index in range(height)]

    def _guarded_height(self, frame: int, code: _Code) -> int:
        layout, memory = self._reader.layout, self._reader.memory
        if layout.frame_block_count is not None:
            count = memory.i32(frame + layout.frame_block_count)
            if not 0 < count <= 20:  # CO_MAXBLOCKS
                return 0
            return memory.i32(frame + layout.frame_block_count + 8 + 12 * (count - 1) + 8)
        assert layout.code_start is not None
        start = self._code_address(frame) + layout.code_start
        instruction = (memory.u64(frame + layout.frame_instruction) - start) // 2
        heights = [height for first, end, height in code.exceptions if first <= instruction < end]
        return heights[-1] if heights else 0

    def _slot(self, frame: int, index: int) -> int:
        return self._reader.memory.u64(frame + self._reader.layout.frame_locals + 8 * index) & ~_TAG_BITS

    def _code_address(self, frame: int) -> int:
        return self._reader.memory.u64(frame + self._reader.layout.frame_code) & ~_TAG_BITS

    def _code(self, frame: int) -> _Code:
        address = self._code_address(frame)
        if address not in self._codes:
            self._codes[address] = self._read_code(address)
        return self._codes[address]

    def _read_code(self, address: int) -> _Code:
        reader, layout, memory = self._reader, self._reader.layout, self._reader.memory
        stack_size = memory.i32(address + layout.code_stack_size)
        tuples = [memory.u64(address + layout.code_local_names)]
        if layout.code_local_kinds is None:  # 3.10 and earlier: co_varnames, co_cellvars, co_freevars
            tuples += [memory.u64(address + layout.code_local_names + offset) for offset in (16, _FREE_NAMES)]
        names = [[reader.string(name) for name in reader.tuple_items(each)] for each in tuples]
        flat = tuple(name for part in names for name in part)
        if layout.code_local_kinds is None:
            plain = len(names[0])
            indirect = tuple(index >= plain for index in range(len(flat)))
            return _Code(flat, indirect, (False,) * len(flat), stack_size, ())
        kinds = reader.bytes_object(memory.u64(address + layout.code_local_kinds))
        assert layout.code_exceptions is not None
        table = reader.bytes_object(memory.u64(address + layout.code_exceptions))
        return _Code(
            names=flat,
            indirect=tuple(bool(kind & (_CELL | _FREE)) for kind in kinds),
            hidden=tuple(bool(kind & _HIDDEN) for kind in kinds),
            stack_size=stack_size,
            exceptions=exception_table(table),
        )


def exception_table(table: bytes) -> tuple[tuple[int, int, int], ...]:
    """Rows of (first instruction, end, height of the value stack), as Objects/exception_handling_notes.txt has it."""
    cursor = Cursor(table)
    rows = []
    while cursor.at < len(table):
        start, size, _target, depth = (_number(cursor) for _ in range(4))
        rows.append((start, start + size, depth >> 1))
    return tuple(rows)


def _number(cursor: Cursor) -> int:
    """Six bits a byte, the highest first; bit 6 says that more follow, bit 7 begins an entry."""
    byte = cursor.u8()
    value = byte & 63
    while byte & 64:
        byte = cursor.u8()
        value = value << 6 | byte & 63
    return value


def readable_objects(slots: PythonSlots, frame: int, guarded: bool) -> list[int]:
    """The result of one of the two methods; none where the frame cannot be read."""
    try:
        return slots.guarded_objects(frame) if guarded else slots.all_objects(frame)
    except (UnreadableMemory, IndexError):
        return []
