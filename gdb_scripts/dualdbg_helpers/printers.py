"""Pretty printers: ``print`` and ``info locals`` show objects as PyTorch and Python print them."""

import itertools
import re

import gdb
import gdb.printing

from . import containers, context, libcxx
from .answers import printable
from .errors import HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable
from .inferior import MASK, host_encoding
from .python.objects import Objects
from .torch.autograd import Autograd
from .torch.dispatch import DispatchKeys
from .torch.graph import Graphs
from .torch.interpreter import Interpreter
from .torch.ivalue import IValues
from .torch.scalars import Scalars
from .torch.schema import Operators, Schemas
from .torch.symbols import Symbols
from .torch.symint import SymInts
from .torch.tensor import Tensors, counts_at
from .torch.tensor_text import TensorText
from .torch.type_text import GraphTypes

_FAILURES = (HelperError, Implausible, LayoutMissing, Unreadable, OutOfTime)


class TextPrinter:
    """Shows a value by one text, which ``write(target, address)`` gives."""

    def __init__(self, value, address, write):
        self._value = value
        self._address = address
        self._write = write

    def to_string(self):
        try:
            return printable(self._write(context.shared(), self._address), host_encoding())
        except Unreadable as error:
            return str(error)
        except _FAILURES as error:
            message = error.message if isinstance(error, HelperError) else str(error)
            return f"<{message}>"


class SequencePrinter:
    """Shows the elements of an array: ``first`` is a pointer value, ``count`` how many there are."""

    def __init__(self, title, first, count):
        self._title = title
        self._first = first
        self._count = count

    def to_string(self):
        return f"{self._title} of {self._count}"

    def children(self):
        limit = gdb.parameter("print elements") or self._count
        for i in range(min(self._count, limit)):
            yield f"[{i}]", (self._first + i).dereference()

    def display_hint(self):
        return "array"


class MatrixPrinter:
    """Shows an ``Eigen::Matrix`` or ``Eigen::Array`` by its shape and elements, row by row."""

    def __init__(self, value, rows, columns):
        self._value, self._rows, self._columns = value, rows, columns

    def to_string(self):
        return f"{self._rows} x {self._columns}"

    def children(self):
        for row, column in itertools.product(range(self._rows), range(self._columns)):
            name = f"({row}, {column})" if 1 not in (self._rows, self._columns) else f"[{row or column}]"
            yield name, containers.coefficient(self._value, [row, column])


class _LongString:
    """Shows the beginning of a text whose length gdb cannot hold: it would show none of it."""

    def __init__(self, first, length=2**31):
        self._first, self._length = first, min(length, _MAX_LENGTH)

    def to_string(self):
        return self._first.lazy_string(length=self._length)

    def display_hint(self):
        return "string"


def _tensor(target, address):
    return _impl(target, target.memory.pointer(address))


def _impl(target, address):
    return target.decoder(TensorText).repr(target.decoder(Tensors).read(address))


def _storage(target, address):
    storage = target.decoder(Tensors).read_storage(address)
    size = "?" if storage.nbytes is None else storage.nbytes
    return (
        f"StorageImpl of {size} bytes at 0x{storage.data:x} on {storage.device}, refcount {storage.refcount}"
    )


def _storage_handle(target, address):
    impl = target.memory.pointer(address)
    return _storage(target, impl) if impl else "Storage(null)"


def _intrusive(target, address):
    pointer = target.memory.pointer(address)
    return f"0x{pointer:x} {_target_text(target, pointer)}" if pointer else "null"


def _target_text(target, pointer):
    """What an intrusive pointer points to: a tensor, a storage, or the class and its reference count."""
    tensors = target.decoder(Tensors)
    if tensors.is_impl(pointer):
        return f"{target.decoder(TensorText).summary(tensors.read(pointer))}"
    name = target.rtti.name(pointer)
    count = target.memory.u64(pointer + counts_at(target.layout))
    return f"<{name}, refcount {count & 0xFFFFFFFF}, weak {count >> 32 & 0x7FFFFFFF}>"


def _list(target, address):
    return _holder(target, address, "GenericList")


def _dict(target, address):
    return _holder(target, address, "GenericDict")


def _holder(target, address, tag):
    """A ``c10::List`` or ``c10::Dict``: a pointer like the payload of an IValue with that tag."""
    value = target.decoder(IValues).payload(tag, address)
    return f"{value.type} {value.text}"


