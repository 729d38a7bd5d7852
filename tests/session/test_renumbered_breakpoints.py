"""debugpy numbers its breakpoints anew each time that it is told of some, and a stop may have waited. Fake engines."""

from __future__ import annotations

import asyncio

import pytest

from dualdbg.backends.events import PythonCause
from dualdbg.model import State
from dualdbg.session.session import Session
from tests.session.fakes.script import play
from tests.session.fakes.world import FILE, LINE, World

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("later", ["another is set", "one there is switched off"])
def test_a_stop_that_waits_behind_a_native_one_keeps_its_breakpoint(later: str) -> None:
    async def script(session: Session, world: World) -> None:
        table = session.breakpoints
        [row] = await table.add(f"{FILE}:{LINE}")
        [other] = await table.add(f"{FILE}:{LINE}")
        world.stop_in_python(PythonCause.BREAKPOINT)
        world.fork()
        await asyncio.sleep(1)
        assert session.state is State.NATIVE_STOPPED
        if later == "another is set":
            await table.add(f"{FILE}:{LINE + 1}")
            expected = (row.id, other.id)
        else:
            await table.enable(other.id, False)
            expected = (row.id,)
        await session.resume()
        await asyncio.sleep(1)
        assert session.state is State.PYTHON_STOPPED and session.stop is not None
        assert session.stop.breakpoints == expected
        assert table.get(row.id).hit_count == 1

    play(script)
