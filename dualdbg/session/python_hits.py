"""Which breakpoints a stop of debugpy's belongs to, and what the stop says of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..errors import CommandError, WrongState
from ..model import BreakpointKind, BreakpointSpec
from .holds import PythonHold
from .python_suffixes import HELD

if TYPE_CHECKING:
    from .session import Session

# debugpy puts the exception of a stop into the frame (pydevd_frame.py, add_exception_to_frame).
_TYPES = "[one.__module__ + '.' + one.__qualname__ for one in __exception__[0].__mro__]"
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


async def exception_owners(session: Session, hold: PythonHold, specs: dict[int, BreakpointSpec]) -> list[int]:
    """Those of the breakpoints on exceptions that this one meets."""
    if not specs:
        return []
    try:
        answer = await session.inspector.ask("exceptionInfo", {"threadId": hold.event.debugpy_thread})
    except (WrongState, CommandError):
        return list(specs)
    if answer.get("breakMode") == "unhandled":
        return [id for id, spec in specs.items() if spec.kind is BreakpointKind.UNCAUGHT]
    types = await ask(session, hold, _TYPES)
    raising = {id: spec for id, spec in specs.items() if spec.kind is BreakpointKind.RAISE}
    return [id for id, spec in raising.items() if _names(spec.subject, types)]


def _names(subject: str, types: list[str] | None) -> bool:
    """Whether ``ValueError`` or ``module.Type`` is one of an exception's types; True when they are not known."""
    if not subject or types is None:
        return True
    package, last = f"{subject}.".partition(".")[0] + ".", subject.rpartition(".")[2]
    named = (one for one in types if one.rpartition(".")[2] == last)  # in whichever module of the package
    return any("." not in subject or one.startswith(package) for one in named)
