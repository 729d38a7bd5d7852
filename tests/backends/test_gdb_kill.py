"""The end of a process that gdb itself ends is an event like any other end: gdb says nothing of it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator

import pytest

from dualdbg.backends.events import NativeExited
from dualdbg.system.patience import patient
from tests.probes.holding import held


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("ended_before", [False, True])
def test_the_end_is_reported(sleeper: subprocess.Popen[bytes], ended_before: bool) -> None:
    async def main() -> None:
        async with held(sleeper.pid) as one:
            if ended_before:  # gdb takes note of it then
                sleeper.kill()
            await one.engine.kill()
            assert await one.stop() == NativeExited(signal="SIGKILL")
            one.engine.running = True  # there is nothing to let go of

    asyncio.run(main())
    assert sleeper.wait(patient(60)) == -signal.SIGKILL
