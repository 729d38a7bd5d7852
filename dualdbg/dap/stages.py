"""How far a client's debug session is, and the error for a request that comes too early or too late."""

from __future__ import annotations

from enum import IntEnum

from ..errors import WrongState


class Stage(IntEnum):
    """How far a client's debug session is; the specification's "initialization" and "launch sequencing"."""

    NEW = 0  # nothing was said yet
    INITIALIZED = 1
    STARTING = 2  # launch or attach was asked for; the engines are not ready
    CONFIGURING = 3  # `initialized` was sent: breakpoints come now
    LIVE = 4
    POST_MORTEM = 5  # a core file is looked at
    ENDED = 6


LIVE = (Stage.LIVE,)
CONFIGURABLE = (Stage.CONFIGURING, Stage.LIVE)
ANY = tuple(Stage)

# What holds at each stage, and what to do about it.
_WHEN = {
    Stage.NEW: ("the client has not sent initialize yet", ""),
    Stage.INITIALIZED: ("there is no program yet", "send launch or attach first"),
    Stage.STARTING: ("the program is being started", "wait for the initialized event"),
    Stage.CONFIGURING: ("the program does not run yet", "send configurationDone first"),
    Stage.LIVE: ("the program runs already", ""),
    Stage.POST_MORTEM: ("a core file is looked at: nothing runs", ""),
    Stage.ENDED: ("the debug session has ended", "start it again"),
}


def wrong_time(command: str, stage: Stage) -> WrongState:
    """Why ``command`` cannot be answered at ``stage``."""
    return WrongState(f"{command}: {_WHEN[stage][0]}", _WHEN[stage][1])


def no_session(stage: Stage) -> WrongState:
    """Why there is no session at ``stage``."""
    if stage is Stage.LIVE:
        return WrongState("the program runs without a debugger", "start it without noDebug")
    return WrongState(*_WHEN[stage])
