"""A gdb that holds a process, and probes in it: what a session does, without a session.

As a program: ``python -m tests.probes.holding PID CONDITION FUNCTION`` lets the process run from hit to hit until it is
killed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dualdbg.backends.events import EngineEvent, NativeExited, NativeStopped, StopCause
from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.wirelog import WireLog
from dualdbg.session import preloads
from dualdbg.session.breakpoints.probes import Probes
from dualdbg.shared.requests.breakpoints import InsertBreakpoint, SetBreakpoint
from dualdbg.symbols.address_space import AddressSpace
from dualdbg.system.patience import patient
from dualdbg.system.resources import resource_directory

DEADLINE = patient(120.0)


class Held:
    """A process that gdb holds."""

    def __init__(self, pid: int) -> None:
        self._events: asyncio.Queue[EngineEvent] = asyncio.Queue()
        scripts, log = resource_directory("gdb_scripts"), WireLog(None, "gdb", 0.0)
        options = GdbOptions("gdb", scripts, log, environment=preloads.for_gdb())
        self.engine = GdbEngine(options, self._events.put_nowait)
        self.image = AddressSpace(pid)
        self.probes = Probes(self.engine, self.image)
        self.pid = pid

    async def begin(self) -> None:
        """Attach."""
        await self.engine.start()
        await self.engine.attach(self.pid, None)
        self.image.refresh()

    async def put(
        self, address: int, condition: str | None = None, hits: int | None = None
    ) -> tuple[int, str | None]:
        """A breakpoint with a probe: gdb's number, and why there is no probe."""
        number = await self.engine.ask(InsertBreakpoint(address))
        if condition is not None:
            await self.engine.set_condition(number, condition)
        if hits is not None:
            await self.engine.ask(SetBreakpoint(number, "ignore_count", hits - 1))
        return number, await self.probes.put(number, address, condition, hits, None)

    async def stop(self) -> NativeStopped | NativeExited:
        """The next stop."""
        while True:
            event = await asyncio.wait_for(self._events.get(), DEADLINE)
            if isinstance(event, (NativeStopped, NativeExited)):
                return event

    async def interrupted(self) -> NativeStopped | NativeExited:
        """Stop it now."""
        await self.engine.interrupt()
        return await self.stop()


@asynccontextmanager
async def held(pid: int) -> AsyncIterator[Held]:
    """While it is entered, gdb holds the process; then it runs on by itself."""
    one = Held(pid)
    try:
        await one.begin()
        yield one
        if not one.engine.running:
            await one.engine.detach()
    finally:
        await one.engine.close()


async def _hold(pid: int, condition: str, name: str) -> None:
    async with held(pid) as one:
        place = one.image.find(name)[0]
        number, why = await one.put(place.address, condition)
        assert why is None, why
        print(one.engine.pid, flush=True)
        while True:
            await one.engine.resume()
            event = await one.stop()
            if isinstance(event, NativeExited):
                return
            assert event.cause is StopCause.BREAKPOINT and event.gdb_breakpoint == number, event


if __name__ == "__main__":
    asyncio.run(_hold(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
