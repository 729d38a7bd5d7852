"""``py2cpp`` and ``cpp2py``: from a Python object to the native one in it, and back."""

import gdb
from dualdbg_shared.binding_names import HANDLES, PYTHON_OBJECTS

from .. import context, language, locate
from ..answers import Answer, Arguments
from ..errors import HelperError, Implausible, LayoutMissing, Unreadable
from ..python.foreign import tensor_places
from ..python.interpreter import Interpreter
from ..python.names import Types
from ..python.numpy import Arrays
from ..python.objects import Objects
from ..python.pybind import BASE, Pybind
from ..torch.autograd import python_object
from ..torch.tensor import Tensors
from ..torch.tensor_text import TensorText
from .registry import command

_MAX_TEXT = 160
_SLOTS = (
    "c10::StorageImpl",
    "torch::autograd::Node",
)  # classes of C++ objects for which a Python object stands


@command(
    "py2cpp",
    "EXPR",
    "Show the native object of a Python one: the at::Tensor and TensorImpl of a tensor, an array's data, the C++\n"
    "object of a pybind11 instance, else the PyObject itself. It is $cpp from then on, the Python object $py.",
)
def py2cpp(text):
    expression = Arguments(text, {}).require_expression("a PyObject* or the address of an object")
    target = context.current()
    place = locate.python_object(target, locate.Expression(expression))
    kind = target.decoder(Types).of(place.address)
    name, pointers = _natives(target, kind, place.address)
    summary = _summary(target, kind, place.address)
    type_, address = pointers[0]
    lines = [f"{kind.full_name} at 0x{place.address:x}: {summary}"]
    width = max(len(pointer_type) for pointer_type, _ in pointers)
    lines += [f"  {one:<{width}}  0x{at:x}" for one, at in pointers]
    known = _set("cpp", type_, address)
    lines.append(_kept(type_, known, place.address))
    warning = _warning(target, kind)
    lines += [warning] if warning is not None else []
    data = {
        "kind": name,
        "type": kind.full_name,
        "python": f"0x{place.address:x}",
        "native": f"0x{address:x}",
        "pointers": [{"type": one, "address": f"0x{at:x}"} for one, at in pointers],
        "variables": {"$cpp": type_, "$py": "PyObject *"},
        "address": f"0x{address:x}",
    }
    if not known:  # whoever asks may have gdb read more, and ask again
        data["type_info"] = f"0x{target.decoder(Pybind).type_info(kind):x}"
    return Answer("\n".join(lines), data)


def _natives(target, kind, address):
    """The kind of object, and ``(C++ type, address)`` of the native objects in it, the best one first."""
    own = ("PyObject *", address)
    try:
        places = tensor_places(target, address, target.decoder(Interpreter).layout.head)
        if any(base.endswith("TensorBase") for base in kind.lineage):
            return "tensor", [("at::Tensor *", places[0]), ("c10::TensorImpl *", places[1]), own]
    except (Implausible, LayoutMissing, Unreadable):
        pass  # not a tensor, or a tensor without data
    try:
        if kind.derives_from("numpy.ndarray"):
            array = target.decoder(Arrays).read(address)
            return "array", [(f"{_ELEMENTS.get(array.dtype, 'void')} *", array.data), own]
    except (Implausible, Unreadable):
        pass
    values = []
    try:
        values = [(name, at) for name, at in target.decoder(Pybind).values(kind, address) if at]
    except (Implausible, Unreadable):
        if _warning(target, kind) is None:
            raise
    if values:
        return "pybind11", [*((f"{name or 'void'} *", at) for name, at in values), own]
    return "object", [own]


def _warning_of_tables(target):
    """What is to be said of pybind11's versions in the process; else None."""
    try:
        return target.decoder(Pybind).warning()
    except LayoutMissing:  # no interpreter
        return None


def _warning(target, kind):
    """What is to be said of pybind11's versions where an object is an instance of its; else None."""
    return target.decoder(Pybind).warning() if BASE in kind.bases else None


_ELEMENTS = {
    # numpy's dtypes in C++
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long",
    "uint64": "unsigned long",
    "float32": "float",
    "float64": "double",
}


