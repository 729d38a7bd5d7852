"""``jit-code``, ``jit-frame``, ``jit-graph``: TorchScript's interpreter and its code."""

import gdb
from dualdbg_shared.libraries import TORCH_CPU

from .. import context, frames, locate, thread_local
from ..answers import Arguments
from ..errors import HelperError, Implausible, Unreadable
from ..torch.graph import Graphs
from ..torch.interpreter import Interpreter
from ..torch.ivalue import SIZE, IValues
from .registry import command
from .values import label, one_line, with_layout


def current_state(target):
    """``(address of the InterpreterStateImpl, where it was found)`` of the selected frame or thread."""
    frame = gdb.selected_frame()
    interpreter = target.decoder(Interpreter)
    found = frames.this_at_entry(target, frame, "torch::jit::InterpreterStateImpl::")
    if found is not None and interpreter.is_state(found.address):
        return found.address, found.how
    address = thread_local.address_of(target, frame, "_ZN5torch3jitL18tls_int_state_ptr_E", TORCH_CPU)
    if address is not None:
        state = target.memory.pointer(address)
        if state and interpreter.is_state(state):
            return state, "the interpreter that this thread runs"
        if not state:
            raise HelperError("This thread does not run TorchScript's interpreter.")
    raise HelperError(
        "No interpreter of TorchScript is visible here.",
        "Break at the entry of torch::jit::InterpreterStateImpl::runTemplate (runImpl in older versions), or give "
        "the address of an InterpreterStateImpl.",
    )


def _state(target, expression):
    if not expression:
        return current_state(target)
    address = locate.Expression(expression).address
    if not target.decoder(Interpreter).is_state(address):
        raise HelperError(f"There is no InterpreterStateImpl at 0x{address:x}.")
    return address, ""


@command(
    "jit-frame",
    "[EXPR]",
    "Show the frames of TorchScript's interpreter: functions, instructions, registers and the stack.\n"
    "Without EXPR, of the interpreter that the selected frame has entered or that its thread runs. The stack is shown "
    "where it is visible.",
)
def jit_frame(text):
    arguments = Arguments(text, {})
    target = context.current()
    state, how = _state(target, arguments.expression)
    interpreter, values = target.decoder(Interpreter), target.decoder(IValues)
    head = f"Interpreter at 0x{state:x}"
    lines, rows = [f"{head} ({how})" if how else head], []
    for level, frame in enumerate(interpreter.frames(state)):
        code = interpreter.instructions(frame.code)
        instruction = code[frame.pc] if frame.pc < len(code) else "?"
        name = interpreter.function_name(frame.code) or "<unnamed>"
        lines.append(f"#{level} {name}, instruction {frame.pc} of {len(code)}: {instruction}")
        registers = []
        for number, place in frame.registers:
            value = values.read(place)
            registers.append(dict(value.structure(), name=str(number)))
            if value.kind != "None":
                lines.append(f"     register {number}: {label(value)}: {one_line(value, False)}")
        row = {"function": name, "pc": frame.pc, "instruction": instruction, "code": f"0x{frame.code:x}"}
        rows.append(dict(row, base=frame.base, registers=registers))
    data = {"address": f"0x{state:x}", "found": how or None, "frames": rows}
    _add_stack(target, lines, data)
    return with_layout(target, "\n".join(lines), data)


def _add_stack(target, lines, data):
    try:
        place = frames.find_stack(target, gdb.selected_frame())
    except HelperError:
        lines.append("stack: not visible in this frame")
        return
    first, count = target.cxx.vector(place.address, SIZE)
    values = [target.decoder(IValues).read(first + SIZE * i) for i in range(target.budget.shown(count))]
    data["stack"] = [value.structure() for value in values]
    lines.append(f"stack at 0x{place.address:x}, {count} values ({place.how})")
    lines.extend(f"     [{i}] {label(value)}: {one_line(value, False)}" for i, value in enumerate(values))


@command(
    "jit-code",
    "[EXPR]",
    "Show the instructions of a TorchScript function, with the current one marked.\n"
    "EXPR is a Code or a CodeImpl; without it, the function that the interpreter of this thread runs.",
)
def jit_code(text):
    arguments = Arguments(text, {})
    target = context.current()
    interpreter = target.decoder(Interpreter)
    current = None
    if arguments.expression:
        code = _code_at(interpreter, target, locate.Expression(arguments.expression).address)
    else:
        state, _ = current_state(target)
        frame = next(iter(interpreter.frames(state)), None)
        if frame is None:
            raise HelperError("The interpreter of this thread has no frame.")
        code, current = frame.code, frame.pc
    instructions = interpreter.instructions(code)
    lines = [f"{interpreter.function_name(code) or '<unnamed>'}: {len(instructions)} instructions"]
    lines += [f"{'->' if i == current else '  '} {i:4} {line}" for i, line in enumerate(instructions)]
    data = {"function": interpreter.function_name(code), "pc": current, "instructions": instructions}
    data["code"] = f"0x{code:x}"
    return with_layout(target, "\n".join(lines), data)


def _code_at(interpreter, target, address):
    try:
        for candidate in (address, target.memory.pointer(address)):
            if interpreter.is_code(candidate):
                return candidate
    except Unreadable as error:
        raise HelperError(f"There is no code of TorchScript at 0x{address:x}: {error}.") from None
    raise HelperError(f"There is no code of TorchScript at 0x{address:x}.")


@command(
    "jit-graph",
    "[EXPR]",
    "Show a TorchScript graph (a Graph, or a pointer to one), a Node or a Value.\n"
    "Without EXPR, the graph of the function that the interpreter of this thread runs.",
)
def jit_graph(text):
    arguments = Arguments(text, {})
    target = context.current()
    graphs = target.decoder(Graphs)
    if arguments.expression:
        shown = _graph_part(graphs, target, locate.Expression(arguments.expression).address)
    else:
        interpreter = target.decoder(Interpreter)
        state, _ = current_state(target)
        frame = next(iter(interpreter.frames(state)), None)
        if frame is None:
            raise HelperError("The interpreter of this thread has no frame.")
        shown = graphs.text(interpreter.graph(frame.code))
    return with_layout(target, shown.rstrip("\n"), {"graph": shown})


def _graph_part(graphs, target, address):
    failure = None
    for candidate in (address, _pointed(target, address)):
        for write in (graphs.node, graphs.value, graphs.text):
            try:
                return write(candidate)
            except (Implausible, Unreadable) as error:
                failure = error
    raise HelperError(f"There is no graph, node or value of TorchScript at 0x{address:x}: {failure}.")


def _pointed(target, address):
    try:
        return target.memory.pointer(address)
    except Unreadable:
        return 0
