"""The elements of a tensor: read with its strides, and counted."""

from __future__ import annotations

import math
import struct
from array import array
from typing import Any

from ..errors import HelperError
from .number_format import CUT, EDGE_ITEMS

CHUNK = 1 << 22
"""Bytes read at once, so that the time limit is looked at in between."""


class TensorValues:
    """Elements of one :class:`.tensor.Tensor` as Python numbers; complex ones as ``(real, imaginary)``.

    Raises :class:`HelperError` when the elements cannot be read from here (another device, no storage).
    """

    def __init__(self, target, tensor, dequantize=None):
        problem = why_unreadable(tensor)
        if problem:
            raise HelperError(f"The values cannot be shown: {problem}.")
        self._target = target
        self._tensor = tensor
        self._size = tensor.dtype.size
        self._zero = "ZeroTensor" in tensor.functions
        self._first = 0 if self._zero else tensor.storage.data + tensor.offset * self._size
        self._dequantize = dequantize

    def nested(self, cut):
        """Nested lists, one level a dimension; with ``cut`` the middle of long dimensions is :data:`CUT`."""
        return self._nested(0, 0, cut, ())

    def _nested(self, level, offset, cut, index):
        tensor = self._tensor
        if level == tensor.dim:
            return self._numbers(offset, 1, 1, index)[0]
        size, stride = tensor.sizes[level], tensor.strides[level]
        ranges = (
            [(0, EDGE_ITEMS), None, (size - EDGE_ITEMS, size)]
            if cut and size > 2 * EDGE_ITEMS
            else [(0, size)]
        )
        found = []
        for part in ranges:
            if part is None:
                found.append(CUT)
            elif level == tensor.dim - 1:
                start, end = part
                found.extend(self._numbers(offset + start * stride, end - start, stride, (*index, start)))
            else:
                for i in range(*part):
                    self._target.budget.tick()
                    found.append(self._nested(level + 1, offset + i * stride, cut, (*index, i)))
        return found

    def flat(self, limit):
        """The first ``limit`` elements in row-major order."""
        found = []
        for numbers in self._runs(limit):
            found.extend(numbers)
        return found

    def _runs(self, limit=None):
        """Sequences of elements in row-major order, ``limit`` elements in all."""
        tensor = self._tensor
        left = tensor.numel if limit is None else min(limit, tensor.numel)
        if left and tensor.dim == 0:
            yield self._numbers(0, 1, 1, ())
            return
        rows, length, stride = _merge(tensor.sizes, tensor.strides, self._dequantize is None)
        for offset, index in rows:
            if left <= 0:
                return
            count = min(length, left)
            step = max(1, CHUNK // self._size // max(1, abs(stride)))
            for start in range(0, count, step):
                self._target.budget.tick()
                piece = min(step, count - start)
                yield self._numbers(offset + start * stride, piece, stride, (*index, start))
            left -= count

    def _numbers(self, offset, count, stride, index):
        """``count`` elements from the element ``offset`` on, ``stride`` apart."""
        values = self._physical(offset, count, stride)
        tensor = self._tensor
        if tensor.dtype.complex:
            real, imaginary = values[0::2], values[1::2]
            if tensor.conjugate != tensor.negative:
                imaginary = [-value for value in imaginary]
            if tensor.negative:
                real = [-value for value in real]
            return list(zip(real, imaginary))
        if tensor.negative:
            values = [-value for value in values]
        if self._dequantize is not None:
            values = self._dequantize(values, index)
        return values

    def _physical(self, offset, count, stride):
        size = self._size
        if self._zero:
            return self._tensor.dtype.decode(bytes(size * count))
        start = self._first + offset * size
        if stride == 0:
            data = self._target.memory.read(start, size) * count
        elif stride == 1 or count == 1:
            data = self._target.memory.read(start, size * count)
        elif stride > 64:
            data = b"".join(self._target.memory.read(start + i * stride * size, size) for i in range(count))
        else:
            whole = self._target.memory.read(start, size * ((count - 1) * stride + 1))
            data = _every(whole, size, stride)
        return self._tensor.dtype.decode(data)

    def statistics(self):
        """``min``, ``max`` and ``mean`` of the elements that are numbers, and counts of ``nan`` and ``inf``.

        min, max and mean are None where there is no finite element, and for complex tensors (which have
        no order) only ``mean`` is given.
        """
        return _statistics(self._runs(), self._tensor.dtype)


def _merge(sizes, strides, join):
    """Rows of a strided tensor: an iterator of ``(offset, index)``, the length of a row and its stride.

    With ``join``, trailing dimensions that lie one behind the other are one row.
    """
    sizes, strides = list(sizes), list(strides)
    length, stride = sizes.pop(), strides.pop()
    merged = 0
    while join and sizes and (strides[-1] == length * stride or sizes[-1] == 1):
        length *= sizes.pop()
        strides.pop()
        merged += 1

    def rows(level, offset, index):
        if level == len(sizes):
            yield offset, index + (0,) * merged
            return
        for i in range(sizes[level]):
            for row in rows(level + 1, offset + i * strides[level], (*index, i)):
                yield row

    return rows(0, 0, ()), length, stride


def _every(data, size, stride):
    """The ``size`` byte elements of ``data`` that are ``stride`` elements apart."""
    code = {1: "B", 2: "H", 4: "I", 8: "Q"}.get(size)
    if code is None:  # 16 bytes: complex128
        words = array("Q", data)
        pairs = array("Q", bytes(2 * 8 * len(words[0 :: 2 * stride])))
        pairs[0::2] = words[0 :: 2 * stride]
        pairs[1::2] = words[1 :: 2 * stride]
        return pairs.tobytes()
    return array(code, data)[::stride].tobytes()


def why_unreadable(tensor):
    """Why the elements of ``tensor`` cannot be read from here, or None when they can."""
    if not tensor.defined:
        return "the tensor is undefined"
    if tensor.symbolic:
        return "its sizes are symbolic"
    if tensor.device == "meta":
        return "a meta tensor has no data"
    if not tensor.on_host:
        return f"on {tensor.device}, not readable from here"
    if tensor.dtype is None or tensor.dtype.decode is None:
        return "values of {} are not decoded".format(tensor.dtype.name if tensor.dtype else "this dtype")
    if "ZeroTensor" in tensor.functions:
        return None
    if tensor.storage is None:
        return f"the tensor has no storage ({tensor.class_name})"
    if tensor.numel and not tensor.storage.data:
        return "its storage holds no data (freed or not allocated)"
    if tensor.numel and tensor.storage.nbytes is not None:
        last = tensor.offset + sum((n - 1) * s for n, s in zip(tensor.sizes, tensor.strides))
        if (
            tensor.offset < 0
            or min(tensor.strides, default=0) < 0
            or (last + 1) * tensor.dtype.size > tensor.storage.nbytes
        ):
            return f"sizes and strides reach beyond the {tensor.storage.nbytes} bytes of its storage"
    return None


def affine_per_tensor(scale, zero_point):
    """A function from quantised integers to float32 values (aten/src/ATen/native/quantized/AffineQuantizer.cpp)."""

    def dequantize(values, index):
        return [_float32((value - zero_point) * scale) for value in values]

    return dequantize


def affine_per_channel(scales, zero_points, axis, dimensions):
    """As :func:`affine_per_tensor`, with a scale and a zero point for each index of dimension ``axis``."""

    def dequantize(values, index):
        if axis == dimensions - 1:
            start = index[axis]
            channels = list(range(start, start + len(values)))
        else:
            channels = [index[axis]] * len(values)
        return [_float32((value - zero_points[c]) * scales[c]) for value, c in zip(values, channels)]

    return dequantize


def _float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _statistics(runs, dtype):
    result: dict[str, Any] = {"min": None, "max": None, "mean": None, "nan": 0, "inf": 0, "count": 0}
    totals, finite_count = [], 0
    for values in runs:
        result["count"] += len(values)
        if dtype.complex:
            finite = [v for v in values if math.isfinite(v[0]) and math.isfinite(v[1])]
            result["nan"] += sum(1 for v in values if v[0] != v[0] or v[1] != v[1])
            result["inf"] += sum(1 for v in values if math.isinf(v[0]) or math.isinf(v[1]))
            totals.append((_sum([v[0] for v in finite]), _sum([v[1] for v in finite])))
        else:
            finite = values
            if dtype.kind == "float":
                finite = _finite(values, result)
            if len(finite):
                low, high = min(finite), max(finite)
                result["min"] = low if result["min"] is None else min(low, result["min"])
                result["max"] = high if result["max"] is None else max(high, result["max"])
                totals.append(sum(finite) if dtype.kind != "float" else _sum(finite))
        finite_count += len(finite)
    if finite_count:
        if dtype.complex:
            result["mean"] = [_sum([t[i] for t in totals]) / finite_count for i in (0, 1)]
        else:
            result["mean"] = _sum(totals) / finite_count
    if dtype.kind == "bool" and finite_count:
        result["min"], result["max"] = bool(result["min"]), bool(result["max"])
    return result


def _sum(values):
    """The exactly rounded sum; infinite where it does not fit a float."""
    try:
        return math.fsum(values)
    except OverflowError:
        return sum(values)


def _finite(values, result):
    """The finite elements; NaN and Inf are counted in ``result``."""
    total = sum(values)
    if total - total == 0:  # a sum is finite only if every element is
        return values
    finite = [value for value in values if value - value == 0]
    if len(finite) < len(values):
        nan = sum(1 for value in values if value != value)
        result["nan"] += nan
        result["inf"] += len(values) - len(finite) - nan
    return finite
