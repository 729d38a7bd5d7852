"""Commands that show values: variables of a frame, expressions of either language, registers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import CommandError, EvaluationError
from ...model import RETURNED, Frame, Language, NativeFrame, PythonFrame, State, Value
from ...session.inspect import inferior_evaluation
from ...session.inspect.disassembly import REGISTER_GROUPS, Code
from ...system.source_files import source_text
from ..interaction import Interaction
from ..parameters import parameter_names
from ..reports import TextReport, ValueReport, VariablesReport
from .registry import command, no_argument

if TYPE_CHECKING:
    from ..console import Console

_CHILDREN = 100  # children of a value that are read when the user does not say how many
_PART = re.compile(r"(?:\s--(?:offset|limit)\s+\d+)+\s*$")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_BRACKETS = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
_REPR = re.compile(r"--repr(?:\s+|$)")
# debugpy's folders among the variables of a frame; they are no variables.
_GROUPS = {"special variables", "function variables", "class variables", "protected variables"}


@command("locals", "", "show the variables of the selected frame")
async def locals_(console: Console, argument: str) -> None:
    """Show the variables of the selected frame. Raises CommandError when an argument is given."""
    no_argument("locals", argument)
    frame = await console.frame()
    empty = "No locals." if _has_debug_info(frame) else "No locals: this function has no debug info."
    console.show(VariablesReport("locals", tuple(await _variables(console, frame)), empty))


@command("retval rv", "", "show what the last step has told to be returned")
async def retval(console: Console, argument: str) -> None:
    """Show the result that this stop has. Raises CommandError where it has none."""
    no_argument("retval", argument)
    values = [
        one for one in await _variables(console, await console.frame()) if one.name.startswith(RETURNED)
    ]
    if not values:
        raise CommandError("no function has returned right before this stop", "finish runs on until one does")
    console.show(VariablesReport("locals", tuple(values), ""))


@command("args a", "", "show the arguments of the selected frame's function")
async def args(console: Console, argument: str) -> None:
    """Show the arguments of the selected frame's function; without debug info, what is known of them."""
    no_argument("args", argument)
    frame = await console.frame()
    values = await _variables(console, frame)
    values = [value for value in values if not value.name.startswith(RETURNED)]
    if _has_debug_info(frame):  # without it the values are arguments already, or their registers
        names = await _argument_names(console, frame)
        known = {value.name: value for value in values}
        values = [known[name] for name in names or () if name in known]
        empty = "No arguments." if names is not None else "Not known: they are among the locals."
    else:
        empty = "Not known: this function has no debug info."
    console.show(VariablesReport("args", tuple(values), empty))


@command(
    "print p pp pr",
    "[/FORMAT] [--repr] EXPRESSION [--offset N] [--limit N]",
    "show a value, in the language of the selected frame",
    details="FORMAT: x, d, o, t, c as in gdb. While gdb holds the target, Python names are read from memory, with "
    "attributes and elements: self.weight, rows[0]. At a Python stop the expression is run, and its value "
    "is shown without a __repr__ of the program; --repr runs that, for at most 5 s. An object whose text would say no "
    "more than its class is shown with its attributes. --offset and --limit list elements and members: from which on, "
    "and how many.",
    completes="option expression",
)
async def print_(console: Console, argument: str) -> None:
    frame = await console.frame()
    await _evaluate(console, "print", argument, frame.language)


@command(
    "py",
    "EXPRESSION",
    "show the value of a Python expression, or run a statement, in the selected frame",
    details="While gdb holds the target it is run too, where that is sound: in a thread that holds the GIL and stands"
    " at a line of your native code. It may take 5 s of Python code; the other threads run meanwhile.",
    completes="expression",
)
async def py(console: Console, argument: str) -> None:
    outside = console.session.state is not State.NATIVE_STOPPED
    if outside or not argument:
        await _evaluate(console, "py", argument, Language.PYTHON)
        return
    frame = await console.frame()
    where = frame if isinstance(frame, PythonFrame) else None
    try:
        value = await inferior_evaluation.evaluate(console.session, argument, console.selected().tid, where)
    except inferior_evaluation.NotSound as refusal:
        try:  # the value read from memory is as good
            await _evaluate(console, "py", argument, Language.PYTHON)
        except EvaluationError:
            raise refusal from None
        return
    if value.type or value.value:  # a statement has no type; what it shows is that of its expressions
        console.show(ValueReport(argument, value))


