"""From an instruction of a code object to its line, in each of CPython's formats.

3.8, 3.9: Objects/lnotab_notes.txt (co_lnotab); 3.10: the same file there (co_linetable, PEP 626); 3.11 and later:
Objects/locations.md (co_linetable, PEP 657).
"""

from __future__ import annotations

from functools import lru_cache

from ..cursor import Cursor


@lru_cache(maxsize=4096)  # most frames of a stack stand where they stood at the stop before
def line_at(version: tuple[int, int], table: bytes, first_line: int, offset: int) -> int | None:
    """The line of the instruction at byte ``offset`` of the code; None where the compiler gave it none."""
    if version >= (3, 11):
        return _line_3_11(table, first_line, offset)
    if version == (3, 10):
        return _line_3_10(table, first_line, offset)
    return _line_3_8(table, first_line, offset)


def _line_3_8(table: bytes, first_line: int, offset: int) -> int:
    line, address = first_line, 0
    for step, delta in zip(table[::2], table[1::2], strict=False):
        address += step
        if address > offset:
            break
        line += delta - 256 if delta > 127 else delta
    return line


def _line_3_10(table: bytes, first_line: int, offset: int) -> int | None:
    line, end = first_line, 0
    for step, delta in zip(table[::2], table[1::2], strict=False):
        end += step
        if delta == 0x80:  # -128: these instructions have no line
            if offset < end:
                return None
            continue
        line += delta - 256 if delta > 127 else delta
        if offset < end:
            return line
    return line


_ONE_BYTE_LINE, _NO_COLUMN, _LONG, _NOWHERE = 10, 13, 14, 15


def _line_3_11(table: bytes, first_line: int, offset: int) -> int | None:
    line, end = first_line, 0
    cursor = Cursor(table)
    while cursor.at < len(table):
        head = cursor.u8()
        kind = head >> 3 & 0xF
        end += ((head & 7) + 1) * 2
        if kind == _LONG:
            line += _signed_number(cursor)
            for _ in range(3):
                _number(cursor)
        elif kind == _NO_COLUMN:
            line += _signed_number(cursor)
        elif _ONE_BYTE_LINE <= kind < _NO_COLUMN:
            line += kind - _ONE_BYTE_LINE
            cursor.at += 2
        elif kind < _ONE_BYTE_LINE:
            cursor.at += 1
        if offset < end:
            return None if kind == _NOWHERE else line
    return line


def _number(cursor: Cursor) -> int:
    """Six bits a byte, the lowest first; bit 6 says that more follow."""
    byte = cursor.u8()
    value, shift = byte & 63, 0
    while byte & 64:
        byte = cursor.u8()
        shift += 6
        value |= (byte & 63) << shift
    return value


def _signed_number(cursor: Cursor) -> int:
    value = _number(cursor)
    return -(value >> 1) if value & 1 else value >> 1
