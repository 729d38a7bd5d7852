"""Members of Python objects by their names: for readers of what the standard library keeps in objects of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...model import PythonFrame
from ...shared import cpython as L
from .object_text import ObjectText
from .reader import PythonReader
from .slots import PythonSlots, readable_objects

_MOST_ENTRIES = 1 << 20


class Fields:
    """Reads objects of one process, which must not run meanwhile: what was read once is kept.

    Every method raises one of ``ObjectText.errors`` where no such object is.
    """

    def __init__(self, reader: PythonReader, texts: ObjectText) -> None:
        self._reader = reader
        self._memory = reader.memory
        self._objects = reader.layout.objects
        self._types, self._tables, self._all_attributes = texts.decoders()
        self._slots = PythonSlots(reader)
        self._names: dict[int, str] = {}
        self._attributes: dict[tuple[int, str], int | None] = {}
        self._functions: dict[int, tuple[str, str]] = {}
        self.errors: tuple[type[Exception], ...] = texts.errors

    def kind(self, address: int) -> Any:
        """The type of an object, as the helpers' ``names.Type``."""
        return self._types.of(address)

    def size_of_base(self, address: int, name: str) -> int | None:
        """``tp_basicsize`` of the type called ``name`` among the bases of an object's type; None where it is not."""
        for base in self._types.base_addresses(self.kind(address)):
            if self._types.read(base).tp_name == name:
                return self._memory.u64(base + self._objects.tp_basicsize)
        return None

    def text(self, address: int) -> str | None:
        """The value of a str, at most 200 characters; None for another object."""
        return self._reader.string(address, 200) if self.kind(address).has(L.STR) else None

    def integer(self, address: int) -> int | None:
        """The value of a small int; None for another object, or a large one."""
        if not self.kind(address).has(L.INT):
            return None
        head = self._memory.u64(address + self._objects.head)
        digits, negative = (head >> 3, head & 3 == 2) if self._objects.minor >= 12 else (head, head >> 63)
        if negative or digits > 2:
            return None
        words = [self._memory.u32(address + self._objects.var_head + 4 * at) for at in range(digits)]
        return sum(word << L.INT_DIGIT_BITS * at for at, word in enumerate(words))

    def attribute(self, address: int, name: str) -> int | None:
        """The value of an attribute of an instance, in its ``__dict__`` or a slot; None where it is not set."""
        if (address, name) not in self._attributes:
            kind = self.kind(address)
            found = self._named(self._tables.instance_items(kind, address), name)
            if found is None:
                rows = dict(self._all_attributes.of(kind, address))
                found = rows[name] if isinstance(rows.get(name), int) else None
            self._attributes[address, name] = found
        return self._attributes[address, name]

    def entry(self, address: int, name: str) -> int | None:
        """The value of the key ``name`` in a dict; None where there is none."""
        if not address or not self.kind(address).has(L.DICT):
            return None
        return self._named(self._tables.items(address), name)

    def items(self, address: int) -> list[tuple[int, int]]:
        """The keys and values of a dict, as addresses; none for another object."""
        return list(self._tables.items(address)) if self.kind(address).has(L.DICT) else []

    def _named(self, items: Any, name: str) -> int | None:
        return next((int(value) for key, value in items if self._name(key) == name), None)

    def _name(self, key: int) -> str:
        """The text of a key; nothing for one that is no str. Most instances share their keys."""
        if key not in self._names:
            self._names[key] = self.text(key) or ""
        return self._names[key]

    def set_members(self, address: int) -> Iterator[int]:
        """The addresses in a set's table, among them that of what stands for a removed entry."""
        objects, memory = self._objects, self._memory
        size = min(memory.u64(address + objects.set_mask) + 1, _MOST_ENTRIES)
        table = memory.u64(address + objects.set_table)
        for at in range(size):
            key = memory.u64(table + 16 * at)
            if key:
                yield key

    def list_items(self, address: int) -> list[int]:
        """The addresses of a list's elements; none for another object."""
        if not self.kind(address).has(L.LIST):
            return []
        count = min(self._memory.u64(address + self._objects.head), _MOST_ENTRIES)
        start = self._memory.u64(address + self._objects.list_items)
        return [self._memory.u64(start + 8 * at) for at in range(count)]

    def member(self, address: int, number: int) -> int:
        """The pointer that is the ``number``-th word of an object in C, from 0 on, behind its head."""
        return self._memory.u64(address + self._objects.head + 8 * number)

    def function(self, address: int) -> tuple[str, str]:
        """The file and the qualified name of a function of Python."""
        if address not in self._functions:
            name = self._reader.string(self._memory.u64(address + self._objects.func_qualname), 200)
            self._functions[address] = self._reader.code(self._code_of(address)).file, name
        return self._functions[address]

    def managers(self, frame: PythonFrame) -> Iterator[tuple[int, str, str]]:
        """The context managers of the ``with`` blocks that a frame is in, the outermost first: each with the file and
        the qualified name of its exit, a function of Python."""
        kept = readable_objects(self._slots, frame.address or 0, guarded=True)
        for address, above in pairwise([*kept, 0]):
            try:
                kind = self.kind(address).tp_name
                if kind == "method":
                    yield (self.member(address, 1), *self.function(self.member(address, 0)))
                elif kind == "function" and above:
                    yield (above, *self.function(address))
            except self.errors:
                continue  # no object after all

    def own(self, frame: PythonFrame) -> int | None:
        """The ``self`` of a method; None where it cannot be read."""
        try:
            return dict(self._slots.variables(frame.address or 0)).get("self")
        except self.errors:
            return None

    def closure(self, address: int) -> dict[str, int]:
        """The variables of a function that belong to the function around it, as far as they are set."""
        cells = self.member(address, 7 if self._objects.minor >= 10 else 4)
        if not cells:
            return {}
        names = self._slots.free_names(self._code_of(address))
        values = (self.member(cell, 0) for cell in self._reader.tuple_items(cells))
        return {name: value for name, value in zip(names, values, strict=True) if value}

    def _code_of(self, function: int) -> int:
        return self.member(function, 4 if self._objects.minor >= 10 else 0)
