"""A request to debugpy gives way to a native stop: of the answer that comes later the user sees what the user asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dualdbg.backends import python as debugpy
from dualdbg.errors import WrongState
from dualdbg.model import Event, Output
from dualdbg.session.inspect.inspector import Inspector
from dualdbg.session.session import Session
from tests.session.fakes.gdb import FakeGdb
from tests.session.fakes.script import Calm
from tests.session.fakes.world import PID, World

QUESTION = debugpy.evaluate("f()", 1)


class Answers:
    """debugpy, which answers when it is told to."""

    connected = True

    def __init__(self) -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def request(self, request: object, deadline: float = 0.0) -> Any:
        return await self.answer


def shown(late: Callable[[Any], str] | None) -> str:
    """What the user sees of an answer that comes after a native stop."""

    async def main() -> str:
        heard: list[Event] = []
        gdb, python = FakeGdb(World(Calm(1))), Answers()
        session = Session(PID, gdb, None, 0.0)  # type: ignore[arg-type]
        session.loop.tell = heard.append  # type: ignore[method-assign]
        inspector = Inspector(session.loop, gdb, python, session, None)  # type: ignore[arg-type]
        asked = asyncio.ensure_future(inspector.ask(QUESTION, 60.0, late))
        await asyncio.sleep(0)
        session.loop.native_held.set()
        with pytest.raises(WrongState, match="native stop came before"):
            await asked
        python.answer.set_result(debugpy.PythonValue("f()", "int", "42"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await session.end_tasks()
        return "".join(event.text for event in heard if isinstance(event, Output))

    return asyncio.run(main())


def test_the_value_of_a_users_expression() -> None:
    assert shown(lambda value: value.text) == "42\n"


def test_nothing_of_a_question_of_our_own() -> None:
    assert shown(None) == ""
