"""Counts records that say the same, sums their numbers and times, by machine code in this process: as they come.

A table has a slot for each four words that were met: thread and probe, caller, code object, instruction. Each look at
the rings empties it. Where no machine code may be made, ``PlainTally`` does the same, some ten times as slow.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from ..probes import durations, recording
from ..probes.machine import Writer, register
from ..probes.placement import CannotPlace, iced
from .memory import complete
from .own_code import OwnCode, address_of

Site = tuple[int, int, int, int]
"""Thread and probe, caller, code object, instruction."""
_WORD = 8
_SITE = struct.Struct("=4Q")
_REST = recording.RECORD - _WORD * recording.THREAD - _SITE.size
_SITES = struct.Struct(f"={_WORD * recording.THREAD}x{_SITE.size}s{_REST}x")
_DURATIONS = struct.Struct(f"={_WORD * recording.THREAD}x{_SITE.size}s{_REST - _WORD}xQ")
# The table, in bytes from its beginning: how many slots are used, which ones, the slots, rows of numbers.
_USED, _LIST, _SLOTS = 0, 64, 1 << 16
_SLOT = 64
_BITS = 14
_MOST = 1 << _BITS - 1  # slots that are used before the table is emptied
_COUNT = _SITE.size  # in a slot, behind its words; then how long its calls took together, and the longest
_TOTAL, _LONGEST = _COUNT + _WORD, _COUNT + 2 * _WORD
_MET = struct.Struct("=7Q")
_NOTHING = bytes(3 * _WORD)
_ROWS = _SLOTS + (_SLOT << _BITS)
_ROW = 64
_IN_PROBE = len(recording.REGISTERS) * _ROW
_SIZE = _ROWS + recording.PROBES * _IN_PROBE
# A row: where the number is in the record (0: no row), by how much it is shifted to its size, what makes it unsigned;
# then the complement of the least, the most, the sum, how many.
_OFFSET, _SHIFT, _FLIP, _LEAST, _HIGHEST, _SUM, _NUMBERS = 0, 8, 16, 24, 32, 40, 56
_FOUND = struct.Struct("=5Q")
_HASH = 0x9E3779B97F4A7C15  # odd, and its bits are as mixed as those of the golden ratio


class Met(NamedTuple):
    """How often a place was met. Of returns: how long the calls took together, and the longest of them."""

    hits: int
    total: int
    longest: int


@dataclass(frozen=True)
class Kind:
    """A number that is summed: which of the registers of whole numbers has it, its bytes, whether it has a sign."""

    register: int
    size: int
    signed: bool


@dataclass(frozen=True)
class Sum:
    """Of the numbers of a kind."""

    count: int
    least: int
    most: int
    total: int


class Tally(Protocol):
    """What was met since it was asked last."""

    def take(self, piece: memoryview, first: int) -> int:
        """Take records, of which the first has the number ``first``. Returns how many: those that are complete."""

    def sites(self) -> dict[Site, Met]:
        """What they were. It is empty then. The times of what is no return say nothing."""

    def sums(self, probe: int, kinds: Sequence[Kind]) -> list[Sum] | None:
        """The sums of a probe, always of the same kinds; None where it was not asked for them before."""


class PlainTally:
    """It knows no sums of numbers, and times only where there are some."""

    def __init__(self, times: bool = False) -> None:
        self._times = times
        self._counts: Counter[bytes] = Counter()
        self._lasted: dict[bytes, tuple[int, int]] = {}

    def take(self, piece: memoryview, first: int) -> int:
        """See :class:`Tally`."""
        count = complete(piece, first)
        taken = piece[: count * recording.WORDS]
        self._counts.update(site for (site,) in _SITES.iter_unpack(taken))
        for site, lasted in _DURATIONS.iter_unpack(taken) if self._times else ():
            total, longest = self._lasted.get(site, (0, 0))
            self._lasted[site] = total + lasted, max(longest, lasted)
        return count

    def sites(self) -> dict[Site, Met]:
        """See :class:`Tally`."""
        counts, lasted = self._counts, self._lasted
        self._counts, self._lasted = Counter(), {}
        return {_SITE.unpack(site): Met(count, *lasted.get(site, (0, 0))) for site, count in counts.items()}

    def sums(self, probe: int, kinds: Sequence[Kind]) -> list[Sum] | None:
        """See :class:`Tally`."""
        return None


class FastTally:
    """By machine code. Raises OSError where that is refused."""

    def __init__(self) -> None:
        self._code = OwnCode(_code())
        # Records, the number of the first, how many, the table -> how many were taken.
        form = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * 4)
        self._take: Callable[[int, int, int, int], int] = form(self._code.address)
        self._table = mmap.mmap(-1, _SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._address = address_of(self._table)
        self._asked: set[int] = set()

    def take(self, piece: memoryview, first: int) -> int:
        """See :class:`Tally`. It takes fewer where the table is full."""
        return self._take(address_of(piece), first, len(piece) // recording.WORDS, self._address)

    def sites(self) -> dict[Site, Met]:
        """See :class:`Tally`."""
        table, found = self._table, {}
        (used,) = struct.unpack_from("=Q", table, _USED)
        for number in struct.unpack_from(f"={used}I", table, _LIST):
            at = _SLOTS + number * _SLOT
            who, caller, code, instruction, *met = _MET.unpack_from(table, at)
            found[who, caller, code, instruction] = Met(*met)
            table[at + _COUNT : at + _COUNT + len(_NOTHING)] = _NOTHING
        struct.pack_into("=Q", table, _USED, 0)
        return found

    def sums(self, probe: int, kinds: Sequence[Kind]) -> list[Sum] | None:
        """See :class:`Tally`."""
        rows = [_ROWS + probe * _IN_PROBE + at * _ROW for at in range(len(kinds))]
        is_new = probe not in self._asked
        found = [] if is_new else [self._sum(row, kind) for row, kind in zip(rows, kinds, strict=True)]
        self._asked.add(probe)
        for row, kind in zip(rows, kinds, strict=True):
            offset = _WORD * (recording.ARGUMENTS + kind.register)
            flip = 1 << 63 if kind.signed else 0
            struct.pack_into("=8Q", self._table, row, offset, 64 - 8 * kind.size, flip, 0, 0, 0, 0, 0)
        return None if is_new else found

    def _sum(self, row: int, kind: Kind) -> Sum:
        least, most, low, high, count = _FOUND.unpack_from(self._table, row + _LEAST)
        below = 1 << 8 * kind.size - 1 if kind.signed else 0
        total = low + (high << 64) - below * count
        return Sum(count, (least ^ (1 << 64) - 1) - below, most - below, total)


def tally(times: bool = False) -> Tally:
    """The fast one where it can be. ``times``: some records are of returns."""
    if iced is None:
        return PlainTally(times)
    try:
        return FastTally()
    except (OSError, CannotPlace):
        return PlainTally(times)


@lru_cache(maxsize=1)
def _code() -> bytes:
    """rdi: records; rsi: the number of the first; rdx: how many; rcx: the table. Returns how many were taken."""
    to = Writer(pushed=0)
    kept = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    for name in kept:
        to.push(name)
    moves = {"rbx": "rdi", "rbp": "rsi", "r14": "rdx", "r12": "rcx"}
    for name, given in moves.items():
        to.rr("MOV_R64_RM64", name, given)
    to.number("r13", 0)
    to.number("r15", _HASH)
    loop, over, look, other, new, same, shorter, done = (to.new_label() for _ in range(8))
    to.here(loop)
    to.rr("CMP_R64_RM64", "r13", "r14")
    to.branch("JAE_REL32_64", over)
    _with_memory(to, "CMP_R64_RM64", "rbp", "rbx", 0)
    to.branch("JNE_REL32_64", over)
    _with_number(to, "CMP_RM64_IMM32", "r12", _USED, _MOST)
    to.branch("JAE_REL32_64", over)
    words = ("rax", "rsi", "rdx", "rdi")
    for at, name in enumerate(words):
        to.load("MOV_R64_RM64", name, "rbx", _WORD * (recording.THREAD + at))
    to.number("r8", 0)
    for name in words:
        to.rr("ADD_R64_RM64", "r8", name)
        to.rr("IMUL_R64_RM64", "r8", "r15")
    to.ri("SHR_RM64_IMM8", "r8", 64 - _BITS)
    to.here(look)
    to.rr("MOV_R64_RM64", "r9", "r8")
    to.ri("SHL_RM64_IMM8", "r9", _SLOT.bit_length() - 1)
    to.rr("ADD_R64_RM64", "r9", "r12")
    to.ri("ADD_RM64_IMM32", "r9", _SLOTS)
    _with_number(to, "CMP_RM64_IMM8", "r9", _COUNT, 0)
    to.branch("JE_REL32_64", new)
    for at, name in enumerate(words):
        _with_memory(to, "CMP_R64_RM64", name, "r9", _WORD * at)
        to.branch("JNE_REL32_64", other)
    to.branch("JMP_REL32_64", same)
    to.here(other)
    to.ri("ADD_RM64_IMM8", "r8", 1)
    to.ri("AND_RM64_IMM32", "r8", (1 << _BITS) - 1)
    to.branch("JMP_REL32_64", look)
    to.here(new)
    for at, name in enumerate(words):
        to.store("MOV_RM64_R64", "r9", _WORD * at, name)
    to.load("MOV_R64_RM64", "r10", "r12", _USED)
    place = iced.MemoryOperand(
        base=register("r12"), index=register("r10"), scale=4, displ=_LIST, displ_size=8
    )
    to.add(iced.Instruction.create_mem_reg(iced.Code.MOV_RM32_R32, place, register("r8d")))
    _with_number(to, "ADD_RM64_IMM8", "r12", _USED, 1)
    to.here(same)
    _with_number(to, "ADD_RM64_IMM8", "r9", _COUNT, 1)
    to.load("MOV_R64_RM64", "r10", "rbx", _WORD * durations.DURATION)
    to.store("ADD_RM64_R64", "r9", _TOTAL, "r10")
    _with_memory(to, "CMP_R64_RM64", "r10", "r9", _LONGEST)
    to.branch("JBE_REL32_64", shorter)
    to.store("MOV_RM64_R64", "r9", _LONGEST, "r10")
    to.here(shorter)
    _numbers(to, done)
    to.here(done)
    to.ri("ADD_RM64_IMM8", "rbx", recording.RECORD)
    to.ri("ADD_RM64_IMM8", "rbp", 1)
    to.ri("ADD_RM64_IMM8", "r13", 1)
    to.branch("JMP_REL32_64", loop)
    to.here(over)
    to.rr("MOV_R64_RM64", "rax", "r13")
    for _ in kept:
        to.pop()
    to.add(iced.Instruction.create(iced.Code.RETNQ))
    encoder = iced.BlockEncoder(64)
    encoder.add_many([row.instruction for row in to.rows])
    return bytes(encoder.encode(0))


def _numbers(to: Writer, done: int) -> None:
    """rax: thread and probe; rbx: the record; r12: the table."""
    again, not_less, not_more = (to.new_label() for _ in range(3))
    to.ri("SHR_RM64_IMM8", "rax", 32)
    to.ri("CMP_RM64_IMM32", "rax", recording.PROBES)
    to.branch("JAE_REL32_64", done)
    three = iced.Instruction.create_reg_reg_i32(
        iced.Code.IMUL_R64_RM64_IMM32, register("r9"), register("rax"), _IN_PROBE
    )
    to.add(three)
    to.rr("ADD_R64_RM64", "r9", "r12")
    to.ri("ADD_RM64_IMM32", "r9", _ROWS)
    to.number("r10", len(recording.REGISTERS))
    to.here(again)
    to.load("MOV_R64_RM64", "rax", "r9", _OFFSET)
    to.rr("TEST_RM64_R64", "rax", "rax")
    to.branch("JE_REL32_64", done)
    to.rr("ADD_R64_RM64", "rax", "rbx")
    to.load("MOV_R64_RM64", "rax", "rax")
    to.load("MOV_R64_RM64", "rcx", "r9", _SHIFT)
    to.add(_by_cl("SHL_RM64_CL"))
    _with_memory(to, "XOR_R64_RM64", "rax", "r9", _FLIP)
    to.add(_by_cl("SHR_RM64_CL"))
    to.rr("MOV_R64_RM64", "rcx", "rax")
    to.add(iced.Instruction.create_reg(iced.Code.NOT_RM64, register("rcx")))
    for name, offset, label in (("rcx", _LEAST, not_less), ("rax", _HIGHEST, not_more)):
        _with_memory(to, "CMP_R64_RM64", name, "r9", offset)
        to.branch("JBE_REL32_64", label)
        to.store("MOV_RM64_R64", "r9", offset, name)
        to.here(label)
    to.store("ADD_RM64_R64", "r9", _SUM, "rax")
    _with_number(to, "ADC_RM64_IMM8", "r9", _SUM + _WORD, 0)
    _with_number(to, "ADD_RM64_IMM8", "r9", _NUMBERS, 1)
    to.ri("ADD_RM64_IMM8", "r9", _ROW)
    to.ri("SUB_RM64_IMM8", "r10", 1)
    to.branch("JNE_REL32_64", again)


def _place(base: str, offset: int) -> Any:
    return iced.MemoryOperand(base=register(base), displ=offset, displ_size=8 if offset else 0)


def _with_memory(to: Writer, code: str, name: str, base: str, offset: int) -> None:
    to.add(iced.Instruction.create_reg_mem(getattr(iced.Code, code), register(name), _place(base, offset)))


def _with_number(to: Writer, code: str, base: str, offset: int, number: int) -> None:
    to.add(iced.Instruction.create_mem_i32(getattr(iced.Code, code), _place(base, offset), number))


def _by_cl(code: str) -> Any:
    return iced.Instruction.create_reg_reg(getattr(iced.Code, code), register("rax"), iced.Register.CL)
