"""The dynamic class of a C++ object, read from its vtable (Itanium C++ ABI, 2.9.4 and 2.9.5).

The word before a vtable's first function points to the ``type_info``, which names the class and its
bases, so no symbol of the library is needed. Memory that is not an object has no such chain.
"""

import re

from .errors import Implausible, Unreadable

_NAME = re.compile(rb"^\*?(N[A-Za-z0-9_]|\d+[A-Za-z_]|St)[\x21-\x7e]{0,2000}$")
_MAX_BASES = 16


class Rtti:
    """Classes by vtable pointer. ``memory`` reads, ``demangle(name)`` turns ``_ZTS...`` into C++ text."""

    def __init__(self, memory, demangle):
        self._memory = memory
        self._demangle = demangle
        self._classes = {}

    def mangled(self, address):
        """The mangled class name (without ``_ZTS``) of the object at ``address``.

        Raises :class:`Implausible` when no object of a polymorphic class is there.
        """
        return self._class_of(self._memory.pointer(address))[0]

    def name(self, address):
        """The demangled class name of the object at ``address``."""
        return self._demangle("_ZTS" + self.mangled(address))

    def lineage(self, address):
        """The demangled names of that class and of all its bases."""
        return frozenset(
            self._demangle("_ZTS" + name) for name in self._class_of(self._memory.pointer(address))[1]
        )

    def is_a(self, address, mangled):
        """Whether the object at ``address`` is of the class ``mangled`` or of one derived from it."""
        try:
            return mangled in self._class_of(self._memory.pointer(address))[1]
        except (Implausible, Unreadable):
            return False

    def _class_of(self, vtable):
        known = self._classes.get(vtable)
        if known is None:
            known = self._classes[vtable] = self._read_class(vtable)
        if isinstance(known, str):
            raise Implausible(known)
        return known

    def _read_class(self, vtable):
        try:
            if vtable % 8 or vtable < 4096:
                return f"0x{vtable:x} is no vtable"
            info = self._memory.pointer(vtable - 8)
            lineage = []
            self._collect(info, lineage, 0)
            return lineage[0], frozenset(lineage)
        except Unreadable:
            return f"0x{vtable:x} is no vtable"
        except Implausible as error:
            return str(error)

    def _collect(self, info, lineage, depth):
        """Appends the name of the type_info at ``info`` and those of its bases."""
        memory = self._memory
        if info % 8 or info < 4096 or depth > _MAX_BASES or len(lineage) > 4 * _MAX_BASES:
            raise Implausible(f"0x{info:x} is no type_info")
        name = memory.c_string(memory.pointer(info + 8), 2048)
        if not _NAME.match(name):
            raise Implausible(f"0x{info:x} is no type_info")
        lineage.append(name.lstrip(b"*").decode("ascii"))
        kind = self._kind(memory.pointer(info))
        if kind == "si":
            self._collect(memory.pointer(info + 16), lineage, depth + 1)
        elif kind == "vmi":
            count = memory.u32(info + 20)
            if count > _MAX_BASES:
                raise Implausible(f"0x{info:x} is no type_info")
            for i in range(count):
                self._collect(memory.pointer(info + 24 + 16 * i), lineage, depth + 1)

    def _kind(self, vtable):
        """Which of the ABI's three type_info classes has this vtable: "class", "si" or "vmi"."""
        known = self._classes.get(("kind", vtable))
        if known is None:
            memory = self._memory
            # The class of a type_info object is again told by RTTI: __cxxabiv1::__si_class_type_info.
            own = memory.c_string(memory.pointer(memory.pointer(vtable - 8) + 8), 128)
            table = {
                b"N10__cxxabiv117__class_type_infoE": "class",
                b"N10__cxxabiv120__si_class_type_infoE": "si",
                b"N10__cxxabiv121__vmi_class_type_infoE": "vmi",
            }
            known = table.get(own.lstrip(b"*"))
            if known is None:
                raise Implausible(f"0x{vtable:x} is no vtable of a type_info")
            self._classes[("kind", vtable)] = known
        return known
