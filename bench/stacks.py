"""``dualdbg stacks`` of a PyTorch process with 60 threads, of 64 processes, and of a core, against gdb by hand."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
HERE = Path(__file__).parent
SLEEPER = "import sys, threading; print('ready', flush=True); sys.stdin.read()"


@contextmanager
def running(*words: str) -> Iterator[int]:
    """The PID of a Python program that has printed ``ready``."""
    command = [sys.executable, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def timed(command: list[str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return time.perf_counter() - started, done.stdout


def row(what: str, values: list[float], unit: str = "s") -> None:
    print(f"{what:60} {statistics.median(values):9.3f} {min(values):9.3f} {max(values):9.3f} {unit}")


def dualdbg(*words: str) -> list[str]:
    return [sys.executable, "-m", "dualdbg", *words]


def main() -> None:
    print(f"{'':60} {'median':>9} {'min':>9} {'max':>9}")
    with running(str(HERE / "_many_threads.py"), "60") as pid:
        walls, stops = [], []
        for _ in range(RUNS):
            wall, output = timed(dualdbg("stacks", str(pid), "--json"))
            walls.append(wall)
            stops.append(json.loads(output)["stopped_ms"])
        row("stacks PID: the whole command, PyTorch, 60 threads", walls)
        row("stacks PID: how long the target stood still", stops, "ms")
        row(
            "stacks PID --diagnose",
            [timed(dualdbg("stacks", str(pid), "--diagnose"))[0] for _ in range(RUNS)],
        )
        by_hand = ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "bt"]
        row("gdb -p PID -batch -ex bt: one thread, no Python", [timed(by_hand)[0] for _ in range(2)])
        attached = dualdbg("attach", str(pid), "--no-stacks", "--batch", "-x", "bt")
        row("attach PID: to the first stop's stack, and detach", [timed(attached)[0] for _ in range(RUNS)])
        if shutil.which("gcore"):
            with tempfile.TemporaryDirectory() as folder:
                timed(["gcore", "-o", f"{folder}/core", str(pid)])
                core = Path(folder) / f"core.{pid}"
                size = core.stat().st_size / 1e9
                row(
                    f"core CORE of {size:.1f} GB", [timed(dualdbg("core", str(core)))[0] for _ in range(RUNS)]
                )
    with ExitStack() as stack:
        pids = [str(stack.enter_context(running("-c", SLEEPER))) for _ in range(64)]
        row("stacks of 64 Python processes", [timed(dualdbg("stacks", *pids))[0] for _ in range(RUNS)])


if __name__ == "__main__":
    main()
