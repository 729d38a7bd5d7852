"""Which breakpoints a stop of debugpy's belongs to, and what the stop says of them."""

from __future__ import annotations

import ast
import builtins
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CommandError, WrongState
from ..model import BreakpointKind, BreakpointSpec, Output
from .holds import PythonHold
from .log_text import split_log
from .python_suffixes import HELD, value_of

if TYPE_CHECKING:
    from .session import Session

# debugpy puts the exception of a stop into the frame (pydevd_frame.py, add_exception_to_frame): its types, which object
# it is, and the lines from here to where it was raised.
_EXCEPTION = (
    "(lambda kind, value, trace: ([one.__module__ + '.' + one.__qualname__ for one in kind.__mro__], id(value),"
    " [(frame.f_code.co_filename, line) for frame, line in __import__('traceback').walk_tb(trace)]))(*__exception__)"
)
_THREAD = "(str(__import__('threading').get_native_id()), __import__('threading').current_thread().name)"
_ENDINGS = ("Error", "Exception", "Exit", "Interrupt", "Iteration", "Warning")
_NOTE = "       (note: "  # debugpy adds where it paused to the type's name (pydevd_comm.py)


async def ask(session: Session, hold: PythonHold, expression: str) -> Any:
    """The value of an expression in the frame of the stop, a literal; None when a native stop came or it has none."""
    if not hold.frames:
        return None
    question = {"expression": expression, "frameId": hold.frames[0]["id"], "context": "watch"}
    try:
        return ast.literal_eval((await session.inspector.ask("evaluate", question))["result"])
    except (WrongState, CommandError, ValueError, SyntaxError):
        return None


async def condition_error(session: Session, hold: PythonHold, condition: str) -> str | None:
    """Why a condition has no value in the frame of the stop; None when it has one."""
    if not hold.frames:
        return None
    question = {"expression": condition, "frameId": hold.frames[0]["id"], "context": "watch"}
    try:
        await session.inspector.ask("evaluate", question)
    except WrongState:
        return None  # a native stop came in between: the condition is looked at the next time
    except CommandError as error:
        return error.message
    return None


async def held(session: Session, hold: PythonHold, ids: list[int]) -> list[int]:
    """Those of several breakpoints at one place whose conditions and counts held."""
    if len(ids) < 2:
        return ids
    noted = await ask(session, hold, HELD)
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
    """An exception as debugpy stopped for it. ``mode`` is always or unhandled; ``types`` are None where not known.

    ``object`` and ``raised_at`` say which one it is, ``depth`` how many frames it has come through.
    """

    mode: str
    types: list[str] | None = None
    object: int = 0
    raised_at: tuple[str, int] | None = None
    depth: int = 0

    def came_from(self, earlier: Raised | None) -> bool:
        """Whether this is the exception that was met before, on its way through a calling function."""
        return (
            earlier is not None
            and (earlier.object, earlier.raised_at) == (self.object, self.raised_at)
            and self.depth > earlier.depth > 0
        )


async def raised(session: Session, hold: PythonHold) -> Raised:
    """The exception of a stop."""
    try:
        answer = await session.inspector.ask("exceptionInfo", {"threadId": hold.event.debugpy_thread})
    except (WrongState, CommandError):
        answer = {}
    mode = "unhandled" if answer.get("breakMode") == "unhandled" else "always"
    found = await ask(session, hold, _EXCEPTION)
    if not isinstance(found, tuple):
        return Raised(mode)
    types, number, places = found
    return Raised(mode, types, number, places[-1] if places else None, len(places))


def exception_owners(exception: Raised, specs: dict[int, BreakpointSpec]) -> list[int]:
    """Those of the breakpoints on exceptions that this one meets, suffixes aside."""
    if exception.mode == "unhandled":
        return [id for id, spec in specs.items() if spec.kind is BreakpointKind.UNCAUGHT]
    raising = {id: spec for id, spec in specs.items() if spec.kind is BreakpointKind.RAISE}
    return [id for id, spec in raising.items() if _names(spec.subject, exception.types)]


def nearest_exceptions(name: str) -> list[str]:
    """The built-in exceptions that a name which is none of them may have been meant for."""
    known = [key for key, value in vars(builtins).items() if isinstance(value, type)]
    if not name or name in known:
        return []
    return difflib.get_close_matches(name, [one for one in known if one.endswith(_ENDINGS)], 2, 0.87)


async def condition_holds(session: Session, hold: PythonHold, spec: BreakpointSpec) -> bool:
    """Whether the thread and the condition of a breakpoint on an exception are those of the stop."""
    if spec.thread is not None and spec.thread not in (await ask(session, hold, _THREAD) or ()):
        return False
    if spec.condition is None:
        return True
    return bool(await ask(session, hold, f"bool(({spec.condition}))"))


async def write_log(session: Session, hold: PythonHold, text: str) -> None:
    """Write a log text with its expressions evaluated in the frame of the stop."""
    texts, expressions = split_log(text)
    written = texts[0]
    for expression, following in zip(expressions, texts[1:], strict=True):
        written += await _shown(session, hold, value_of(expression)) + following
    session.emit(Output("console", f"{written}\n"))


async def _shown(session: Session, hold: PythonHold, expression: str) -> str:
    question = {"expression": f"str({expression})", "frameId": hold.frames[0]["id"], "context": "watch"}
    try:
        return str(ast.literal_eval((await session.inspector.ask("evaluate", question))["result"]))
    except (WrongState, CommandError) as error:
        return f"<{error.message}>"
    except (ValueError, SyntaxError):
        return "<?>"


def _names(subject: str, types: list[str] | None) -> bool:
    """Whether ``ValueError``, ``Outer.Inner`` or ``module.Type`` is one of an exception's types; True without them.

    A type may be named by the package that offers it, and be written in another module of it.
    """
    if not subject or types is None:
        return True
    if any(one == subject or one.endswith(f".{subject}") for one in types):
        return True
    package, _, last = subject.rpartition(".")
    root = f"{package.partition('.')[0]}."
    return bool(package) and any(one.startswith(root) and one.endswith(f".{last}") for one in types)
