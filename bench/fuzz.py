"""Random records of gdb and random requests of an editor: nothing hangs, nothing is unforeseen, memory stays small.

``python -m bench fuzz --mi 100000 --dap 100000 --workers 2 --seed 1``. The first half is our client of gdb, with a
stand-in for gdb (``_mi_records.py``); the second is a real ``dualdbg dap`` with real programs (``tests/dap/fuzz.py``).
The same seed gives the same records and the same requests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import psutil

from dualdbg.backends.events import EngineEvent
from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.native import Move
from dualdbg.backends.wirelog import WireLog
from dualdbg.errors import DualdbgError
from dualdbg.shared.requests.breakpoints import (
    CountHits,
    EvaluateCondition,
    FormatLogText,
    InsertBreakpoint,
    InsertBreakpoints,
    InsertWatchpoint,
    ReadLastBreakpoint,
    ReadThrownObject,
)
from dualdbg.shared.requests.code import (
    Disassemble,
    FindCalls,
    FindCallTarget,
    FindFunctionBodies,
    FindFunctionBody,
    FindLineLocations,
)
from dualdbg.shared.requests.threads import (
    ListThreads,
    PrintRegisters,
    ReadArchitecture,
    ReadFrames,
    ReadGdbVersion,
    ReadMemory,
    ReadReadableMemory,
    ReadRegisters,
    WasSentByTerminal,
    WriteMemory,
)
from dualdbg.shared.requests.values import (
    Complete,
    Evaluate,
    ListChildren,
    ListVariables,
    ReadPythonChildren,
    ReadPythonObjects,
)

HANG = 5.0  # seconds
MOST_MEMORY = 300.0  # MB
A_GDB = 2000  # records from one stand-in
A_SESSION = 300  # messages of one editor
_TICK = 0.01


@dataclass
class Figures:
    """What was seen. ``slowest``: seconds for which nothing answered; ``memory``: the largest, MB."""

    what: str
    sent: int = 0
    slowest: float = 0.0
    hangs: int = 0
    memory: float = 0.0
    unforeseen: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        self.sent += other.sent
        self.slowest = max(self.slowest, other.slowest)
        self.hangs += other.hangs
        self.memory = max(self.memory, other.memory)
        self.unforeseen += other.unforeseen

    def waited(self, seconds: float) -> None:
        self.slowest = max(self.slowest, seconds)
        self.hangs += seconds > HANG

    @property
    def good(self) -> bool:
        return not self.hangs and not self.unforeseen and self.memory < MOST_MEMORY

    def __str__(self) -> str:
        return (
            f"{self.sent:>7} {self.what}: {self.hangs} hangs over {HANG:g} s (the longest wait {self.slowest:.2f} s), "
            f"{len(self.unforeseen)} unforeseen, {self.memory:.0f} MB at most"
        )


def main(arguments: Sequence[str] = ()) -> int:
    given = _options(arguments)
    # A process for each session: one that fails leaves the others alone, and memory is that of one session.
    pool = ProcessPoolExecutor(given.workers, mp_context=get_context("spawn"))
    with pool, tempfile.TemporaryDirectory(prefix="dualdbg-fuzz-") as folder:
        halves = []
        for what, count, size, session in (
            ("MI records", given.mi, A_GDB, mi_session),
            ("DAP messages", given.dap, A_SESSION, dap_session),
        ):
            total = Figures(what)
            first = given.first
            while total.sent < count:  # a session may end before its time: an editor may say so
                numbers = range(first, first + -(-(count - total.sent) // size))
                first = numbers.stop
                results = pool.map(session, repeat(given.seed), numbers, repeat(folder), repeat(given.keep))
                for number, one in zip(numbers, results, strict=True):
                    total.add(one)
                    for text in [*one.notes, *one.unforeseen]:
                        print(f"{what}, session {number} of seed {given.seed}: {text}", flush=True)
                    if not (number + 1) % 20:
                        print(total, flush=True)
            if count:
                halves.append(total)
                print(total, flush=True)
    return 0 if all(half.good for half in halves) else 1


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench fuzz")
    parser.add_argument("--mi", type=int, default=10_000, metavar="RECORDS")
    parser.add_argument("--dap", type=int, default=600, metavar="MESSAGES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="SESSION", help="to see one session again")
    parser.add_argument("--workers", type=int, default=1, metavar="PROCESSES")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="for the logs of sessions that went wrong"
    )
    return parser.parse_args(arguments)


# -- gdb's records ---------------------------------------------------------------------------------


def mi_session(seed: int, number: int, folder: str, keep: Path | None) -> Figures:
    """Use our client of gdb until the stand-in has written :data:`A_GDB` records."""
    figures = Figures("MI records", A_GDB)
    asyncio.run(_mi_session(seed * 1_000_003 + number, Path(folder), figures))
    figures.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


async def _mi_session(seed: int, folder: Path, figures: Figures) -> None:
    stand_in = folder / f"gdb-{seed}"
    script = Path(__file__).with_name("_mi_records.py")
    stand_in.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}' {seed} {A_GDB}\n")
    stand_in.chmod(0o755)
    ended = asyncio.Event()

    def on_event(event: EngineEvent) -> None:
        if type(event).__name__ == "EngineEnded":
            ended.set()

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: figures.unforeseen.append(str(context)))
    beat = asyncio.create_task(_heartbeat(figures))
    engine = GdbEngine(GdbOptions(str(stand_in), folder, WireLog(None, "gdb", 0.0)), on_event)
    await engine._process.start()
    chance = random.Random(seed)
    calls = _calls(engine)
    while not ended.is_set():
        some = [_one(chance.choice(calls), ended, figures) for _ in range(chance.choice((1, 2, 8)))]
        await asyncio.gather(*some)
    await engine.close(grace=0.5)
    for task in engine._process._tasks:
        if task.done() and not task.cancelled() and task.exception() is not None:
            figures.unforeseen.append(
                "the reader ended: " + "".join(traceback.format_exception(task.exception()))
            )
    beat.cancel()
    stand_in.unlink()


async def _one(call: Callable[[], Awaitable[object]], ended: asyncio.Event, figures: Figures) -> None:
    """A request. Its answer may have been damaged beyond recognition, so it is waited for a moment only."""
    try:
        await asyncio.wait_for(call(), 0.05)
    except (DualdbgError, asyncio.TimeoutError):
        pass
    except Exception:
        figures.unforeseen.append(traceback.format_exc(limit=-6))


async def _heartbeat(figures: Figures) -> None:
    """How long the event loop answers nothing."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(_TICK)
        figures.waited(time.perf_counter() - start - _TICK)


