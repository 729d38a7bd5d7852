"""Finding the ``Stack&`` of a frame: among its variables, or in the registers of its arguments."""

from collections import namedtuple

import gdb
from dualdbg_shared.binding_names import PYBIND11, PYBIND11_ARGUMENTS
from dualdbg_shared.cpython import TUPLE

from . import abi
from .errors import HelperError, Implausible, Unreadable
from .inferior import MASK, demangle, register
from .locate import STACK_TYPES, is_stack
from .python.names import Types

Found = namedtuple("Found", "address how")
"""The address of a Stack, and where it was found, for people."""

Function = namedtuple("Function", "name mangled start")
"""The function a frame is in: demangled and mangled name, address of its entry."""

MAX_FRAMES = 100
_PYTHON_TYPES = (PYBIND11_ARGUMENTS, "torch::jit::tuple_slice")
# Functions of these classes have a `this`, though their mangled names do not show it.
_MEMBERS = (
    "torch::jit::InterpreterStateImpl::run",
    "torch::jit::InterpreterState::run",
    "torch::jit::GraphFunction::run",
    "torch::jit::GraphExecutor",
    "torch::jit::CodeImpl::",
    "c10::Dispatcher::",
    "c10::OperatorHandle::",
    "torch::jit::Operation::operator()",
)
MAX_POSITION = 5


def is_stack_type(text):
    """Whether a demangled parameter type is a reference or pointer to a ``Stack``."""
    return text.startswith("std::vector<c10::IValue, std::allocator<c10::IValue>") and text.rstrip(
        " const"
    ).endswith(("&", "*"))


def function_of(target, frame):
    """The :class:`Function` of ``frame``, by gdb's symbols or by the mapped file's; None where neither knows it."""
    pc = frame.pc()
    found = target.mappings.function_around(pc)
    if found is not None:
        return Function(demangle(found[0]), found[0], found[1])
    name = frame.name() or ""
    if name.endswith("@plt"):
        # A stub in the procedure linkage table: the arguments are those of the function it jumps to.
        return Function(demangle(name[: -len("@plt")]), name, pc)
    symbol = frame.function()
    if symbol is not None:
        block = frame.block()
        while block is not None and block.function is None:
            block = block.superblock
        if block is not None:
            return Function(symbol.print_name, symbol.linkage_name, block.start)
    return None


def find_stack(target, frame):
    """The Stack of ``frame`` or of the nearest frame above that has one visible.

    Raises :class:`HelperError`, which says why the selected frame has none.
    """
    reason, level = None, 0
    while frame is not None and level < MAX_FRAMES:
        found = _variable(frame) or (_at_entry(target, frame) if level == 0 else None)
        if isinstance(found, Found):
            where = "" if level == 0 else ", in frame #{} {}".format(frame.level(), frame.name() or "")
            return Found(found.address, found.how + where.rstrip())
        if level == 0:
            reason = found or "this frame has no variable of type Stack"
        frame, level = frame.older(), level + 1
    raise HelperError(
        f"No Stack is visible here: {reason}.",
        "Give its address: `ivalue-stack $rsi` ($x1 on AArch64) looks at any register, "
        "`ivalue-stack EXPR` at any expression.",
    )


def _variable(frame):
    """A variable or argument of ``frame`` whose type is a Stack; None without debug info or such a variable."""
    try:
        block = frame.block()
    except RuntimeError:
        return None
    while block is not None and not block.is_static and not block.is_global:
        for symbol in sorted(block, key=lambda s: not s.is_argument):
            if (symbol.is_argument or symbol.is_variable) and _is_stack_symbol(symbol):
                try:
                    value = symbol.value(frame)
                    address = _address(value)
                except gdb.error:
                    continue  # optimised out: another variable may be readable
                if address is not None:
                    kind = "argument" if symbol.is_argument else "variable"
                    return Found(address, f"{kind} `{symbol.print_name}`")
        if block.function is not None:
            break
        block = block.superblock
    return None


def _is_stack_symbol(symbol):
    kind = symbol.type
    if kind is None:
        return False
    kind = kind.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_PTR):
        kind = kind.target().strip_typedefs()
    return str(kind.unqualified()).startswith(STACK_TYPES)


def _address(value):
    kind = value.type.strip_typedefs()
    if value.is_optimized_out:
        return None
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value().address
    elif kind.code != gdb.TYPE_CODE_PTR:
        value = value.address
    return None if value is None else int(value) & MASK


