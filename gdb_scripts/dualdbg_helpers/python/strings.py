"""Python's ``str``, ``bytes`` and ``int`` objects."""

from dualdbg_shared import cpython as L

from ..errors import Implausible
from .interpreter import Interpreter

MAX_DIGITS = 4000
"""Digits (of 30 bits) of the longest ``int`` that is read whole."""


class Strings:
    """Reads strings and integers of one target."""

    def __init__(self, target):
        self._memory = target.memory
        self._layout = target.decoder(Interpreter).layout

    def text(self, address, limit):
        """Up to ``limit`` characters of the ``str`` object at ``address``."""
        return self.part(address, limit)[0]

    def part(self, address, limit):
        """``(text, length)``: ``limit`` characters (0: all) of the ``str`` at ``address``, and how many it has."""
        memory, layout = self._memory, self._layout
        kind_of = memory.pointer(address + layout.ob_type)
        if not memory.u64(kind_of + layout.tp_flags) & L.STR:
            raise Implausible(f"no str at 0x{address:x}")
        length = memory.i64(address + layout.str_length)
        state = L.string_state(memory.u32(address + layout.str_state))
        if length < 0 or state is None:
            raise Implausible(f"no str at 0x{address:x}")
        kind = state.kind
        if state.compact:
            data = address + (layout.str_ascii if state.ascii else layout.str_compact)
        else:
            data = memory.pointer(address + layout.str_compact)
        count = min(length, limit) if limit else length
        raw = memory.read(data, count * kind)
        if kind == 1:
            return raw.decode("latin-1"), length
        try:
            return raw.decode("utf-16-le" if kind == 2 else "utf-32-le", "surrogatepass"), length
        except UnicodeDecodeError as error:  # no characters: what was there is gone
            raise Implausible(f"no str at 0x{address:x}") from error

    def bytes_part(self, address, limit):
        """``(bytes, length)`` of the ``bytes`` object at ``address``."""
        length = self._size(address)
        count = min(length, limit) if limit else length
        return self._memory.read(address + self._layout.bytes_data, count), length

    def bytearray_part(self, address, limit):
        """The first ``limit`` bytes of a bytearray (0: all), and how many it has."""
        length = self._size(address)
        count = min(length, limit) if limit else length
        # ob_start, after ob_alloc and ob_bytes.
        start = self._memory.pointer(address + self._layout.var_head + 16)
        return self._memory.read(start, count) if count else b"", length

    def _size(self, address):
        length = self._memory.i64(address + self._layout.head)
        if length < 0:
            raise Implausible(f"a negative length at 0x{address:x}")
        return length

    def integer(self, address):
        """The value of the ``int`` at ``address``; raises :class:`Implausible` when it is too long to be true."""
        memory, layout = self._memory, self._layout
        head = memory.i64(address + layout.head)
        # lv_tag: 2 bits of sign (0 positive, 1 zero, 2 negative), 1 bit, number of digits.
        if layout.minor >= 12:
            count, sign = head >> 3, (1, 0, -1, 0)[head & 3]
        else:
            count, sign = abs(head), (head > 0) - (head < 0)
        if count == 0 or sign == 0:
            return 0
        if count > MAX_DIGITS:
            raise Implausible(f"an int of {count * L.INT_DIGIT_BITS} bits at 0x{address:x}")
        raw = memory.read(address + layout.var_head, 4 * count)
        value = 0
        for i in range(count - 1, -1, -1):
            value = value << L.INT_DIGIT_BITS | int.from_bytes(raw[4 * i : 4 * i + 4], "little")
        return sign * value

    def number(self, address):
        """The value of the ``float`` at ``address``."""
        return self._memory.f64(address + self._layout.head)
