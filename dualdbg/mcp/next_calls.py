"""What to call next after an error, by its kind and by what the session does now. Pure."""

from __future__ import annotations

from ..errors import (
    DualdbgError,
    EngineLost,
    NoSuchBreakpoint,
    NoSuchThread,
    SpecError,
    StaleHandle,
    TargetGone,
    WrongState,
)
from ..model import State
from .wording import for_tools

_RUNS = "the program runs: continue_until(session=SESSION, seconds=0, at_time='pause') stops it"
_STANDS = "it stands: stack(session=SESSION) shows where, continue_until(session=SESSION) lets it go on"
_OVER = "it is over: output(session=SESSION) has what it wrote; run or attach begins another session"
_OF_CORE = "it is a core: stack(session=SESSION) and variables read it"
_NOT_KNOWN = "run or attach(pid=…) begins a session, attach(core=…) opens a core"
# By what the session does; None: there is no such session, or none was meant.
_BY_STATE = {
    State.STARTING: _RUNS,
    State.RUNNING: _RUNS,
    State.PYTHON_STOPPED: _STANDS,
    State.NATIVE_STOPPED: _STANDS,
    State.EXITED: _OVER,
    State.DETACHED: _OVER,
    State.LOST: _OVER,
    None: _NOT_KNOWN,
}
# The errors about which what the session does says what helps.
_OF_STATE = (WrongState, StaleHandle)
# By the type of the error, whatever the session does.
_CALLS = (
    (NoSuchThread, "stacks(session=SESSION) has its threads"),
    (NoSuchBreakpoint, "break(session=SESSION) lists them"),
    (SpecError, "the resource dualdbg://docs/breakpoints.md has all specs"),
    (EngineLost, "end(session=SESSION), then run or attach again"),
    (TargetGone, "run starts a program; stacks(match=…) finds processes"),
)


def next_call(error: DualdbgError, session: object, state: State | None, of_core: bool = False) -> str:
    """The call that helps, or else the error's own hint in the words of tools. ``session`` is what the failed call was
    about, if anything, and ``state`` what it does. ``of_core``: its program is a core, which goes nowhere."""
    for kind, words in _CALLS:
        if type(error) is kind:
            return for_tools(words, session)
    if type(error) in _OF_STATE:
        own = _OF_CORE if of_core else _BY_STATE[state]
        return for_tools(own, session)
    return for_tools(error.hint or (_OF_CORE if of_core else _BY_STATE[state]), session)