@command(
    "interact",
    "",
    "run lines of Python in the selected frame, up to exit() or Ctrl-D",
    details="At a Python stop. A statement may have several lines; an empty one ends it. What it assigns is "
    "assigned in the frame, and new names last as long as the frame does. Values are shown as print shows them, "
    "also those of expressions in a statement (x = 1; x).",
)
async def interact(console: Console, argument: str) -> None:
    """Lines are Python from now on. Raises CommandError where no Python can be run in the selected frame."""
    no_argument("interact", argument)
    if not console.takes_python:
        raise CommandError("interact is for the prompt", "py STATEMENT runs one statement in the frame")
    frame, session, tid = await console.frame(), console.session, console.selected().tid
    if session.state is not State.PYTHON_STOPPED:
        raise CommandError(
            "interact needs a Python stop: while gdb holds the program, debugpy runs nothing",
            "py EXPRESSION runs one where that is sound; next, or finish, leads to a Python line",
        )
    if not isinstance(frame, PythonFrame) or frame.engine_id is None:
        raise CommandError("interact needs a Python frame that debugpy holds", "up and down select one")

    async def run(text: str) -> None:
        value = await session.inspector.evaluate(text, tid, frame, Language.PYTHON, may_stop=True)
        console.show(ValueReport(text, value))

    stop = session.stop
    assert stop is not None
    console.interaction = Interaction(stop.epoch, run)
    where = f"{frame.function} at line {frame.line}"
    console.show(TextReport(f"Python in {where}; exit() or Ctrl-D ends it.\n"))


async def assign(console: Console, text: str) -> None:
    """``set var NAME = EXPRESSION``, in the language of the selected frame. Raises CommandError for anything else."""
    if not _is_assignment(text):
        raise CommandError(f"set var wants NAME = EXPRESSION, but was given {text!r}", "help set")
    frame = await console.frame()
    if isinstance(frame, NativeFrame):
        tid = console.selected().tid
        await console.session.inspector.evaluate(text, tid, frame, Language.NATIVE, may_stop=True)
    else:
        await py(console, text)


def _is_assignment(text: str) -> bool:
    """Whether a text has something on both sides of an ``=``, ``+=``, ``<<=``, …, that is in no brackets or quotes."""
    plain, outer = "", _QUOTED.sub('""', text)
    while plain != outer:
        plain, outer = outer, _BRACKETS.sub("_", outer)
    return re.search(r"\S\s*(?:(?<![=!<>:])=(?!=)|<<=|>>=)\s*\S", plain) is not None


@command(
    "call",
    "EXPRESSION",
    "call a function in the language of the selected frame, and show what it returns unless it is void",
    details="gdb calls native ones: all threads run meanwhile. A stop within ends the call there.",
)
async def call(console: Console, argument: str) -> None:
    frame = await console.frame()
    if isinstance(frame, NativeFrame):
        await _evaluate(console, "call", argument, Language.NATIVE)
    else:
        await py(console, argument)


@command("cpp", "[/FORMAT] EXPRESSION", "show the value of a C++ expression in the selected frame")
async def cpp(console: Console, argument: str) -> None:
    await _evaluate(console, "cpp", argument, Language.NATIVE)


async def registers(console: Console, argument: str) -> None:
    """``info registers [GROUP | NAME…]``: the registers of the selected frame, which is native."""
    frame = await console.frame()
    if not isinstance(frame, NativeFrame):
        raise CommandError("a Python frame has no registers of its own", "down selects a native frame")
    group = argument if argument in REGISTER_GROUPS else REGISTER_GROUPS[0]
    values = await Code(console.session).registers(console.selected().tid, frame, group)
    if argument and argument not in REGISTER_GROUPS:
        wanted = argument.replace("$", "").split()
        values = [value for value in values if value.name in wanted]
    empty = f"No register of this name. Groups: {', '.join(REGISTER_GROUPS)}."
    console.show(VariablesReport("registers", tuple(values), empty))


