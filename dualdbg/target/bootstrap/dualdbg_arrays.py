"""Runs in the target: the text of tensors, arrays and of types of the standard library, by the library's own code.

Only where that is a known library's exact type, which holds no code of the program that could be called.
CPython 3.8 and later.
"""

from __future__ import annotations

import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

NAMESPACE: Any = type.__dict__["__dict__"].__get__
_MODULE_MEMBERS: Any = types.ModuleType.__dict__
_OF_MODULE: Any = _MODULE_MEMBERS["__dict__"].__get__

LARGEST = 1 << 20  # elements of an array that is searched for its least and largest
FIRST = 500  # elements of an array that are shown as rows

TENSORS = ("Tensor", "nn.parameter.Parameter", "nn.parameter.Buffer")
# Types in C, and of the standard library, whose text is made of their own fields.
STANDARD: Dict[str, Tuple[str, ...]] = {
    "datetime": ("date", "time", "datetime", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "uuid": ("UUID", "SafeUUID"),
    "pathlib": ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"),
    "ipaddress": tuple("IPv%s%s" % (v, what) for v in "46" for what in ("Address", "Interface", "Network")),
    "re": ("Pattern",),
    "array": ("array",),
    "zoneinfo": ("ZoneInfo",),
    "torch": ("Size", "dtype", "device", "layout", "memory_format"),
    "numpy": ("dtype",),
}
_FOREIGN = {"pathlib._local": "pathlib"}  # where a class is written, when that is not where it is offered


def offered(module: str, path: str) -> Any:
    """What a module that the program has imported offers under a dotted name; None without running any code."""
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        if type(found) is not types.ModuleType:
            return None
        found = next(
            (one for key, one in list(_OF_MODULE(found).items()) if type(key) is str and key == name), None
        )
    return found


def is_tensor(kind: Any) -> bool:
    """Whether a type is PyTorch's own for tensors and parameters, not one that the program has derived."""
    if kind.name not in ("Tensor", "Parameter", "Buffer"):
        return False
    return any(offered("torch", path) is kind.type for path in TENSORS)


def is_array(kind: Any) -> bool:
    return kind.name == "ndarray" and offered("numpy", "ndarray") is kind.type


def _is_scalar(kind: Any) -> bool:
    if kind.is_heap or kind.name == "void":
        return False
    generic = offered("numpy", "generic")
    return generic is not None and kind.has(generic) and kind.type is not offered("numpy", "object_")


def _module(kind: Any) -> str:
    found = kind.entry("__module__")
    module = kind.full_name[: -len(kind.qualname) - 1] if kind.full_name != kind.qualname else ""
    module = found if not module and type(found) is str else module
    return _FOREIGN.get(module, module)


def _is_standard(kind: Any) -> bool:
    module = _module(kind)
    if kind.name.endswith("DType") and module.startswith("numpy"):
        return kind.has(offered("numpy", "dtype"))  # type: ignore[no-any-return]
    return kind.name in STANDARD.get(module, ()) and offered(module, kind.name) is kind.type


def is_known(kind: Any) -> bool:
    """Whether :func:`text` knows the type."""
    return (
        is_tensor(kind)
        or is_array(kind)
        or _is_scalar(kind)
        or _is_standard(kind)
        or _composed(kind) is not None
    )


def text(kind: Any, value: Any, reader: Any, level: int) -> Optional[str]:
    """The text by the library's own code; None for other types, and where that would call the program."""
    try:
        if is_tensor(kind):
            return _tensor(kind, value)
        if is_array(kind):
            return _array(value)
        if _is_scalar(kind) or (_is_standard(kind) and _holds_only_plain(reader, kind, value)):
            return repr(value)
        write = _composed(kind)
        if write is not None:
            return write(reader, kind, value, level)  # type: ignore[no-any-return]
    except Exception as error:  # a library's own failure: a tensor without storage, a dtype without text
        return "<%s: its text cannot be made: %s>" % (kind.full_name, type(error).__name__)
    return None


def _tensor(kind: Any, value: Any) -> Optional[str]:
    core, writer = offered("torch", "_C"), offered("torch", "_tensor_str")
    guard = offered("torch._C", "DisableTorchFunction")
    if core is None or writer is None or guard is None:
        return None
    # No mode of the program's sees what is read; the modes below that the writer turns off itself.
    with guard():
        written = writer._str(value)
    return written if kind.name == "Tensor" else "%s containing:\n%s" % (kind.name, written)


# What is shown inside of a tensor and an array: attributes in C.
_FACTS = {
    "tensor": ("dtype", "shape", "device", "requires_grad", "grad", "grad_fn", "is_leaf", "layout"),
    "array": ("dtype", "shape", "strides", "size", "nbytes", "base"),
}


def facts(kind: Any, value: Any) -> List[Tuple[str, Any, str]]:
    """What of a tensor or an array is worth a row: name, value, and what to put behind its expression.

    None of other types.
    """
    if is_array(kind):
        known = [(name, getattr(value, name), ".%s" % name) for name in _FACTS["array"]]
        return known + _extremes(value) + _elements(value)
    guard = offered("torch._C", "DisableTorchFunction")
    if guard is None or not is_tensor(kind):
        return []
    with guard():
        return list(_what_it_has(value, _FACTS["tensor"]))


def _what_it_has(value: Any, names: Tuple[str, ...]) -> Iterator[Tuple[str, Any, str]]:
    for name in names:
        try:
            yield name, getattr(value, name), ".%s" % name
        except Exception:  # PyTorch refuses by errors of many types: a nested tensor has no shape
            continue


def _extremes(value: Any) -> List[Tuple[str, Any, str]]:
    """The least and the largest number of an array, as debugpy has them; none where that takes long."""
    quiet = offered("numpy", "errstate")
    if value.dtype.kind not in "biufc" or not 0 < value.size <= LARGEST or quiet is None:
        return []
    with quiet(all="ignore"):  # else it may call a function of the program
        return [(name, getattr(value, name)(), ".%s()" % name) for name in ("min", "max")]


def _elements(value: Any) -> List[Tuple[str, Any, str]]:
    """A row with the first elements, called as debugpy calls it. None of an array without dimensions."""
    if not value.ndim:
        return []
    count = value.shape[0]
    return [("[0:%d] " % count, list(value[:FIRST]), "[0:%d]" % min(count, FIRST))]


def tensor_facts(kind: Any, value: Any) -> Tuple[Optional[Dict[str, Any]], Optional[int]]:
    """The dtype and sizes of a tensor or array, and the address of a tensor's data in the target's memory.

    None for other types, and for what a tensor does not have.
    """
    if is_array(kind):
        return {"dtype": value.dtype.name, "sizes": list(value.shape)}, None
    if not is_tensor(kind):
        return None, None
    guard = offered("torch._C", "DisableTorchFunction")
    if guard is None:
        return None, None
    with guard():
        try:
            facts = {"dtype": str(value.dtype).replace("torch.", ""), "sizes": list(value.shape)}
        except Exception:  # a nested tensor has no shape
            return None, None
        try:
            return facts, (value.data_ptr() if value.is_cpu else 0) or None
        except Exception:  # sparse, fake: no data of its own
            return facts, None


_DEFAULT = ("bool", "int64", "float64", "complex128")


def _array(value: Any) -> Optional[str]:
    if value.dtype.hasobject:
        return None
    write = offered("numpy", "array2string")
    # An empty ``formatter`` goes before one that the program may have set for all arrays.
    body = write(value, separator=", ", prefix="array(", suffix=")", formatter={}) if value.size else "[]"
    extra = ""
    is_cut = value.size > offered("numpy", "get_printoptions")()["threshold"]
    if is_cut or (not value.size and value.shape != (0,)):
        extra += ", shape=%s" % (value.shape,)
    if (not value.size or value.dtype.name not in _DEFAULT) and value.dtype.kind not in "SU":
        name = (
            value.dtype.name
            if value.dtype.names is None and value.dtype.isnative
            else repr(value.dtype)[6:-1]
        )
        extra += ", dtype=%s" % name
    elif value.dtype.kind in "SU":
        extra += ", dtype='%s'" % value.dtype.str
    return "array(%s%s)" % (body, extra)


# -- types of the standard library that hold objects of the program's --------------------------------------------


def _partial(reader: Any, kind: Any, value: Any, level: int) -> str:
    if reader.is_too_deep(level):
        return "functools.partial(...)"
    held = dict(reader.slots(value))
    given, named = held["args"], held["keywords"]
    parts = [reader.text(held["func"], level + 1)]
    parts += [reader.text(one, level + 1) for one in reader.first(tuple.__iter__(given), level)]
    for name, one in reader.first(iter(dict.items(named)), level):
        parts.append("%s=%s" % (name if type(name) is str else "?", reader.text(one, level + 1)))
    if len(parts) <= tuple.__len__(given) + dict.__len__(named):
        parts.append("...")
    return "functools.partial(%s)" % ", ".join(parts)


def _reference(reader: Any, kind: Any, value: Any, level: int) -> str:
    referent = value()
    if referent is None:
        return "<weakref at 0x%x; dead>" % id(value)
    of = reader.kind(referent)
    name = of.name
    if sys.version_info >= (3, 13) or not of.is_heap or of.is_immutable:
        name = of.full_name[len("__main__.") :] if of.full_name.startswith("__main__.") else of.full_name
    own = _name_of_referent(reader, of, referent)
    shown = " (%s)" % own if type(own) is str else ""
    return "<weakref at 0x%x; to '%s' at 0x%x%s>" % (id(value), name, id(referent), shown)


_NAMED = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)


