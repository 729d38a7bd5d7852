"""numpy's arrays and scalars, read from memory (numpy/_core/include/numpy/ndarraytypes.h)."""

import math
import struct

from ..errors import Implausible, Unreadable
from ..torch.dtypes import BY_SCALAR_TYPE
from .interpreter import Interpreter

MAX_DIMENSIONS = 64
THRESHOLD = 1000
EDGE_ITEMS = 3
LINE_WIDTH = 75
PRECISION = 8

_NUMBERS = {
    # type_num: (name, torch's name of the same element type)
    0: ("bool", "Bool"),
    1: ("int8", "Char"),
    2: ("uint8", "Byte"),
    3: ("int16", "Short"),
    4: ("uint16", "UInt16"),
    5: ("int32", "Int"),
    6: ("uint32", "UInt32"),
    7: ("int64", "Long"),
    8: ("uint64", "UInt64"),
    9: ("int64", "Long"),
    10: ("uint64", "UInt64"),
    11: ("float32", "Float"),
    12: ("float64", "Double"),
    14: ("complex64", "ComplexFloat"),
    15: ("complex128", "ComplexDouble"),
    23: ("float16", "Half"),
}
OBJECT, STRING, UNICODE = 17, 18, 19
_SCALARS = {
    # tp_name of a scalar type: torch's name of the element type
    "numpy." + name: BY_SCALAR_TYPE[scalar]
    for name, scalar in [
        *list(_NUMBERS.values()),
        ("bool_", "Bool"),
        ("longlong", "Long"),
        ("ulonglong", "UInt64"),
    ]
}
_CUT = object()


class Array:
    """An array: ``dtype`` is its name, ``kind`` its ``type_num``, ``size`` the bytes of an element."""

    __slots__ = ("address", "count", "data", "dtype", "kind", "shape", "size", "strides", "swapped")


