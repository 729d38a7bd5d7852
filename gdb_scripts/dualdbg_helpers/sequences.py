"""Elements of C++ containers by their numbers, from the layouts of libstdc++ and libc++: what is not there is said.

GCC's own functions for gdb read behind the end of a ``std::vector``, and up to GCC 13 take every ``std::deque`` to
begin at the start of a block. Of most of the other containers here they know nothing.
"""

import re

import gdb

from . import language, libcxx


def name_of(value):
    """The name of a value's type, without typedefs and qualifiers."""
    return value.type.strip_typedefs().unqualified().name or ""


def has(value, path):
    """Whether a value has a member, written with dots for one inside of another."""
    return _found(value, path) is not None


def member(value, *paths):
    """The first of these members that a value has, as the libraries and their versions name it. Raises GdbError."""
    for path in paths:
        found = _found(value, path)
        if found is not None:
            return found
    raise gdb.GdbError(f"the layout of this {name_of(value).partition('<')[0]} is not known")


def _found(value, path):
    for name in path.split("."):
        if value.type.strip_typedefs().code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return None
        try:
            value = value[name]
        except gdb.MemoryError:
            raise
        except gdb.error:
            return None
    return value


class _Sequence:
    """``size`` elements, each of which :meth:`_at` reads."""

    size = 0

    def element(self, index):
        """The element at ``index``. Raises gdb.GdbError outside of the container."""
        if not 0 <= index < self.size:
            raise gdb.GdbError(f"there is no element {index}: it has {self.size}")
        return self._at(index)

    def _at(self, index):
        raise NotImplementedError


class Deque(_Sequence):
    """A ``std::deque``: blocks of elements, the first of which begins somewhere inside (bits/stl_deque.h)."""

    def __init__(self, value):
        if has(value, "__map_"):  # libc++'s begins at a number
            self._nodes = value["__map_"]["__begin_"]
            size = self._nodes.type.strip_typedefs().target().target().sizeof
            self._per_block = 4096 // size if size < 256 else 16
            self._first = int(value["__start_"])
            self.size = int(member(value, "__size_.__value_", "__size_"))
            return
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


class Row(_Sequence):
    """Elements side by side."""

    def __init__(self, first, size):
        self.first, self.size = first, size

    def _at(self, index):
        return self.first[index]


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
    """bits/stl_vector.h, bits/stl_bvector.h; __vector/vector.h"""
    start = member(value, "_M_impl._M_start", "__begin_")
    if value.type.strip_typedefs().template_argument(0).strip_typedefs().code != gdb.TYPE_CODE_BOOL:
        return Row(start, int(member(value, "_M_impl._M_finish", "__end_") - start))
    if has(value, "__begin_"):
        return _Bits(lambda number: start[number], 0, int(value["__size_"]))
    finish, words, offset = value["_M_impl"]["_M_finish"], start["_M_p"], int(start["_M_offset"])
    ends = int(finish["_M_p"] - words) * _WORD + int(finish["_M_offset"])
    return _Bits(lambda number: words[number], offset, ends - offset)


def _array(value):
    """std/array"""
    size = int(value.type.strip_typedefs().template_argument(1))
    return Row(member(value, "_M_elems", "__elems_") if size else None, size)


def _span(value):
    """std/span"""
    size = value.type.strip_typedefs().template_argument(1)
    for path in ("_M_extent._M_extent_value", "__size_"):
        size = member(value, path) if has(value, path) else size
    return Row(member(value, "_M_ptr", "__data_"), int(size))


def _view(value):
    """std/string_view"""
    return Row(
        member(value, "_M_str", "__data_", "__data"), int(member(value, "_M_len", "__size_", "__size"))
    )


def _bitset(value):
    """std/bitset"""
    words, size = member(value, "_M_w", "__first_"), int(value.type.strip_typedefs().template_argument(0))
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
        return Row(*row)
    match = _NAME.match(name_of(value))
    return _READERS[match.group(1)](value) if match is not None else None
