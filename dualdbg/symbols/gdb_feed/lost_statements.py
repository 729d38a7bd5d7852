"""Statements of a source line that gdb forgets: at the address of each the compiler goes on with another file.

The line table has such a row where an inlined function ends without an instruction of its own (DWARF 5, 6.2). gdb keeps
the last file's row of an address (``dwarf_finish_line`` in gdb/dwarf2/read.c).
"""

from __future__ import annotations

import os
import posixpath
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ...shared.elf import SHF_COMPRESSED
from ..elf.elf_file import ElfFile
from .units import number

_MOST_BYTES = 1 << 20  # of line tables, which take a second
_VERSIONS = (2, 3, 4, 5)
_PATH, _FOLDER = 1, 2  # DW_LNCT
_LINE_STRP, _STRING, _UDATA, _BLOCK = 0x1F, 0x08, 0x0F, 0x09  # forms
_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}  # bytes of further forms (DWARF 5, 7.5.6)
_ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _NEGATE, _CONST_ADD, _FIXED_ADVANCE = 2, 3, 4, 6, 8, 9  # DW_LNS
_COPY = 1
_END, _SET_ADDRESS = 1, 2  # DW_LNE


class _Row(NamedTuple):
    address: int
    file: int
    line: int
    is_statement: bool


def lost_statements(elf: ElfFile, file: str, line: int) -> list[int]:
    """The link-time addresses of statements of ``line`` that gdb may forget, in sources of this name, which may be
    without folders.

    Empty where the line tables are too big or cannot be read in place.
    """
    section, strings = elf.section(".debug_line"), elf.section(".debug_line_str")
    if section is None or any(one is not None and one.flags & SHF_COMPRESSED for one in (section, strings)):
        return []
    data = bytes(elf.view(section))
    texts = bytes(elf.view(strings)) if strings is not None else b""
    try:
        return _lost(data, texts, file, line)
    except (KeyError, IndexError, ValueError, struct.error):  # of a form that is not known here, or cut off
        return []


def _lost(data: bytes, texts: bytes, file: str, line: int) -> list[int]:
    tables = [table for table in _tables(data, texts) if table.numbers(file)]
    if sum(len(table.program) for table in tables) > _MOST_BYTES:
        return []
    found: set[int] = set()
    for table in tables:
        numbers = table.numbers(file)
        run: list[_Row] = []
        for row in (*table.rows(), _Row(-1, -1, 0, False)):
            if run and row.file != run[-1].file:
                if run[-1].file in numbers:
                    last = run[-1].address
                    lost = (one for one in run if one.line == line and one.is_statement)
                    found.update(one.address for one in lost if one.address == last == row.address)
                run = []
            run.append(row)
    return sorted(found)


class _Table:
    """The line table of a unit: its sources, and the program that makes its rows."""

    def __init__(self, data: bytes, texts: bytes) -> None:
        """``data`` is that of the unit. Raises KeyError for a form that is not read here, and as :mod:`struct` does."""
        version, _ = struct.unpack_from("<HH", data, 4)
        at = 8 if version >= 5 else 6
        (length,) = struct.unpack_from("<I", data, at)
        at += 4
        self.program = data[at + length :]
        self._smallest = data[at]
        at += 2 if version >= 4 else 1
        self._is_statement = bool(data[at])
        self._base, self._range, self._opcodes = struct.unpack_from("<bBB", data, at + 1)
        at += 4
        self._operands = data[at : at + self._opcodes - 1]
        at += self._opcodes - 1
        self.sources = (_new_sources if version >= 5 else _old_sources)(data, at, texts)

    def numbers(self, file: str) -> set[int]:
        """The numbers of the sources that have this name, in full or without some of the folders before it."""
        return {index for index, path in self.sources.items() if _ends_alike(path.lstrip("./"), file)}

    def rows(self) -> Iterator[_Row]:
        """The rows, in their order. The end of a sequence is one of line 0 and of no file."""
        code, at = self.program, 0
        address, file, line, is_statement = 0, 1, 1, self._is_statement
        while at < len(code):
            opcode, at = code[at], at + 1
            if opcode >= self._opcodes:
                steps, more = divmod(opcode - self._opcodes, self._range)
                address, line = address + steps * self._smallest, line + self._base + more
                yield _Row(address, file, line, is_statement)
            elif opcode == 0:
                size, at = number(code, at)
                if code[at] == _END:
                    yield _Row(address, -1, 0, False)
                    address, file, line, is_statement = 0, 1, 1, self._is_statement
                elif code[at] == _SET_ADDRESS:
                    address = int.from_bytes(code[at + 1 : at + size], "little")
                at += size
            elif opcode == _COPY:
                yield _Row(address, file, line, is_statement)
            elif opcode == _ADVANCE_PC:
                steps, at = number(code, at)
                address += steps * self._smallest
            elif opcode == _ADVANCE_LINE:
                more, at = _signed(code, at)
                line += more
            elif opcode == _SET_FILE:
                file, at = number(code, at)
            elif opcode == _NEGATE:
                is_statement = not is_statement
            elif opcode == _CONST_ADD:
                address += (255 - self._opcodes) // self._range * self._smallest
            elif opcode == _FIXED_ADVANCE:
                address, at = address + int.from_bytes(code[at : at + 2], "little"), at + 2
            else:
                for _ in range(self._operands[opcode - 1]):
                    _, at = number(code, at)


