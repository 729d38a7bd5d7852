"""What to call next after an error: its own hint is for people at the prompt, where there is a call for it. Pure."""

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


def next_call(error: DualdbgError, session: object) -> str:
    """The call that helps, or else the error's own hint. ``session`` is what the failed call was about, if anything."""
    id = repr(session) if isinstance(session, str) else "…"
    for kind, words in _CALLS:
        if type(error) is kind:
            return words.replace("SESSION", id)
    return error.hint


# By the type of the error.
_CALLS = (
    (
        WrongState,
        "continue_until(session=SESSION, seconds=0, at_time='pause') stops a program that runs; "
        "continue_until(session=SESSION) lets one that stands go on",
    ),
    (StaleHandle, "the program has gone on since: stack(session=SESSION) has its frames now"),
    (NoSuchThread, "stacks(session=SESSION) has its threads"),
    (NoSuchBreakpoint, "break(session=SESSION) lists them"),
    (SpecError, "the resource dualdbg://docs/breakpoints.md has all specs"),
    (EngineLost, "end(session=SESSION), then run or attach again"),
    (TargetGone, "run starts a program; stacks(match=…) finds processes"),
)
