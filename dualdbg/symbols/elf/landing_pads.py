"""Where a function catches exceptions: the landing pads of its handlers, from the language-specific data area.

Layout: "C++ ABI for Itanium: Exception Handling", 7 (exception handling tables), and GCC's unwind-pe.h. C++ and Rust
use the same one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .eh_frame import DW_EH_PE_omit, Fde
from .elf_file import ElfFile

_ULEB128 = 0x01
_FORMATS = {0x00: "<Q", 0x02: "<H", 0x03: "<I", 0x04: "<Q", 0x0A: "<h", 0x0B: "<i", 0x0C: "<q"}
_RELATIVE = 0x10  # to the place of the pointer itself
_INDIRECT = 0x80  # the pointer is where the address is kept
_MOST = 1 << 20  # bytes of one function's table


@dataclass(frozen=True)
class Handlers:
    """The landing pads of one function that catch, as link-time addresses.

    A pad that only cleans up is in ``cleanups`` instead. ``personality`` is the address of the function that
    reads the table while a program unwinds; with ``is_indirect`` it is where that address is kept in memory.
    """

    pads: tuple[int, ...] = ()
    personality: int | None = None
    is_indirect: bool = False
    cleanups: tuple[int, ...] = ()


NOTHING = Handlers()


def handlers_of(elf: ElfFile, fde: Fde) -> Handlers:
    """The handlers of the function that an entry of the unwind table describes. Raises SymbolError where the file
    is garbled.
    """
    try:
        return _handlers_of(elf, fde)
    except (IndexError, struct.error) as error:
        raise elf.garbled(f"the exception table of the function at {fde.start:#x} cannot be read") from error


def _handlers_of(elf: ElfFile, fde: Fde) -> Handlers:
    (length,) = struct.unpack("<I", elf.bytes_at(fde.cie_offset, 4))
    common = _Reader(elf.bytes_at(fde.cie_offset + 4, length), 0)
    version = common.data[4]
    end = common.data.index(b"\0", 5)
    augmentation = common.data[5:end].decode("latin-1")
    if "L" not in augmentation:
        return NOTHING
    common.at = end + 1
    common.uleb()  # code alignment factor
    common.uleb()  # data alignment factor
    common.uleb() if version != 1 else common.byte()  # return address register
    common.uleb()  # length of the augmentation data
    table_encoding = DW_EH_PE_omit
    personality, is_indirect = None, False
    cie_address = fde.address - fde.offset + fde.cie_offset  # they lie in one section
    for letter in augmentation[1:]:
        if letter == "L":
            table_encoding = common.byte()
        elif letter == "R":
            common.byte()
        elif letter == "P":
            encoding = common.byte()
            is_indirect = bool(encoding & _INDIRECT)
            personality = common.pointer(encoding, cie_address + 4)
    if table_encoding == DW_EH_PE_omit:
        return NOTHING
    entry = _Reader(elf.bytes_at(fde.offset, fde.size), 8)
    if entry.data[:4] == b"\xff\xff\xff\xff":
        return NOTHING  # the 64-bit form, which no compiler writes for a program
    entry.at += 2 * struct.calcsize(_FORMATS[fde.pointer_encoding & 0x0F])
    entry.uleb()  # length of the augmentation data
    table = entry.pointer(table_encoding, fde.address)
    if not table:
        return NOTHING
    pads, cleanups = _pads(elf, fde, table)
    return Handlers(pads, personality, is_indirect, cleanups)


def _pads(elf: ElfFile, fde: Fde, address: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The pads that catch, and the others."""
    offset = elf.offset_of(address)
    if offset is None:
        return (), ()
    table = _Reader(elf.bytes_at(offset, min(_MOST, elf.size - offset)), 0)
    encoding = table.byte()
    base = fde.start
    if encoding != DW_EH_PE_omit:
        base = table.pointer(encoding, address) or base
    if table.byte() != DW_EH_PE_omit:
        table.uleb()  # where the types are
    encoding = table.byte()
    size = table.uleb()
    actions = table.at + size
    pads: set[int] = set()
    cleanups: set[int] = set()
    while table.at < actions:
        table.value(encoding), table.value(encoding)  # the calls [start, start + length)
        pad, action = table.value(encoding), table.uleb()
        if pad:
            catches = action and _catches(table.data, actions + action - 1)
            (pads if catches else cleanups).add(base + pad)
    return tuple(sorted(pads)), tuple(sorted(cleanups - pads))


def _catches(data: bytes, at: int) -> bool:
    """Whether a chain of actions has a handler: a filter above 0. Others are clean-ups and exception specifications."""
    for _ in range(len(data)):
        chain = _Reader(data, at)
        if chain.sleb() > 0:
            return True
        link = chain.at
        step = chain.sleb()
        if not step:
            return False
        at = link + step
    return False


class _Reader:
    """Bytes that are read in order. What is beyond their end raises IndexError or struct.error."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def uleb(self) -> int:
        return self._leb()[0]

    def sleb(self) -> int:
        value, bits, last = self._leb()
        return value - (1 << bits) if last & 0x40 else value

    def _leb(self) -> tuple[int, int, int]:
        value = bits = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << bits
            bits += 7
            if not byte & 0x80:
                return value, bits, byte

    def value(self, encoding: int) -> int:
        """A number in the format of an encoding, relative to nothing."""
        if encoding & 0x0F == _ULEB128:
            return self.uleb()
        form = _FORMATS.get(encoding & 0x0F)
        if form is None:
            raise IndexError(f"pointer encoding {encoding:#x}")
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def pointer(self, encoding: int, start: int) -> int:
        """An address; ``start`` is where these bytes are once they are loaded. 0 is no address in any encoding."""
        place = start + self.at
        value = self.value(encoding)
        return value + place if value and encoding & 0x70 == _RELATIVE else value