def _name_of_referent(reader: Any, kind: Any, value: Any) -> Any:
    """The ``__name__`` that the text of a weak reference has: before 3.11 the object's own, else that of its class."""
    if kind.has(type):
        return NAMESPACE(type)["__name__"].__get__(value)
    if any(kind.type is one for one in _NAMED):
        return value.__name__
    own = dict(reader.fields(value)).get("__name__") if sys.version_info < (3, 11) else None
    return kind.entry("__name__") if own is None else own


def _match(reader: Any, kind: Any, value: Any, level: int) -> Optional[str]:
    return repr(value) if reader.is_leaf(value.string) else None


def _chain(reader: Any, kind: Any, value: Any, level: int) -> Optional[str]:
    maps = dict(reader.fields(value)).get("maps")
    if type(maps) is not list:
        return None
    return str(reader.sequence(list.__iter__(maps), list.__len__(maps), level, "ChainMap(", ")"))


def _data(reader: Any, kind: Any, value: Any, level: int) -> Optional[str]:
    fields = dict(reader.fields(value))
    return str(reader.text(fields["data"], level)) if "data" in fields else None


# Each says what ``repr`` would, of its parts as they are shown.
_COMPOSED: Dict[Tuple[str, str], Any] = {
    ("functools", "partial"): _partial,
    ("weakref", "ReferenceType"): _reference,
    ("re", "Match"): _match,
    ("collections", "ChainMap"): _chain,
    ("collections", "UserDict"): _data,
    ("collections", "UserList"): _data,
    ("collections", "UserString"): _data,
}


