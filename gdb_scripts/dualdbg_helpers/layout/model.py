"""A layout: sizes and member offsets of records, values of enums, and where they came from."""

from dualdbg_shared.elf import EM_X86_64, MACHINES

from ..errors import LayoutMissing


class Record:
    """One class or struct, its bases flattened in. ``source`` says where its layout came from.

    ``record["member"]`` is the member's offset in bytes.
    """

    __slots__ = ("bits", "name", "offsets", "size", "sizes", "source")

    def __init__(self, name, size, fields, source):
        self.name = name
        self.size = size
        self.source = source
        self.offsets = {}
        self.sizes = {}
        self.bits = {}
        for field, place in fields.items():
            self.offsets[field] = place[0]
            self.sizes[field] = place[1]
            if len(place) == 4:
                self.bits[field] = (place[0], place[2], place[3])

    def __getitem__(self, field):
        try:
            return self.offsets[field]
        except KeyError:
            message = f"The layout of {self.name} ({self.source}) has no member {field}."
            raise LayoutMissing(message, HINT) from None

    def __contains__(self, field):
        return field in self.offsets

    def bit(self, memory, address, field):
        """The value of a bit-field of the object at ``address``."""
        offset, low, width = self.bits[field]
        raw = int.from_bytes(memory.read(address + offset, (low + width + 7) // 8), "little")
        return raw >> low & (1 << width) - 1


HINT = "See `help dualdbg-layout` for the sources of layouts and what each needs."


class Layout:
    """One source of layouts.

    ``records`` maps type names to ``[size, {member: [offset, size(, bit, bits)]}]``, ``enums`` maps
    names to ``{enumerator: value}``; both are what the extraction and the tables hold.
    """

    def __init__(self, source, records, enums):
        self.source = source
        self.records = records
        self.enums = enums
        self._made = {}

    def find(self, name):
        """The :class:`Record` called ``name``, or None."""
        if name not in self.records:
            return None
        if name not in self._made:
            size, fields = self.records[name]
            self._made[name] = Record(name, size, fields, self.source)
        return self._made[name]

    def find_enum(self, name):
        """The values of an enum by their names; None where this source does not have it."""
        return self.enums.get(name)


def build_name(machine, cxx11_abi):
    """What a table calls the builds for ``machine`` with this ``std::string``; None where the machine is not known."""
    return machine if machine is None or cxx11_abi else f"{machine} before C++11"


BASE = build_name(MACHINES[EM_X86_64], True)
"""The builds that a table describes first."""


def from_table(table, belief, build):
    """The layouts that a table (see :mod:`.choose`) has for a ``build``; None where it does not describe that.

    A table is that of :data:`BASE`. What differs in other builds is in a part of it that is called like them: a
    std::mutex, for one, has 48 bytes on AArch64, not 40, and moves what comes after it; the std::string of before C++11
    has 8, not 32.
    """
    differs = {} if build in (None, BASE) else table.get(build)
    if differs is None:
        return None
    records, enums = ({**table[kind], **differs.get(kind, {})} for kind in ("records", "enums"))
    return Layout("table for torch {}, {}".format(table["torch"], belief), records, enums)


EMPTY = Layout("none", {}, {})


class Chain:
    """Several layouts, the first that knows a type wins; remembers which of them were used.

    ``missing(name, what)`` makes the error for the type ``name`` that none knows; ``what`` is a sentence that says so.
    """

    def __init__(self, layouts, missing=lambda name, what: LayoutMissing(what, HINT)):
        self.layouts = list(layouts)
        self._missing = missing
        self._records = {}
        self._enums = {}
        self.used = []

    def record(self, name):
        """The :class:`Record` called ``name``; raises :class:`LayoutMissing`."""
        found = self.get(name)
        if found is None:
            raise self._missing(name, f"The layout of {name} is not known.")
        return found

    def get(self, name):
        """The :class:`Record` called ``name``, or None."""
        if name not in self._records:
            found = next(filter(None, (layout.find(name) for layout in self.layouts)), None)
            self._records[name] = found
            self._use(found.source if found else None)
        return self._records[name]

    def enum(self, name):
        """``{value: enumerator}`` of the enum ``name``; raises :class:`LayoutMissing`."""
        if name not in self._enums:
            for layout in self.layouts:
                values = layout.find_enum(name)
                if values is not None:
                    self._enums[name] = {value: key for key, value in reversed(list(values.items()))}
                    self._use(layout.source)
                    break
            else:
                raise self._missing(name, f"The values of {name} are not known.")
        return self._enums[name]

    def _use(self, source):
        if source and source not in self.used:
            self.used.append(source)

    def describe(self):
        """Where the layouts used so far came from, for people."""
        return "; ".join(self.used) or "no layout needed"
