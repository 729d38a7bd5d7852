"""Elements of C++ containers by their numbers, from the layout in libstdc++: what is not there is said.

GCC's own functions for gdb read behind the end of a ``std::vector``, and up to GCC 13 take every ``std::deque`` to
begin at the start of a block. Of most of the other containers here they know nothing.
"""

import re

import gdb
import gdb.xmethod

from . import language, libcxx


def name_of(value):
    """The name of a value's type, without typedefs and qualifiers."""
    return value.type.strip_typedefs().unqualified().name or ""


refused = []  # what was said of elements that are not there: gdb has another text for what a method raises


class _Sequence:
    """``size`` elements, each of which :meth:`_at` reads."""

    size = 0

    def element(self, index):
        """The element at ``index``. Raises gdb.GdbError outside of the container."""
        if not 0 <= index < self.size:
            refused.append(f"there is no element {index}: it has {self.size}")
            raise gdb.GdbError(refused[-1])
        return self._at(index)

    def _at(self, index):
        raise NotImplementedError


class Deque(_Sequence):
    """A ``std::deque``: blocks of elements, the first of which begins somewhere inside (bits/stl_deque.h)."""

    def __init__(self, value):
        start, finish = value["_M_impl"]["_M_start"], value["_M_impl"]["_M_finish"]
        element = start["_M_cur"].type.strip_typedefs().target()
        self._per_block = 512 // element.sizeof if element.sizeof < 512 else 1
        self._nodes = start["_M_node"]
        self._first = int(start["_M_cur"] - start["_M_first"])
        blocks = int(finish["_M_node"] - start["_M_node"])
        self.size = blocks * self._per_block + int(finish["_M_cur"] - finish["_M_first"]) - self._first

    def _at(self, index):
        place = self._first + index
        return self._nodes[place // self._per_block][place % self._per_block]


class _Row(_Sequence):
    """Elements side by side."""

    def __init__(self, first, size):
        self._first, self.size = first, size

    def _at(self, index):
        return self._first[index]


class _Bits(_Sequence):
    """Bits in words, of which the first begins ``offset`` bits before the first of them."""

    def __init__(self, word, offset, size):
        self._word, self._offset, self.size = word, offset, size

    def _at(self, index):
        place = self._offset + index
        word = self._word(place // _WORD)
        return gdb.Value(bool(int(word) >> place % _WORD & 1)).cast(language.find_type("bool"))


_WORD = 64  # bits of an unsigned long on the processors that we know


def _vector(value):
    """bits/stl_vector.h, bits/stl_bvector.h"""
    start, finish = value["_M_impl"]["_M_start"], value["_M_impl"]["_M_finish"]
    if start.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return _Row(start, int(finish - start))
    words = start["_M_p"]
    ends = int(finish["_M_p"] - words) * _WORD + int(finish["_M_offset"])
    offset = int(start["_M_offset"])
    return _Bits(lambda number: words[number], offset, ends - offset)


def _array(value):
    """std/array"""
    size = int(value.type.strip_typedefs().template_argument(1))
    return _Row(value["_M_elems"] if size else None, size)


def _span(value):
    """std/span"""
    extent = value["_M_extent"]
    names = [field.name for field in extent.type.strip_typedefs().fields()]
    fixed = value.type.strip_typedefs().template_argument(1)
    size = extent["_M_extent_value"] if "_M_extent_value" in names else fixed
    return _Row(value["_M_ptr"], int(size))


def _view(value):
    """std/string_view"""
    return _Row(value["_M_str"], int(value["_M_len"]))


def _bitset(value):
    """std/bitset"""
    words, size = value["_M_w"], int(value.type.strip_typedefs().template_argument(0))
    is_array = words.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY
    return _Bits(lambda number: words[number] if is_array else words, 0, size)


_READERS = {
    "deque": Deque,
    "vector": _vector,
    "array": _array,
    "span": _span,
    "basic_string_view": _view,
    "bitset": _bitset,
}
_NAME = re.compile(r"^std::(?:__\w+::)?(%s)<.*>$" % "|".join(_READERS), re.DOTALL)


def of(value):
    """The elements of a container; None of what is none of these. Raises gdb.error where its layout is another one."""
    row = libcxx.elements(value)
    if row is not None:
        return _Row(*row)
    match = _NAME.match(name_of(value))
    return _READERS[match.group(1)](value) if match is not None else None


class _Worker(gdb.xmethod.XMethodWorker):  # type: ignore[misc]
    def __init__(self, element, method):
        self._element, self._method = element, method

    def get_arg_types(self):
        return language.find_type("unsigned long") if self._method in ("at", "operator[]") else None

    def get_result_type(self, value, index=None):
        plain = {"size": "unsigned long", "empty": "bool"}.get(self._method)
        return language.find_type(plain) if plain else self._element

    def __call__(self, value, index=None):
        is_this = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        sequence = of(value.dereference() if is_this else value)
        if self._method == "size":
            return sequence.size
        if self._method == "empty":
            return sequence.size == 0
        first_or_last = 0 if self._method == "front" else sequence.size - 1
        return sequence.element(int(index) if index is not None else first_or_last)


class Methods(gdb.xmethod.XMethodMatcher):  # type: ignore[misc]
    """Methods in the place of GCC's own, and of those that it has none of."""

    REPLACED = ("libstdc++::deque", "libstdc++::vector", "libstdc++::array")
    _NAMES = ("empty", "size", "front", "back", "at", "operator[]")

    def __init__(self):
        super().__init__("dualdbg::sequences")
        self.methods = [gdb.xmethod.XMethod(name) for name in self._NAMES]

    def match(self, class_type, method_name):
        match = _NAME.match(class_type.name or "") if method_name in self._NAMES else None
        if match is None:
            return None
        is_bits = match.group(1) == "bitset"
        return _Worker(
            language.find_type("bool") if is_bits else class_type.template_argument(0), method_name
        )


def register_methods():
    """gdb evaluates methods of these containers by our code from now on."""
    for place in (gdb, *gdb.objfiles()):
        for matcher in place.xmethods:
            if matcher.name in Methods.REPLACED:
                matcher.enabled = False
    gdb.xmethod.register_xmethod_matcher(None, Methods(), replace=True)