def _autograd(target, address):
    info = target.decoder(Autograd).read(address, None)
    grad_fn = f", grad_fn=<{info.grad_fn_name}>" if info.grad_fn else ""
    view = ", view" if info.is_view else ""
    return f"AutogradMeta(requires_grad={info.requires_grad}{grad_fn}{view})"


def _node(target, address):
    nodes = target.decoder(Autograd).next_nodes(address, 20)
    following = ", ".join(name or "None" for name, _, _ in nodes)
    return f"<{target.decoder(Autograd).node_name(address)} -> ({following})>"


def _handle(target, address):
    pointer = target.memory.pointer(address)
    return target.decoder(Objects).text(pointer) if pointer else "null"


def _object(target, address):
    return target.decoder(Objects).text(address)


def _type_pointer(target, address):
    pointer = target.memory.pointer(address)
    return target.decoder(GraphTypes).text(pointer) if pointer else "null"


def _qualified_name(target, address):
    record = target.layout.record("c10::QualifiedName")
    return target.cxx.text(address + record["qualifiedName_"], 1000)


def _code(target, address):
    interpreter = target.decoder(Interpreter)
    code = address if interpreter.is_code(address) else target.memory.pointer(address)
    lines = interpreter.instructions(code)
    return "\n".join(
        [f"Code of {interpreter.function_name(code) or '<unnamed>'}", *map("  {}".format, lines)]
    )


def _operator(target, address):
    operators = target.decoder(Operators)
    definition = operators.of_handle(address)
    return operators.schema(definition) or operators.name(definition)


_BY_NAME = {
    # type name: function(target, address of the object) to text
    "at::Tensor": _tensor,
    "at::TensorBase": _tensor,
    "c10::TensorImpl": _impl,
    "c10::StorageImpl": _storage,
    "c10::Storage": _storage_handle,
    "c10::IValue": lambda target, a: target.decoder(IValues).read(a).text,
    "c10::SymInt": lambda target, a: str(target.decoder(SymInts).read(a)),
    "c10::Scalar": lambda target, a: target.decoder(Scalars).text(a),
    "c10::Device": lambda target, a: target.decoder(Tensors).device_name(a),
    "c10::DispatchKeySet": lambda target, a: target.decoder(DispatchKeys).text(target.memory.u64(a)),
    "c10::QualifiedName": _qualified_name,
    "c10::Symbol": lambda target, a: target.decoder(Symbols).qualified(target.memory.u32(a)),
    "c10::Type": lambda target, a: target.decoder(GraphTypes).text(a),
    "c10::FunctionSchema": lambda target, a: target.decoder(Schemas).text(a),
    "c10::Argument": lambda target, a: target.decoder(Schemas).argument(a),
    "c10::OperatorName": lambda target, a: target.decoder(Schemas).name(a),
    "c10::OperatorHandle": _operator,
    "torch::jit::Node": lambda target, a: target.decoder(Graphs).node(a),
    "torch::jit::Value": lambda target, a: target.decoder(Graphs).value(a),
    "torch::jit::Graph": lambda target, a: target.decoder(Graphs).text(a),
    "torch::jit::Code": _code,
    "torch::jit::interpreter::CodeImpl": _code,
    "torch::jit::Instruction": lambda target, a: target.decoder(Interpreter).instruction(a),
    "torch::autograd::AutogradMeta": _autograd,
    "torch::autograd::Node": _node,
    "pybind11::handle": _handle,
    "_object": _object,
}
_BY_TEMPLATE = (
    # (beginning of the type name, function(target, address) to text)
    ("c10::intrusive_ptr<", _intrusive),
    ("c10::weak_intrusive_ptr<", _intrusive),
    ("c10::List<", _list),
    ("c10::Dict<", _dict),
    ("c10::Type::SingletonOrSharedTypePtr<", _type_pointer),
)
_BASES = (
    "c10::TensorImpl",
    "c10::Type",
    "torch::autograd::Node",
    "torch::autograd::AutogradMeta",
    "pybind11::handle",
)
_ENUMS = ("c10::ScalarType", "c10::Layout", "c10::MemoryFormat", "c10::DispatchKey", "c10::DeviceType")
_STRING = re.compile(r"^std::(?:__\w+::)?basic_string(?:_view)?<")
_MATRIX = re.compile(r"^Eigen::(?:Matrix|Array)<")
_MAX_LENGTH = 2**31 - 1  # of a text, for gdb
_STACK = re.compile(r"^std::(?:__\w+::)?vector<c10::IValue\b")
_MAX_BASES = 10
_writers = {}