async def _variables(console: Console, frame: Frame) -> list[Value]:
    values = await console.session.inspector.variables(console.selected().tid, frame)
    return [value for value in values if value.type or value.name not in _GROUPS]


def _has_debug_info(frame: Frame) -> bool:
    return isinstance(frame, PythonFrame) or frame.line is not None


async def _argument_names(console: Console, frame: Frame) -> list[str] | None:
    if isinstance(frame, PythonFrame):
        source = (source_text(frame.file) or "") if frame.file else ""
        return parameter_names(source, frame.function, frame.line or 0)
    return await console.session.inspector.values.argument_names(console.selected().tid, frame)


async def _evaluate(console: Console, name: str, argument: str, language: Language) -> None:
    format_, rest = split_format(argument)
    expression, part = _split_part(rest)
    of_repr = language is Language.PYTHON and _REPR.match(expression) is not None
    if of_repr:
        expression = _REPR.sub("", expression)
    if not expression:
        raise CommandError(f"{name} wants an expression", f"help {name}")
    if language is Language.NATIVE and format_:
        text = await console.in_gdb(lambda gdb: gdb.printed(expression, format_))
        console.show(ValueReport(expression, Value(expression, "", text, language)))
        return
    wanted = formatted(expression, format_)
    frame = await console.frame()
    if of_repr:
        console.show(ValueReport(expression, await console.session.inspector.represent(wanted, frame)))
        return
    tid = console.selected().tid
    value = await console.session.inspector.evaluate(wanted, tid, frame, language, may_stop=True)
    opened = name == "print" and value.opaque  # the text says nothing: what there is to see lies inside
    if part is not None or opened or console.structured:
        value = await _with_children(console, value, part or (0, _CHILDREN))
    console.show(ValueReport(expression, value))
    if not console.structured and (part is not None or (opened and value.children)):
        rows = value.children or ()
        if part is None and len(rows) == _CHILDREN != value.child_count:
            rows += (Value("…", "", f"more: print {expression} --offset {_CHILDREN}", language),)
        console.show(VariablesReport("children", rows, "No elements or members."))


async def _with_children(console: Console, value: Value, part: tuple[int, int]) -> Value:
    """The value with those of its children that ``part`` (the first, how many) asks for."""
    if not value.reference:
        return replace(value, child_count=0, children=())
    start, count = part
    values = console.session.inspector.values
    read = values.attributes if value.opaque else values.page
    rows = await read(value.reference, start, count + 1)
    known = start + len(rows) if len(rows) <= count else None
    return replace(value, children=tuple(rows[:count]), child_count=value.child_count or known)


def _split_part(text: str) -> tuple[str, tuple[int, int] | None]:
    """An expression, and the numbers of ``--offset N`` and ``--limit N`` after it: the first child, and how many."""
    match = _PART.search(text)
    if match is None:
        return text.strip(), None
    numbers = dict(re.findall(r"--(offset|limit)\s+(\d+)", match[0]))
    return text[: match.start()].strip(), (
        int(numbers.get("offset", 0)),
        int(numbers.get("limit", _CHILDREN)),
    )


def split_format(argument: str) -> tuple[str, str]:
    """``/FORMAT`` at the beginning of an argument without its slash, or an empty text; and the rest."""
    match = re.match(r"/(\w+)\s+", argument)
    return (match.group(1), argument[match.end() :]) if match else ("", argument)


def formatted(expression: str, format_: str) -> str:
    """A Python expression with gdb's format letter put into Python's words."""
    if not format_:
        return expression
    if format_ not in _PYTHON_FORMATS:
        raise CommandError(
            f"there is no format /{format_} for Python values", f"formats: {', '.join(_PYTHON_FORMATS)}"
        )
    return _PYTHON_FORMATS[format_].format(expression)


_PYTHON_FORMATS = {
    "x": "hex({})",
    "o": "oct({})",
    "t": "bin({})",
    "d": "int({})",
    "c": "chr({})",
    "s": "str({})",
}