def _calls(engine: GdbEngine) -> list[Callable[[], Awaitable[object]]]:
    """A request of each kind of answer."""
    return [
        lambda: engine.ask(ReadGdbVersion()),
        lambda: engine.ask(ReadArchitecture()),
        lambda: engine.ask(ListThreads()),
        engine.resume,
        engine.interrupt,
        lambda: engine.ask(WasSentByTerminal()),
        lambda: engine.ask(ReadLastBreakpoint()),
        lambda: engine.move(Move.NEXT, 1),
        lambda: engine.ask(InsertBreakpoint(0x1000)),
        lambda: engine.ask(InsertWatchpoint(0x1000, 8, "write")),
        lambda: engine.ask(CountHits(1)),
        lambda: engine.ask(ReadFrames(1, 10)),
        lambda: engine.ask(FindFunctionBody(0x1000)),
        lambda: engine.ask(FindFunctionBodies([0x1000])),
        lambda: engine.ask(FindLineLocations("a.c", 3)),
        lambda: engine.ask(FindCalls(0x1000, 0x1010)),
        lambda: engine.ask(FindCallTarget(1)),
        lambda: engine.ask(Disassemble(0x1000, 3)),
        lambda: engine.ask(ReadRegisters(1, ["rip"])),
        lambda: engine.ask(PrintRegisters(1, 0, "general")),
        lambda: engine.ask(ReadMemory(0x1000, 8)),
        lambda: engine.ask(ReadReadableMemory(0x1000, 8)),
        lambda: engine.ask(WriteMemory(0x1000, b"x")),
        lambda: engine.ask(InsertBreakpoints(1, [0x1000])),
        lambda: engine.ask(EvaluateCondition(1, "1")),
        lambda: engine.ask(FormatLogText(1, ["a", "b"], ["1"])),
        lambda: engine.ask(ReadThrownObject(1)),
        lambda: engine.ask(ListVariables(1, 0)),
        lambda: engine.ask(Evaluate(1, 0, "x")),
        lambda: engine.ask(ListChildren(1, 0, 10)),
        lambda: engine.ask(Complete(1, 0, "x")),
        lambda: engine.ask(ReadPythonObjects([("x", 0x1000)], True)),
        lambda: engine.ask(ReadPythonChildren(0x1000, 0, 10)),
        lambda: engine.user_command("info line"),
    ]


# -- an editor's requests --------------------------------------------------------------------------


def dap_session(seed: int, number: int, folder: str, keep: Path | None) -> Figures:
    """One random editor with an adapter of its own."""
    from samples.native.build import build
    from tests.dap.client import connect
    from tests.dap.fuzz import PROGRAM, Fuzzer
    from tests.dap.server import Server

    figures = Figures("DAP messages")
    here = Path(folder) / f"dap-{seed}-{number}"
    here.mkdir()
    path = here / "fuzzed.py"
    path.write_text(PROGRAM.format(samples=str(build()), counter=str(path.with_suffix(".count"))))
    logs = here / "logs"
    server = Server("--log-dir", str(logs))
    client = connect(server.port)
    fuzzer = Fuzzer(client, random.Random(seed * 1_000_003 + number), path)
    try:
        fuzzer.run(A_SESSION)
    except AssertionError as error:
        figures.unforeseen.append(str(error))
    figures.memory = _peak(server.process.pid)
    client.close()  # type: ignore[attr-defined]
    status, errors = server.close()
    if status != 143:
        figures.unforeseen.append(f"the adapter ended with status {status}")
    rest = [
        line for line in errors.splitlines() if not line.startswith("dualdbg: a client was turned away: ")
    ]
    figures.unforeseen += ["\n".join(rest)] if rest else []
    figures.sent = fuzzer.sent
    figures.slowest, figures.hangs = fuzzer.slowest, len(fuzzer.slow)
    figures.notes += [f"a slow answer: {text}" for text in fuzzer.slow]
    if keep is not None and not figures.good:
        shutil.copytree(logs, keep / here.name)
    shutil.rmtree(here)
    return figures


def _peak(pid: int) -> float:
    """The largest resident size of a process so far, MB (proc(5), VmHWM)."""
    with contextlib.suppress(OSError, psutil.Error):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