def _at_entry(target, frame):
    """The Stack among the argument registers of the function that ``frame`` has just entered, or why not (text)."""
    function = function_of(target, frame)
    if function is None:
        return f"the function at 0x{frame.pc():x} has no name"
    parts = abi.split_function(function.name)
    if parts is None or not any(is_stack_type(kind) for kind in parts[1]):
        return f"{short_name(function.name)} takes no Stack"
    name, parameters, suffix = parts
    arch = abi.architecture(frame.architecture().name())
    if arch is None:
        return f"the argument registers of {frame.architecture().name()} are not known"
    offset = frame.pc() - function.start
    code = target.memory.read(function.start, offset) if 0 <= offset <= abi.MAX_PROLOGUE else None
    if code is None or not abi.arguments_intact(arch, code):
        past = f"past its entry (0x{offset:x} bytes), where the arguments were in registers"
        return f"{short_name(function.name)} is {past}; break at *0x{function.start:x}"
    registers = abi.ARGUMENTS[arch]
    for position in _positions(name, parameters, suffix):
        address = register(frame, registers[position])
        if is_stack(target, address):
            return Found(
                address,
                f"register {registers[position]} at the entry of {short_name(function.name)}",
            )
    return f"none of the argument registers of {short_name(function.name)} holds a Stack"


def python_arguments(target, frame):
    """The Python tuple among the arguments of the function that ``frame`` has just entered, or None.

    ``(Found, index of the first element that counts, number of elements or None for all)``. A ``pybind11::args`` is
    always passed by address (Itanium C++ ABI, 3.1.2.3). A ``tuple_slice`` is a tuple and the ends of the part that
    counts (torch/csrc/jit/python/pybind_utils.h).
    """
    function = function_of(target, frame)
    arch = abi.architecture(frame.architecture().name())
    parts = abi.split_function(function.name) if function is not None else None
    kinds = parts[1] if parts is not None else []
    position = next((i for i, kind in enumerate(kinds) if kind.startswith(_PYTHON_TYPES)), None)
    if arch is None or position is None:
        return None
    offset = frame.pc() - function.start
    if not 0 <= offset <= abi.MAX_PROLOGUE:
        return None
    if not abi.arguments_intact(arch, target.memory.read(function.start, offset)):
        return None
    for name in abi.ARGUMENTS[arch][position : position + 3]:  # after a place for the result, and `this`
        try:
            place = register(frame, name)
            address = target.memory.pointer(place)
            if not target.decoder(Types).of(address).has(TUPLE):
                continue
            found = Found(address, f"register {name} at the entry of {short_name(function.name)}")
            if kinds[position].startswith(PYBIND11):
                return found, 0, None
            begin, end = target.memory.i64(place + 8), target.memory.i64(place + 16)
            return found, max(begin, 0), max(end - begin, 0)
        except (Implausible, Unreadable):
            continue
    return None


def this_at_entry(target, frame, prefix):
    """The object of the member function that ``frame`` has just entered, if its name starts with ``prefix``.

    A :class:`Found`, or None.
    """
    function = function_of(target, frame)
    arch = abi.architecture(frame.architecture().name())
    if function is None or arch is None or not short_name(function.name).startswith(prefix):
        return None
    offset = frame.pc() - function.start
    if not 0 <= offset <= abi.MAX_PROLOGUE:
        return None
    if not abi.arguments_intact(arch, target.memory.read(function.start, offset)):
        return None
    name = abi.ARGUMENTS[arch][0]
    how = f"`this` of {short_name(function.name)}, register {name} at its entry"
    return Found(register(frame, name), how)


def _positions(name, parameters, suffix):
    """Numbers of the registers that may hold the Stack, likeliest first.

    The mangled name does not tell a member function from a static one, nor a hidden first argument for a
    returned object, nor which arguments an ``.isra`` clone still has. So each register is looked at.
    """
    expected = abi.position_of(parameters, is_stack_type)
    if "[clone" in suffix or expected is None:
        return range(MAX_POSITION + 1)
    this = suffix.startswith(" const") or any(part in name for part in _MEMBERS)
    order = [expected + 1, expected] if this else [expected, expected + 1]
    return [position for position in [*order, expected + 2] if position <= MAX_POSITION]


def short_name(demangled):
    """A function's name without its parameters, template arguments cut short."""
    parts = abi.split_function(demangled)
    name = parts[0] if parts else demangled
    return name if len(name) <= 120 else name[:117] + "..."
