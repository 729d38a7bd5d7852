"""Reference counts, and what refers to an object: found in the lists of Python's garbage collector.

The collector keeps every container in a ring of each generation (Include/internal/pycore_gc.h). Where the rings begin
is told by their form: three heads side by side, each part of a ring. Free-threaded builds have no such rings.
Debian's 3.13 has its heads at multiples of 4, not 8.
"""

import struct

from dualdbg_shared import cpython as L

from ..errors import HelperError, Implausible, OutOfTime, Unreadable
from .interpreter import Interpreter
from .names import Types
from .tables import Tables

_HEAD = 16  # bytes of a PyGC_Head: the next and the previous one, whose low bits are flags
_FLAGS = 3
_GENERATION = 24  # a head, a threshold and a count
_RUNTIME = 1 << 20  # bytes of _PyRuntime that are looked through
_NEAR = 1 << 11  # of them, those in which pointers to interpreters are
_INTERPRETER = 1 << 16
_IMMORTAL = 1 << 31


def reference_count(target, address):
    """The reference count of the object at ``address``; None for one that is immortal (3.12 and later)."""
    layout, memory = target.decoder(Interpreter).layout, target.memory
    if layout.free_threaded:
        own, shared = memory.u32(address + 12), memory.i64(address + 16)
        return None if own == 0xFFFFFFFF else own + (shared >> 2)
    if layout.minor < 12:
        return memory.i64(address)
    count = memory.u32(address)
    return None if count & _IMMORTAL else count


class Referrers:
    """``found`` are addresses of objects that refer to one; ``seen`` is how many were looked at.

    ``cut`` says why not all were; else it is None.
    """

    def __init__(self):
        self.found, self.seen, self.cut = [], 0, None


class Collector:
    """The containers of one target that the collector knows."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self._layout = target.decoder(Interpreter).layout
        self._types = target.decoder(Types)
        self._tables = target.decoder(Tables)

    def referrers(self, address):
        """The containers that refer to the object at ``address``, as far as the time allows."""
        result, needle = Referrers(), address.to_bytes(8, "little")
        try:
            for container in self._containers():
                result.seen += 1
                if container != address and self._refers(container, needle):
                    result.found.append(container)
        except OutOfTime as error:
            result.cut = str(error)
        except (Implausible, Unreadable):
            result.cut = "a ring of the collector is broken: it may be at work"
        return result

    # -- rings

    def _containers(self):
        memory = self._memory
        for head in self._heads():
            node = self._next(head)
            while node != head:
                self._target.budget.tick()
                yield node + _HEAD
                node = memory.u64(node) & ~_FLAGS
                if not node:
                    raise Implausible("a ring that does not close")

    def _heads(self):
        if self._layout.free_threaded:
            raise HelperError("A free-threaded CPython keeps no list of its containers.")
        runtime = self._target.mappings.in_interpreter("_PyRuntime")
        if runtime is None:
            raise HelperError("The interpreter's state is not found: its symbols are not there.")
        near = self._memory.words(runtime, _NEAR // 8)
        blocks = [(runtime, _RUNTIME)]
        blocks += [(word, _INTERPRETER) for word in dict.fromkeys(near) if word > _RUNTIME and not word % 16]
        for start, length in blocks:
            found = self._heads_in(start, self._block(start, length))
            if found:
                return found
        raise HelperError("The lists of Python's garbage collector are not found.")

    def _block(self, start, length):
        """As many bytes from ``start`` on as can be read."""
        data, place = bytearray(), start
        while place < start + length:
            size = 4096 - place % 4096  # to the end of the page
            try:
                data += self._memory.read(place, size)
            except Unreadable:
                break
            place += size
        return bytes(data)

    def _heads_in(self, start, data):
        for offset in range(0, len(data) - 3 * _GENERATION, 4):
            if any(_pointer(data, offset + _GENERATION * i) < 4096 for i in range(3)):
                continue
            heads = [start + offset + _GENERATION * i for i in range(3)]
            if all(map(self._is_head, heads)):
                more = (
                    heads[2] + _GENERATION + gap for gap in (0, 4, 8, 12)
                )  # what gc.freeze() has set apart
                return heads + [head for head in more if self._is_head(head)][:1]
        return []

    def _is_head(self, head):
        memory = self._memory
        try:
            following, before = (word & ~_FLAGS for word in memory.words(head, 2))
            return bool(
                following > 4096
                and before > 4096
                and memory.u64(following + 8) & ~_FLAGS == head
                and memory.u64(before) & ~_FLAGS == head
            )
        except Unreadable:
            return False

    def _next(self, node):
        return self._memory.u64(node) & ~_FLAGS

    # -- contents

    def _refers(self, container, needle):
        try:
            return any(_holds(data, needle) for data in self._contents(container))
        except (Implausible, Unreadable):
            return False  # it is being made, or taken apart

    def _contents(self, address):
        """The memory in which the container at ``address`` keeps what it refers to."""
        memory, layout, kind = self._memory, self._layout, self._types.of(address)
        fixed = memory.i64(kind.address + layout.tp_basicsize)
        item = memory.i64(kind.address + layout.tp_itemsize)
        count = max(0, memory.i64(address + layout.head)) if item else 0
        yield memory.read(address + layout.head, max(0, fixed + count * item - layout.head))
        if kind.has(L.LIST):
            total = memory.i64(address + layout.head)
            yield (
                memory.read(memory.pointer(address + layout.list_items), 8 * max(0, total)) if total else b""
            )
        elif kind.has(L.DICT):
            yield from self._tables.raw(address)
        elif kind.derives_from("set") or kind.derives_from("frozenset"):
            yield memory.read(
                memory.pointer(address + layout.set_table), 16 * (memory.u64(address + layout.set_mask) + 1)
            )
        elif kind.derives_from("collections.deque"):
            from .builtins import deque_items

            words = deque_items(_View(self._target, layout), address, 0, memory.i64(address + layout.head))
            yield b"".join(word.to_bytes(8, "little") for word in words)
        if kind.heap and not kind.has(L.DICT) and not kind.has(L.TYPE):
            pairs = self._tables.inline_items(kind, address)
            yield b"".join(value.to_bytes(8, "little") for _, value in pairs)


class _View:
    """What reading a deque takes."""

    def __init__(self, target, layout):
        self.target, self.memory, self.layout = target, target.memory, layout


def _pointer(data, offset):
    return struct.unpack_from("<Q", data, offset)[0] & ~_FLAGS


def _holds(data, needle):
    at = data.find(needle)
    while at >= 0 and at % 8:
        at = data.find(needle, at + 1)
    return at >= 0
