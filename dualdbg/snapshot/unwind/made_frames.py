"""Call frame information for code of which a file has none, made of what the code does.

DWARF 5, section 6.4.1, has the form of ``.debug_frame``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from ...probes.placement import CannotPlace, iced
from ...symbols.objfile import Objfile
from .by_function import Functions
from .cfi import How, Row
from .gaps import gaps

_MOST_CODE = 1 << 20  # bytes that are followed; 10 us each
_RELATIVE = (8, 37)  # R_X86_64_RELATIVE, R_X86_64_IRELATIVE: the addend is an address
_DATA_FACTOR = -8
_ADVANCE, _ADVANCE4, _EXTENDED, _UNDEFINED, _SAME, _DEFINE = 0x40, 0x04, 0x11, 0x07, 0x08, 0x0C


def rows_of_gaps(library: Objfile) -> list[tuple[int, int, Row]]:
    """What is sure of the code in its gaps: start, end and row of each instruction, ascending."""
    pieces = [(start, end - start, library.elf.offset_of(start)) for start, end in gaps(library)]
    if iced is None or sum(size for _, size, _ in pieces) > _MOST_CODE:
        return []

    def read(address: int, size: int) -> bytes | None:
        offset = library.elf.offset_of(address)
        return library.elf.bytes_at(offset, size) if offset is not None else None

    codes = [(start, library.elf.bytes_at(at, size)) for start, size, at in pieces if at is not None]
    try:
        return Functions(codes, _begins(library), _addresses(library), read).rows()
    except CannotPlace:  # iced-x86 is installed, and cannot be loaded
        return []


def frames_of_gaps(library: Objfile) -> bytes | None:
    """The same as the contents of a ``.debug_frame``; None where nothing is sure."""
    rows = rows_of_gaps(library)
    return written(rows) if rows else None


def _begins(library: Objfile) -> Iterator[int]:
    """Where functions begin, as the symbols say. The seldom run part of one is none."""
    for table in library.tables:
        for entry in table.functions():
            if b".cold" not in table.name(entry):
                yield entry.value


def _addresses(library: Objfile) -> Iterator[int]:
    """What the data of the file points to."""
    for name in (".rela.dyn", ".rela.plt"):
        for _, kind, _, addend in library.elf.relocations(library.elf.section(name)):
            if kind in _RELATIVE:
                yield addend


def written(rows: Iterable[tuple[int, int, Row]]) -> bytes:
    """The contents of a ``.debug_frame`` with these rows, each with start and end, ascending."""
    # Version 1, no augmentation, code factor 1, data factor -8, return address in column 16; then the rules at a call.
    cie = _entry(
        struct.pack("<IBBBbB", 0xFFFFFFFF, 1, 0, 1, _DATA_FACTOR & 0x7F, 16)
        + bytes((_DEFINE, 7, 8, 0x80 | 16, 1))
    )
    return cie + b"".join(_fde(run) for run in _runs(rows))


def _runs(rows: Iterable[tuple[int, int, Row]]) -> Iterator[list[tuple[int, int, Row]]]:
    """Rows that follow each other without a hole."""
    run: list[tuple[int, int, Row]] = []
    for row in rows:
        if run and run[-1][1] != row[0]:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _fde(run: list[tuple[int, int, Row]]) -> bytes:
    start, end = run[0][0], run[-1][1]
    program, at = bytearray(), start
    last: Row | None = None
    for address, _, row in run:
        if row == last:
            continue
        if address != at:
            program += _advance(address - at)
            at = address
        program += _rules(row, last)
        last = row
    return _entry(struct.pack("<IQQ", 0, start, end - start) + program)


def _advance(by: int) -> bytes:
    """The instruction after which the rules are those of ``by`` bytes further."""
    return bytes((_ADVANCE | by,)) if by < 0x40 else struct.pack("<BI", _ADVANCE4, by)


def _rules(row: Row, last: Row | None) -> bytes:
    """The instructions by which the rules of ``last``, at the beginning those at a call, become those of ``row``."""
    program = bytearray()
    if last is None or (last.cfa_register, last.cfa_offset) != (row.cfa_register, row.cfa_offset):
        program += bytes((_DEFINE, row.cfa_register)) + _uleb(row.cfa_offset)
    known = last.rules if last is not None else ((row.return_column, How.AT_CFA, -8),)
    for number in {number for number, _, _ in known} - {number for number, _, _ in row.rules}:
        program += bytes((_SAME, number))
    for rule in row.rules:
        number, how, value = rule
        if rule in known:
            continue
        if how is How.AT_CFA and isinstance(value, int):
            program += bytes((_EXTENDED, number)) + _sleb(value // _DATA_FACTOR)
        else:
            program += bytes((_UNDEFINED, number))
    return bytes(program)


def _entry(content: bytes) -> bytes:
    """With its length, and padded by DW_CFA_nop."""
    content += bytes(-(len(content) + 4) % 8)
    return struct.pack("<I", len(content)) + content


def _uleb(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _sleb(value: int) -> bytes:
    data = bytearray()
    while not -0x40 <= value < 0x40:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value & 0x7F)
    return bytes(data)
