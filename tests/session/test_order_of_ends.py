"""Which of two ends is told, when gdb and the program end together."""

from __future__ import annotations

import asyncio
import signal

import pytest

from dualdbg.backends.events import EngineEnded, NativeExited
from dualdbg.model import Exit, State
from dualdbg.session.session import Session
from tests.session.fakes.assembly import assemble
from tests.session.fakes.clock import VirtualLoop
from tests.session.fakes.script import Calm
from tests.session.fakes.world import World

pytestmark = pytest.mark.pure

# gdb's word, which comes after that of the program's parent, and the state in which the session ends.
WORDS = {
    "its own end": (EngineEnded("gdb", "it was killed"), State.LOST),
    "the program's end": (NativeExited(None, "SIGTRAP"), State.EXITED),
    "nothing": (None, State.EXITED),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_program_that_dies_of_a_breakpoint_that_gdb_left(word: str) -> None:
    """gdb lets go of the program before it ends itself: the program can die first, of a breakpoint in it."""
    told, phase = WORDS[word]

    session = end(Exit(signal=signal.SIGTRAP), told)
    assert session.state is phase
    assert session.exit == Exit(signal=signal.SIGTRAP)


@pytest.mark.parametrize(
    ("told", "exit"),
    [
        (NativeExited(None, "SIG40"), Exit(signal=40)),
        (NativeExited(3, None), Exit(3)),
        (EngineEnded("gdb", "it was killed"), Exit()),
        (None, Exit()),
    ],
)
def test_a_status_that_its_parent_has_taken_along(
    told: EngineEnded | NativeExited | None, exit: Exit
) -> None:
    """The kernel says that the program has ended, and only gdb may know how."""
    assert end(Exit(), told).exit == exit


def end(by_kernel: Exit, told: EngineEnded | NativeExited | None) -> Session:
    """The session on a program that has ended so; gdb says ``told`` a second later, or nothing."""

    async def story() -> Session:
        session = assemble(World(Calm(0)))
        parent: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        session.wait_for_exit, session.end_target = lambda: asyncio.shield(parent), lambda: None
        session.run()
        parent.set_result(by_kernel)
        await asyncio.sleep(1)
        assert not session.ended.is_set(), "gdb has said nothing yet"
        if told is not None:
            session.report(told)
        await session.ended.wait()
        await session.end_tasks()
        return session

    return VirtualLoop().run_until_complete(story())