def _writer(kind):
    """The function that writes objects of the class ``kind``, or None."""
    name = kind.name or ""
    if name not in _writers:
        _writers[name] = _find_writer(kind, name)
    return _writers[name]


def _find_writer(kind, name):
    if name in _BY_NAME:
        return _BY_NAME[name]
    for beginning, write in _BY_TEMPLATE:
        if name.startswith(beginning):
            return write
    for base in itertools.islice(_bases(kind), _MAX_BASES):
        if base in _BASES:
            return _BY_NAME[base]
    return None


def _bases(kind):
    """Names of the first bases of a class, nearest first."""
    while True:
        base = next((field for field in kind.fields() if field.is_base_class), None)
        if base is None:
            return
        kind = base.type.strip_typedefs()
        yield kind.name


def lookup(value):
    """The printer for ``value``, or None to let gdb print it."""
    kind = value.type.unqualified().strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return lookup(value.referenced_value())
    if kind.code == gdb.TYPE_CODE_PTR:
        target = kind.target().unqualified().strip_typedefs()
        if target.code != gdb.TYPE_CODE_STRUCT or target.name != "_object" or not int(value):
            return None
        return _text(value, int(value) & MASK, lambda t, a: f"0x{a:x} {_object(t, a)}")
    if kind.code == gdb.TYPE_CODE_ENUM:
        return _enum(value, kind)
    if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    sequence = _sequence(value, kind)
    if sequence is not None:
        return sequence
    write = _writer(kind)
    address = value.address
    return None if write is None or address is None else _text(value, int(address) & MASK, write)


def _text(value, address, write):
    try:
        context.shared()
    except HelperError:
        return None
    return TextPrinter(value, address, write)


def _enum(value, kind):
    if kind.name not in _ENUMS:
        return None
    number = int(value)
    return _text(value, number, lambda target, _: target.decoder(Scalars).enumerator(kind.name, number))


def _sequence(value, kind):
    """A printer for c10's and libstdc++'s arrays, by the names of their members."""
    name = kind.name or ""
    try:
        row = libcxx.elements(value)
        if row is not None:
            title = libcxx.name_of(value)
            return _LongString(*row) if title in libcxx.TEXTS else SequencePrinter("std::" + title, *row)
        if libcxx.name_of(value) in libcxx.NODES:
            return libcxx.Nodes(value)
        if _MATRIX.match(name):
            return MatrixPrinter(value, *containers.matrix_shape(value))
        if name.startswith("c10::ArrayRef<"):
            return SequencePrinter("ArrayRef", value["Data"], int(value["Length"]))
        if name.startswith("c10::OptionalArrayRef<"):
            return _optional_array(value)
        if name.startswith("c10::SmallVector<"):
            pointer = value["BeginX"].cast(kind.template_argument(0).pointer())
            return SequencePrinter("SmallVector", pointer, int(value["Size"]))
        if _STACK.match(name):
            start, finish = value["_M_impl"]["_M_start"], value["_M_impl"]["_M_finish"]
            return SequencePrinter("Stack", start, int(finish - start))
        if _STRING.match(name):
            return _long_string(value, name)
    except (gdb.error, RuntimeError):
        return None
    return None


def _long_string(value, name):
    """A printer for libstdc++'s strings that are too long for gdb; None for others."""
    if "_view" in name:
        first, length = value["_M_str"], value["_M_len"]
    elif "__cxx11" in name:
        first, length = value["_M_dataplus"]["_M_p"], value["_M_string_length"]
    else:
        return None
    return _LongString(first) if int(length) > _MAX_LENGTH else None


def _optional_array(value):
    inner = value["wrapped_opt_array_ref"]["_M_payload"]
    if not bool(inner["_M_engaged"]):
        return _Word("nullopt")
    array = inner["_M_payload"]["_M_value"]
    return SequencePrinter("OptionalArrayRef", array["Data"], int(array["Length"]))


class _Word:
    def __init__(self, word):
        self._word = word

    def to_string(self):
        return self._word


class _Collection(gdb.printing.PrettyPrinter):
    """All printers under one name: ``disable pretty-printer global dualdbg`` switches them off."""

    def __call__(self, value):
        return lookup(value) if self.enabled else None


def register():
    """Let gdb use these printers."""
    gdb.printing.register_pretty_printer(None, _Collection("dualdbg"), replace=True)
