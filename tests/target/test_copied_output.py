"""The program's output on its way to the terminal and to the session: fair to both streams, and it comes to an end."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator

import pytest

from dualdbg.system.patience import patient
from dualdbg.target import copied_output
from dualdbg.target.copied_output import CopiedOutput


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied_output, "_show", lambda descriptor, data: None)


@pytest.fixture
def endless() -> Iterator[Callable[[int], None]]:
    """Writes without an end, and without the end of a line, to a descriptor."""
    over = threading.Event()
    threads = []

    def begin(descriptor: int) -> None:
        def write() -> None:
            while not over.is_set():
                try:
                    os.write(descriptor, b"x" * 1000)
                except OSError:
                    return

        threads.append(threading.Thread(target=write))
        threads[-1].start()

    yield begin
    over.set()
    for thread in threads:
        thread.join(patient(30))


async def _slow() -> None:
    await asyncio.sleep(0.001)


def test_it_ends_while_a_child_of_the_program_still_writes(endless: Callable[[int], None]) -> None:
    async def main() -> None:
        copied = CopiedOutput(lambda stream, text: None, _slow)
        ours = os.dup(copied.write_ends["stdout"])
        try:
            copied.begin()
            endless(ours)
            await asyncio.sleep(0.05)
            await asyncio.wait_for(copied.finish(), patient(30))
        finally:
            os.close(ours)

    asyncio.run(main())


def test_a_stream_without_ends_of_lines_leaves_the_other_its_turn(endless: Callable[[int], None]) -> None:
    async def main() -> None:
        heard = asyncio.Event()
        copied = CopiedOutput(lambda stream, text: heard.set() if stream == "stderr" else None, _slow)
        ends = {name: os.dup(end) for name, end in copied.write_ends.items()}
        try:
            copied.begin()
            endless(ends["stdout"])
            os.write(ends["stderr"], b"a warning\n")
            await asyncio.wait_for(heard.wait(), patient(30))
            await copied.finish()
        finally:
            for end in ends.values():
                os.close(end)

    asyncio.run(main())