def _summary(target, kind, address):
    """The object in a line; a tensor by what it is, without its values."""
    try:
        if any(base.endswith("TensorBase") for base in kind.lineage):
            head = target.decoder(Interpreter).layout.head
            tensor = target.decoder(Tensors).read(tensor_places(target, address, head)[1])
            return target.decoder(TensorText).summary(tensor)
    except (Implausible, LayoutMissing, Unreadable):
        pass
    text = " ".join(target.decoder(Objects).text(address).split())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def _kept(type_, known, python):
    """The line that says which variables of gdb are set. ``known``: gdb has the type of ``$cpp``."""
    _set("py", "PyObject *", python)
    if type_ == "PyObject *":
        return "In C++ expressions it is $cpp and $py."
    opened = "" if known else " (void *: gdb does not know that type)"
    return f"In C++ expressions the first is $cpp{opened}; the Python object is $py."


def _set(name, type_, address):
    """Set a convenience variable to a pointer of this type; False where gdb lacks the type and it is ``void *``."""
    value = gdb.Value(address)
    known = True
    try:
        target = language.find_type("_object" if type_ == "PyObject *" else type_[:-2])
    except gdb.error:
        target, known = language.find_type("void"), False
    gdb.set_convenience_variable(name, value.cast(target.pointer()))
    return known


@command(
    "cpp2py",
    "EXPR",
    "Show the Python object of a native one: of a tensor, of a PyObject* or a pybind11 handle, of a C++ object that a\n"
    "pybind11 instance holds; or say that it has none. The Python object is $py from then on.",
)
def cpp2py(text):
    words = Arguments(text, {}).require_expression("a native object, a pointer to one, or its address")
    target = context.current()
    expression = locate.Expression(words)
    what, native, found = _pythons(target, expression)
    data = {"kind": what, "native": f"0x{native:x}", "python": None, "objects": []}
    if not found:
        warning = _warning_of_tables(target) if what == "native" else None
        text = f"The {_WHAT[what]} at 0x{native:x} has no Python object.{_WHY[what]}"
        return Answer(f"{text}\n{warning}" if warning else text, data)
    lines = []
    for address in found:
        kind = target.decoder(Types).of(address)
        row = {"address": f"0x{address:x}", "type": kind.full_name, "text": _summary(target, kind, address)}
        data["objects"].append(row)
        lines.append(f"{row['type']} at {row['address']}: {row['text']}")
        warning = _warning(target, kind)
        lines += [warning] if warning is not None else []
    data["python"] = data["address"] = data["objects"][0]["address"]
    data["type"] = data["objects"][0]["type"]
    data["variables"] = {"$py": "PyObject *"}
    _set("py", "PyObject *", found[0])
    lines.append(
        f"In C++ expressions it is $py: pyobject $py shows {'it' if len(found) == 1 else 'the first'}."
    )
    return Answer("\n".join(lines), data)


_WHAT = {"tensor": "tensor", "object": "Python object", "slot": "object", "native": "C++ object"}
_WHY = {
    "tensor": " Python has not seen it, or has let go of it.",
    "object": "",
    "slot": " Python has not seen it, or has let go of it.",
    "native": " No pybind11 instance holds it, and it is no tensor and no PyObject.",
}


def _pythons(target, expression):
    """The kind of the expression (a key of the tables above), its address, and the Python objects for it."""
    memory, name, address = target.memory, expression.type_name, expression.address
    if name in _SLOTS:
        slot = python_object(target, name, address)
        return "slot", address, [slot] if slot else []
    if not memory.readable(address, 8):
        raise HelperError(f"Memory at 0x{address:x} cannot be read.")
    for look in _LOOKS:
        found = look(target, expression)
        if found is not None:
            return found
    return "native", address, []


def _object(target, expression):
    name = expression.type_name
    if name and not name.startswith((*PYTHON_OBJECTS, *HANDLES)):
        return None
    try:
        address = locate.python_object(target, expression).address
    except HelperError:
        if name:
            raise
        return None
    return "object", address, [address]


def _instance(target, expression):
    try:
        found = target.decoder(Pybind).instances(expression.address)
    except LayoutMissing:
        return None
    except (Implausible, Unreadable):
        if _warning_of_tables(target) is None:
            raise
        return None
    return ("native", expression.address, found) if found else None


def _tensor(target, expression):
    try:
        place = locate.tensor(target, expression)
        python = target.decoder(Tensors).read(place.address).python
    except (HelperError, Implausible, Unreadable):
        return None
    return "tensor", place.address, [python] if python else []


# What an expression may be, the surest first: memory that is a Python object begins with its type.
_LOOKS = (_object, _instance, _tensor)
