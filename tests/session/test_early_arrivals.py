"""A thread arrives at a Python breakpoint before debugpy has answered which number that one has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dualdbg.backends.python import BreakpointAnswer
from dualdbg.errors import WrongState
from dualdbg.session.breakpoints.python import PythonBreakpoints
from dualdbg.symbols.callables.python_functions import NoFunction
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec

pytestmark = pytest.mark.pure


class Slow:
    """A debugpy that answers when it is told to."""

    connected = True

    def __init__(self) -> None:
        self.answers: list[tuple[Callable[[Any], None], Callable[[], None]]] = []

    def post(self, request: Any, on_refused: Any, on_answer: Any, on_lost: Any) -> None:
        self.answers.append((on_answer, on_lost))


async def adding(slow: Slow, mute: asyncio.Event) -> tuple[PythonBreakpoints, asyncio.Task[None]]:
    """A table that has told debugpy of the first breakpoint."""
    engine: Any = slow
    table = PythonBreakpoints(engine, (), mute, lambda name: NoFunction(name, None, None))
    await table.send_all()
    task = asyncio.create_task(table.add(1, parse_spec("py:tick")))
    while not slow.answers:
        await asyncio.sleep(0)
    return table, task


def test_the_answer_is_waited_for() -> None:
    async def story() -> None:
        slow = Slow()
        table, task = await adding(slow, asyncio.Event())
        assert table.owners((7,)) == []
        waiting = asyncio.create_task(table.answered())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        slow.answers[0][0]((BreakpointAnswer(True, id=7),))
        await waiting
        assert table.owners((7,)) == [1]
        await task

    asyncio.run(story())


@pytest.mark.parametrize("end", ["a native stop", "debugpy is gone"])
def test_the_wait_ends_in_any_case(end: str) -> None:
    async def story() -> None:
        slow, mute = Slow(), asyncio.Event()
        table, task = await adding(slow, mute)
        waiting = asyncio.create_task(table.answered())
        await asyncio.sleep(0)
        if end == "debugpy is gone":
            slow.answers[0][1]()
            await waiting
        else:
            mute.set()
            with pytest.raises(WrongState):
                await waiting
        await task

    asyncio.run(story())
