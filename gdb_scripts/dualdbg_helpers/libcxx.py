"""Strings and containers of libc++, by where their words lie: gdb has no printers for them.

The layout is that of version 1 of libc++'s ABI, which releases keep; names of members they do not.
"""

import itertools
import re

import gdb

from . import language

_NAME = re.compile(r"^std::__(?:1|ndk1)::(\w+)<")
_MOST_DEEP = 128  # levels of a tree
_TREE_NODE, _HASH_NODE, _LIST_NODE = 25, 16, 16  # bytes of a node before its value


def _at(address, type_):
    return gdb.Value(address).cast(type_.pointer()).dereference()


def _words(address, count):
    words = _at(address, language.find_type("unsigned long").array(count - 1))
    return [int(words[number]) for number in range(count)]


def _vector(address, size):
    begin, end = _words(address, 2)
    return begin, (end - begin) // size


def _string(address, size):
    capacity, length, begin = _words(address, 3)
    return (begin, length) if capacity & 1 else (address + size, (capacity & 0xFF) >> 1)


def _list(address, size):
    _, node, count = _words(address, 3)
    for _ in range(count):
        yield node + _LIST_NODE
        node = _words(node, 2)[1]


def _deque(address, size):
    _, begin, _, _, start, count = _words(address, 6)
    per_block = 4096 // size if size < 256 else 16
    for place in range(start, start + count):
        yield _words(begin + 8 * (place // per_block), 1)[0] + place % per_block * size


def _tree(address, size):
    node, _, count = _words(address, 3)
    for left in reversed(range(count)):
        yield node + _TREE_NODE
        node = _next(node) if left else 0


def _next(node):
    _, right, parent = _words(node, 3)
    for _ in range(_MOST_DEEP):
        if right:  # the leftmost one below it
            node, right = right, _words(right, 1)[0]
            if not right:
                return node
        elif _words(parent, 1)[0] == node:
            return parent
        else:
            node, parent = parent, _words(parent, 3)[2]
    raise gdb.GdbError("no tree is there")


def _hash(address, size):
    _, _, node, count = _words(address, 4)
    for _ in range(count):
        yield node + _HASH_NODE
        node = _words(node, 1)[0]


TEXTS = {"basic_string": _string, "basic_string_view": lambda address, size: _words(address, 2)}
_ROWS = {"vector": _vector, **TEXTS}  # from address and size of an element: the first of them, and how many
NODES = {  # from the same: the address of each
    "list": _list,
    "deque": _deque,
    **dict.fromkeys(("map", "multimap", "set", "multiset"), _tree),
    **{"unordered_" + name: _hash for name in ("map", "multimap", "set", "multiset")},
}


def name_of(value):
    """The template of libc++ of which an object in memory is; empty for any other value."""
    match = _NAME.match(value.type.strip_typedefs().unqualified().name or "")
    return match[1] if match is not None and value.address is not None else ""


def elements(value):
    """A pointer to the first and the number of elements that lie side by side; None for any other value."""
    name, kind = name_of(value), value.type.strip_typedefs()
    if name not in _ROWS or str(kind.template_argument(0)) == "bool":
        return None
    kind = kind.template_argument(0)
    first, count = _ROWS[name](int(value.address), kind.sizeof)
    return gdb.Value(first).cast(kind.pointer()), count


class Nodes:
    """The printer of a container of nodes; of a map it tells keys and values in turn."""

    def __init__(self, value):
        self._name, self._address = name_of(value), int(value.address)
        numbers = range(2 if self._name.endswith("map") else 1)
        self._types = [value.type.strip_typedefs().template_argument(number) for number in numbers]

    def to_string(self):
        return "std::" + self._name

    def entries(self):
        """What each node holds: one value, in a map the key and what it leads to."""
        align = max(type_.alignof for type_ in self._types)
        for place in NODES[self._name](self._address, self._types[0].sizeof):
            place, found = -(-place // align) * align, []
            for type_ in self._types:
                place = -(-place // type_.alignof) * type_.alignof
                found.append(_at(place, type_))
                place += type_.sizeof
            yield found

    def children(self):
        """As gdb wants it of a printer."""
        for number, value in enumerate(itertools.chain.from_iterable(self.entries())):
            yield f"[{number}]", value

    def display_hint(self):
        return "map" if len(self._types) == 2 else "array"
