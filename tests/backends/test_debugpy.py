"""The connection to debugpy: whoever waits for an answer hears of its end too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dualdbg.backends import python
from dualdbg.backends.debugpy import DebugpyEngine
from dualdbg.backends.events import EngineEvent
from dualdbg.backends.wirelog import WireLog
from dualdbg.errors import EngineLost
from dualdbg.system.patience import patient


@asynccontextmanager
async def target_of(
    engine: DebugpyEngine,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """The target's end of a connection that the engine serves."""
    serving = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.set()
        await engine.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        ends = await asyncio.open_connection(*server.sockets[0].getsockname())
        await serving.wait()
        yield ends
    finally:
        server.close()


def test_nothing_is_asked_once_we_have_hung_up() -> None:
    """Python control that was just coming when the user left goes on with its next request."""

    async def main() -> None:
        engine = DebugpyEngine(WireLog(None, "debugpy", 0.0), lambda event: None)
        async with target_of(engine) as (reader, writer):
            hanging_up = asyncio.ensure_future(engine.hang_up(60))
            assert await reader.read() == b""  # our side is closed, and the target's is not
            with pytest.raises(EngineLost):
                await engine.configuration_done()
            writer.close()
            assert await hanging_up

    asyncio.run(main())


def test_a_posted_request_hears_that_the_connection_is_lost() -> None:
    """Else a breakpoint that is added while the program ends would wait for the answer's whole time."""
    heard: list[object] = []

    async def main() -> None:
        events: list[EngineEvent] = []
        engine = DebugpyEngine(WireLog(None, "debugpy", 0.0), events.append)
        async with target_of(engine) as (_, writer):
            lost = asyncio.Event()
            request = python.set_breakpoints("setExceptionBreakpoints", {"filters": ["raised"]})
            engine.post(request, heard.append, heard.append, lost.set)
            writer.close()
            await asyncio.wait_for(lost.wait(), patient(60))

    asyncio.run(main())
    assert heard == []