def _composed(kind: Any) -> Any:
    """The writer of exactly this type; None for other types, those derived from it among them."""
    module = "weakref" if kind.name in ("weakref", "ReferenceType") else _module(kind)
    name = "ReferenceType" if module == "weakref" else kind.name
    write = _COMPOSED.get((module, name))
    return write if write is not None and offered(module, name) is kind.type else None


def is_composed(kind: Any) -> bool:
    """Whether :func:`text` is made of the texts of parts, each of which is cut already."""
    return _composed(kind) is not None


def _holds_only_plain(reader: Any, kind: Any, value: Any) -> bool:
    """Whether an object of the standard library or of numpy holds nothing that could run code of the program."""
    if kind.name in ("time", "datetime"):
        zone = NAMESPACE(kind.type)["tzinfo"].__get__(value)
        if zone is not None and not _is_standard(reader.kind(zone)):
            return False
    if _module(kind).startswith("numpy"):
        return not value.hasobject
    if kind.name == "SafeUUID":  # a constant
        return True
    # Before 3.11 a path has an _accessor, which its text does not ask.
    return all(_is_plain(reader, one) for name, one in reader.fields(value) if name != "_accessor")


def _is_plain(reader: Any, value: Any, depth: int = 0) -> bool:
    if (type(value) is list or type(value) is tuple) and depth < 2:
        return all(_is_plain(reader, one, depth + 1) for one in value)
    if reader.is_leaf(value):
        return True
    return (
        depth == 0
        and _is_standard(reader.kind(value))
        and _holds_only_plain(reader, reader.kind(value), value)
    )
