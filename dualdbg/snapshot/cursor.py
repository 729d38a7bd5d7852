"""Reads the numbers of DWARF and of CPython's tables out of bytes, one after the other."""

from __future__ import annotations

import struct


class Cursor:
    """Reads numbers one after the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def u8(self) -> int:
        """One byte, unsigned."""
        self.at += 1
        return self.data[self.at - 1]

    def fixed(self, form: str) -> int:
        """One number of a :mod:`struct` format, such as ``<I``."""
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def uleb(self) -> int:
        """An unsigned number as LEB128."""
        result = shift = 0
        while True:
            byte = self.u8()
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return result

    def sleb(self) -> int:
        """A signed number as LEB128."""
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def block(self) -> bytes:
        """Bytes behind their count, which is a LEB128 number."""
        size = self.uleb()
        self.at += size
        return self.data[self.at - size : self.at]
