"""A command that is given up in the middle leaves the program and the session as if it had ended. Fake engines."""

from __future__ import annotations

import asyncio

import pytest

from dualdbg.errors import EngineLost
from dualdbg.model import State
from dualdbg.session.session import Session
from dualdbg.session.state import Grip
from tests.session.fakes.script import play
from tests.session.fakes.world import FILE, LINE, World

pytestmark = pytest.mark.pure


async def forever() -> None:
    await asyncio.Event().wait()


def test_the_program_runs_on_when_a_detach_is_given_up() -> None:
    async def script(session: Session, world: World) -> None:
        session.before_detach.append(forever)
        detach = asyncio.ensure_future(session.detach())
        await asyncio.sleep(1)
        assert session.loop.state.grip is Grip.HALTED
        detach.cancel()
        await asyncio.sleep(1)
        assert session.loop.state.grip is Grip.FREE and world.runs
        assert session.state is State.RUNNING

    play(script)


def test_gdb_may_end_while_the_end_of_given_up_work_is_under_way() -> None:
    async def script(session: Session, world: World) -> None:
        async def park() -> None:
            await asyncio.sleep(1)
            raise EngineLost("gdb is gone")

        async def nothing() -> None:
            return None

        session.freezer.park = park  # type: ignore[method-assign]
        work = asyncio.ensure_future(session.interrupted(nothing))
        await asyncio.sleep(0.5)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert session.loop.state.grip is Grip.FREE

    assert play(script) == []


def test_a_breakpoint_is_off_when_the_command_is_given_up_before_debugpy_has_answered() -> None:
    async def script(session: Session, world: World) -> None:
        [row] = await session.breakpoints.add(f"{FILE}:{LINE}")
        world.fork()
        await asyncio.sleep(1)
        assert session.state is State.NATIVE_STOPPED
        await session.resume()
        disable = asyncio.ensure_future(session.breakpoints.enable(row.id, False))
        await asyncio.sleep(0)
        disable.cancel()
        await asyncio.sleep(1)
        assert disable.cancelled() and not world.lines
        assert not session.breakpoints.get(row.id).enabled

    play(script)
