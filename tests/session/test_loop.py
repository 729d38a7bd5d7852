"""What a session's loop tells its front ends, also those that do not read."""

from __future__ import annotations

import asyncio

import pytest

from dualdbg.errors import EngineError, EngineLost
from dualdbg.model import Event, Notice, Output, Resumed
from dualdbg.session import loop as loops
from dualdbg.session.loop import Loop
from dualdbg.session.state import TargetState
from dualdbg.session.transitions.beginning import begin


def test_a_front_end_that_does_not_read_misses_texts_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "MOST_UNREAD", 3)

    async def main() -> tuple[list[Event], list[Event]]:
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        asleep, reader = loop.subscribe(), loop.subscribe()
        read: list[Event] = []
        for number in range(10):
            loop.tell(Output("console", f"{number}\n"))
            read.append(reader.get_nowait())
        loop.tell(Resumed(7))
        seen = [asleep.get_nowait() for _ in range(asleep.qsize())]
        loop.tell(Output("console", "read again\n"))
        return [*seen, asleep.get_nowait()], read

    seen, read = asyncio.run(main())
    assert [event.text for event in read if isinstance(event, Output)] == [f"{n}\n" for n in range(10)]
    assert [event.text for event in seen if isinstance(event, Output)] == [
        "0\n",
        "1\n",
        "2\n",
        "read again\n",
    ]
    notice, resumed = seen[3:5]
    assert isinstance(notice, Notice) and notice.message.startswith("7 texts are left out here")
    assert resumed == Resumed(7)


def test_an_end_with_entries_that_wait_leaves_no_traceback() -> None:
    """asyncio writes one to the terminal for what a callback raises."""
    trouble: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: trouble.append(context))
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        loop.open()
        loop.put(begin)
        await loop.end_tasks()
        await asyncio.sleep(0)

    asyncio.run(main())
    assert not trouble


def test_work_that_an_engines_end_breaks_adds_nothing_to_what_is_told_of_that_end() -> None:
    async def main() -> list[Event]:
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        told = loop.subscribe()

        async def broken(error: EngineError) -> None:
            raise error

        assert not await loop.guarded(broken(EngineLost("gdb is gone")))
        assert not await loop.guarded(broken(EngineError("gdb refused")))
        return [told.get_nowait() for _ in range(told.qsize())]

    assert asyncio.run(main()) == [Notice("error", "gdb refused", "")]
