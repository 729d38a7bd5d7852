"""Progress: what is quick is not mentioned, what is slow is, and its end too, also when it fails."""

from __future__ import annotations

import asyncio

import pytest

from dualdbg.model import Event, Progress
from dualdbg.session import progress as module
from dualdbg.session.progress import progress
from dualdbg.system.patience import patient


def test_what_is_quick_is_not_mentioned() -> None:
    told: list[Event] = []

    async def quick() -> None:
        async with progress(told.append, "reading"):
            pass

    asyncio.run(quick())
    assert told == []


def test_what_is_slow_is_told_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)

    async def slow() -> list[Event]:
        told: list[Event] = []
        first = asyncio.Event()

        def tell(event: Event) -> None:
            told.append(event)
            first.set()

        with pytest.raises(ValueError):
            async with progress(tell, "reading"):
                await asyncio.wait_for(first.wait(), patient(60))
                raise ValueError("the end of it")
        return told

    assert asyncio.run(slow()) == [Progress("reading"), Progress("reading", done=True)]
