"""continue, next, stepIn, stepOut, goto and pause: everything that makes the target run, jump or stop.

What a step into or a jump could go to is in ``targets.py``.
"""

from __future__ import annotations

from ...errors import WrongState
from ...model import Language, State
from ...protocol import dap_types as dap
from .. import stepping_alone
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..registry import request

_BY_INSTRUCTION = {"next": "nexti", "step": "stepi", "finish": "finish"}


@request("continue", resumes=True)
async def continue_(adapter: Adapter, arguments: Arguments) -> dap.ContinueResponseBody:
    _thread_of_the_program(adapter, arguments)
    if stepping_alone.steps_alone(adapter):
        stepping_alone.let_all_run(adapter, arguments.number("threadId"))
    else:
        await adapter.session.resume()
    return {"allThreadsContinued": True}


@request("next", resumes=True, capabilities=("supportsSteppingGranularity",))
async def next_(adapter: Adapter, arguments: Arguments) -> None:
    await _step(adapter, arguments, "next")


@request("stepIn", resumes=True)
async def step_in(adapter: Adapter, arguments: Arguments) -> None:
    """With ``targetId``, which ``stepInTargets`` gave, into that call of the line only."""
    await _step(adapter, arguments, "step", arguments.number("targetId", None))


@request("stepOut", resumes=True)
async def step_out(adapter: Adapter, arguments: Arguments) -> None:
    await _step(adapter, arguments, "finish")


async def _step(adapter: Adapter, arguments: Arguments, kind: str, target: int | None = None) -> None:
    session = adapter.session
    stop = session.require_stopped()
    tid = adapter.debuggee.thread(arguments.number("threadId"))
    native = stop.origin is Language.NATIVE
    if target is not None:
        target = adapter.debuggee.handles.calls.get(target)
    elif native and arguments.text("granularity", "statement") == "instruction":
        kind = _BY_INSTRUCTION[kind]
    await session.step(kind, target=target, tid=tid)


@request("goto", resumes=True)
async def goto(adapter: Adapter, arguments: Arguments) -> None:
    """To a place that ``gotoTargets`` gave. In native code the thread of the stop is moved, whichever is named."""
    _thread_of_the_program(adapter, arguments)
    adapter.session.require_stopped()
    target = adapter.debuggee.handles.places.get(arguments.number("targetId"))
    adapter.pump.implied.discard(adapter.session.epoch + 1)  # a client cannot know that it runs for a moment
    await adapter.session.step("goto", target=target)


@request("pause")
async def pause(adapter: Adapter, _arguments: Arguments) -> None:
    """Of all threads, whichever is named: a client that has not seen a stop knows none, and may say 0."""
    if adapter.session.state is not State.RUNNING:
        raise WrongState("the program is stopped already", "")
    await adapter.session.pause()
    return


def _thread_of_the_program(adapter: Adapter, arguments: Arguments) -> None:
    """Check the thread of a request that is about the whole program.

    One that has ended will do while the client has not been told of its end. Raises CommandError for any other number.
    """
    tid = arguments.number("threadId")
    if not adapter.pump.told_of(tid):
        adapter.debuggee.thread(tid)
