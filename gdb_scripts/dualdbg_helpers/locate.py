"""What a C++ expression refers to: a tensor, an IValue, a stack or a Python object, and at which address.

The declared type decides where it is precise enough. At a plain address memory is looked at, and the answer says what
it was taken for.
"""

from collections import namedtuple

import gdb
from dualdbg_shared.binding_names import HANDLES, PYTHON_OBJECTS

from .errors import HelperError, Implausible, LayoutMissing, Unreadable
from .inferior import MASK, evaluate
from .python.foreign import tensor_of
from .python.interpreter import Interpreter
from .python.names import Types
from .torch.ivalue import SIZE, IValues
from .torch.tensor import Tensors

Place = namedtuple("Place", "address how")
"""An address, and what the expression was taken for ("" when its type said it)."""

_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_TENSOR_HOLDERS = (
    "at::Tensor",
    "at::TensorBase",
    "torch::Tensor",
    "at::OptionalTensorRef",
    "c10::OptionalTensorRef",
)
STACK_TYPES = ("std::vector<c10::IValue", "torch::jit::Stack", "c10::Stack")


class Expression:
    """The value of an expression: ``address`` of the object it names, ``type_name`` of that object ("" for none).

    A pointer names what it points to; an integer names what is at that address.
    """

    def __init__(self, text):
        self.text = text
        value = evaluate(text)
        kind = value.type.strip_typedefs()
        if kind.code in _REFERENCES:
            value = value.referenced_value()
            kind = value.type.strip_typedefs()
        self.type_name = ""
        if kind.code == gdb.TYPE_CODE_PTR:
            target = kind.target().strip_typedefs()
            self.address = int(value) & MASK
            if target.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
                self.type_name = _name(target)
        elif kind.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM):
            self.address = int(value) & MASK
        elif kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            if value.address is None:
                raise HelperError(
                    f"{text!r} has no address: it is a value in registers.",
                    "Give the address of the object, for example $rdi ($x0 on AArch64) where the ABI passes it.",
                )
            self.address = int(value.address) & MASK
            self.type_name = _name(kind)
        else:
            raise HelperError(f"{text!r} is a {value.type}, not an object or an address.")


def _name(kind):
    return kind.name or ""  # its text would be in the language of the frame


def tensor(target, expression):
    """The :class:`Place` of the ``TensorImpl`` that ``expression`` refers to; raises :class:`HelperError`."""
    memory, tensors = target.memory, target.decoder(Tensors)
    address, name = expression.address, expression.type_name
    try:
        if name.startswith("c10::MaybeOwned<at::Tensor"):
            inner = address + 8
            return Place(memory.pointer(memory.pointer(inner) if memory.u8(address) else inner), "")
        if name.startswith(_TENSOR_HOLDERS) or name.startswith("c10::intrusive_ptr<c10::TensorImpl"):
            return Place(memory.pointer(address), "")
        if tensors.is_impl(address):
            return Place(address, "" if name else "the address of a TensorImpl")
        if name == "c10::IValue":
            return _of_ivalue(target, address, "")
        if not name or name in PYTHON_OBJECTS:
            found = _python_tensor(target, address)
            if found is not None:
                return Place(found, "" if name else "the address of a torch.Tensor object")
        first = memory.pointer(address)
        if tensors.is_impl(first):
            return Place(first, "" if name else "the address of an at::Tensor")
    except Unreadable as error:
        raise HelperError(f"There is no tensor at 0x{address:x}: {error}.") from None
    hint = "Expected an at::Tensor, a TensorImpl, an IValue with a tensor or a torch.Tensor object."
    if expression.text == "$rdi":
        hint += "\n  A function that returns an object gets the place for it in $rdi: its first argument is in $rsi."
    raise HelperError(f"There is no tensor at 0x{address:x}.", hint)


def _of_ivalue(target, address, how):
    if target.decoder(IValues).tag_at(address) != "Tensor":
        raise HelperError(f"The IValue at 0x{address:x} holds no tensor.", "Use `ivalue`.")
    return Place(target.memory.pointer(address), how)


def _python_tensor(target, address):
    try:
        head = target.decoder(Interpreter).layout.head
        target.decoder(Types).of(address)
        return tensor_of(target, address, head)
    except (Implausible, Unreadable, LayoutMissing):
        return None


def ivalue(target, expression):
    """The :class:`Place` of the IValue that ``expression`` refers to."""
    address, name = expression.address, expression.type_name
    if name == "c10::IValue":
        return Place(address, "")
    _readable(target, address, SIZE)
    if name or target.decoder(IValues).plausible(address):
        return Place(address, "taken as the address of an IValue")
    raise HelperError(f"There is no IValue at 0x{address:x}.")


def stack(target, expression):
    """The :class:`Place` of the ``torch::jit::Stack`` that ``expression`` refers to."""
    address, name = expression.address, expression.type_name
    if name.startswith(STACK_TYPES):
        return Place(address, "")
    _readable(target, address, 24)
    if is_stack(target, address):
        return Place(address, "taken as the address of a Stack")
    raise HelperError(
        f"There is no Stack at 0x{address:x}.",
        "A Stack is a std::vector<c10::IValue>: three ordered pointers.",
    )


def is_stack(target, address, sample=16):
    """Whether a vector of plausible IValues is at ``address``; the last ``sample`` elements are looked at."""
    if address % 8 or not target.cxx.plausible_vector(address, SIZE):
        return False
    first, count = target.cxx.vector(address, SIZE)
    values = target.decoder(IValues)
    places = [first + SIZE * i for i in range(max(0, count - sample), count)]
    return all(values.plausible(place) for place in places)


def python_object(target, expression):
    """The :class:`Place` of the Python object that ``expression`` refers to (a PyObject*, a handle, an address)."""
    address, name = expression.address, expression.type_name
    if name.startswith(HANDLES):
        address = target.memory.pointer(address)
    try:
        target.decoder(Types).of(address)
    except Unreadable as error:
        raise HelperError(f"There is no Python object at 0x{address:x}: {error}.") from None
    except Implausible:
        raise HelperError(f"There is no Python object at 0x{address:x}.") from None
    return Place(address, "")


def _readable(target, address, size):
    if not target.memory.readable(address, size):
        raise HelperError(f"Memory at 0x{address:x} cannot be read.")
