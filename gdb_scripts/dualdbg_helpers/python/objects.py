"""Python objects as text and structure, from memory alone.

Text is what ``repr`` would say for the built-in types, for enums, dataclasses, named tuples and exceptions (their
classes may define another ``repr``, which is never run), for tensors and numpy arrays. Any other object is
``<module.Class object at 0x...>``.
"""

from dualdbg_shared import cpython as L
from dualdbg_shared import object_text

from ..errors import HelperError, Implausible, OutOfTime, Unreadable
from ..values import Value, join
from . import buffers, builtins, callables, dictionaries, foreign, library, records
from .attributes import Attributes
from .interpreter import Interpreter
from .names import Types
from .strings import Strings
from .tables import Tables
from .writer import Writer, inherited, member


def _module(objects, kind, address, depth):
    table = member(objects, address, 0)
    names = ("__name__", "__file__", "__loader__", "__spec__")
    found = {name: objects.tables.get(table, name) for name in names} if table else {}
    return object_text.module_text(objects, {k: at for k, at in found.items() if at is not None}, depth)


BY_NAME = {"module": Writer("module", _module)}


_BY_NAME = {
    **builtins.BY_NAME,
    **dictionaries.BY_NAME,
    **records.BY_NAME,
    **library.BY_NAME,
    **callables.BY_NAME,
    **BY_NAME,
    **buffers.BY_NAME,
    **foreign.BY_NAME,
}
_BY_FLAG = (*builtins.BY_FLAG, (L.DICT, dictionaries.DICT))


def _is_class(name):
    """Return whether a name in :attr:`.names.Type.lineage` is that of a class written in Python."""
    return name.startswith("class ")


def find_writer(objects, kind):
    """The :class:`.writer.Writer` for objects of ``kind``; None for a type that is only a class with fields."""
    if kind.heap and records.is_enum(objects, kind):
        return records.ENUM
    names = records.dataclass_fields(objects, kind) if kind.heap else None
    if names is not None:
        return records.dataclass_writer(names)
    for place, name in enumerate(kind.lineage):
        if name in _BY_NAME:
            # A date of C code that is derived from one has more of its own: pandas' Timestamp, and NaT, which is none.
            has_more = name.startswith("datetime.") and not all(map(_is_class, kind.lineage[:place]))
            return None if has_more else _BY_NAME[name]
    return next((writer for flag, writer in _BY_FLAG if kind.has(flag)), None)


_FAILURES = (HelperError, Implausible, Unreadable)


