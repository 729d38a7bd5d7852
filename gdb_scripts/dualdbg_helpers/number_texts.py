"""Numbers of C++ as texts, from their bytes. Pure."""

from __future__ import annotations

import math
import struct
from typing import Any, Callable

from .errors import Implausible


def number_text(format_: str) -> Callable[[Any, bytes], str]:
    """The texts of numbers of this format of :mod:`struct`."""

    def text(_target: Any, data: bytes) -> str:
        return str(struct.unpack(format_, data)[0])

    return text


def double_text(_target: Any, data: bytes) -> str:
    """A number of double precision."""
    return repr(struct.unpack("<d", data)[0])


def float_text(_target: Any, data: bytes) -> str:
    """The shortest decimal that is this number of single precision."""
    number = struct.unpack("<f", data)[0]
    texts = (repr(float("%.*g" % (digits, number))) for digits in range(6, 10))
    return next((text for text in texts if struct.pack("<f", float(text)) == data), repr(number))


def bool_text(_target: Any, data: bytes) -> str:
    """``true`` or ``false``. Raises Implausible for any other byte."""
    if data[0] > 1:
        raise Implausible("no bool: %d" % data[0])
    return "true" if data[0] else "false"


def half_text(_target: Any, data: bytes) -> str:
    """A number of half precision."""
    return repr(struct.unpack("<e", data)[0])


def complex_text(size: int) -> Callable[[Any, bytes], str]:
    """The texts of complex numbers whose parts have this many bytes."""
    one = float_text if size == 4 else double_text
    return lambda target, data: "%s + %si" % (one(target, data[:size]), one(target, data[size:]))


def x87_text(_target: Any, data: bytes) -> str:
    """The double that is nearest to a number of the x87: 64 bits of mantissa, 15 of exponent, a sign."""
    mantissa, rest = struct.unpack("<QH", data[:10])
    exponent, sign = rest & 0x7FFF, -1.0 if rest >> 15 else 1.0
    if exponent == 0x7FFF:
        return repr(sign * float("inf")) if not mantissa << 1 & (1 << 64) - 1 else "nan"
    try:
        return repr(sign * math.ldexp(mantissa, exponent - 16383 - 63))
    except OverflowError:
        return "%s0x%xp%d" % ("-" if sign < 0 else "", mantissa, exponent - 16383 - 63)
