"""The table of requests: which function answers which command, and when it may be asked."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Union

from .arguments import Arguments

if TYPE_CHECKING:
    from .adapter import Adapter

Body = Union[dict[str, Any], None]
Handler = Callable[["Adapter", Arguments], Awaitable[Body]]


class Stage(IntEnum):
    """How far a client's debug session is; the specification's "initialization" and "launch sequencing"."""

    NEW = 0  # nothing was said yet
    INITIALIZED = 1
    STARTING = 2  # launch or attach was asked for; the engines are not ready
    CONFIGURING = 3  # `initialized` was sent: breakpoints come now
    LIVE = 4
    POST_MORTEM = 5  # a core file is looked at
    ENDED = 6


@dataclass(frozen=True)
class Request:
    """One row.

    Requests begin in the order in which they came. One that is ``aside`` is not waited for by those after it; one
    that is ``urgent`` does not even wait for those before it. The answer of one that ``resumes`` the target is sent
    before anything is told of what the target does then: clients take the answer as "it runs", and would forget a
    stop that came before it.
    """

    command: str
    answer: Handler
    stages: frozenset[Stage]
    aside: bool = False
    urgent: bool = False
    resumes: bool = False

    @property
    def only_looks(self) -> bool:
        """Whether it may be cancelled while it is under way: nothing is changed by it, or by the user's own words."""
        return self.command in _LOOKING


_LOOKING = frozenset(
    {
        *("evaluate", "completions", "stackTrace", "scopes", "variables", "threads", "source", "modules"),
        *("loadedSources", "readMemory", "disassemble", "gotoTargets", "stepInTargets", "exceptionInfo"),
    }
)

LIVE = (Stage.LIVE,)
CONFIGURABLE = (Stage.CONFIGURING, Stage.LIVE)
ANY = tuple(Stage)

_AREAS = (
    "breakpoints",
    "console",
    "execution",
    "exceptions",
    "life",
    "memory",
    "movement",
    "post_mortem",
    "sources",
    "stacks",
    "start",
    "values",
)
_TABLE: dict[str, Request] = {}
_POST_MORTEM: dict[str, Handler] = {}


def request(
    command: str,
    stages: tuple[Stage, ...] = LIVE,
    *,
    aside: bool = False,
    urgent: bool = False,
    resumes: bool = False,
) -> Callable[[Handler], Handler]:
    """Register the function that answers ``command``."""

    def register(handler: Handler) -> Handler:
        assert command not in _TABLE, command
        _TABLE[command] = Request(command, handler, frozenset(stages), aside, urgent, resumes)
        return handler

    return register


def post_mortem(*commands: str) -> Callable[[Handler], Handler]:
    """Register the function that answers ``commands`` of the table while a core file is looked at."""

    def register(handler: Handler) -> Handler:
        for command in commands:
            assert command not in _POST_MORTEM, command
            _POST_MORTEM[command] = handler
        return handler

    return register


def of_post_mortem(command: str) -> Handler | None:
    """What answers ``command`` while a core file is looked at."""
    return _POST_MORTEM.get(command)


def requests() -> dict[str, Request]:
    """Every request by its command."""
    for area in _AREAS:
        importlib.import_module(f"{__package__}.requests.{area}")
    return _TABLE