class Objects:
    """Describes Python objects of one target."""

    def __init__(self, target):
        self.target = target
        self.memory = target.memory
        self.layout = target.decoder(Interpreter).layout
        self.minor = self.layout.minor
        self.types = target.decoder(Types)
        self.strings = target.decoder(Strings)
        self.tables = target.decoder(Tables)
        self._attributes = target.decoder(Attributes)
        self._open = set()
        self._writers = {}

    # Text

    def text(self, address, depth=0):
        """The object at ``address`` in one text; a mark where it cannot be read or is too deep."""
        try:
            return self._text(address, depth)
        except Unreadable as error:
            return str(error)
        except (Implausible, HelperError) as error:
            return f"<{error}>"

    def _text(self, address, depth):
        self.target.budget.tick()
        if address == 0:
            return "<NULL>"
        kind = self.types.of(address)
        writer = self._writer(kind)
        if writer is None:
            return self._plain(kind, address)
        if not writer.container:
            return writer.text(self, kind, address, depth)
        if address in self._open:
            return writer.cycle_text(self, kind, address)
        if depth >= self.target.limits.max_depth:
            return "..."
        self._open.add(address)
        try:
            return writer.text(self, kind, address, depth)
        finally:
            self._open.discard(address)

    def _writer(self, kind):
        if kind.address not in self._writers:
            self._writers[kind.address] = find_writer(self, kind)
        return self._writers[kind.address]

    def _plain(self, kind, address):
        return f"<{kind.full_name} object at 0x{address:x}>"

    # What object_text asks; an address stands for an object

    def plain_text(self, address):
        return self._plain(self.types.of(address), address)

    def fields(self, address):
        """``(name, address)`` of the attributes of an object that are objects."""
        found = self.attributes(self.types.of(address), address)
        return [(name, place) for name, place in found if isinstance(place, int)]

    def entries(self, address):
        """Keys and values of the dict at ``address``; nothing of another object."""
        return self.tables.items(address, 0, records.MAX_FIELDS) if self.types.of(address).has(L.DICT) else ()

    def class_entry(self, address, name):
        return inherited(self, self.types.of(address), name)

    def class_names(self, address):
        kind = self.types.of(address)
        kind = self.types.read(address) if kind.has(L.TYPE) else kind
        return kind.module, kind.name

    def string(self, address):
        """The text of the ``str`` at ``address``; None of another object."""
        return self.strings.text(address, 0) if self.types.of(address).has(L.STR) else None

    def integer(self, address):
        return self.strings.integer(address) if self.types.of(address).is_exactly("int") else None

    def is_none(self, address):
        return self.types.of(address).is_exactly("NoneType")

    def dataclass_of(self, member, value):
        bases, of = self.types.mro(self.types.of(member)), self.types.of(value)
        is_base = of.address in [base.address for base in bases]
        return of.qualname if is_base and records.dataclass_fields(self, of) is not None else None

    # Structure of texts

    def sequence(self, addresses, total, depth, opening, closing, single=""):
        """The text of a container of ``total`` elements, the first of which are at ``addresses``."""
        parts = []
        for address in addresses:
            parts.append(self.text(address, depth + 1))
        return join(parts, len(parts), total, opening, closing, single)

    def shown(self, total):
        """How many of ``total`` elements are read, by the limits of this command."""
        return self.target.budget.shown(total)

    # Structure

    def describe(self, address, offset=0, limit=None):
        """The object at ``address`` as a :class:`Value` with children ``offset`` to ``offset + limit``.

        Raises :class:`Implausible` when there is no object at ``address``. Children are elements of containers
        ("[0]", or the key's text for dictionaries) and then attributes by name.
        """
        kind = self.types.of(address)
        value = self.leaf(address, kind)
        limit = self.target.limits.max_length or 1 << 60 if limit is None else limit
        children, total = [], 0
        for name_of, addresses, count in self._groups(kind, address):
            start = max(0, offset - total)
            room = limit - len(children)
            if start < count and room > 0:
                for i, entry in enumerate(addresses(start, min(room, count - start))):
                    children.append(name_of(start + i, entry))
            total += count
        value.children, value.total = children, total
        return value

    def leaf(self, address, kind=None):
        """The object at ``address`` as a :class:`Value` without children, its ``total`` the number it has."""
        try:
            kind = kind or self.types.of(address)
            value = Value(self.category(kind), self.text(address), address=address, type=kind.full_name)
            value.total = sum(count for _, _, count in self._groups(kind, address))
            return value
        except Unreadable as error:
            return Value.unreadable(error.address)
        except OutOfTime:
            raise
        except _FAILURES as error:
            return Value.invalid(str(error), address)

    def category(self, kind):
        """What the object is in one word: "int", "str", "list", "dict", "tensor", "object", ..."""
        writer = self._writer(kind)
        return writer.category if writer else "object"

    def _groups(self, kind, address):
        """``(name and value of an entry, function(start, count) to entries, how many)`` per group of children."""
        elements = self.elements(kind, address)
        groups = [elements] if elements else []
        attributes = self.attributes(kind, address)
        if attributes:
            groups.append(
                (self._attribute, lambda start, count: attributes[start : start + count], len(attributes))
            )
        return groups

    def elements(self, kind, address):
        """The group of a container's elements, as :meth:`_groups` has it; None for anything but a container."""
        writer = self._writer(kind)
        return writer.elements(self, kind, address) if writer and writer.elements else None

    def attributes(self, kind, address):
        """``(name, address or Value)`` of the object's slots, C members and ``__dict__`` entries."""
        return self._attributes.of(kind, address)

    def _attribute(self, index, entry):
        name, place = entry
        return name, (place if isinstance(place, Value) else self.leaf(place))
