"""numpy's arrays and scalars, read from memory (numpy/_core/include/numpy/ndarraytypes.h)."""

from __future__ import annotations

import math
import struct
from typing import Any

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
CUT = object()


class Array:
    """An array: ``dtype`` is its name, ``code`` the letter of its family, ``kind`` its ``type_num``,
    ``size`` the bytes of an element."""

    __slots__ = ("address", "code", "count", "data", "dtype", "kind", "shape", "size", "strides", "swapped")
    address: int
    code: str
    count: int
    data: int
    dtype: str
    kind: int
    shape: Any
    size: int
    strides: Any
    swapped: bool


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
        found.code = kind
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
        name, kind = dtype_text(found), objects.types.of(address)
        class_ = "array" if kind.is_exactly("numpy.ndarray") else kind.name
        if found.count == 0:
            shape = [] if len(found.shape) == 1 else [f"shape={tuple_text(found.shape)}"]
            return f"{class_}({', '.join(['[]', *shape, f'dtype={name}'])})"
        if depth > 0:
            return f"{class_}(shape={tuple_text(found.shape)}, dtype={name})"
        cut = found.count > THRESHOLD
        try:
            nested = self.nested(found, cut)
        except Unreadable as error:
            body = str(error)
            extras = [f"shape={tuple_text(found.shape)}", f"strides={tuple_text(found.strides)}"]
        else:
            body = laid_out(self, objects, found, nested, len(class_) + 1)
            extras = [f"shape={tuple_text(found.shape)}"] if cut else []
        if name not in ("bool", "int64", "float64", "complex128"):
            extras.append(f"dtype={name}")
        return _with_extras(f"{class_}({body}", extras, len(class_) + 1)

    def nested(self, found, cut):
        """The values as lists in lists, or the one value of an array without dimensions; ``cut`` leaves out the middle
        of each dimension and puts :data:`CUT` there."""
        return self._nested(found, 0, found.data, cut)

    def leaves(self, nested, dimensions):
        """The values in what :meth:`nested` gave, one after the other."""
        return _leaves(nested, dimensions)

    def form(self, objects, found, nested):
        """The function that writes one element of what :meth:`nested` gave."""
        return self._format(objects, found, _leaves(nested, len(found.shape)))

    def _nested(self, found, level, place, cut):
        if level == len(found.shape):
            return self._values(found, place, 1, 0)[0]
        length, stride = found.shape[level], found.strides[level]
        ranges: list[tuple[int, int] | None] = [(0, length)]
        if cut and length > 2 * EDGE_ITEMS:
            ranges = [(0, EDGE_ITEMS), None, (length - EDGE_ITEMS, length)]
        values = []
        for part in ranges:
            if part is None:
                values.append(CUT)
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
        return self._decode(found, data, count)

    def _decode(self, found, data, count):
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
        pieces = [data[size * i : size * (i + 1)] for i in range(count)]  # a dtype may have no size
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
            return repr
        if found.kind == OBJECT:
            return lambda value: objects.text(value.address, 1)
        if found.dtype.startswith("float"):
            return FloatFormat(values, found.dtype)
        if found.dtype.startswith("complex"):
            half = "float32" if found.dtype == "complex64" else "float64"
            real = FloatFormat([value.real for value in values], half)
            imaginary = FloatFormat([value.imag for value in values], half, signed=True)
            return lambda value: real(value.real) + _with_j(imaginary(value.imag))
        width = max(len(str(value)) for value in values)
        if found.dtype == "bool" and found.shape:
            width = len("False")
        return lambda value: str(value).rjust(width)

    def scalar(self, kind, address):
        """The numpy scalar at ``address``, as numpy 2 prints it: ``np.float64(1.5)``."""
        dtype = _SCALARS.get(kind.tp_name)
        if dtype is None:
            return f"<{kind.full_name} at 0x{address:x}>"
        values = dtype.decode(self._memory.read(address + self._head, dtype.size))
        if dtype.kind == "bool":
            return f"np.{values[0]}_"
        if dtype.complex:
            part = "float32" if dtype.name == "complex64" else "float64"
            # numpy writes the parts as %g does: without a point where there is no fraction.
            real, imaginary = (_without_fraction(_scalar_text(value, part)) for value in values[:2])
            text = real + ("" if imaginary.startswith("-") else "+") + imaginary + "j"
        else:
            text = _scalar_text(values[0], dtype.name) if dtype.kind == "float" else repr(values[0])
        return f"np.{kind.name}({text})"


def _scalar_text(value, dtype):
    """A floating scalar: positional between 1e-4 and the largest number that ``dtype`` holds to the last digit."""
    text = shortest(value, dtype)
    if not math.isfinite(value) or dtype == "float64":
        return text
    if value and not 1e-4 <= abs(value) < _LARGEST_POSITIONAL[dtype]:
        digits = len(_digits_of(text)) - 1
        return "{:.{}e}".format(value, max(digits, 0))
    return text