def _ends_alike(one: str, other: str) -> bool:
    short, long = sorted((one.lstrip("/"), other.lstrip("/")), key=len)
    return ("/" + long).endswith("/" + short)


def _tables(data: bytes, texts: bytes) -> Iterator[_Table]:
    at = 0
    while at + 6 < len(data):
        length, version = struct.unpack_from("<IH", data, at)
        if length >= 0xFFFFFFF0 or version not in _VERSIONS:
            return  # offsets of 64 bits, or a later version
        yield _Table(data[at : at + 4 + length], texts)
        at += 4 + length


def _old_sources(data: bytes, at: int, texts: bytes) -> dict[int, str]:
    """Up to DWARF 4: folders, then files, as texts. The folder of the compilation is not among them."""
    folders = [""]
    while data[at]:
        text, at = _text(data, at)
        folders.append(text)
    at += 1
    found: dict[int, str] = {}
    while data[at]:
        name, at = _text(data, at)
        folder, at = number(data, at)
        _, at = number(data, at)
        _, at = number(data, at)
        found[len(found) + 1] = posixpath.normpath(posixpath.join(folders[folder], name))
    return found


def _new_sources(data: bytes, at: int, texts: bytes) -> dict[int, str]:
    folders, at = _entries(data, at, texts)
    files, _ = _entries(data, at, texts)
    first = folders[0][0] if folders else ""
    return {
        index: posixpath.normpath(posixpath.join(first, folders[folder][0], name))
        for index, (name, folder) in enumerate(files)
    }


def _entries(data: bytes, at: int, texts: bytes) -> tuple[list[tuple[str, int]], int]:
    """Names with the numbers of their folders (DWARF 5, 6.2.4.1), and where what is behind them begins."""
    kinds, at = data[at], at + 1
    formats = []
    for _ in range(kinds):
        what, at = number(data, at)
        form, at = number(data, at)
        formats.append((what, form))
    count, at = number(data, at)
    found = []
    for _ in range(count):
        name, folder = "", 0
        for what, form in formats:
            value, at = _value(data, at, form, texts)
            if what == _PATH:
                name = str(value)
            elif what == _FOLDER:
                folder = int(value)
        found.append((name, folder))
    return found, at


def _value(data: bytes, at: int, form: int, texts: bytes) -> tuple[str | int, int]:
    """Raises KeyError for a form that is not read here."""
    if form == _STRING:
        return _text(data, at)
    if form == _LINE_STRP:
        (offset,) = struct.unpack_from("<I", data, at)
        return _text(texts, offset)[0], at + 4
    if form == _UDATA:
        return number(data, at)
    if form == _BLOCK:
        size, at = number(data, at)
        return 0, at + size
    size = _SIZES[form]
    return int.from_bytes(data[at : at + size], "little"), at + size


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return os.fsdecode(data[at:end]), end + 1


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value, behind = number(data, at)
    bits = 7 * (behind - at)
    return (value - (1 << bits) if data[behind - 1] & 0x40 else value), behind
