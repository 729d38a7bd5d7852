"""The types of Python objects: names, flags and bases, and whether memory holds an object at all."""

from __future__ import annotations

from dualdbg_shared import cpython as L

from ..errors import Implausible, Unreadable
from .interpreter import Interpreter
from .strings import Strings
from .tables import Tables

MAX_NAME = 512
MAX_BASES = 64


class Type:
    """A type object: ``name`` is its ``__name__``, ``qualname`` its ``__qualname__``, ``module`` may be None.

    ``bases`` are the names in C of the type and its bases. ``lineage`` are names that tell whose types they are: that
    in C of a type written in C, and ``class module.qualname`` of one written in Python, which may be called "range" or
    "collections.deque".
    """

    __slots__ = ("address", "bases", "flags", "heap", "lineage", "module", "name", "qualname", "tp_name")
    address: int
    bases: tuple[str, ...]
    flags: int
    heap: bool
    lineage: tuple[str, ...]
    module: str | None
    name: str
    qualname: str
    tp_name: str

    @property
    def full_name(self):
        """``module.qualname``, without the module for built-in types."""
        if self.module in (None, "builtins"):
            return self.qualname
        return f"{self.module}.{self.qualname}"

    @property
    def qualified(self):
        """What C code of 3.13 and later calls "fully qualified": the same, but also without ``__main__``."""
        return self.qualname if self.module == "__main__" else self.full_name

    def has(self, flag):
        """Whether a flag of tp_flags is set."""
        return bool(self.flags & flag)

    def is_exactly(self, name):
        """Whether this type itself, not a base of it, is the one that is called ``name`` in :attr:`lineage`."""
        return self.lineage[0] == name

    def derives_from(self, name):
        """Whether a type that is called ``name`` in :attr:`lineage` is among the bases, or this type itself."""
        return name in self.lineage


class Types:
    """Reads types of the target's interpreter."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self.layout = target.decoder(Interpreter).layout
        self._known = {}

    def of(self, address):
        """The :class:`Type` of the object at ``address``; raises :class:`Implausible` when it has no type object."""
        if not address or address % 8:
            raise Implausible(f"no Python object at 0x{address:x}")
        return self.read(self._memory.pointer(address + self.layout.ob_type), address)

    def read(self, address, instance=None):
        """The :class:`Type` at ``address``. Where no type is there, the error names ``instance``."""
        known = self._known.get(address)
        if known is None:
            try:
                known = self._read(address)
            except (Implausible, Unreadable):
                known = False
            self._known[address] = known
        if known is False:
            raise Implausible(f"no Python object at 0x{address if instance is None else instance:x}")
        return known

    def _read(self, address):
        memory, layout = self._memory, self.layout
        if not address or address % 8:
            raise Implausible("no type")
        # The type of a type is `type` or a metaclass; both have the flag of types that derive from `type`.
        meta = memory.pointer(address + layout.ob_type)
        if not memory.u64(meta + layout.tp_flags) & L.TYPE:
            raise Implausible("no type")
        found = Type()
        found.address = address
        found.flags = memory.u64(address + layout.tp_flags)
        found.tp_name = memory.c_string(memory.pointer(address + layout.tp_name), MAX_NAME).decode(
            "utf-8", "replace"
        )
        found.heap = found.has(L.HEAP_TYPE)
        given = self._given_name(address) if found.heap else None
        if given != found.tp_name and not (found.tp_name and found.tp_name.isprintable()):
            raise Implausible("no type")
        found.module, _, found.name = found.tp_name.rpartition(".")
        found.module = found.module or None
        found.qualname = found.name
        found.bases = self._bases(address, found.tp_name)
        if found.heap:
            self._heap_names(found, given)
        base = memory.pointer(address + layout.tp_base)
        above = self.read(base).lineage if base and len(found.bases) < MAX_BASES else ()
        # A type that C code has made has the module in front of its name in C; a class has its own name, dots and all.
        in_c = not found.heap or ("." in found.tp_name and found.tp_name != given)
        found.lineage = (found.tp_name if in_c else f"class {found.module}.{found.qualname}", *above)
        return found

    def _given_name(self, address):
        """The ``__name__`` of a type that was made at run time; None while it is not complete."""
        try:
            name = self._memory.pointer(address + self.layout.ht_name)
            return self._target.decoder(Strings).text(name, MAX_NAME)
        except (Implausible, Unreadable):
            return None

    def _bases(self, address, own):
        memory, layout, names = self._memory, self.layout, [own]
        while len(names) < MAX_BASES:
            address = memory.pointer(address + layout.tp_base)
            if not address:
                break
            name = memory.c_string(memory.pointer(address + layout.tp_name), MAX_NAME)
            names.append(name.decode("utf-8", "replace"))
        return tuple(names)

    def _heap_names(self, found, given):
        strings = self._target.decoder(Strings)
        try:
            found.qualname = strings.text(
                self._memory.pointer(found.address + self.layout.ht_qualname), MAX_NAME
            )
            found.name = found.qualname.rsplit(".", 1)[-1] if given is None else given
            entry = self._target.decoder(Tables).get(
                self._memory.pointer(found.address + self.layout.tp_dict), "__module__"
            )
            if entry is not None:
                found.module = strings.text(entry, MAX_NAME)
        except (Implausible, Unreadable):
            return  # a type that is not complete: keep the names from tp_name

    def mro(self, kind):
        """The types in the order in which attributes are looked up: ``__mro__``."""
        memory, order = self._memory, self._memory.pointer(kind.address + self.layout.tp_mro)
        if not order:
            return [self.read(base) for base in self.base_addresses(kind)]
        count = memory.i64(order + self.layout.head)
        if not 0 <= count <= MAX_BASES:
            raise Implausible(f"no type at 0x{kind.address:x}")
        return [self.read(base) for base in memory.words(order + self.layout.tuple_items, count)]

    def base_addresses(self, kind):
        """Addresses of ``kind`` and of its bases, nearest first (single inheritance of layouts)."""
        found, address = [], kind.address
        while address and len(found) < MAX_BASES:
            found.append(address)
            address = self._memory.pointer(address + self.layout.tp_base)
        return found


def type_name_of(target, address):
    """The ``__name__`` of the type of the Python object at ``address``."""
    return target.decoder(Types).of(address).name
