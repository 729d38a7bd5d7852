"""Runs one real session for a test: launch, wait for stops with a deadline, look at everything that was said."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from dualdbg.model import (
    BreakpointChanged,
    Event,
    Exit,
    Exited,
    Frame,
    NativeFrame,
    Notice,
    Output,
    PythonFrame,
    Role,
    Stack,
    Stop,
    Stopped,
)
from dualdbg.session.options import Options
from dualdbg.session.session import Session
from dualdbg.session.start import launch
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.system.patience import patient
from dualdbg.target.launcher import Launch

DEADLINE = patient(300.0)  # seconds; only a hang takes that long
_LOGS = Path(os.environ["DUALDBG_TEST_LOGS"]) if "DUALDBG_TEST_LOGS" in os.environ else None
T = TypeVar("T")


class Driver:
    """A session and the events it has sent; ``expect_*`` fail on anything that was not expected."""

    def __init__(self, session: Session, queue: asyncio.Queue[Event]) -> None:
        self.session = session
        self._queue = queue
        self.seen: list[Event] = []

    @property
    def notices(self) -> list[Notice]:
        return [event for event in self.seen if isinstance(event, Notice)]

    @property
    def console(self) -> str:
        return "".join(event.text for event in self.seen if isinstance(event, Output))

    async def next(self, *kinds: type, deadline: float = DEADLINE) -> Any:
        """The next event of one of these kinds; others are kept in ``seen``."""
        while True:
            event = await asyncio.wait_for(self._queue.get(), deadline)
            self.seen.append(event)
            if isinstance(event, kinds):
                return event

    async def stop(self) -> Stop:
        event = await self.next(Stopped, Exited)
        assert isinstance(event, Stopped), f"expected a stop, the target ended: {event}; {self.notices}"
        return event.stop

    async def exit(self) -> Exit:
        event = await self.next(Stopped, Exited)
        assert isinstance(event, Exited), f"expected the end, got {event}"
        return event.exit

    async def resume(self) -> Stop:
        await self.session.resume()
        return await self.stop()

    async def step(self, kind: str, location: str | None = None) -> Stop:
        await self.session.step(kind, location)
        return await self.stop()

    async def finish_run(self) -> Exit:
        """To the end, past every breakpoint."""
        for row in self.session.breakpoints.all():
            await self.session.breakpoints.remove(row.id)
        await self.session.resume()
        return await self.exit()

    async def stack(self) -> Stack:
        return await self.session.inspector.stack()

    async def names(self) -> list[str]:
        """The user's own frames, innermost first."""
        return [name(frame) for frame in (await self.stack()).visible() if frame.role is Role.USER]

    def breakpoint_events(self) -> list[BreakpointChanged]:
        return [event for event in self.seen if isinstance(event, BreakpointChanged)]


def name(frame: Frame | None) -> str:
    """``function`` of a native frame, ``file:line`` of a Python one."""
    if isinstance(frame, NativeFrame):
        return frame.function or hex(frame.pc)
    assert isinstance(frame, PythonFrame)
    return f"{Path(frame.file or '?').name}:{frame.line}"


def run_session(
    work: Callable[[Driver], Awaitable[T]],
    script: Path | str | None = None,
    *breakpoints: str,
    operators: OperatorTable | None = None,
    env: dict[str, str] | None = None,
    launch_options: dict[str, Any] | None = None,
    **options: Any,
) -> T:
    """Launch ``script`` with these breakpoints and let ``work`` drive it; the session is closed in any case."""

    async def main() -> T:
        queues: list[asyncio.Queue[Event]] = []
        folders = os.pathsep.join([str(Path(__file__).parents[2] / "samples"), *(env or {}).values()])
        what: dict[str, Any] = {"python": sys.executable, "env": {**(env or {}), "PYTHONPATH": folders}}
        if script is not None:
            what["script"] = str(script)
        what.update(launch_options or {})
        session = await launch(
            Launch(**what),
            Options(breakpoints=breakpoints, log_dir=_LOGS, **options),
            operators,
            subscribe=lambda one: queues.append(one.subscribe()),
        )
        try:
            return await work(Driver(session, queues[0]))
        finally:
            await session.close()

    return asyncio.run(main())
