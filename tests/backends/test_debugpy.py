"""The connection to debugpy: whoever waits for an answer hears of its end too."""

from __future__ import annotations

import asyncio

from dualdbg.backends import python
from dualdbg.backends.debugpy import DebugpyEngine
from dualdbg.backends.events import EngineEvent
from dualdbg.backends.wirelog import WireLog


def test_a_posted_request_hears_that_the_connection_is_lost() -> None:
    """Else a breakpoint that is added while the program ends would wait for the answer's whole time."""
    heard: list[object] = []

    async def main() -> None:
        events: list[EngineEvent] = []
        engine = DebugpyEngine(WireLog(None, "debugpy", 0.0), events.append)
        serving = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.set()
            await engine.serve(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await serving.wait()
        lost = asyncio.Event()
        request = python.set_breakpoints("setExceptionBreakpoints", {"filters": ["raised"]})
        engine.post(request, heard.append, heard.append, lost.set)
        writer.close()
        await asyncio.wait_for(lost.wait(), 60)
        server.close()

    asyncio.run(main())
    assert heard == []
