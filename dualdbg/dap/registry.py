"""The table of requests: which function answers which command, and when it may be asked.

The functions are in ``requests/``; importing that package fills the table.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, Union, cast

from ..protocol.dap_types import Capabilities
from .adapter import Adapter
from .client.arguments import Arguments
from .client.capabilities import BESIDE_REQUESTS
from .stages import LIVE, Stage

Body = Union[Mapping[str, object], None]
Handler = Callable[[Adapter, Arguments], Awaitable[Body]]
_Answering = TypeVar("_Answering", bound=Handler)


@dataclass(frozen=True)
class Request:
    """One row.

    Requests begin in the order in which they came. Later requests do not wait for one that is ``aside``. A request
    that is ``urgent`` does not even wait for earlier ones. The answer to a request that ``resumes`` the target is sent
    before any event that follows: clients take the answer as "it runs", and would forget a stop that came before it.
    One that ``looks`` may be cancelled while it is under way, and is answered for a core file too: it changes nothing,
    except by what the user typed. ``capabilities``: what the adapter announces because of it.
    """

    command: str
    answer: Handler
    stages: frozenset[Stage]
    aside: bool = False
    urgent: bool = False
    resumes: bool = False
    looks: bool = False
    capabilities: tuple[str, ...] = ()


REQUESTS: dict[str, Request] = {}
"""Every request by its command."""

OF_POST_MORTEM: dict[str, Handler] = {}
"""The functions that answer instead while a core file is looked at, by command."""


def request(
    command: str,
    stages: tuple[Stage, ...] = LIVE,
    *,
    aside: bool = False,
    urgent: bool = False,
    resumes: bool = False,
    looks: bool = False,
    capabilities: tuple[str, ...] = (),
) -> Callable[[_Answering], _Answering]:
    """Register the function that answers ``command``."""

    def register(handler: _Answering) -> _Answering:
        assert command not in REQUESTS, command
        REQUESTS[command] = Request(
            command, handler, frozenset(stages), aside, urgent, resumes, looks, capabilities
        )
        return handler

    return register


def post_mortem(*commands: str) -> Callable[[_Answering], _Answering]:
    """Register the function that answers these commands while a core file is looked at."""

    def register(handler: _Answering) -> _Answering:
        for command in commands:
            assert command not in OF_POST_MORTEM, command
            OF_POST_MORTEM[command] = handler
        return handler

    return register


def capabilities() -> Capabilities:
    """Return what the answer to ``initialize`` says that we can do."""
    of_requests = {name: True for row in REQUESTS.values() for name in row.capabilities}
    return cast(Capabilities, {**of_requests, **BESIDE_REQUESTS})


def lost_post_mortem() -> Capabilities:
    """Return what we cannot do while a core file is looked at."""
    rows = [row for row in REQUESTS.values() if not row.looks and row.command not in OF_POST_MORTEM]
    lost = {name: False for row in rows if Stage.POST_MORTEM not in row.stages for name in row.capabilities}
    return cast(Capabilities, lost)
