"""Runs in the target: values as text, and what is inside of them, without running the program's code.

What is read of an object is read past its class: by the interpreter's own functions for its built-in base, and by the
descriptors in C that its classes have. No attribute of an object or of its class is looked up the usual way, nothing
of the program is hashed or compared, and ``isinstance`` is not asked, for each may run code of the program.
CPython 3.8 and later.
"""

from __future__ import annotations

import collections
import enum
import os
import sys
import types
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

MRO: Any = type.__dict__["__mro__"].__get__
NAMESPACE: Any = type.__dict__["__dict__"].__get__
FLAGS: Any = type.__dict__["__flags__"].__get__
_NAME: Any = type.__dict__["__name__"].__get__
_QUALNAME: Any = type.__dict__["__qualname__"].__get__
_MODULE: Any = type.__dict__["__module__"].__get__
_ARGUMENTS: Any = BaseException.__dict__["args"].__get__

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
OUTER, INNER = 1 << 16, 128  # characters of a string: the value itself, and one inside a container
ELEMENTS = (60, 20)  # of a container, and of one inside it; what lies deeper is not written
SLOT = type(object.__repr__)  # wrapper_descriptor: a method in C
MEMBER, GETSET = types.MemberDescriptorType, types.GetSetDescriptorType
STANDARD = os.path.dirname(os.__file__) + os.sep
PACKAGES = ("site-packages", "dist-packages")


def ids(*kinds: Any) -> Any:
    """Types by identity: ``in`` compares, and a class's class may have code for that."""
    return frozenset(map(id, kinds))


def is_of(value: Any, kinds: Any) -> bool:
    """Whether the type of a value is one of :func:`ids`, not one derived from it."""
    return id(type(value)) in kinds


def name_of(type_: type) -> str:
    """The name of a type, which may have been set to a string with code of its own."""
    return str.__str__(_NAME(type_))


def qualname_of(type_: type) -> str:
    return str.__str__(_QUALNAME(type_))


def is_class(value: Any) -> bool:
    return any(one is type for one in MRO(type(value)))


