"""What debugpy stops for is counted once, and its log text written once, also where a native stop comes between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from dualdbg.backends.events import PythonCause
from dualdbg.errors import CommandError
from dualdbg.model import PythonFrame, State
from dualdbg.session.session import Session
from tests.session.fakes.script import play
from tests.session.fakes.world import FILE, LINE, World

pytestmark = pytest.mark.pure
TEXTS = ("first", "second")
FRAME = PythonFrame("p", FILE, LINE, engine_id=1000)


async def on_exceptions(session: Session, world: World) -> list[int]:
    return [(await session.breakpoints.add(f'raise log "{text}"'))[0].id for text in TEXTS]


async def on_changes(session: Session, world: World) -> list[int]:
    table = session.breakpoints
    return [(await table.add(f'watch:py:x log "{text}"', frame=FRAME))[0].id for text in TEXTS]


def of_target(expression: str) -> Any:
    """What the target says of its watchpoints; None of anything else."""
    if ".add(" in expression:
        return "null"
    change = {"old": "1", "new": "2"}
    return json.dumps([{"number": number, **change} for number in (1, 2)]) if ".met()" in expression else None


@pytest.mark.parametrize(
    ("ask_for", "cause"), [(on_exceptions, PythonCause.EXCEPTION), (on_changes, PythonCause.BREAKPOINT)]
)
@pytest.mark.parametrize("held_up", TEXTS)
@pytest.mark.parametrize("moment", ["before its answer", "after its answer"])
def test_a_native_stop_comes_while_a_log_text_is_written(
    ask_for: Callable[[Session, World], Awaitable[list[int]]],
    cause: PythonCause,
    held_up: str,
    moment: str,
) -> None:
    written: list[str] = []

    async def script(session: Session, world: World) -> None:
        request = session.python.request

        async def asked(one: Any, *more: Any) -> Any:
            expression = (one.arguments or {}).get("expression", "")
            text = next((text for text in TEXTS if f"'{text}'" in expression), None)
            if text is not None and ".add(" not in expression:
                written.append(text)
                if text == held_up and moment == "before its answer":
                    world.fork()
            answer = await request(one, *more)
            if text == held_up and moment == "after its answer":
                world.fork()
                await asyncio.sleep(0)
            said = of_target(expression)
            return answer if said is None else one.read({"result": repr(said)})

        session.python.request = asked  # type: ignore[method-assign]
        ids = await ask_for(session, world)
        world.hold(cause)
        await asyncio.sleep(5)
        assert session.state is State.NATIVE_STOPPED
        while session.state is not State.RUNNING:
            with suppress(CommandError):  # this gdb refuses now and then
                await session.resume()
            await asyncio.sleep(5)
        assert [session.breakpoints.get(id).hit_count for id in ids] == [1, 1]
        assert not world.python, "debugpy holds the thread"

    assert play(script) == []
    assert written == [*TEXTS]
