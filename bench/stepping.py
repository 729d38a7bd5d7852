"""Steps within Python, across the boundary and back, and the merged stack after each; stock debugpy beside it.

The least of the times and the CPU time of dualdbg, gdb and the target say more than the median on a busy machine;
how often gdb was asked is the same everywhere.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench._debugpy_client import Client, start
from bench._meter import Cost, Meter
from dualdbg.model import Exited, Stopped
from dualdbg.session.options import Options
from dualdbg.session.session import Session
from dualdbg.session.start import launch
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.target.launcher import Launch
from samples.native.build import build

ROUNDS = 15
SESSIONS = 5  # of which each has a first step
LINES = "x = 0\n" + "x += 1\n" * 60
NATIVE = "import sample_pybind\nfor i in range(100):\n    a = sample_pybind.add(1.5, 2.0)\n    b = i\n"
TORCH = "import torch\nfor i in range(100):\n    a = torch.randn(2, 3)\n    b = i\n"
CALLBACK = """\
import sample_pybind
def callback(value):
    return value * 2
for i in range(100):
    a = sample_pybind.call_back(callback, 2.0)
    b = i
"""
Costs = dict[str, list[Cost]]


class Walk:
    """A session that is stepped, with the cost of each step and of the stack after it."""

    def __init__(self, session: Session, events: Any) -> None:
        self.session, self.events = session, events
        self.meter = Meter(session)

    async def stop(self) -> None:
        while not isinstance(event := await self.events.get(), Stopped):
            if isinstance(event, Exited):
                raise SystemExit("the program ended too early")

    async def look(self) -> None:
        """Look at the stop until gdb has nothing more to do."""
        before = None
        while before != (now := self.meter.cpu_of_gdb()):
            before = now
            await asyncio.sleep(0.3)

    async def step(self, kind: str) -> tuple[Cost, Cost]:
        began = self.meter.read()
        await (self.session.resume() if kind == "continue" else self.session.step(kind))
        await self.stop()
        stopped = self.meter.read()
        await self.session.inspector.stack()
        return stopped - began, self.meter.read() - stopped


async def walk(
    text: str,
    spec: str,
    folder: Path,
    steps: list[str],
    rounds: int = ROUNDS,
    skip: int = 2,
    looks: bool = False,
) -> Costs:
    """The steps over and over from the stop at ``spec``: ``KIND`` or ``KIND NAME``; what each costs, by its name.

    ``NAME stack`` is the stack after it. The first ``skip`` rounds load what the session then keeps. ``looks``: the
    user reads the line first, and gdb may read meanwhile.
    """
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
    costs: Costs = defaultdict(list)
    try:
        walker = Walk(session, queues[0])
        await walker.stop()
        if looks:
            await walker.look()
        for round in range(rounds + skip):
            for one in steps:
                kind, _, name = one.partition(" ")
                step, stack = await walker.step(kind)
                if round >= skip:
                    costs[name or kind].append(step)
                    costs[f"{name or kind} stack"].append(stack)
    finally:
        await session.close()
    return costs


def first_steps(folder: Path, cold: bool, looks: bool = True) -> Costs:
    """The first step into an extension and the steps after it, each of a fresh session."""
    costs: Costs = defaultdict(list)
    steps = ["step", "step callback", "finish", "next", "finish back", "next python"]
    before = os.environ.get("XDG_CACHE_HOME")
    for number in range(SESSIONS):
        if cold:
            os.environ["XDG_CACHE_HOME"] = str(folder / f"cache-{number}")
        found = asyncio.run(walk(CALLBACK, "program.py:5", folder, steps, rounds=1, skip=0, looks=looks))
        for name, cost in found.items():
            costs[name] += cost
    if before is None:
        os.environ.pop("XDG_CACHE_HOME", None)
    else:
        os.environ["XDG_CACHE_HOME"] = before
    return costs


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


def row(name: str, costs: list[Cost], limit: str) -> None:
    wall, cpu = (
        sorted(1000 * value for value in values)
        for values in zip(*((c.wall, c.cpu) for c in costs), strict=True)
    )
    times = statistics.median(wall), wall[0], statistics.median(cpu)
    asked = statistics.median(cost.requests for cost in costs)
    print(f"{name:52} {' '.join(f'{time:7.1f}' for time in times)} {asked:7.0f}   {limit}")


def main() -> None:
    around = ["step", "step callback", "finish out", "next", "finish", "next python", "continue"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = asyncio.run(walk(LINES, "program.py:2", folder, ["next"]))
        native = asyncio.run(walk(NATIVE, "program.py:3", folder, ["step", "next", "finish", "continue"]))
        callback = asyncio.run(walk(CALLBACK, "program.py:5", folder, around))
        torch = asyncio.run(walk(TORCH, "program.py:3", folder, ["step", "finish", "continue"]))
        cold, warm, at_once = (
            first_steps(folder, True),
            first_steps(folder, False),
            first_steps(folder, False, False),
        )
        print(f"{'':52} {'ms':>7} {'least':>7} {'CPU':>7} {'asked':>7}")
        print(f"{'Python next, stock debugpy':52} {stock_debugpy(folder) * 1000:7.1f}")
    row("Python next", lines["next"], "at most 4")
    row("first step into an extension, cold cache", cold["step"], "at most 120")
    row("first step into an extension, warm cache", warm["step"], "at most 60")
    row("the same at once, before gdb could read its symbols", at_once["step"], "")
    row("step from Python into a pybind11 function", native["step"], "at most 40")
    row("native next, with debug info", native["next"], "at most 6")
    row("first step into a Python callback", warm["callback"], "at most 15")
    row("step from native code into a Python callback", callback["callback"], "at most 15")
    row("finish from there to native code", callback["out"], "at most 25")
    row("finish to Python", native["finish"], "at most 25")
    row("first Python next after a native stop", warm["python"], "at most 8")
    row("Python next after a native stop", callback["python"], "at most 8")
    row("its stack", callback["python stack"], "at most 5")
    row("step from Python into torch.randn", torch["step"], "at most 8")
    row("merged stack after each native step", [*native["next stack"], *torch["step stack"]], "at most 5")


if __name__ == "__main__":
    main()
