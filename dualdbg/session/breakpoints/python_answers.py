"""What debugpy answers about a stop of its own: the exception, conditions, log texts."""

from __future__ import annotations

import ast
import builtins
import difflib
from dataclasses import dataclass
from typing import Any

from ...backends import python as debugpy
from ...errors import CommandError, WrongState
from ...model import BreakpointKind, BreakpointSpec
from ..ports import AskingPython
from ..stops.facts import PythonHold
from .python_suffixes import HELD, log_call

# debugpy puts the exception of a stop into the frame (pydevd_frame.py, add_exception_to_frame). This gives its types,
# which object it is, and the lines from here to where it was raised; or True where the program itself asks for the
# stop, for then the frame may have a variable of its own by that name.
_EXCEPTION = (
    "__import__('pydevd').get_global_debugger().program_asks() or "
    "(lambda of, kind, value, trace: ([of('__module__', one) + '.' + of('__qualname__', one) for one in"
    " of('__mro__', kind)], id(value),"
    " [(frame.f_code.co_filename, line) for frame, line in __import__('pydevd').traceback.walk_tb(trace)]))"
    "(lambda name, one: type.__dict__[name].__get__(one), *__exception__)"  # past the program's own metaclass
)
_THREAD = "(str(__import__('pydevd').threading.get_native_id()), __import__('pydevd').threading.current_thread().name)"
_ENDINGS = ("Error", "Exception", "Exit", "Interrupt", "Iteration", "Warning")
_NOTE = "       (note: "  # behind the name of the type, debugpy notes where it paused (pydevd_comm.py)


async def ask(python: AskingPython, hold: PythonHold, expression: str) -> Any:
    """The value of an expression in the frame of the stop, which must be a literal. None when it has no value.

    Raises WrongState when a native stop came first. So do the other functions here that ask.
    """
    if not hold.frames:
        return None
    question = debugpy.evaluate(expression, hold.frames[0].id)
    try:
        return ast.literal_eval((await python.ask(question)).text)
    except WrongState:
        raise
    except (CommandError, ValueError, SyntaxError):
        return None


async def condition_error(python: AskingPython, hold: PythonHold, condition: str) -> str | None:
    """Why a condition has no value in the frame of the stop. None when it has one."""
    if not hold.frames:
        return None
    question = debugpy.evaluate(condition, hold.frames[0].id)
    try:
        await python.ask(question)
    except WrongState:
        raise
    except CommandError as error:
        return error.message
    return None


async def held(python: AskingPython, hold: PythonHold, ids: list[int]) -> list[int]:
    """Which of several breakpoints at one place have a condition and a count that hold."""
    if len(ids) < 2:
        return ids
    noted = await ask(python, hold, HELD)
    return [id for id in ids if noted.get(id, False)] if isinstance(noted, dict) else ids


def exception_text(hold: PythonHold) -> str | None:
    """Type and text of the exception of a stop."""
    type_, text = hold.event.text, hold.event.description
    if type_ is None:
        return text
    type_ = type_.partition(_NOTE)[0]
    return f"{type_}: {text}" if text else type_


@dataclass(frozen=True)
class Raised:
    """An exception at which debugpy stopped.

    ``mode`` is always or unhandled. ``types`` are None where they are not known. ``object`` and ``raised_at`` say
    which exception it is, ``depth`` how many frames it has come through. ``asked``: the program wants to stop with it
    (``debugpy.trigger_exception_handler``), whatever breakpoints there are.
    """

    mode: str
    types: list[str] | None = None
    object: int = 0
    raised_at: tuple[str, int] | None = None
    depth: int = 0
    asked: bool = False

    def came_from(self, earlier: Raised | None) -> bool:
        """Whether this is the exception that was met before, now on its way through a calling function."""
        return (
            earlier is not None
            and (earlier.object, earlier.raised_at) == (self.object, self.raised_at)
            and self.depth > earlier.depth > 0
        )


async def raised(python: AskingPython, hold: PythonHold) -> Raised:
    """The exception of a stop."""
    try:
        said = await python.ask(debugpy.break_mode(hold.event.debugpy_thread))
    except WrongState:
        raise
    except CommandError:
        said = ""
    mode = "unhandled" if said == "unhandled" else "always"
    found = await ask(python, hold, _EXCEPTION)
    if not isinstance(found, tuple):
        return Raised(mode, asked=found is True)
    types, number, places = found
    return Raised(mode, types, number, places[-1] if places else None, len(places))


def exception_owners(exception: Raised, specs: dict[int, BreakpointSpec]) -> list[int]:
    """Which of the breakpoints on exceptions this exception meets, before their suffixes are looked at."""
    if exception.mode == "unhandled":
        return [id for id, spec in specs.items() if spec.kind is BreakpointKind.UNCAUGHT]
    raising = {id: spec for id, spec in specs.items() if spec.kind is BreakpointKind.RAISE}
    return [id for id, spec in raising.items() if _names(spec.subject, exception.types)]


def nearest_exceptions(name: str) -> list[str]:
    """The built-in exceptions that may have been meant by ``name``.

    Empty where ``name`` is a built-in itself, or is like none of them.
    """
    known = [key for key, value in vars(builtins).items() if isinstance(value, type)]
    if not name or name in known:
        return []
    return difflib.get_close_matches(name, [one for one in known if one.endswith(_ENDINGS)], 2, 0.87)


async def condition_holds(python: AskingPython, hold: PythonHold, spec: BreakpointSpec) -> bool:
    """Whether a breakpoint on an exception is for this thread, and its condition holds."""
    if spec.thread is not None and spec.thread not in (await ask(python, hold, _THREAD) or ()):
        return False
    if spec.condition is None:
        return True
    return bool(await ask(python, hold, f"bool(({spec.condition}))"))


async def write_log(python: AskingPython, hold: PythonHold, id: int, text: str) -> None:
    """Have the target write a log text, with the values of its expressions in the frame of the stop."""
    await ask(python, hold, log_call(id, text))


def _names(subject: str, types: list[str] | None) -> bool:
    """Whether ``subject`` names one of an exception's types: ``ValueError``, ``Outer.Inner`` or ``module.Type``.

    True where the types are not known. A type may be named by the package that offers it, and be written in another
    module of that package.
    """
    if not subject or types is None:
        return True
    if any(one == subject or one.endswith(f".{subject}") for one in types):
        return True
    package, _, last = subject.rpartition(".")
    root = f"{package.partition('.')[0]}."
    return bool(package) and any(one.startswith(root) and one.endswith(f".{last}") for one in types)
