"""Runs in the target: the text of values of built-in types and of classes made of them, as ``repr`` has it.

Each writer takes the reader (dualdbg_values.py), the value, and how deep it lies in the one that is asked for. It reads
past the class, as dualdbg_kinds.py says. CPython 3.8 and later.
"""

from __future__ import annotations

import collections
import enum
import gc
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from dualdbg_shared import object_text as texts

    from dualdbg.target.bootstrap import dualdbg_kinds as kinds
    from dualdbg.target.bootstrap.dualdbg_kinds import Kind, Writer
    from dualdbg.target.bootstrap.dualdbg_values import Reader
else:
    kinds = globals()["beside"]("dualdbg_kinds")  # whoever loads this file puts ``beside`` there
    texts = globals()["beside"]("object_text")

_ORDERS = kinds.ids(bool, int, float), kinds.ids(str)  # types whose values can be compared with each other


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
    return "%s(%r%s)" % (kinds.name_of(type(value)), part, more)


def _list(reader: Reader, value: Any, level: int) -> str:
    return reader.sequence(list.__iter__(value), list.__len__(value), level, "[", "]")


def _tuple(reader: Reader, value: Any, level: int) -> str:
    kind = reader.kind(value)
    names = field_names(kind)
    if names is not None and len(names) == tuple.__len__(value):
        return reader.named(
            kind.name, [(name, tuple.__getitem__(value, at)) for at, name in enumerate(names)], level
        )
    if _is_struct_sequence(kind) and all(kinds.is_of(one, kinds.LEAVES) for one in tuple.__iter__(value)):
        return reader.cut(repr(value), level)
    return reader.sequence(tuple.__iter__(value), tuple.__len__(value), level, "(", ")")


def _is_struct_sequence(kind: Kind) -> bool:
    """Whether it is a tuple in C that names its elements (``os.stat_result``), which its text in C does too."""
    return type(kind.entry("n_sequence_fields")) is int and type(kind.entry("__repr__")) is kinds.SLOT


def field_names(kind: Kind) -> Optional[List[str]]:
    """The ``_fields`` of a named tuple's class, which has a ``_make`` too; other tuples are written without names."""
    owner, names = kind.entries.get("_fields", (None, None)) if kind.is_heap else (None, None)
    if owner is None or "_make" not in kinds.NAMESPACE(owner):
        return None
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
        if any(all(kinds.is_of(one, order) for _, one in pairs) for order in _ORDERS):
            pairs.sort(key=lambda pair: pair[1], reverse=True)
            body = reader.pairs(iter(pairs), total, level)
        return "%s(%s)" % (kind.name, body if total else "")
    return body


def _ordered(reader: Reader, kind: Kind, value: Any, level: int) -> str:
    """The order of an OrderedDict is kept in a table of its own, in which keys are looked up by their hashes."""
    pairs, total = list(dict.items(value)), dict.__len__(value)
    if any(id(type(key)) not in kinds.LEAVES for key, _ in pairs):
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
    return "%s(%s%s)" % (kinds.name_of(type(value)), body, "" if longest is None else ", maxlen=%d" % longest)


def _view(reader: Reader, value: Any, level: int) -> str:
    """Keys, values or items of a dictionary."""
    kind: Any = type(value)
    entries: Dict[str, Any] = dict(kinds.NAMESPACE(kind))
    total = entries.get("__len__", len)(value)
    return "%s(%s)" % (
        kinds.name_of(kind),
        reader.sequence(entries["__iter__"](value), total, level, "[", "]"),
    )


def _proxy(reader: Reader, value: Any, level: int) -> str:
    """It stands for one mapping, and nothing but the garbage collector tells which."""
    held = gc.get_referents(value)
    return "mappingproxy(%s)" % (reader.text(held[0], level + 1) if held else "...")


def _type(reader: Reader, value: Any, level: int) -> str:
    is_flag = any(one is enum.Flag for one in kinds.MRO(value))
    module, name, qualname = kinds.module_of(value), kinds.name_of(value), kinds.qualname_of(value)
    return texts.class_text(module, name, qualname, _is_enum(type(value)), is_flag, reader.minor)


def _is_enum(meta: type) -> bool:
    """Whether a class's class is that of enums."""
    return any(one is enum.EnumMeta for one in kinds.MRO(meta))


