"""Python objects as text and structure, from memory alone.

Text is what ``repr`` would say for the built-in types, for enums, dataclasses, named tuples and exceptions (their
classes may define another ``repr``, which is never run), for tensors and numpy arrays. Any other object is
``<module.Class object at 0x...>``.
"""

from dualdbg_shared import cpython as L

from ..errors import HelperError, Implausible, OutOfTime, Unreadable
from ..values import Value, join
from . import buffers, builtins, callables, dictionaries, foreign, library, records
from .attributes import Attributes
from .interpreter import Interpreter
from .names import Types
from .strings import Strings
from .tables import Tables
from .writer import Writer, member


def _module(objects, kind, address, depth):
    table = member(objects, address, 0)
    get = (lambda name: objects.tables.get(table, name)) if table else (lambda name: None)
    loader = _given(objects, get("__loader__"))
    how = _by_loader(objects, loader) if loader else None
    if how and objects.layout.minor < 10:  # the loader writes the module there, by a function of its own
        return f"<module {objects.text(get('__name__'), depth + 1)} ({how})>"
    spec = get("__spec__")
    if spec is not None and not _is_none(objects, spec):
        return _by_spec(objects, dict(objects.attributes(objects.types.of(spec), spec)), depth)
    name, file = get("__name__"), get("__file__")
    text = "<module " + (objects.text(name, depth + 1) if name else "'?'")
    if file is not None:
        return f"{text} from {objects.text(file, depth + 1)}>"
    return f"{text} ({objects.text(loader, depth + 1)})>" if loader else text + ">"


_LOADERS = {
    # the name of a loader, or of its class: how it has made a module
    "BuiltinImporter": "built-in",
    "FrozenImporter": "frozen",
    "NamespaceLoader": "namespace",
    "_NamespaceLoader": "namespace",
}


def _by_loader(objects, loader):
    """How a module was made, where ``importlib`` has a word for it; else None."""
    kind = objects.types.of(loader)
    kind = objects.types.read(loader) if kind.has(L.TYPE) else kind
    return _LOADERS.get(kind.name) if (kind.module or "").startswith("_frozen_importlib") else None


def _by_spec(objects, spec, depth):
    """``spec`` has the attributes of a ``ModuleSpec``."""
    name, origin, loader = (_given(objects, spec.get(key)) for key in ("name", "origin", "loader"))
    text = "<module " + (objects.text(name, depth + 1) if name else "'?'")
    if origin is None and loader is None:
        return text + ">"
    if origin is None and objects.layout.minor >= 12 and _by_loader(objects, loader) == "namespace":
        return f"{text} (namespace) from {_folders(objects, loader, depth)}>"
    if origin is None:
        return f"{text} ({objects.text(loader, depth + 1)})>"
    has_place = _given(objects, spec.get("_set_fileattr"))
    if has_place and objects.text(has_place) == "True":
        return f"{text} from {objects.text(origin, depth + 1)}>"
    is_text = objects.types.of(origin).has(L.STR)
    return "{} ({})>".format(text, objects.strings.text(origin, 0) if is_text else objects.text(origin))


def _folders(objects, loader, depth):
    """The folders of a package without an ``__init__.py``: the list in its ``_NamespacePath``."""
    for _ in range(2):
        loader = dict(objects.attributes(objects.types.of(loader), loader)).get("_path")
    return objects.text(loader, depth + 1) if isinstance(loader, int) else "..."


def _given(objects, address):
    """The address, if it is that of an object other than ``None``."""
    return address if isinstance(address, int) and not _is_none(objects, address) else None


def _is_none(objects, address):
    return objects.types.of(address).is_exactly("NoneType")


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
