"""In which order gdb is told what lets the target run and what stops it, whatever has to be done before."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.wirelog import WireLog
from dualdbg.system.resources import resource_directory

WAYS: dict[str, Callable[[GdbEngine], Awaitable[None]]] = {
    "resume": lambda engine: engine.resume(),
    "with a signal": lambda engine: engine.resume_with_signal("SIGUSR1"),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_comes_behind_what_lets_the_target_run(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it, while probes are put in, it would be lost: the target stands, and then it runs."""
    told: list[str] = []

    async def main() -> None:
        options = GdbOptions("gdb", resource_directory("gdb_scripts"), WireLog(None, "gdb", 0.0))
        engine = GdbEngine(options, lambda event: None)
        armed = asyncio.Event()

        async def tell(text: str, **_: object) -> None:
            told.append(text)

        monkeypatch.setattr(engine.signals, "target", os.getpid())
        monkeypatch.setattr(engine.probes, "arm", armed.wait)
        monkeypatch.setattr(engine, "order", lambda request: tell("interrupt"))
        monkeypatch.setattr(engine._process, "command", tell)
        monkeypatch.setattr(engine._process, "console", tell)
        works = [asyncio.ensure_future(WAYS[way](engine)), asyncio.ensure_future(engine.interrupt())]
        for _ in range(20):
            await asyncio.sleep(0)
        assert told == []
        armed.set()
        await asyncio.gather(*works)

    asyncio.run(main())
    assert len(told) == 2 and told[1] == "interrupt"
