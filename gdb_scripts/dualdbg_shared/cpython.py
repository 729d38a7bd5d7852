"""Where the members of CPython's objects lie, by version (64-bit builds).

Source: ``Include/cpython/*.h`` and ``Include/internal/pycore_dict.h`` of each version. Offsets are in bytes from
the object's address; ``head`` is the size of ``PyObject``, 16, or 32 in a free-threaded build.
"""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """A CPython version; ``free_threaded`` builds keep more in the head of an object. ``patch``: None: not known."""

    major: int
    minor: int
    free_threaded: bool
    patch: int | None = None


# tp_flags (Include/object.h)
INLINE_VALUES = 1 << 2
MANAGED_DICT = 1 << 4
HEAP_TYPE = 1 << 9
INT, LIST, TUPLE, BYTES, STR, DICT, EXCEPTION, TYPE = (1 << bit for bit in range(24, 32))

INT_DIGIT_BITS = 30


class ObjectLayout:
    """The layout of one CPython version."""

    def __init__(self, version: Version) -> None:
        minor = version.minor
        self.version = version
        self.minor = minor
        self.free_threaded = version.free_threaded
        self.head = head = 32 if version.free_threaded else 16
        self.ob_type = head - 8
        self.var_head = head + 8
        self._types(minor)
        self._strings(minor)
        self._containers(minor)
        self._functions(minor)

    def _types(self, minor: int) -> None:
        base = self.var_head - 24  # every member of PyTypeObject moves with the size of its head
        self.tp_name = base + 24
        self.tp_basicsize = base + 32
        self.tp_itemsize = base + 40
        self.tp_flags = base + 168
        self.tp_members = base + 240
        self.tp_base = base + 256
        self.tp_dict = base + 264
        self.tp_dictoffset = base + 288
        self.tp_mro = base + 344
        # 3.8 still has tp_print at the end; 3.12 added tp_watched, 3.15 _tp_iteritem
        type_size = base + _by_version(minor, {8: 416, 9: 408, 12: 416, 15: 424})
        as_async = 24 if minor < 10 else 32  # am_send
        # as_number 36 slots, as_mapping 3, as_sequence 10, as_buffer 2
        self.ht_name = type_size + as_async + 288 + 24 + 80 + 16
        self.ht_qualname = self.ht_name + 16
        self.ht_cached_keys = self.ht_name + 24

    def _strings(self, minor: int) -> None:
        head = self.head
        self.str_length = head
        self.str_state = head + 16
        self.str_ascii = head + (32 if minor < 12 else 24)  # PEP 623 removed wstr
        self.str_compact = head + (56 if minor < 12 else 40)
        self.bytes_data = self.var_head + 8

    def _containers(self, minor: int) -> None:
        head, var_head = self.head, self.var_head
        self.list_items = var_head
        self.tuple_items = var_head + (8 if minor >= 14 else 0)  # ob_hash
        self.dict_used = head
        self.dict_keys = head + 16
        self.dict_values = head + 24
        self.compact_keys = minor >= 11  # dk_log2_size, kinds of entries
        self.set_used = head + 8
        self.set_mask = head + 16
        self.set_table = head + 24

    def _functions(self, minor: int) -> None:
        self.func_name = self.head + (48 if minor < 10 else 16)
        self.func_qualname = self.head + (88 if minor < 10 else 24)
        self.exception_args = self.head + 8
        # gi_frame, gi_running, gi_code and gi_weakreflist were before gi_name, and went one after the other
        self.generator_qualname = self.head + _by_version(minor, {8: 40, 10: 32, 11: 24, 12: 16})


def _by_version(minor: int, since: dict[int, int]) -> int:
    """The number of the last version in ``since`` that is not newer than 3.``minor``."""
    return since[max(version for version in since if version <= minor)]


class StringState(NamedTuple):
    """The bit-fields of a ``str``: ``kind`` is the number of bytes of a character."""

    kind: int
    compact: bool
    ascii: bool


# How many bits ``interned``, a number below 4, takes before the others: 2, or 8 in free-threaded builds from 3.14 on,
# where it is read atomically; 16 in some releases before 3.14.0.
_INTERNED_WIDTHS = (2, 8, 16)


def string_state(state: int) -> StringState | None:
    """The bit-fields in the 32-bit word at ``str_state``; None when it is that of no ``str``.

    The kind comes behind ``interned``. It is never 0, and ``interned`` is small: so the word itself tells the width.
    """
    for width in _INTERNED_WIDTHS:
        rest = state >> width
        kind = rest & 7
        if kind:
            return StringState(kind, bool(rest >> 3 & 1), bool(rest >> 4 & 1)) if kind in (1, 2, 4) else None
    return None
