"""A frozen thread stands as it was also at a stop that could not be read, or that gdb has forced. Fake engines."""

from __future__ import annotations

import asyncio

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import State
from dualdbg.session.session import Session
from dualdbg.session.stepping.freezing import Unsafe
from tests.session.fakes.script import play
from tests.session.fakes.world import INTERNAL, TIDS, WORKER, World

pytestmark = pytest.mark.pure


async def freeze_and_go_on(session: Session, world: World) -> None:
    """The worker is frozen at a native stop of the main thread, and the program runs on."""
    world.fork()
    await asyncio.sleep(1)
    while not session.freezer.frozen:
        try:
            await session.freezer.freeze([TIDS[WORKER]])
        except Unsafe:  # it holds the GIL
            session.inspector.forget()
    await session.resume()
    assert world.parked == {WORKER}


async def refuse(*arguments: object) -> None:
    raise CommandError("gdb: Cannot do that")


def test_a_stop_that_cannot_be_read() -> None:
    async def script(session: Session, world: World) -> None:
        await freeze_and_go_on(session, world)
        session.native_stops.scene.thread = refuse  # type: ignore[method-assign, assignment]
        world.fork()
        await asyncio.sleep(1)
        assert session.state is State.NATIVE_STOPPED and not world.parked

    play(script)


def test_gdb_does_not_let_the_program_run_on() -> None:
    async def script(session: Session, world: World) -> None:
        await freeze_and_go_on(session, world)
        session.native.resume = refuse  # type: ignore[method-assign]
        world.hit(INTERNAL)
        await asyncio.sleep(1)
        assert session.state is State.NATIVE_STOPPED and not world.parked

    play(script)
