"""Numbers laid out as PyTorch's ``repr`` lays them out.

The rules are those of ``torch/_tensor_str.py`` (PyTorch 2.x) with its default options: 4 digits, 1000
elements before the middle is left out, 3 elements at each edge, 80 columns.
"""

import math

PRECISION = 4
THRESHOLD = 1000
EDGE_ITEMS = 3
LINE_WIDTH = 80

CUT = object()
"""Stands for the elements that are left out in the middle of a dimension."""


class Format:
    """The common format of all ``values``; ``floating`` tells numbers with a decimal point from integers."""

    def __init__(self, values, floating):
        self._floating = floating
        self._integral = True
        self._scientific = False
        self.width = 1
        if floating:
            self._fit([value for value in values if value and math.isfinite(value)])
        else:
            self.width = max((len(str(value)) for value in values), default=1)

    def _fit(self, values):
        if not values:
            return
        sizes = [abs(value) for value in values]
        smallest, largest = min(sizes), max(sizes)
        self._integral = all(value == math.ceil(value) for value in values)
        self._scientific = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        # The decimal point that ends an integral number is not part of what is formatted here.
        point = 1 if self._integral and not self._scientific else 0
        self.width = max(1, max(len(self._bare(value)) for value in values) + point)

    def _bare(self, value):
        if self._scientific:
            return "{:.{}e}".format(value, PRECISION)
        if self._integral:
            return f"{value:.0f}"
        return "{:.{}f}".format(value, PRECISION)

    def __call__(self, value):
        if not self._floating:
            text = str(value)
        else:
            text = self._bare(value)
            if self._integral and not self._scientific and math.isfinite(value):
                text += "."
        return text.rjust(self.width)


class ComplexFormat:
    """The format of complex numbers, given as ``(real, imaginary)`` pairs."""

    def __init__(self, values):
        self._real = Format([value[0] for value in values], True)
        self._imaginary = Format([value[1] for value in values], True)
        self.width = self._real.width + self._imaginary.width + 1

    def __call__(self, value):
        imaginary = (self._imaginary(value[1]) + "j").lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return self._real(value[0]) + sign + imaginary


def leaves(nested, dimensions):
    """The elements of ``dimensions`` nested lists, cuts left out."""
    if dimensions == 0:
        return [nested]
    if dimensions == 1:
        return [value for value in nested if value is not CUT]
    return [leaf for part in nested if part is not CUT for leaf in leaves(part, dimensions - 1)]


def render(nested, dimensions, kind, indent):
    """``nested`` (lists of numbers, :data:`CUT` where elements are left out) as PyTorch prints it.

    ``kind`` is a :class:`.dtypes.DType` kind; ``indent`` the column at which the text will start.
    """
    elements = leaves(nested, dimensions)
    form = ComplexFormat(elements) if kind == "complex" else Format(elements, kind == "float")
    return _render(nested, dimensions, form, indent)


def _render(nested, dimensions, form, indent):
    if dimensions == 0:
        return form(nested)
    if dimensions == 1:
        per_line = max(1, (LINE_WIDTH - indent) // (form.width + 2))
        parts = [" ..." if value is CUT else form(value) for value in nested]
        lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if part is CUT else _render(part, dimensions - 1, form, indent + 1) for part in nested]
    return "[" + ("," + "\n" * (dimensions - 1) + " " * (indent + 1)).join(parts) + "]"
