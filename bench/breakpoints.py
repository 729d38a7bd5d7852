"""What breakpoints cost: a hit that does not stop, ``import torch`` between two stops, the first stack at a stop."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._debugpy_client import Client, start
from dualdbg.backends.events import NativeStopped
from dualdbg.model import Exited, Stopped
from dualdbg.session.options import Options
from dualdbg.session.start import launch
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.system.patience import patient
from dualdbg.target.launcher import Launch
from samples.native.build import build

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
HITS = 500
# Only the loop is timed. The first calls, in which libraries are read, are not counted.
LOOP = f"""\
import os, time, sample_pybind
add = sample_pybind.add
def loop(count):
    for i in range(count):
        x = add(1.0, 2.0)
loop(10)
started = time.perf_counter()
loop({HITS})
took = time.perf_counter() - started
print(took, file=open(os.environ["BENCH_RESULT"], "w"))
"""
LOOP_LINE, NATIVE_LINE = 5, "sample_pybind.cpp:17"
IMPORT = """\
import os, time
started = time.perf_counter()
import torch
took = time.perf_counter() - started
print(took, file=open(os.environ["BENCH_RESULT"], "w"))
"""
IMPORT_LINES = (2, 5)
RANDN = "import torch\nx = torch.randn(2, 3)\n"
DUALDBG = [sys.executable, "-m", "dualdbg", "run", "--batch", "--python", sys.executable]
GDB = [
    *("gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"),
    *("-ex", "set print inferior-events off"),
]


def ways(loop: Path) -> dict[str, list[str]]:
    """Commands that run the loop, by what they cost it."""
    by_hand = ["-ex", "run", "--args", sys.executable, str(loop)]
    native, line = f"{NATIVE_LINE}", f"{loop.name}:{LOOP_LINE}"
    return {
        "no breakpoint": [*DUALDBG, str(loop)],
        "false condition, native": [*DUALDBG, "-b", f"{native} if a < 0", str(loop)],
        "false condition, native, fast": [*DUALDBG, "-b", f"{native} fast if (int)$rdi == -1", str(loop)],
        "false condition, gdb by hand": [*GDB, "-ex", f"break {native} if a < 0", *by_hand],
        "hits not reached, native": [*DUALDBG, "-b", f"{native} hits 1000000", str(loop)],
        "log message, native": [*DUALDBG, "-b", f'{native} log "a is {{a}}"', str(loop)],
        "dprintf, gdb by hand": [*GDB, "-ex", f'dprintf {native},"a is %g\\n",a', *by_hand],
        "false condition, Python": [*DUALDBG, "-b", f"{line} if i < 0", str(loop)],
        "log message, Python": [*DUALDBG, "-b", f'{line} log "i is {{i}}"', str(loop)],
    }


def hits(folder: Path, environment: dict[str, str]) -> None:
    loop = folder / "loop.py"
    loop.write_text(LOOP)
    times: dict[str, list[float]] = {name: [] for name in ways(loop)}
    for _ in range(RUNS):  # side by side: what disturbs the machine disturbs all
        for name, command in ways(loop).items():
            times[name].append(_took(command, environment))
    base = statistics.median(times.pop("no breakpoint"))
    print(f"{'a hit that does not stop':44} {'median ms':>9} {'min':>7} {'max':>7}")
    for name, seconds in times.items():
        _row(name, [1000 * (one - base) / HITS for one in seconds])


def imports(folder: Path, environment: dict[str, str]) -> None:
    script = folder / "importing.py"
    script.write_text(IMPORT)
    lines = [word for line in IMPORT_LINES for word in ("-b", f"{script.name}:{line}")]
    resume = ["-x", "continue"] * len(IMPORT_LINES)
    times: dict[str, list[float]] = {"no debugger": [], "debugpy alone": [], "dualdbg": []}
    for _ in range(RUNS):
        times["no debugger"].append(_took([sys.executable, str(script)], environment))
        times["debugpy alone"].append(_under_debugpy(script, environment))
        times["dualdbg"].append(_took([*DUALDBG, *lines, *resume, str(script)], environment))
    print(f"{'import torch between two stops':44} {'median s':>9} {'min':>7} {'max':>7}")
    for name, seconds in times.items():
        _row(name, seconds)
    ratio = statistics.median(times["dualdbg"]) / statistics.median(times["debugpy alone"])
    print(f"dualdbg / debugpy alone: {ratio:.2f}")


def first_stack(folder: Path) -> None:
    script = folder / "randn.py"
    script.write_text(RANDN)
    times: dict[str, list[float]] = {"no cache": [], "cache": []}
    for _ in range(RUNS):
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=folder)
        for kind in times:  # the first run leaves what the second finds
            times[kind].append(asyncio.run(_to_stack(script)))
    print(f"{'from the hit in at::native::randn to its stack':44} {'median s':>7} {'min':>7} {'max':>7}")
    for kind, seconds in times.items():
        _row(f"all frames, with names: {kind}", seconds)


async def _to_stack(script: Path) -> float:
    """Seconds from when gdb's report of the hit is looked at to the merged stack of the stop."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        raise SystemExit("this benchmark needs PyTorch in the environment")
    operators = OperatorTable.load(Path(torch.origin).parent)
    queues: list[Any] = []
    hit: list[float] = []
    session = await launch(
        Launch(sys.executable, script=str(script)),
        Options(breakpoints=("randn",)),
        operators,
        subscribe=lambda one: queues.append(one.subscribe()),
    )
    at_breakpoint = session.hits.at_breakpoint

    async def timed(event: NativeStopped) -> Any:
        hit.append(time.perf_counter())
        return await at_breakpoint(event)

    session.hits.at_breakpoint = timed  # type: ignore[method-assign]
    try:
        while not isinstance(event := await queues[0].get(), Stopped):
            if isinstance(event, Exited):
                raise SystemExit("the program ended before it came to randn")
        await session.inspector.stack()
        return time.perf_counter() - hit[-1]
    finally:
        await session.close()


def _row(name: str, values: list[float]) -> None:
    print(f"{name:44} {statistics.median(values):9.3f} {min(values):7.3f} {max(values):7.3f}", flush=True)


def _took(command: list[str], environment: dict[str, str]) -> float:
    """The seconds that the program measured."""
    result = Path(environment["BENCH_RESULT"])
    result.unlink(missing_ok=True)
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(300),
    )
    if not result.exists():
        raise SystemExit(f"{command} failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    return float(result.read_text())


def _under_debugpy(script: Path, environment: dict[str, str]) -> float:
    """Stopped before and after the import, with debugpy's own adapter."""
    result = Path(environment["BENCH_RESULT"])
    result.unlink(missing_ok=True)
    program, port = start(str(script))
    client = Client(port)
    thread = client.stop_at(str(script), *IMPORT_LINES)
    for _ in IMPORT_LINES[1:]:
        client.send("continue", {"threadId": thread})
        thread = client.wait("event", "stopped")["body"]["threadId"]
    client.send("continue", {"threadId": thread})
    program.wait(timeout=patient(60))
    client.socket.close()
    return float(result.read_text())


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [str(build()), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["BENCH_RESULT"] = str(folder / "result")
        hits(folder, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        imports(folder, dict(os.environ))
        first_stack(folder)


if __name__ == "__main__":
    main()
