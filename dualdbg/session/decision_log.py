"""The lines of ``session.log``: what came, where the state was and is, and what is done about it. Pure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from ..backends.events import NativeStopped, StopCause
from ..backends.python import PythonRequest
from ..errors import DualdbgError
from ..model import NativeFrame, Notice, PythonFrame, Stop, Stopped, Thread
from .effects import Forget, Halt, Meet, PrepareNative, PreparePython, ReadNative, ReadPython, Tell
from .stepping.step import Step
from .stepping.unfinished import described
from .stops.facts import NativeFacts, NativeHold, Picture, PythonHold, PythonPosition, Show, Unread

_LONGEST_TEXT = 60  # characters of a text from outside; the rest is cut


def decision(
    transition: Callable[..., Any], arguments: Sequence[Any], before: str, after: str, effects: Sequence[Any]
) -> str:
    """``transition(arguments): state before -> what is different after: effects``, on one line."""
    names = list(inspect.signature(transition).parameters)[1:]  # the first is the state
    words = [
        f"{name}={one}" if isinstance(one, bool) else brief(one)
        for name, one in zip(names, arguments, strict=False)
        if one is not None and not isinstance(one, PythonPosition)  # the hold beside it says the place
    ]
    came = f"{transition.__name__}({', '.join(words)})"
    new = [part for part in after.split(", ") if part not in before.split(", ")]
    state = f"{before} -> {', '.join(new)}" if new else before
    return f"{came}: {state}: {'; '.join(map(brief, effects)) or 'nothing'}"


def brief(value: Any) -> str:
    """A value in few words. Of a dataclass these are its name, and the fields that differ from their defaults."""
    if type(value) in _WORDS:
        return _WORDS[type(value)](value)
    if isinstance(value, Enum):
        return str(value.value) if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, DualdbgError):
        return f"{type(value).__name__} {_text(value.message)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(brief, value))})"
    if is_dataclass(value) and not isinstance(value, type):
        said = _fields(value)
        return f"{type(value).__name__}({', '.join(said)})" if said else type(value).__name__
    return str(value)


def _fields(value: Any) -> list[str]:
    """``name=value`` for each field that differs from its default."""
    said = []
    for field in fields(value):
        is_usual = field.default is not MISSING and getattr(value, field.name) == field.default
        if not is_usual:
            said.append(f"{field.name}={brief(getattr(value, field.name))}")
    return said


def _text(text: str) -> str:
    cut = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return repr(cut)


def _native_stopped(stop: NativeStopped) -> str:
    """``breakpoint 3 in 5551``: gdb's number of a breakpoint, and the OS thread id."""
    what = [brief(stop.cause)]
    if stop.cause in (StopCause.BREAKPOINT, StopCause.WATCHPOINT):
        what.append(str(stop.gdb_breakpoint))
    what += [stop.signal] if stop.signal else []
    thread = stop.thread if stop.thread is not None else f"gdb's thread {stop.gdb_thread}"
    return f"{' '.join(what)} in {thread}"


def _native_facts(facts: NativeFacts) -> str:
    """The stop, and what has been read about it."""
    names = [field.name for field in fields(facts) if field.name != "stop"]
    read = {name: getattr(facts, name) for name in names}
    said = [
        f"{name}={brief(value)}"
        for name, value in read.items()
        if not isinstance(value, Unread)
        and not (name in ("done", "asked", "thread", "again", "fault", "is_report") and not value)
    ]
    return " ".join([_native_stopped(facts.stop), *said])


def _python_hold(hold: PythonHold) -> str:
    """``breakpoint in 5551 at train.py:12``, as far as it was read.

    A hold that is decided comes with what is shown of it, which says the place.
    """
    thread = hold.tid if hold.tid is not None else f"debugpy's thread {hold.event.debugpy_thread}"
    held = f"{hold.event.cause.value} in {thread}"
    if hold.verdict is not None:
        return held
    at = f" at {brief(hold.top)}" if hold.top is not None else ""
    return held + at + (" that nobody asked for" if hold.met is None else "")


def _stop(stop: Stop) -> str:
    breakpoints = f" {brief(stop.breakpoints)}" if stop.breakpoints else ""
    return f"{stop.reason.value}{breakpoints}, {stop.origin.value}, thread {stop.thread.tid}"


def _show(show: Show) -> str:
    """``breakpoint (1) 'returned 3'``: the reason, the user's breakpoints, the description."""
    breakpoints = f" {brief(show.breakpoints)}" if show.breakpoints else ""
    description = f" {_text(show.description)}" if show.description else ""
    return show.reason.value + breakpoints + description + (" owes SIGINT" if show.signal else "")


def _native_frame(frame: NativeFrame) -> str:
    return (frame.function or hex(frame.pc))[:_LONGEST_TEXT]


def _python_frame(frame: PythonFrame) -> str:
    return f"{(frame.file or '?').rpartition('/')[2]}:{frame.line}"


def _picture(picture: Picture) -> str:
    at = f" at {brief(picture.frame)}" if picture.frame is not None else ""
    return f"thread {picture.thread.tid}{at}" + (" step done" if picture.step_done else "")


_WORDS: dict[type, Callable[[Any], str]] = {
    NativeStopped: _native_stopped,
    NativeFacts: _native_facts,
    NativeHold: lambda hold: _native_stopped(hold.event),
    PythonHold: _python_hold,
    PythonRequest: lambda request: request.command,
    Stop: _stop,
    Show: _show,
    Stopped: lambda event: f"stopped: {_stop(event.stop)}",
    Notice: lambda event: f"{event.level} {_text(event.message)}",
    Thread: lambda thread: f"thread {thread.tid}",
    NativeFrame: _native_frame,
    PythonFrame: _python_frame,
    Picture: _picture,
    Step: described,
    Halt: lambda halt: f"halt {id(halt) & 0xFFFF:04x}",
    # These effects refer to a stop whose facts are said elsewhere on the line.
    Meet: lambda effect: "Meet",
    Forget: lambda effect: "Forget",
    ReadNative: lambda effect: f"read {effect.need.value}",
    ReadPython: lambda effect: f"read {effect.need.value}",
    PrepareNative: lambda effect: f"prepare {brief(effect.verdict)}",
    PreparePython: lambda effect: f"prepare {brief(effect.hold.verdict)}",
    Tell: lambda effect: f"tell {brief(effect.event)}",
}
