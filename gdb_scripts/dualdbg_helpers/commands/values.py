"""``ivalue``, ``ivalue-stack``, ``tensor``, ``pyobject``: values of PyTorch and Python."""

import gdb
from dualdbg_shared.binding_names import PYBIND11_ARGUMENTS

from .. import context, frames, locate
from ..answers import Answer, Arguments
from ..errors import HelperError, OutOfTime
from ..python.interpreter import Interpreter
from ..python.objects import Objects
from ..torch.describe import describe
from ..torch.ivalue import SIZE, IValues
from ..torch.tensor import Tensors
from .registry import command

_IMMORTAL = 1 << 31


def with_layout(target, text, data):
    """An Answer that says where the layouts it rests on came from."""
    source = target.layout.describe()
    data["layout"] = source
    return Answer(f"{text}\nlayouts: {source}", data)


def note(place):
    """How a value was found, in parentheses, as a line; empty where nothing is to be said."""
    return f"({place.how})\n" if place.how else ""


@command(
    "ivalue",
    "EXPR [--limit N]",
    "Show an IValue: what it holds, as IValue::dump() prints it, read from memory.",
)
def ivalue(text):
    arguments = Arguments(text, {"limit": int})
    expression = arguments.require_expression("an IValue, a pointer to one, or its address")
    target = context.current(arguments.get("limit"))
    place = locate.ivalue(target, locate.Expression(expression))
    value = target.decoder(IValues).read(place.address)
    data = value.structure()
    data["taken"] = place.how or None
    return with_layout(target, f"{note(place)}{label(value)}: {value.text}", data)


def label(value):
    """What a value is, in a word or two."""
    return f"{value.kind} {value.type}" if value.type else value.kind


@command(
    "ivalue-stack",
    "[EXPR] [--limit N] [--full]",
    "Show a torch::jit::Stack, read from memory.\n"
    "Without EXPR it is looked for in the selected frame, at a function's entry in its argument registers, and then "
    "in the frames above.\n--full shows tensors with their values.",
)
def ivalue_stack(text):
    arguments = Arguments(text, {"limit": int, "full": True})
    target = context.current(arguments.get("limit"))
    if arguments.expression:
        place = locate.stack(target, locate.Expression(arguments.expression))
    else:
        try:
            place = frames.find_stack(target, gdb.selected_frame())
        except HelperError:
            of_python = frames.python_arguments(target, gdb.selected_frame())
            if of_python is None:
                raise
            return show_python_arguments(target, *of_python)
    return show_stack(target, place.address, place.how, arguments.get("full"))


def show_stack(target, address, how, full=False):
    """The Answer for the Stack at ``address``."""
    first, count = target.cxx.vector(address, SIZE)
    shown, reader, children, lines = target.budget.shown(count), target.decoder(IValues), [], []
    cut = None
    try:
        for i in range(shown):
            value = reader.read(first + SIZE * i)
            children.append(dict(value.structure(), name=f"[{i}]"))
            lines.append(f"  [{i}] {label(value)}: {one_line(value, full)}")
    except OutOfTime as error:
        cut = str(error)
    if len(children) < count:
        lines.append("  ... {} more{}".format(count - len(children), f" (stopped at {cut})" if cut else ""))
    head = "Stack at 0x{:x}, {} value{}{}".format(
        address, count, "" if count == 1 else "s", f" ({how})" if how else ""
    )
    data = {
        "type": "torch::jit::Stack",
        "address": f"0x{address:x}",
        "size": count,
        "found": how or None,
        "values": children,
        "cut": cut,
    }
    return with_layout(target, "\n".join([head, *lines]), data)


def show_python_arguments(target, place, first, count):
    """The Answer where there is no Stack yet: the Python arguments that are about to be put on one."""
    value = target.decoder(Objects).describe(place.address, first, count)
    lines = [f"No Stack yet: the arguments are in Python's tuple at 0x{place.address:x} ({place.how})"]
    for name, child in value.children:
        lines.append(f"  {name} {child.type}: {one_line(child, False)}")
    data = {
        "type": PYBIND11_ARGUMENTS,
        "address": f"0x{place.address:x}",
        "size": value.total if count is None else count,
        "found": place.how,
        "values": value.structure()["children"],
        "cut": None,
    }
    return with_layout(target, "\n".join(lines), data)


def one_line(value, full):
    """A value on one line of a stack: a tensor by its summary, long texts cut."""
    if value.kind == "Tensor" and value.data and not full:
        return value.data["summary"]
    text = value.text if full else " ".join(value.text.split("\n"))
    return text if full or len(text) <= 160 else text[:157] + "..."


@command(
    "tensor",
    "EXPR [--data [N]] [--stats]",
    "Describe a tensor: dtype, sizes, strides, device, autograd, storage.\n"
    "--data shows its values as PyTorch prints them; with N, up to N elements before the middle is left out.\n"
    "--stats adds min, max, mean and the numbers of NaN and Inf.",
)
def tensor(text):
    arguments = Arguments(text, {"data": None, "stats": True})
    expression = arguments.require_expression(
        "a tensor, a pointer to one, an IValue or a torch.Tensor object"
    )
    target = context.current()
    place = locate.tensor(target, locate.Expression(expression))
    found = target.decoder(Tensors).read(place.address)
    shown, data = describe(target, found, arguments.get("data"), bool(arguments.get("stats")))
    data["taken"] = place.how or None
    return with_layout(target, note(place) + shown, data)


@command(
    "pyobject",
    "EXPR [--offset N] [--limit N]",
    "Show a Python object: its type, what repr would print, its elements and attributes, read from memory, and its\n"
    "reference count.",
)
def pyobject(text):
    arguments = Arguments(text, {"offset": int, "limit": int})
    expression = arguments.require_expression("a PyObject* or the address of an object")
    target = context.current()
    place = locate.python_object(target, locate.Expression(expression))
    value = target.decoder(Objects).describe(
        place.address, arguments.get("offset", 0), arguments.get("limit")
    )
    lines = [f"{value.type} at 0x{place.address:x}: {value.text}"]
    lines.extend("  {} = {}".format(name, " ".join(child.text.split("\n"))) for name, child in value.children)
    rest = value.total - len(value.children) - arguments.get("offset", 0)
    if rest > 0:
        lines.append(f"  ... {rest} more")
    data = value.structure()
    data["refcount"] = _reference_count(target, place.address)
    lines.append("  refcount: {}".format("immortal" if data["refcount"] is None else data["refcount"]))
    return Answer("\n".join(lines), data)


def _reference_count(target, address):
    """The reference count of the object at ``address``; None for one that is immortal (3.12 and later)."""
    layout, memory = target.decoder(Interpreter).layout, target.memory
    if layout.free_threaded:
        own, shared = memory.u32(address + 12), memory.i64(address + 16)
        return None if own == 0xFFFFFFFF else own + (shared >> 2)
    if layout.minor < 12:
        return memory.i64(address)
    count = memory.u32(address)
    return None if count & _IMMORTAL else count