def _without_fraction(text):
    return text[:-2] if text.endswith(".0") else text


def _digits_of(text):
    """The significant digits of a decimal number."""
    return text.lstrip("-").partition("e")[0].replace(".", "").strip("0") or "0"


def _with_j(text):
    """An imaginary part with its "j" behind the number, in front of the padding."""
    bare = text.rstrip()
    return bare + "j" + " " * (len(text) - len(bare))


def dtype_text(found):
    """The element type as the ``repr`` of an array names it; in quotes where it is not a plain name."""
    if found.kind in (STRING, UNICODE):
        return f"'{found.dtype}'"
    if found.swapped:
        return f"'>{found.code}{found.size}'"
    return found.dtype


def _with_extras(text, extras, indent):
    """``text`` and the ``extras`` behind it, on a new line where the last line has no room."""
    if not extras:
        return text + ")"
    text += ","
    last, shown = len(text) - (text.rfind("\n") + 1), ", ".join(extras) + ")"
    return text + ("\n" + " " * indent if last + len(shown) + 1 > LINE_WIDTH else " ") + shown


class _Pointer:
    def __init__(self, address):
        self.address = address


class _Raw:
    def __init__(self, data):
        self._data = data

    def __str__(self):
        return f"<{len(self._data)} bytes>"


_LARGEST_POSITIONAL = {"float16": 1e3, "float32": 1e6, "float64": 1e16}
"""Numbers of that type are written with an exponent from this one on, because they have no more digits (numpy 2.3)."""


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
        largest = min(1e8, _LARGEST_POSITIONAL[dtype])
        self._scientific = bool(nonzero) and (
            max(nonzero) >= largest or min(nonzero) < 1e-4 or max(nonzero) / min(nonzero) > 1000.0
        )
        self._left = self._right = 0
        texts = [self._digits(value) for value in values if math.isfinite(value)]
        behind = max((len(text.partition(".")[2]) for text in texts), default=0)
        self._right = max((len(text.partition(".")[2].partition("e")[0]) for text in texts), default=0)
        self._width = behind
        self._left = max((len(text.partition(".")[0]) for text in texts), default=0)
        special = max((len(self._special(value)) for value in values if not math.isfinite(value)), default=0)
        self._left = max(self._left, special - behind - 1)

    def _digits(self, value):
        sign = "+" if self._signed and math.copysign(1, value) > 0 else ""
        if self._scientific:
            # As many digits as the longest of the numbers needs, and those are exact.
            return sign + "{:#.{}e}".format(value, self._right or self._needed(value))
        text = shortest(value, self._dtype)
        if "e" in text or len(text.partition(".")[2]) > PRECISION:
            text = "{:.{}f}".format(value, PRECISION)
        head, _, tail = text.partition(".")
        return sign + head + "." + tail.rstrip("0")

    def _needed(self, value):
        """Digits behind the point that tell ``value`` apart, at most :data:`PRECISION`."""
        return min(PRECISION, len(_digits_of(shortest(value, self._dtype))) - 1)

    def _special(self, value):
        text = "nan" if value != value else "inf" if value > 0 else "-inf"
        return "+" + text if self._signed and not text.startswith("-") else text

    def __call__(self, value):
        if not math.isfinite(value):
            return self._special(value).rjust(self._left + 1 + self._width)
        head, _, tail = self._digits(value).partition(".")
        return head.rjust(self._left) + "." + (tail if self._scientific else tail.ljust(self._right))


def _leaves(nested, dimensions):
    if dimensions == 0:
        return [nested]
    if dimensions == 1:
        return [value for value in nested if value is not CUT]
    return [leaf for part in nested if part is not CUT for leaf in _leaves(part, dimensions - 1)]


def _level(nested, dimensions, form, indent, width):
    if dimensions == 0:
        return form(nested).strip()
    if dimensions > 1:
        inner = [
            " " if part is CUT else _level(part, dimensions - 1, form, indent + " ", width) for part in nested
        ]
        inner = ["..." if part is CUT else text for part, text in zip(nested, inner)]
        return "[" + ("," + "\n" * (dimensions - 1) + indent + " ").join(inner) + "]"
    lines, line = [], ""
    for i, value in enumerate(nested):
        word = "..." if value is CUT else form(value)
        last = i == len(nested) - 1
        separator = "" if last else ","
        room = width - len(indent) - 1
        if line and len(line) + 1 + len(word) + 1 > room:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word + separator
    lines.append(line)
    return "[" + ("\n" + indent + " ").join(lines) + "]"


def laid_out(arrays, objects, found, nested, indent, form=None):
    """The elements in lines below each other, behind a text of ``indent`` characters."""
    form = form or arrays.form(objects, found, nested)
    return _level(nested, len(found.shape), form, " " * indent, LINE_WIDTH - 1)


def tuple_text(shape):
    """A shape as Python writes a tuple: ``(3,)``, ``(3, 4)``."""
    return f"({shape[0]},)" if len(shape) == 1 else "({})".format(", ".join(map(str, shape)))
