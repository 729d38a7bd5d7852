"""The element types of tensors: their names, sizes, and how their bytes become Python numbers.

Names and sizes: c10/core/ScalarType.h; the float8 kinds: c10/util/Float8_*.h (arXiv:2209.05433, arXiv:2206.02915
and the OCP microscaling formats).
"""

import struct
from array import array


class DType:
    """One element type. ``kind`` is "float", "int", "bool", "complex", "quantized" or "bits".

    ``decode(data)`` turns bytes into a sequence of numbers; for complex types real and imaginary parts alternate.
    """

    __slots__ = ("decode", "kind", "name", "scalar_type", "size")

    def __init__(self, scalar_type, name, size, kind, decode):
        self.scalar_type = scalar_type
        self.name = name
        self.size = size
        self.kind = kind
        self.decode = decode

    @property
    def complex(self):
        """Whether its numbers are complex."""
        return self.kind == "complex"


def _array(code):
    def decode(data):
        values = array(code)
        values.frombytes(data)
        return values

    return decode


def _half(data):
    return array("d", struct.unpack(f"<{len(data) // 2}e", data))


def _bfloat16(data):
    wide = bytearray(2 * len(data))
    wide[2::4] = data[0::2]
    wide[3::4] = data[1::2]
    return _array("f")(bytes(wide))


def _bool(data):
    return [byte != 0 for byte in data]


def _lookup(table):
    def decode(data):
        return [table[byte] for byte in data]

    return decode


def _float8(exponent_bits, bias, finite_only, unsigned_zero):
    """The 256 values of a float8 with a sign, ``exponent_bits`` and the rest mantissa.

    ``finite_only``: no infinities, all ones is NaN; ``unsigned_zero``: 0x80 is the only NaN ("fnuz").
    """
    mantissa_bits = 7 - exponent_bits
    top = (1 << exponent_bits) - 1
    table = []
    for byte in range(256):
        sign = -1.0 if byte & 0x80 else 1.0
        exponent = byte >> mantissa_bits & top
        mantissa = byte & (1 << mantissa_bits) - 1
        fraction = mantissa / (1 << mantissa_bits)
        if unsigned_zero and byte == 0x80:
            value = float("nan")
        elif not unsigned_zero and exponent == top and (not finite_only or byte & 0x7F == 0x7F):
            value = float("nan") if finite_only or mantissa else sign * float("inf")
        elif exponent == 0:
            value = sign * fraction * 2.0 ** (1 - bias)
        else:
            value = sign * (1 + fraction) * 2.0 ** (exponent - bias)
        table.append(value)
    return table


_E8M0 = [2.0 ** (byte - 127) for byte in range(255)] + [float("nan")]

_ROWS = (
    ("Byte", "uint8", 1, "int", _array("B")),
    ("Char", "int8", 1, "int", _array("b")),
    ("Short", "int16", 2, "int", _array("h")),
    ("Int", "int32", 4, "int", _array("i")),
    ("Long", "int64", 8, "int", _array("q")),
    ("UInt16", "uint16", 2, "int", _array("H")),
    ("UInt32", "uint32", 4, "int", _array("I")),
    ("UInt64", "uint64", 8, "int", _array("Q")),
    ("Half", "float16", 2, "float", _half),
    ("Float", "float32", 4, "float", _array("f")),
    ("Double", "float64", 8, "float", _array("d")),
    ("BFloat16", "bfloat16", 2, "float", _bfloat16),
    ("Float8_e5m2", "float8_e5m2", 1, "float", _lookup(_float8(5, 15, False, False))),
    ("Float8_e4m3fn", "float8_e4m3fn", 1, "float", _lookup(_float8(4, 7, True, False))),
    ("Float8_e5m2fnuz", "float8_e5m2fnuz", 1, "float", _lookup(_float8(5, 16, True, True))),
    ("Float8_e4m3fnuz", "float8_e4m3fnuz", 1, "float", _lookup(_float8(4, 8, True, True))),
    ("Float8_e8m0fnu", "float8_e8m0fnu", 1, "float", _lookup(_E8M0)),
    ("Float4_e2m1fn_x2", "float4_e2m1fn_x2", 1, "float", _array("B")),
    ("ComplexHalf", "complex32", 4, "complex", _half),
    ("ComplexFloat", "complex64", 8, "complex", _array("f")),
    ("ComplexDouble", "complex128", 16, "complex", _array("d")),
    ("Bool", "bool", 1, "bool", _bool),
    ("QInt8", "qint8", 1, "quantized", _array("b")),
    ("QUInt8", "quint8", 1, "quantized", _array("B")),
    ("QInt32", "qint32", 4, "quantized", _array("i")),
    ("QUInt4x2", "quint4x2", 1, "quantized", None),
    ("QUInt2x4", "quint2x4", 1, "quantized", None),
    ("Bits1x8", "bits1x8", 1, "bits", None),
    ("Bits2x4", "bits2x4", 1, "bits", None),
    ("Bits4x2", "bits4x2", 1, "bits", None),
    ("Bits8", "bits8", 1, "bits", None),
    ("Bits16", "bits16", 2, "bits", None),
    *tuple(
        (f"{prefix}{width}", f"{prefix.lower()}{width}", 1, "bits", None)
        for prefix in ("UInt", "Int")
        for width in range(1, 8)
    ),
)

BY_SCALAR_TYPE = {row[0]: DType(*row) for row in _ROWS}
"""Element types by the enumerator of ``c10::ScalarType``."""
