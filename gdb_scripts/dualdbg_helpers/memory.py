"""Bounded reads of the inferior's memory, kept page by page for the time of one command."""

import struct

from .errors import Unreadable

PAGE = 4096
_U16 = struct.Struct("<H").unpack_from
_U32 = struct.Struct("<I").unpack_from
_U64 = struct.Struct("<Q").unpack_from
_I32 = struct.Struct("<i").unpack_from
_I64 = struct.Struct("<q").unpack_from
_F64 = struct.Struct("<d").unpack_from

MAX_READ = 1 << 30
"""The largest single read, in bytes: a length that was read from garbage must not exhaust our own memory."""


class Memory:
    """Little-endian, 64-bit memory.

    ``read(address, size)`` returns the bytes or raises :class:`Unreadable`. Pages are kept, so an
    instance is good for one command: the inferior must not run in between.
    """

    def __init__(self, read):
        self._read = read
        self._pages = {}

    def _page(self, number):
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = self._read(number * PAGE, PAGE)
        return page

    def read(self, address, size):
        """``size`` bytes at ``address``; raises :class:`Unreadable`."""
        if size == 0:
            return b""
        if address < 0 or size < 0 or size > MAX_READ or address + size > 1 << 64:
            raise Unreadable(address & (1 << 64) - 1)
        first, offset = divmod(address, PAGE)
        if offset + size > 4 * PAGE:
            return self._read(address, size)
        try:
            if offset + size <= PAGE:
                return self._page(first)[offset : offset + size]
            pages = [self._page(n) for n in range(first, (address + size - 1) // PAGE + 1)]
            return b"".join(pages)[offset : offset + size]
        except Unreadable:
            # A core file may hold a part of a page only.
            return self._read(address, size)

    def _scalar(self, unpack, size, address):
        offset = address & (PAGE - 1)
        if offset <= PAGE - size and 0 <= address < 1 << 64:
            page = self._pages.get(address >> 12)
            if page is not None:
                return unpack(page, offset)[0]
        return unpack(self.read(address, size), 0)[0]

    def u8(self, address):
        """One byte, unsigned."""
        return self.read(address, 1)[0]

    def i8(self, address):
        """One byte, signed."""
        value = self.read(address, 1)[0]
        return value - 256 if value > 127 else value

    def u16(self, address):
        """An unsigned number of 2 bytes."""
        return self._scalar(_U16, 2, address)

    def u32(self, address):
        """An unsigned number of 4 bytes."""
        return self._scalar(_U32, 4, address)

    def i32(self, address):
        """A signed number of 4 bytes."""
        return self._scalar(_I32, 4, address)

    def u64(self, address):
        """An unsigned number of 8 bytes."""
        return self._scalar(_U64, 8, address)

    def i64(self, address):
        """A signed number of 8 bytes."""
        return self._scalar(_I64, 8, address)

    def f64(self, address):
        """A floating-point number of 8 bytes."""
        return self._scalar(_F64, 8, address)

    pointer = u64

    def words(self, address, count):
        """``count`` unsigned 64-bit words at ``address``, as a tuple."""
        return struct.unpack(f"<{count}Q", self.read(address, 8 * count))

    def signed_words(self, address, count):
        """``count`` signed 64-bit words at ``address``, as a tuple."""
        return struct.unpack(f"<{count}q", self.read(address, 8 * count))

    def c_string(self, address, limit=4096):
        """The bytes up to the first NUL, at most ``limit``."""
        found = b""
        while len(found) < limit:
            step = min(limit - len(found), PAGE - address % PAGE)
            piece = self.read(address, step)
            end = piece.find(b"\0")
            if end >= 0:
                return found + piece[:end]
            found += piece
            address += step
        return found

    def readable(self, address, size=1):
        """Whether ``size`` bytes at ``address`` can be read."""
        try:
            self.read(address, size)
        except Unreadable:
            return False
        return True
