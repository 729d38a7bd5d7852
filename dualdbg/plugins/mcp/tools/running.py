"""``continue_until`` and ``step``: the program goes on, for a while."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ....errors import WrongState
from ....model import Reason
from ....system.patience import patient
from ..answers import Reply, Situation
from ..debuggee import Debuggee
from ..registry import Arguments, tool
from ..sessions import Sessions
from ..situation import situation
from .fields import Seconds, SessionId, Thread


class ContinueArguments(Arguments):
    session: SessionId
    seconds: Seconds = 30.0
    at_time: Annotated[
        Literal["wait", "pause"], Field(description="when the time is over: let it run on, or stop it")
    ] = "wait"


@tool("continue_until", "Run on until a stop, the end or a time", ContinueArguments, Situation)
async def continue_until(sessions: Sessions, arguments: ContinueArguments) -> Reply:
    """Let the program go on, and wait for its next stop, its end or the time. Where it runs already, only wait; where
    it has stopped or ended since the last answer, that is the answer, and it does not go on.
    With at_time="pause" and seconds=0 a running program is stopped now."""
    async with sessions.using(arguments.session) as debuggee:
        if await _has_news(debuggee):
            return await situation(debuggee)
        _require_life(debuggee)
        if debuggee.stopped:
            await debuggee.session.resume()
        stands = await debuggee.wait(arguments.seconds)
        if not stands and arguments.at_time == "pause":
            await debuggee.session.pause()
            stands = await debuggee.wait(_PAUSE)
        return await situation(debuggee, None if stands else arguments.seconds)


_PAUSE = patient(30.0)  # seconds for a program to be stopped


class StepArguments(Arguments):
    session: SessionId
    kind: Annotated[
        Literal["step", "next", "finish", "until", "stepi", "nexti"],
        Field(
            description="into calls of either language, over them, out of the function, never back; instructions"
        ),
    ] = "step"
    count: Annotated[int, Field(ge=1, le=1000)] = 1
    thread: Thread = None
    seconds: Seconds = 30.0


@tool("step", "Step in either language", StepArguments, Situation)
async def step(sessions: Sessions, arguments: StepArguments) -> Reply:
    """Step the thread, count times; another stop ends it earlier. step on a Python line enters the C++ function that
    it calls, and finish comes back to Python."""
    async with sessions.using(arguments.session) as debuggee:
        if await _has_news(debuggee):
            return await situation(debuggee)
        _require_life(debuggee)
        stands = True
        for _ in range(arguments.count):
            await debuggee.session.step(arguments.kind, tid=debuggee.thread(arguments.thread))
            stands = await debuggee.wait(arguments.seconds)
            stop = debuggee.session.stop
            if not stands or stop is None or stop.reason is not Reason.STEP:
                break
        return await situation(debuggee, None if stands else arguments.seconds)


async def _has_news(debuggee: Debuggee) -> bool:
    """Whether it has stopped or ended since the last answer: the client hears of that before anything goes on."""
    await debuggee.flush()
    return debuggee.news.is_due


class ProgramIsOver(WrongState):
    """There is nothing left to go on with. Its hint is a call already."""


def _require_life(debuggee: Debuggee) -> None:
    """Raises ProgramIsOver where the program is over."""
    if debuggee.over:
        raise ProgramIsOver(
            f"the program of session {debuggee.id} is over: {debuggee.session.state.value}",
            f"output(session={debuggee.id!r}) has what it wrote; run starts it again",
        )