LEAVES = ids(type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
FUNCTIONS = ids(types.FunctionType, types.BuiltinFunctionType, types.MethodType, classmethod, staticmethod)
DESCRIPTORS = ids(types.MemberDescriptorType, types.GetSetDescriptorType)
_SEQUENCES = ids(list, tuple, str, bytes, range)
_ORDERS = ids(bool, int, float), ids(str)  # types whose values can be compared with each other
_TABLES = ids(dict, collections.OrderedDict, collections.defaultdict)


class Text(str):
    """A text that is shown as it is, without quotes."""


class Kind:
    """What is known of the type of a value. ``entries`` are those of its classes by name, with the class of each."""

    def __init__(self, type_: type) -> None:
        self.type = type_
        self.mro: Tuple[type, ...] = MRO(type_)
        self.name = name_of(type_)
        self.qualname = qualname_of(type_)
        self.is_heap = bool(FLAGS(type_) & HEAP_TYPE)
        self.entries: Dict[str, Tuple[type, Any]] = {}
        for base in self.mro:
            for name, entry in NAMESPACE(base).items():
                if type(name) is str and name not in self.entries:
                    self.entries[name] = base, entry
        self.writer = _writer(self)

    @property
    def full_name(self) -> str:
        module = module_of(self.type)
        return self.qualname if module in ("builtins", None) else "%s.%s" % (module, self.qualname)

    def entry(self, name: str) -> Any:
        return self.entries.get(name, (None, None))[1]

    @property
    def own_repr(self) -> bool:
        """Whether the text that ``repr`` would give takes code that is not the interpreter's or a known library's."""
        found = self.entry("__repr__")
        if found is object.__dict__["__repr__"]:
            return False
        return self.writer is None or not (type(found) is SLOT or _is_standard(found))

    def has(self, base: type) -> bool:
        return any(one is base for one in self.mro)


def module_of(type_: type) -> Optional[str]:
    try:
        module = _MODULE(type_)
    except AttributeError:
        return None
    return module if type(module) is str else None


def _is_standard(function: Any) -> bool:
    """Whether a function is the standard library's, or one that it has made from source (``dataclass``)."""
    if type(function) is not types.FunctionType:
        return False
    file = function.__code__.co_filename
    if file.endswith("reprlib.py"):  # the wrapper of a dataclass's, or of one that the program has decorated
        wrapped = function.__dict__.get("__wrapped__")
        if type(wrapped) is not types.FunctionType:
            return False
        file = wrapped.__code__.co_filename
        return bool(file == "<string>")
    return file.startswith(STANDARD) and not any(one in file for one in PACKAGES)


class Reader:
    """Reads values for one answer; types are looked at once in it.

    ``whole``: strings are not cut. ``hexadecimal``: integers are written so. ``raw``: a string without quotes.
    ``libraries`` is the module dualdbg_arrays.
    """

    def __init__(
        self, libraries: Any, whole: bool = False, hexadecimal: bool = False, raw: bool = False
    ) -> None:
        self.libraries = libraries
        self.whole, self.hexadecimal, self.raw = whole, hexadecimal, raw
        self._kinds: Dict[int, Kind] = {}

    def kind(self, value: Any) -> Kind:
        type_ = type(value)
        found = self._kinds.get(id(type_))
        if found is None:
            found = self._kinds[id(type_)] = Kind(type_)
        return found

    def type_name(self, value: Any) -> str:
        return name_of(type(value))

    # -- text -------------------------------------------------------------------------------------

    def text(self, value: Any, level: int = 0) -> str:
        """The value as text: what ``repr`` says where that takes no code of the program."""
        if type(value) is Text:
            return str.__str__(value)
        exact = WRITERS.get(id(type(value)))
        if exact is not None:
            return exact(self, value, level)
        kind = self.kind(value)
        known: Optional[str] = self.libraries.text(kind, value, self)
        if known is not None:
            return self.cut(known, level)
        if kind.writer is not None:
            return str(kind.writer(self, value, level))
        return self.plain(kind, value)

    def own_repr(self, value: Any) -> bool:
        """Whether the class has a ``__repr__`` of its own, which was not run for the text."""
        if id(type(value)) in WRITERS or type(value) is Text:
            return False
        kind = self.kind(value)
        return not self.libraries.is_known(kind) and kind.own_repr

    def plain(self, kind: Kind, value: Any) -> str:
        return "<%s object at 0x%x>" % (kind.full_name, id(value))

    def limit(self, level: int) -> int:
        return INNER if level else OUTER

    def cut(self, text: str, level: int) -> str:
        """The text with its middle left out, where it is too long."""
        limit = self.limit(level)
        if self.whole or len(text) <= limit:
            return text
        return text[: limit * 2 // 3] + "..." + text[-(limit // 3) :]

    def sequence(self, values: Iterator[Any], total: int, level: int, opening: str, closing: str) -> str:
        if level >= len(ELEMENTS):
            return opening + ("..." if total else "") + closing
        shown = list(islice(values, ELEMENTS[level]))  # one call in C: no other thread comes between
        parts = [self.text(one, level + 1) for one in shown]
        if total > len(shown):
            parts.append("...")
        only = "," if opening == "(" and len(parts) == 1 else ""
        return opening + ", ".join(parts) + only + closing

    def pairs(self, pairs: Iterator[Tuple[Any, Any]], total: int, level: int) -> str:
        if level >= len(ELEMENTS):
            return "{...}" if total else "{}"
        shown = list(islice(pairs, ELEMENTS[level]))
        parts = ["%s: %s" % (self.text(key, level + 1), self.text(one, level + 1)) for key, one in shown]
        if total > len(shown):
            parts.append("...")
        return "{" + ", ".join(parts) + "}"

    def named(self, name: str, fields: List[Tuple[str, Any]], level: int) -> str:
        if level >= len(ELEMENTS):
            return name + "(...)"
        return "%s(%s)" % (name, ", ".join("%s=%s" % (key, self.text(one, level + 1)) for key, one in fields))

    def is_leaf(self, value: Any) -> bool:
        """Whether a value is a number, a string or a constant of Python's own."""
        return is_of(value, LEAVES) or type(value) is Text

    def is_function(self, value: Any) -> bool:
        return is_of(value, FUNCTIONS)

    def is_descriptor(self, value: Any) -> bool:
        """Whether it is the place of a slot or a C attribute in a class."""
        return is_of(value, DESCRIPTORS)

    # -- exceptions ---------------------------------------------------------------------------------

    def message(self, error: BaseException) -> str:
        """What ``str`` says of an exception; of one that has code of its own for it, its arguments."""
        kind, arguments = self.kind(error), _ARGUMENTS(error)
        said = kind.entry("__str__")
        fields = [value for name, value in self.slots(error) if not name.startswith("__")]
        parts = [part for one in (*arguments, *fields) for part in (one if type(one) is tuple else (one,))]
        if type(said) is SLOT and all(id(type(one)) in LEAVES for one in parts):  # a SyntaxError has a tuple
            return str(said(error))
        if len(arguments) == 1:
            one = arguments[0]
            return one if type(one) is str else self.text(one)
        return self.text(arguments) if arguments else ""

    # -- what is inside ---------------------------------------------------------------------------

    def slots(self, value: Any) -> List[Tuple[str, Any]]:
        """What lies in the object itself: ``__slots__``, and the members of a type in C."""
        kind, found = self.kind(value), []
        members = [(owner, name, one) for name, (owner, one) in kind.entries.items() if type(one) is MEMBER]
        for base in reversed(kind.mro) if members else ():  # those of the base first, as they lie in memory
            for owner, name, entry in members:
                if owner is base and entry.__objclass__ is owner and name != "__dict__":
                    try:
                        found.append((name, entry.__get__(value)))
                    except (AttributeError, SystemError):  # not set
                        continue
        return found

    def dictionary(self, value: Any) -> Optional[Dict[Any, Any]]:
        """The ``__dict__`` of an object; None where it has none that can be read."""
        for base in self.kind(value).mro:
            for name, entry in NAMESPACE(base).items():
                if type(name) is str and name == "__dict__" and is_of(entry, DESCRIPTORS):
                    try:
                        found = entry.__get__(value)
                    except (AttributeError, TypeError):  # a class's, which hides that of its base
                        continue
                    if any(one is dict for one in MRO(type(found))):
                        return found  # type: ignore[no-any-return]
        return None

    def fields(self, value: Any) -> List[Tuple[str, Any]]:
        """The attributes of the object itself. A name that is no string is left out."""
        found = self.slots(value)
        table = self.dictionary(value)
        if table is not None:
            found += [(name, one) for name, one in list(dict.items(table)) if type(name) is str]
        return found

    def class_fields(self, value: Any) -> List[Tuple[str, Any]]:
        """What the classes in Python have for the object: methods and constants, as they stand there."""
        return [
            (name, entry)
            for name, (owner, entry) in self.kind(value).entries.items()
            if FLAGS(owner) & HEAP_TYPE and not is_of(entry, DESCRIPTORS)
        ]

    def class_namespace(self, value: Any) -> List[Tuple[str, Any]]:
        """What stands in a class itself."""
        return [(name, entry) for name, entry in NAMESPACE(value).items() if type(name) is str]

    def entries_of(self, value: Any) -> Dict[str, Tuple[type, Any]]:
        """What a class and its bases have, by name."""
        return Kind(value).entries

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute by name. Raises LookupError for what only code could tell, or is not there."""
        kind = self.kind(value)
        if kind.has(type):
            return self._of_class(value, name)
        entry = kind.entry(name)
        is_data = name not in kind.entries or is_of(entry, PLAIN)
        for key, one in self.fields(value):
            if key == name and is_data:
                return one
        if name in kind.entries and is_of(entry, PLAIN) and type(entry) is not MEMBER:
            return entry
        raise LookupError(name)

    def _of_class(self, value: Any, name: str) -> Any:
        for base in MRO(value):
            for key, entry in NAMESPACE(base).items():
                if type(key) is str and key == name and is_of(entry, PLAIN):
                    return entry
        raise LookupError(name)

    def element(self, value: Any, key: Any) -> Any:
        """An element of a built-in container by a plain key. Raises LookupError as for an attribute."""
        if is_of(value, _SEQUENCES) and type(key) is int:
            return value[key]
        if is_of(value, _TABLES):
            for one, found in list(dict.items(value)):
                if type(one) is type(key) and id(type(one)) in LEAVES and one == key:
                    return found
        raise LookupError(self.text(key))


# -- writers ---------------------------------------------------------------------------------------


def _int(reader: Reader, value: Any, level: int) -> str:
    if reader.hexadecimal:
        return hex(value)
    try:
        return int.__repr__(value)
    except ValueError:  # more digits than sys.set_int_max_str_digits allows to convert
        return hex(value)


def _str(reader: Reader, value: Any, level: int) -> str:
    if reader.raw:
        return str.__str__(value)
    limit, length = reader.limit(level), str.__len__(value)
    if reader.whole or length <= limit:
        return str.__repr__(value)
    first, last = (
        str.__getitem__(value, slice(limit * 2 // 3)),
        str.__getitem__(value, slice(-(limit // 3), None)),
    )
    return repr(first)[:-1] + "..." + repr(last)[1:]


def _bytes(reader: Reader, value: Any, level: int) -> str:
    if reader.raw:
        return bytes.decode(value, "latin-1")
    limit, length = reader.limit(level), bytes.__len__(value)
    if reader.whole or length <= limit:
        return bytes.__repr__(value)
    first = bytes.__getitem__(value, slice(limit * 2 // 3))
    last = bytes.__getitem__(value, slice(-(limit // 3), None))
    return repr(first)[:-1] + "..." + repr(last)[2:]


def _bytearray(reader: Reader, value: Any, level: int) -> str:
    if reader.raw:
        return bytearray.decode(value, "latin-1")
    length, limit = bytearray.__len__(value), reader.limit(level)
    part = bytes(bytearray.__getitem__(value, slice(None if reader.whole else limit)))
    more = "" if length == len(part) else ", ... %d more" % (length - len(part))
    return "%s(%r%s)" % (name_of(type(value)), part, more)


def _list(reader: Reader, value: Any, level: int) -> str:
    return reader.sequence(list.__iter__(value), list.__len__(value), level, "[", "]")


def _tuple(reader: Reader, value: Any, level: int) -> str:
    kind = reader.kind(value)
    names = field_names(kind)
    if names is not None and len(names) == tuple.__len__(value):
        return reader.named(
            kind.name, [(name, tuple.__getitem__(value, at)) for at, name in enumerate(names)], level
        )
    if _is_struct_sequence(kind) and all(is_of(one, LEAVES) for one in tuple.__iter__(value)):
        return reader.cut(repr(value), level)
    return reader.sequence(tuple.__iter__(value), tuple.__len__(value), level, "(", ")")


def _is_struct_sequence(kind: Kind) -> bool:
    """Whether it is a tuple in C that names its elements (``os.stat_result``), which its text in C does too."""
    return type(kind.entry("n_sequence_fields")) is int and type(kind.entry("__repr__")) is SLOT


def field_names(kind: Kind) -> Optional[List[str]]:
    """The ``_fields`` of a named tuple's class."""
    names = kind.entry("_fields") if kind.is_heap else None
    if type(names) is not tuple or any(type(one) is not str for one in names):
        return None
    return list(names)


def _dict(reader: Reader, value: Any, level: int) -> str:
    kind = reader.kind(value)
    total, body = dict.__len__(value), reader.pairs(iter(dict.items(value)), dict.__len__(value), level)
    if kind.type is dict:
        return body
    if kind.has(collections.OrderedDict):
        return _ordered(reader, kind, value, level)
    if kind.has(collections.defaultdict):
        factory: Any = collections.defaultdict.__dict__["default_factory"].__get__(value)
        return "%s(%s, %s)" % (kind.name, reader.text(factory, level + 1), body)
    if kind.has(collections.Counter):
        pairs = list(dict.items(value))
        if any(all(is_of(one, order) for _, one in pairs) for order in _ORDERS):
            pairs.sort(key=lambda pair: pair[1], reverse=True)
            body = reader.pairs(iter(pairs), total, level)
        return "%s(%s)" % (kind.name, body if total else "")
    return body


def _ordered(reader: Reader, kind: Kind, value: Any, level: int) -> str:
    """The order of an OrderedDict is kept in a table of its own, in which keys are looked up by their hashes."""
    pairs, total = list(dict.items(value)), dict.__len__(value)
    if any(id(type(key)) not in LEAVES for key, _ in pairs):
        return "<%s, len() = %d>" % (kind.name, total)
    ordered = list(collections.OrderedDict.items(value))
    if sys.version_info >= (3, 12):
        body = reader.pairs(iter(ordered), total, level)
    else:
        body = reader.sequence(iter(ordered), total, level, "[", "]")
    return "%s(%s)" % (kind.name, body if total else "")


def _set(reader: Reader, value: Any, level: int) -> str:
    kind = reader.kind(value)
    base: Any = set if kind.has(set) else frozenset
    total = base.__len__(value)
    if not total:
        return "%s()" % kind.name
    body = reader.sequence(base.__iter__(value), total, level, "{", "}")
    return body if kind.type is set else "%s(%s)" % (kind.name, body)


def _deque(reader: Reader, value: Any, level: int) -> str:
    kind: Any = collections.deque
    body = reader.sequence(kind.__iter__(value), kind.__len__(value), level, "[", "]")
    longest = kind.__dict__["maxlen"].__get__(value)
    return "%s(%s%s)" % (name_of(type(value)), body, "" if longest is None else ", maxlen=%d" % longest)


def _view(reader: Reader, value: Any, level: int) -> str:
    """Keys, values or items of a dictionary."""
    kind: Any = type(value)
    entries: Dict[str, Any] = dict(NAMESPACE(kind))
    total = entries.get("__len__", len)(value)
    return "%s(%s)" % (name_of(kind), reader.sequence(entries["__iter__"](value), total, level, "[", "]"))


def _proxy(reader: Reader, value: Any, level: int) -> str:
    return "mappingproxy(...)"  # what it stands for may be any mapping of the program's


def _type(reader: Reader, value: Any, level: int) -> str:
    module = module_of(value)
    name = qualname_of(value)
    return "<class '%s'>" % (name if module in ("builtins", None) else "%s.%s" % (module, name))


def _method(reader: Reader, value: Any, level: int) -> str:
    function = value.__func__
    name = str.__str__(function.__qualname__) if is_of(function, FUNCTIONS) else "?"
    owner = value.__self__
    shown = _type(reader, owner, level) if is_class(owner) else reader.text(owner, level + 1)
    return "<bound method %s of %s>" % (name, shown)


def _builtin(reader: Reader, value: Any, level: int) -> str:
    owner = value.__self__
    if owner is None or type(owner) is types.ModuleType:
        return "<built-in function %s>" % value.__name__
    return "<built-in method %s of %s object at 0x%x>" % (
        value.__name__,
        reader.kind(owner).full_name,
        id(owner),
    )


def _module(reader: Reader, value: Any, level: int) -> str:
    members: Any = types.ModuleType.__dict__
    table = members["__dict__"].__get__(value)
    known = {name: one for name, one in list(dict.items(table)) if type(name) is str}
    name, file = known.get("__name__"), known.get("__file__")
    return "<module %s%s>" % (
        reader.text(name, level + 1),
        " from %s" % reader.text(file, level + 1) if type(file) is str else " (built-in)",
    )


def _wrapped(reader: Reader, value: Any, level: int) -> str:
    """A ``staticmethod`` or ``classmethod``; what it wraps may be any object."""
    if sys.version_info < (3, 10):
        return _property(reader, value, level)
    return "<%s(%s)>" % (name_of(type(value)), reader.text(value.__func__, level + 1))


def _property(reader: Reader, value: Any, level: int) -> str:
    return "<%s object at 0x%x>" % (name_of(type(value)), id(value))


def _by_interpreter(reader: Reader, value: Any, level: int) -> str:
    """Of a type whose text is made in C of what the interpreter itself has put into it."""
    return reader.cut(repr(value), level)


def _three(reader: Reader, value: Any, level: int) -> str:
    """A slice may have any object in it."""
    parts = [reader.text(one, level + 1) for one in (value.start, value.stop, value.step)]
    return "slice(%s)" % ", ".join(parts)


def _cell(reader: Reader, value: Any, level: int) -> str:
    try:
        inner = reader.text(value.cell_contents, level + 1)
    except ValueError:
        inner = "empty"
    return "<cell at 0x%x: %s>" % (id(value), inner)


def _exception(reader: Reader, value: Any, level: int) -> str:
    arguments = _ARGUMENTS(value)
    if level >= len(ELEMENTS):
        return "%s(...)" % name_of(type(value))
    parts = [reader.text(one, level + 1) for one in arguments]
    return "%s(%s)" % (name_of(type(value)), ", ".join(parts))


def _enum(reader: Reader, value: Any, level: int) -> str:
    kind, fields = reader.kind(value), dict(reader.fields(value))
    name, number = fields.get("_name_"), fields.get("_value_")
    shown = reader.text(number, level + 1)
    if type(name) is str:
        return "<%s.%s: %s>" % (kind.name, name, shown)
    if sys.version_info >= (3, 11) or type(number) is not int:
        return "<%s: %s>" % (kind.name, shown)
    return "<%s.%s: %s>" % (kind.name, "|".join(_flags(reader, kind, number)), shown)


def _flags(reader: Reader, kind: Kind, number: int) -> List[str]:
    """The members that a combination of flags is made of, as ``enum._decompose`` before 3.11 finds them."""
    table, members = kind.entry("_value2member_map_"), {}
    for key, member in list(dict.items(table)) if type(table) is dict else ():
        name = dict(reader.fields(member)).get("_name_")
        if type(key) is int:
            members[key] = name if type(name) is str else None
    found = [
        each
        for each, name in members.items()
        if each and each & number == each and (name is not None or (number >= 0 and each & (each - 1) == 0))
    ]
    if not found and number in members:
        found = [number]
    found.sort(reverse=True)
    if len(found) > 1 and found[0] == number:
        found.pop(0)
    return [members[each] or str(each) for each in found]


def _dataclass(reader: Reader, value: Any, level: int) -> str:
    kind = reader.kind(value)
    fields, declared = dict(reader.fields(value)), _declared(kind)
    names = [name for name in list(dict.keys(declared)) if type(name) is str]
    shown = [(name, fields[name]) for name in names if name in fields and _is_shown(reader, declared, name)]
    return reader.named(kind.qualname, shown, level)


def _declared(kind: Kind) -> Dict[str, Any]:
    """The fields that the text is made of: those of the class for which ``dataclass`` has made ``__repr__``."""
    owner, text = kind.entries["__repr__"]
    own = NAMESPACE(owner).get("__dataclass_fields__")
    return own if type(own) is dict and _is_standard(text) else kind.entry("__dataclass_fields__")


def _is_dataclass(kind: Kind) -> bool:
    """Whether fields are its text: not where ``repr=False`` has left it with the text of any object."""
    declared, text = kind.entry("__dataclass_fields__"), kind.entry("__repr__")
    return kind.is_heap and type(declared) is dict and type(text) is not SLOT


def _is_shown(reader: Reader, declared: Dict[str, Any], name: str) -> bool:
    """Whether the field is not declared with ``repr=False``."""
    field = declared[name]
    return dict(reader.slots(field)).get("repr") is not False


def _simple_namespace(reader: Reader, value: Any, level: int) -> str:
    name = "namespace" if type(value) is types.SimpleNamespace else name_of(type(value))
    fields = reader.fields(value)
    if sys.version_info < (3, 9):
        fields.sort(key=lambda field: field[0])
    return reader.named(name, fields, level)


BASES: Tuple[Tuple[type, Callable[[Reader, Any, int], str]], ...] = (
    (bool, _by_interpreter),
    (int, _int),
    (float, lambda reader, value, level: float.__repr__(value)),
    (complex, lambda reader, value, level: complex.__repr__(value)),
    (str, _str),
    (bytes, _bytes),
    (bytearray, _bytearray),
    (list, _list),
    (tuple, _tuple),
    (dict, _dict),
    (set, _set),
    (frozenset, _set),
    (collections.deque, _deque),
    (types.SimpleNamespace, _simple_namespace),
    (types.MappingProxyType, _proxy),
    (types.FunctionType, _by_interpreter),
    (types.BuiltinFunctionType, _builtin),
    (types.MethodType, _method),
    (types.ModuleType, _module),
    (type, _type),
    (slice, _three),
    (property, _property),
    (classmethod, _wrapped),
    (staticmethod, _wrapped),
    (type({}.keys()), _view),
    (type({}.values()), _view),
    (type({}.items()), _view),
)
# Each says what it is in C, and holds nothing whose text it would ask for.
_PLAIN_TYPES: Tuple[Any, ...] = (
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    range,
    memoryview,
    object,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    type(object.__repr__),
    type(str.join),
    type(dict.__dict__["fromkeys"]),
    type([].__len__),
    MEMBER,
    GETSET,
)
WRITERS: Dict[int, Callable[[Reader, Any, int], str]] = {id(base): writer for base, writer in BASES}
WRITERS.update((id(base), _by_interpreter) for base in _PLAIN_TYPES)
WRITERS[id(types.CellType)] = _cell
# What a class has under a name and an object of it shows so: a constant, or a slot.
PLAIN = ids(MEMBER, int, float, str, bool, type(None), list, tuple, dict, set, frozenset, bytes)


def _writer(kind: Kind) -> Optional[Callable[[Reader, Any, int], str]]:
    """How objects of a class are written that is none of the built-in types itself; None for plain objects."""
    if any(one is enum.EnumMeta for one in MRO(type(kind.type))):
        return _enum
    if _is_dataclass(kind):
        return _dataclass
    if kind.has(BaseException):
        return _exception
    for base in kind.mro:
        if base is not object and id(base) in WRITERS:
            return WRITERS[id(base)]
    return None
