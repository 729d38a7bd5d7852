"""Python's dictionaries and sets: the entries of their hash tables, in order."""

from dualdbg_shared import cpython as L

from ..errors import Implausible, Unreadable
from .interpreter import Interpreter
from .strings import Strings

MAX_LOG2 = 40

GENERAL, UNICODE, SPLIT = 0, 1, 2
"""``dk_kind`` of 3.11 and later (pycore_dict.h)."""


class Tables:
    """Reads dictionaries, the values of instances, and sets of one target."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self._layout = target.decoder(Interpreter).layout

    def used(self, address):
        """The number of entries of the ``dict`` at ``address``."""
        count = self._memory.i64(address + self._layout.dict_used)
        if count < 0:
            raise Implausible(f"no dict at 0x{address:x}")
        return count

    def items(self, address, offset=0, limit=None):
        """Up to ``limit`` pairs of addresses (key, value) of the ``dict`` at ``address``, from the ``offset``-th on."""
        if not address:
            raise Implausible("no dict at 0x0")
        memory, layout = self._memory, self._layout
        keys = memory.pointer(address + layout.dict_keys)
        values = memory.pointer(address + layout.dict_values)
        pairs = self._split(keys, values) if values else self._combined(keys)
        return _window(pairs, offset, limit)

    def get(self, address, name):
        """The address of the value whose key is the string ``name``, or None."""
        strings = self._target.decoder(Strings)
        for key, value in self.items(address, 0, 10000):
            try:
                if strings.text(key, len(name) + 1) == name:
                    return value
            except (Implausible, Unreadable):
                continue
        return None

    def _header(self, keys):
        """``(address of the first entry, number of entries, size of an entry, offset of the key in it)``."""
        memory = self._memory
        if not self._layout.compact_keys:
            size, entries = memory.i64(keys + 8), memory.i64(keys + 32)
            if size <= 0 or size & (size - 1) or not 0 <= entries <= size:
                raise Implausible(f"no dict keys at 0x{keys:x}")
            index = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4 if size <= 0xFFFFFFFF else 8
            return keys + 40 + size * index, entries, 24, 8
        log2_size, log2_index_bytes, kind = memory.read(keys + 8, 3)
        entries = memory.i64(keys + 24)
        if (
            log2_size > MAX_LOG2
            or log2_index_bytes > MAX_LOG2 + 3
            or kind > SPLIT
            or not 0 <= entries <= 1 << log2_size
        ):
            raise Implausible(f"no dict keys at 0x{keys:x}")
        first = keys + 32 + (1 << log2_index_bytes)
        return (first, entries, 24, 8) if kind == GENERAL else (first, entries, 16, 0)

    def _combined(self, keys):
        first, count, size, key_offset = self._header(keys)
        words = size // 8
        key_word = key_offset // 8
        for start in range(0, count, 512):
            self._target.budget.tick()
            block = self._memory.words(first + start * size, min(512, count - start) * words)
            for i in range(0, len(block), words):
                key, value = block[i + key_word], block[i + key_word + 1]
                if key and value:
                    yield key, value

    def _split(self, keys, values):
        """Entries of a dictionary that shares its keys with other instances; ``values`` holds its own values."""
        minor = self._layout.minor
        first, count, size, key_offset = self._header(keys)
        memory = self._memory
        if minor >= 13:
            used = memory.u8(values + 1)
            capacity = memory.u8(values)
            order, place = memory.read(values + 8 + 8 * capacity, used), values + 8
        elif minor >= 11:
            # The order of insertion precedes the values, backwards: ..., second, first, used, size of this prefix.
            used = memory.u8(values - 2)
            order = bytes(reversed(memory.read(values - 2 - used, used))) if used else b""
            place = values
        else:
            order, place = range(count), values
        for index in order:
            if index < count:
                value = memory.pointer(place + 8 * index)
                if value:
                    yield memory.pointer(first + index * size + key_offset), value

    def instance_items(self, kind, address):
        """Pairs of addresses (name, value) of the attributes in the ``__dict__`` of an instance of ``kind``."""
        memory, layout = self._memory, self._layout
        if kind.has(L.MANAGED_DICT) and layout.minor >= 11:
            return self._managed(kind, address)
        offset = memory.i64(kind.address + layout.tp_dictoffset)
        if offset == 0:
            return []
        if offset < 0:  # counted from the end of an object of variable size
            size = abs(memory.i64(address + layout.head))
            if kind.has(L.INT) and layout.minor >= 12:
                size >>= 3
            total = memory.i64(kind.address + layout.tp_basicsize) + size * memory.i64(
                kind.address + layout.tp_itemsize
            )
            offset += (total + 7) & ~7
        if offset < layout.head:
            raise Implausible(f"no __dict__ in the object at 0x{address:x}")
        found = memory.pointer(address + offset)
        return self.items(found) if found else []

    def _managed(self, kind, address):
        """The same where the interpreter keeps the place of the ``__dict__`` before the object."""
        kept = self._inline(kind, address)
        if kept is not None:
            return kept
        found = self._memory.pointer(address - (8 if self._layout.free_threaded else 24))
        return self.items(found) if found else []

    def _inline(self, kind, address):
        """The pairs that lie with an instance, from 3.11 on; None where there is a ``dict`` for them, or nothing."""
        memory, layout = self._memory, self._layout
        keys = memory.pointer(kind.address + layout.ht_cached_keys)
        if layout.minor == 11:
            values = memory.pointer(address - 32)
            return self._split(keys, values) if values else None
        pointer = memory.pointer(address - (8 if layout.free_threaded else 24))
        if layout.minor == 12:
            return self._split(keys, pointer + 1) if pointer & 1 else None
        if pointer or not kind.has(L.INLINE_VALUES):
            return None
        values = address + memory.i64(kind.address + layout.tp_basicsize)
        return self._split(keys, values) if memory.u8(values + 3) else None  # valid

    def members(self, address, offset=0, limit=None):
        """Addresses of up to ``limit`` members of the ``set`` at ``address``, from the ``offset``-th on."""
        memory, layout = self._memory, self._layout
        mask = memory.u64(address + layout.set_mask)
        if mask >> MAX_LOG2 or mask & (mask + 1):
            raise Implausible(f"no set at 0x{address:x}")
        return _window(self._set_entries(memory.pointer(address + layout.set_table), mask + 1), offset, limit)

    def _set_entries(self, table, size):
        for start in range(0, size, 512):
            self._target.budget.tick()
            block = self._memory.words(table + 16 * start, 2 * min(512, size - start))
            for i in range(0, len(block), 2):
                # A removed member leaves a dummy, whose hash is -1; no object hashes to that.
                if block[i] and block[i + 1] != (1 << 64) - 1:
                    yield block[i]

    def set_used(self, address):
        """How many elements a set has. Raises Implausible where it is none."""
        count = self._memory.i64(address + self._layout.set_used)
        if count < 0:
            raise Implausible(f"no set at 0x{address:x}")
        return count


def _window(values, offset, limit):
    """Elements of ``values`` from the ``offset``-th on, ``limit`` of them (None: all)."""
    end = None if limit is None else offset + limit
    for i, value in enumerate(values):
        if end is not None and i >= end:
            return
        if i >= offset:
            yield value
