"""Going on: continue, next, stepIn, stepOut, pause, and moving the point of execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import WrongState
from ...model import Language, State
from ..arguments import Arguments
from ..registry import Body, request

if TYPE_CHECKING:
    from ..adapter import Adapter

_BY_INSTRUCTION = {"next": "nexti", "step": "stepi", "finish": "finish"}


@request("continue", resumes=True)
async def continue_(adapter: Adapter, arguments: Arguments) -> Body:
    arguments.number("threadId")
    await adapter.session.resume()
    return {"allThreadsContinued": True}


@request("next", resumes=True)
async def next_(adapter: Adapter, arguments: Arguments) -> Body:
    return await _step(adapter, arguments, "next")


@request("stepIn", resumes=True)
async def step_in(adapter: Adapter, arguments: Arguments) -> Body:
    """With ``targetId``, which ``stepInTargets`` gave, into that call of the line only."""
    return await _step(adapter, arguments, "step", arguments.number("targetId", None))


@request("stepOut", resumes=True)
async def step_out(adapter: Adapter, arguments: Arguments) -> Body:
    return await _step(adapter, arguments, "finish")


async def _step(adapter: Adapter, arguments: Arguments, kind: str, target: int | None = None) -> Body:
    session = adapter.session
    stop = session.require_stopped()
    tid = arguments.number("threadId")
    native = stop.origin is Language.NATIVE
    if native and arguments.text("granularity", "statement") == "instruction":
        kind = _BY_INSTRUCTION[kind]
    elif native and target is not None:
        target = adapter.tables.calls.get(target)
    await session.step(kind, target=target, tid=tid)
    return None


@request("pause")
async def pause(adapter: Adapter, arguments: Arguments) -> Body:
    arguments.number("threadId")
    if adapter.session.state is not State.RUNNING:
        raise WrongState("the program is stopped already", "")
    await adapter.session.pause()
    return None
