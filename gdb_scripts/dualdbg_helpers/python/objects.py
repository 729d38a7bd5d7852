"""Python objects as text and structure, from memory alone.

Text is what ``repr`` would say for the built-in types, for enums, dataclasses, named tuples and exceptions (their
classes may define another ``repr``, which is never run), for tensors and numpy arrays. Any other object is
``<module.Class object at 0x...>``.
"""

from ..errors import HelperError, Implausible, OutOfTime, Unreadable
from ..values import Value, join
from .attributes import Attributes
from .interpreter import Interpreter
from .names import Types
from .strings import Strings
from .tables import Tables
from .writers import find_writer

_FAILURES = (HelperError, Implausible, Unreadable)


class Objects:
    """Describes Python objects of one target."""

    def __init__(self, target):
        self.target = target
        self.memory = target.memory
        self.layout = target.decoder(Interpreter).layout
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