class Arrays:
    """Reads numpy arrays and scalars of one target."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self._head = target.decoder(Interpreter).layout.head

    def read(self, address):
        """The :class:`Array` at ``address``; raises :class:`Implausible`."""
        memory, base = self._memory, address + self._head
        found = Array()
        found.address = address
        found.data = memory.pointer(base)
        dimensions = memory.i32(base + 8)
        if not 0 <= dimensions <= MAX_DIMENSIONS:
            raise Implausible(f"no numpy array at 0x{address:x}")
        found.shape = memory.signed_words(memory.pointer(base + 16), dimensions)
        found.strides = memory.signed_words(memory.pointer(base + 24), dimensions)
        found.count = 1
        for length in found.shape:
            if length < 0:
                raise Implausible(f"no numpy array at 0x{address:x}")
            found.count *= length
        self._element(memory.pointer(base + 40), found)
        return found

    def _element(self, descr, found):
        memory, base = self._memory, descr + self._head
        kind, _, order = (chr(c) for c in memory.read(base + 8, 3))
        found.kind = memory.i32(base + 12)
        found.swapped = order == ">"
        # numpy 1: elsize is an int at 16; numpy 2: flags are there, and elsize 8 bytes further on.
        first, second = memory.i32(base + 16), memory.i32(base + 20)
        old = first > 0 and second in (1, 2, 4, 8, 16)
        found.size = first if old else memory.i64(base + 24)
        if found.kind in _NUMBERS:
            found.dtype = _NUMBERS[found.kind][0]
            expected = BY_SCALAR_TYPE[_NUMBERS[found.kind][1]].size
            if found.size != expected:
                raise Implausible(f"no numpy dtype at 0x{descr:x}")
        elif found.kind == UNICODE:
            found.dtype = f"<U{found.size // 4}"
        elif found.kind == STRING:
            found.dtype = f"|S{found.size}"
        elif found.kind == OBJECT:
            found.dtype = "object"
        else:
            found.dtype = f"{kind}{found.size}"

    def text(self, objects, address, depth=0):
        """The array as numpy prints it; values of types that are not numbers, texts or objects are left out."""
        found = self.read(address)
        if found.count == 0:
            default = found.dtype in ("float64",)
            shape = "" if len(found.shape) == 1 else f", shape={_tuple_text(found.shape)}"
            return "array([]{}{})".format(shape, "" if default and shape else ", dtype=" + found.dtype)
        if depth > 0:
            return f"array(shape={_tuple_text(found.shape)}, dtype={found.dtype})"
        plain = found.dtype in ("bool", "int64", "float64", "complex128")
        suffix = (
            ""
            if plain
            else ", dtype={}".format(f"'{found.dtype}'" if found.kind in (STRING, UNICODE) else found.dtype)
        )
        try:
            nested = self._nested(found, 0, found.data, found.count > THRESHOLD)
        except Unreadable as error:
            nested = None
            body = str(error)
        if nested is not None:
            values = _leaves(nested, len(found.shape))
            form = self._format(objects, found, values)
            body = _level(nested, len(found.shape), form, " " * len("array("), LINE_WIDTH - 1)
        if found.count > THRESHOLD:
            suffix = f", shape={_tuple_text(found.shape)}" + suffix
        return f"array({body}{suffix})"

    def _nested(self, found, level, place, cut):
        if level == len(found.shape):
            return self._values(found, place, 1, 0)[0]
        length, stride = found.shape[level], found.strides[level]
        ranges = [(0, length)]
        if cut and length > 2 * EDGE_ITEMS:
            ranges = [(0, EDGE_ITEMS), None, (length - EDGE_ITEMS, length)]
        values = []
        for part in ranges:
            if part is None:
                values.append(_CUT)
            elif level == len(found.shape) - 1:
                values.extend(self._values(found, place + part[0] * stride, part[1] - part[0], stride))
            else:
                for i in range(*part):
                    self._target.budget.tick()
                    values.append(self._nested(found, level + 1, place + i * stride, cut))
        return values

    def _values(self, found, place, count, stride):
        memory, size = self._memory, found.size
        if stride == size or count == 1:
            data = memory.read(place, size * count)
        else:
            data = b"".join(memory.read(place + i * stride, size) for i in range(count))
        return self._decode(found, data)

    def _decode(self, found, data):
        size = found.size
        if found.kind in _NUMBERS:
            dtype = BY_SCALAR_TYPE[_NUMBERS[found.kind][1]]
            part = size // 2 if dtype.complex else size
            if found.swapped and part > 1:
                data = b"".join(data[i : i + part][::-1] for i in range(0, len(data), part))
            values = dtype.decode(data)
            return (
                [complex(*pair) for pair in zip(values[0::2], values[1::2])]
                if dtype.complex
                else list(values)
            )
        pieces = [data[i : i + size] for i in range(0, len(data), size)]
        if found.kind == STRING:
            return [piece.rstrip(b"\0") for piece in pieces]
        if found.kind == UNICODE:
            encoding = "utf-32-be" if found.swapped else "utf-32-le"
            return [piece.decode(encoding, "replace").rstrip("\0") for piece in pieces]
        if found.kind == OBJECT:
            return [_Pointer(int.from_bytes(piece, "little")) for piece in pieces]
        return [_Raw(piece) for piece in pieces]

    def _format(self, objects, found, values):
        if found.kind in (STRING, UNICODE):
            width = max(len(repr(value)) for value in values)
            return lambda value: repr(value).ljust(width)
        if found.kind == OBJECT:
            return lambda value: objects.text(value.address, 1)
        if found.dtype.startswith("float"):
            return FloatFormat(values, found.dtype)
        if found.dtype.startswith("complex"):
            half = "float32" if found.dtype == "complex64" else "float64"
            real = FloatFormat([value.real for value in values], half)
            imaginary = FloatFormat([value.imag for value in values], half, signed=True)
            return lambda value: real(value.real) + imaginary(value.imag).rstrip() + "j"
        width = max(len(str(value)) for value in values)
        return lambda value: str(value).rjust(width)

    def scalar(self, kind, address):
        """The numpy scalar at ``address``, as numpy 2 prints it: ``np.float64(1.5)``."""
        dtype = _SCALARS.get(kind.tp_name)
        if dtype is None:
            return f"<{kind.full_name} at 0x{address:x}>"
        values = dtype.decode(self._memory.read(address + self._head, dtype.size))
        value = complex(*values) if dtype.complex else values[0]
        if dtype.kind == "float" and dtype.name != "float64" and math.isfinite(value):
            text = shortest(value, dtype.name)
        else:
            text = repr(value)
        return "np.{}({})".format("bool" if dtype.name == "bool" else kind.name, text)


class _Pointer:
    def __init__(self, address):
        self.address = address


class _Raw:
    def __init__(self, data):
        self._data = data

    def __str__(self):
        return f"<{len(self._data)} bytes>"


def shortest(value, dtype):
    """The shortest decimal text that reads back as ``value`` in ``dtype`` ("float16", "float32", "float64")."""
    if dtype == "float64":
        return repr(value)
    for digits in range(1, 10):
        text = repr(float("{:.{}e}".format(value, digits - 1)))
        if _rounded(float(text), dtype) == value:
            return text
    return repr(value)


def _rounded(value, dtype):
    """``value`` rounded to ``dtype``."""
    code = "<e" if dtype == "float16" else "<f"
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


class FloatFormat:
    """Floats aligned on their points, as many digits as tell them apart, at most :data:`PRECISION` after the point."""

    def __init__(self, values, dtype, signed=False):
        self._dtype = dtype
        self._signed = signed
        finite = [abs(value) for value in values if math.isfinite(value)]
        nonzero = [value for value in finite if value]
        self._scientific = bool(nonzero) and (
            max(nonzero) >= 1e8 or min(nonzero) < 1e-4 or max(nonzero) / min(nonzero) > 1000.0
        )
        self._left = self._right = 0
        texts = [self._digits(value) for value in values if math.isfinite(value)]
        self._right = max((len(text.partition(".")[2].partition("e")[0]) for text in texts), default=0)
        self._left = max((len(text.partition(".")[0]) for text in texts), default=0)
        special = max((len(self._special(value)) for value in values if not math.isfinite(value)), default=0)
        self._left = max(self._left, special - self._right - 1)

    def _digits(self, value):
        sign = "+" if self._signed and math.copysign(1, value) > 0 else ""
        if self._scientific:
            text = self._exponent_text(value)
        else:
            text = shortest(value, self._dtype)
            if "e" in text or len(text.partition(".")[2]) > PRECISION:
                text = "{:.{}f}".format(value, PRECISION)
            head, _, tail = text.partition(".")
            text = head + "." + tail.rstrip("0")
        return sign + text

    def _exponent_text(self, value):
        digits = shortest(value, self._dtype).lstrip("-").partition("e")[0].replace(".", "").strip("0")
        text = "{:.{}e}".format(value, min(PRECISION, max(len(digits) - 1, 0)))
        mantissa, _, exponent = text.partition("e")
        head, _, tail = mantissa.partition(".")
        return head + "." + tail + "e" + exponent

    def _special(self, value):
        text = "nan" if value != value else "inf" if value > 0 else "-inf"
        return "+" + text if self._signed and not text.startswith("-") else text

    def __call__(self, value):
        if not math.isfinite(value):
            return self._special(value).rjust(self._left + 1 + self._right)
        head, _, tail = self._digits(value).partition(".")
        if self._scientific:
            mantissa, _, exponent = tail.partition("e")
            return head.rjust(self._left) + "." + mantissa.ljust(self._right, "0") + "e" + exponent
        return head.rjust(self._left) + "." + tail.ljust(self._right)


def _leaves(nested, dimensions):
    if dimensions == 0:
        return [nested]
    if dimensions == 1:
        return [value for value in nested if value is not _CUT]
    return [leaf for part in nested if part is not _CUT for leaf in _leaves(part, dimensions - 1)]


def _level(nested, dimensions, form, indent, width):
    if dimensions == 0:
        return form(nested).strip()
    if dimensions > 1:
        inner = [
            " " if part is _CUT else _level(part, dimensions - 1, form, indent + " ", width)
            for part in nested
        ]
        inner = ["..." if part is _CUT else text for part, text in zip(nested, inner)]
        return "[" + ("," + "\n" * (dimensions - 1) + indent + " ").join(inner) + "]"
    lines, line = [], ""
    for i, value in enumerate(nested):
        word = "..." if value is _CUT else form(value)
        last = i == len(nested) - 1
        separator = "" if last else ","
        room = width - len(indent) - 1
        if line and len(line) + 1 + len(word) + 1 > room:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word + separator
    lines.append(line)
    return "[" + ("\n" + indent + " ").join(lines) + "]"


def _tuple_text(shape):
    return f"({shape[0]},)" if len(shape) == 1 else "({})".format(", ".join(map(str, shape)))
