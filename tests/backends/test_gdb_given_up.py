"""A gdb whose start is given up leaves nothing, at whichever moment that is; nor does a command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.wirelog import WireLog
from dualdbg.errors import EngineTimeout
from dualdbg.system import session_folders
from dualdbg.system.resources import resource_directory
from tests import rows


@pytest.mark.parametrize("turns", rows.some([0, 2, 8, 50, 1, 3, 5], 4))
def test_nothing_is_left(turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``turns`` of the event loop pass between the start and its cancellation. (No process: tests/conftest.py.)"""
    folders: list[Path] = []
    make = session_folders.make

    def made(base: Path | None = None) -> Path:
        folders.append(make(tmp_path))
        return folders[-1]

    monkeypatch.setattr(session_folders, "make", made)

    async def main() -> None:
        engine = GdbEngine(_options(), lambda event: None)
        starting = asyncio.ensure_future(engine.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await engine.close(grace=1.0)

    asyncio.run(main())
    assert [one for one in folders if one.exists()] == []


@pytest.mark.parametrize("how", ["cancelled", "too late"])
def test_the_text_of_a_command_that_was_given_up_is_not_that_of_the_next(how: str) -> None:
    """gdb prints it when it comes to it, before its answer."""

    async def main() -> None:
        engine = GdbEngine(_options(), lambda event: None)
        await engine.start()
        try:
            console = engine._process.console
            slow = "python import time; time.sleep(1); print('late')"
            if how == "cancelled":
                asked = asyncio.ensure_future(console(slow))
                while not engine._process._pending:
                    await asyncio.sleep(0)
                asked.cancel()
                await asyncio.wait({asked})
            else:
                with pytest.raises(EngineTimeout):
                    await console(slow, 0.1)
            assert await console("echo next\\n") == "next\n"
            assert await console("echo and the one after\\n") == "and the one after\n"
        finally:
            await engine.close()

    asyncio.run(main())


def _options() -> GdbOptions:
    return GdbOptions("gdb", resource_directory("gdb_scripts"), WireLog(None, "gdb", 0.0))