def _method(reader: Reader, value: Any, level: int) -> str:
    function = value.__func__
    if kinds.is_class(function):
        name = kinds.qualname_of(function)
    else:
        name = str.__str__(function.__qualname__) if kinds.is_of(function, kinds.FUNCTIONS) else "?"
    owner = value.__self__
    shown = _type(reader, owner, level) if kinds.is_class(owner) else reader.text(owner, level + 1)
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
    return texts.module_text(reader, {k: one for k, one in list(dict.items(table)) if type(k) is str}, level)


def _wrapped(reader: Reader, value: Any, level: int) -> str:
    """A ``staticmethod`` or ``classmethod``; what it wraps may be any object."""
    if sys.version_info < (3, 10):
        return _property(reader, value, level)
    return "<%s(%s)>" % (kinds.name_of(type(value)), reader.text(value.__func__, level + 1))


def _property(reader: Reader, value: Any, level: int) -> str:
    return "<%s object at 0x%x>" % (kinds.name_of(type(value)), id(value))


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
    arguments = kinds.ARGUMENTS(value)
    if reader.is_too_deep(level):
        return "%s(...)" % kinds.name_of(type(value))
    parts = [reader.text(one, level + 1) for one in arguments]
    return "%s(%s)" % (kinds.name_of(type(value)), ", ".join(parts))


def _enum(reader: Reader, value: Any, level: int) -> str:
    return texts.enum_text(reader, value, reader.kind(value).name, level)


def _dataclass(reader: Reader, value: Any, level: int) -> str:
    kind = reader.kind(value)
    fields, declared = dict(reader.fields(value)), _declared(kind)
    names = [name for name in list(dict.keys(declared)) if type(name) is str]
    shown = [
        (name, fields[name] if name in fields else _default(reader, kind, name))
        for name in names
        if _is_shown(reader, declared, name)
    ]
    return reader.named(kind.qualname, shown, level)


def _default(reader: Reader, kind: Kind, name: str) -> Any:
    """The value that a field has by its class, where the object itself has none."""
    if name not in kind.entries or type(kind.entry(name)) is kinds.MEMBER:
        return kinds.Text("<not set>")
    found = kind.entry(name)
    return found if reader.kind(found).entry("__get__") is None else kinds.Text("<not run>")


def _declared(kind: Kind) -> Dict[str, Any]:
    """The fields that the text is made of: those of the class for which ``dataclass`` has made ``__repr__``."""
    owner, text = kind.entries["__repr__"]
    own = kinds.NAMESPACE(owner).get("__dataclass_fields__")
    return own if type(own) is dict and kinds.is_standard(text) else kind.entry("__dataclass_fields__")


def is_dataclass(kind: Kind) -> bool:
    """Whether fields are its text: not where ``repr=False`` has left it with the text of any object."""
    declared, text = kind.entry("__dataclass_fields__"), kind.entry("__repr__")
    return kind.is_heap and type(declared) is dict and type(text) is not kinds.SLOT


def _is_shown(reader: Reader, declared: Dict[str, Any], name: str) -> bool:
    """Whether it is a field, no ``ClassVar`` or ``InitVar``, and not declared with ``repr=False``."""
    field = dict(reader.slots(declared[name]))
    kind = field.get("_field_type")
    return field.get("repr") is not False and kind is reader.libraries.offered("dataclasses", "_FIELD")


def _simple_namespace(reader: Reader, value: Any, level: int) -> str:
    name = "namespace" if type(value) is types.SimpleNamespace else kinds.name_of(type(value))
    fields = reader.fields(value)
    if sys.version_info < (3, 9):
        fields.sort(key=lambda field: field[0])
    return reader.named(name, fields, level)


BASES: Tuple[Tuple[type, Writer], ...] = (
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
    kinds.MEMBER,
    kinds.GETSET,
)
WRITERS: Dict[int, Writer] = {id(base): writer for base, writer in BASES}
WRITERS.update((id(base), _by_interpreter) for base in _PLAIN_TYPES)
WRITERS[id(types.CellType)] = _cell


def writer_of(kind: Kind) -> Optional[Writer]:
    """How objects of a class are written that is none of the built-in types itself; None for plain objects."""
    if _is_enum(type(kind.type)):
        return _enum
    if is_dataclass(kind):
        return _dataclass
    if kind.has(BaseException):
        return _exception
    for base in kind.mro:
        if base is not object and id(base) in WRITERS:
            return WRITERS[id(base)]
    return None
