"""A gdb whose start is given up leaves nothing, at whichever moment that is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dualdbg import session_folders
from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.wirelog import WireLog
from dualdbg.resources import resource_directory


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 50])
def test_nothing_is_left(turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``turns`` of the event loop pass between the start and its cancellation. (No process: tests/conftest.py.)"""
    folders: list[Path] = []
    make = session_folders.make

    def made(base: Path | None = None) -> Path:
        folders.append(make(tmp_path))
        return folders[-1]

    monkeypatch.setattr(session_folders, "make", made)

    async def main() -> None:
        options = GdbOptions("gdb", resource_directory("gdb_scripts"), WireLog(None, "gdb", 0.0))
        engine = GdbEngine(options, lambda event: None)
        starting = asyncio.ensure_future(engine.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await engine.close(grace=1.0)

    asyncio.run(main())
    assert [one for one in folders if one.exists()] == []
