"""Steps within Python, across the boundary and back, and the merged stack after each; stock debugpy beside it."""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._debugpy_client import Client, start
from dualdbg.model import Exited, Stopped
from dualdbg.session.session import Session
from dualdbg.session.start import Options, launch
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.target.launcher import Launch
from samples.native.build import build

ROUNDS = 15
LINES = "x = 0\n" + "x += 1\n" * 60
NATIVE = "import sample_pybind\nfor i in range(100):\n    a = sample_pybind.add(1.5, 2.0)\n    b = i\n"
TORCH = "import torch\nfor i in range(100):\n    a = torch.randn(2, 3)\n    b = i\n"


class Walk:
    """A session that is stepped, with the time of each step and of the stack after it."""

    def __init__(self, session: Session, events: Any) -> None:
        self.session, self.events = session, events
        self.stacks: list[float] = []

    async def stop(self) -> None:
        while not isinstance(event := await self.events.get(), Stopped):
            if isinstance(event, Exited):
                raise SystemExit("the program ended too early")

    async def timed(self, kind: str) -> float:
        started = time.perf_counter()
        await (self.session.resume() if kind == "continue" else self.session.step(kind))
        await self.stop()
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        await self.session.inspector.stack()
        self.stacks.append(time.perf_counter() - started)
        return seconds


async def walk(text: str, spec: str, folder: Path, kinds: list[str]) -> dict[str, list[float]]:
    """Each of ``kinds`` over and over from the stop at ``spec``; seconds by kind."""
    script = folder / "program.py"
    script.write_text(text)
    queues: list[Any] = []
    torch = importlib.util.find_spec("torch")
    operators = OperatorTable.load(Path(torch.origin).parent) if torch and torch.origin else None
    session = await launch(
        Launch(sys.executable, script=str(script), env={"PYTHONPATH": str(build())}),
        Options(breakpoints=(spec,)),
        operators,
        subscribe=lambda one: queues.append(one.subscribe()),
    )
    times: dict[str, list[float]] = {kind: [] for kind in [*kinds, "stack"]}
    try:
        walker = Walk(session, queues[0])
        await walker.stop()
        for round in range(ROUNDS + 2):
            for kind in kinds:
                seconds = await walker.timed(kind)
                if round >= 2:  # the first ones load what the session then keeps
                    times[kind].append(seconds)
        times["stack"] = walker.stacks[2:]
    finally:
        await session.close()
    return times


def stock_debugpy(folder: Path) -> float:
    """Median seconds of ``next`` with debugpy's own adapter."""
    script = folder / "lines.py"
    script.write_text(LINES)
    program, port = start(str(script))
    client = Client(port)
    thread = client.stop_at(str(script), 2)
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        client.send("next", {"threadId": thread})
        client.wait("event", "stopped")
        times.append(time.perf_counter() - started)
    program.kill()
    program.wait()
    return statistics.median(times)


def row(name: str, seconds: list[float], limit: str) -> None:
    print(f"{name:52} {statistics.median(seconds) * 1000:7.1f} ms   {limit}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = asyncio.run(walk(LINES, "program.py:2", folder, ["next"]))
        native = asyncio.run(walk(NATIVE, "program.py:3", folder, ["step", "next", "finish", "continue"]))
        torch = asyncio.run(walk(TORCH, "program.py:3", folder, ["step", "finish", "continue"]))
        print(f"{'Python next, stock debugpy':52} {stock_debugpy(folder) * 1000:7.1f} ms")
    row("Python next", lines["next"], "at most 4")
    row("step from Python into a pybind11 function", native["step"], "at most 40")
    row("native next, with debug info", native["next"], "at most 8")
    row("finish to Python", native["finish"], "at most 25")
    row("step from Python into torch.randn", torch["step"], "at most 60")
    row("merged stack after each", [*native["stack"], *torch["stack"]], "at most 20")


if __name__ == "__main__":
    main()
