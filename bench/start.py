"""What a start costs, by the clock and in CPU time, beside plain Python, gdb and debugpy: with PyTorch, with nothing.

``--python PATH`` runs the programs; ``--torch-less`` leaves PyTorch out.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = str(ROOT / "samples" / "testdebug.py")
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
PR_SET_CHILD_SUBREAPER = 36
CLIENT = str(Path(__file__).with_name("_debugpy_client.py"))


def dualdbg(python: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "dualdbg", "run", "--batch", "--python", python, *words]


def of_torch(python: str) -> dict[str, list[str]]:
    """From the command to a stop with its stack printed; plain Python first."""
    plain = [python, SCRIPT]
    gdb = ["gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"]
    gdb += ["-ex", "break at::native::randn", "-ex", "run", "-ex", "bt", "-ex", "kill", "--args", *plain]
    return {
        "python, no debugger": plain,
        "debugpy alone, stopped on line 3": [sys.executable, CLIENT, python, SCRIPT, "3"],
        "gdb by hand, break at::native::randn, bt": gdb,
        "dualdbg run -b randn -x bt": dualdbg(python, "-b", "randn", "-x", "bt", SCRIPT),
        "dualdbg run -b testdebug.py:3 -x bt": dualdbg(python, "-b", "testdebug.py:3", "-x", "bt", SCRIPT),
        "both, to randn": dualdbg(
            python, "-b", "randn", "-b", "testdebug.py:3", "-x", "c", "-x", "bt", SCRIPT
        ),
    }


def of_nothing(python: str) -> dict[str, list[str]]:
    """A program that does nothing, to its end; plain Python first."""
    plain = [python, "-c", "pass"]
    gdb = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "run", "--args", *plain]
    return {
        "python -c pass": plain,
        "debugpy alone, -c pass": [sys.executable, CLIENT, python, "-c", "pass"],
        "gdb by hand, run": gdb,
        "dualdbg run -c pass": dualdbg(python, "-c", "pass"),
    }


@dataclass
class Costs:
    """Seconds by the clock and of CPU time, one for each run; the peak memory in kB of the largest gdb."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: int = 0


def measure(command: list[str], costs: Costs) -> None:
    """The clock stops when the command ends; CPU time is that of all processes which descend from it."""
    before = _cpu_of_children()
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT
    )
    while process.poll() is None:
        costs.memory = max(costs.memory, _gdb_memory(process.pid))
        time.sleep(0.02)
    costs.wall.append(time.perf_counter() - started)
    output = process.stdout.read() if process.stdout else b""
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"{command} failed: {output.decode(errors='replace')[-500:]}")
    _reap_the_rest()
    costs.cpu.append(_cpu_of_children() - before)


def _reap_the_rest() -> None:
    """What outlived its parents is our child by now: debugpy's adapter, and who cleans up behind dualdbg."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _gdb_memory(pid: int) -> int:
    """VmHWM of the process or its children that are gdb."""
    found = 0
    for candidate in (pid, *_children(pid)):
        try:
            status = Path(f"/proc/{candidate}/status").read_text()
        except OSError:
            continue
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if fields.get("Name") == "gdb" and "VmHWM" in fields:
            found = max(found, int(fields["VmHWM"].split()[0]))
    return found


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def compare(alternatives: dict[str, list[str]]) -> None:
    """Run them side by side: what disturbs the machine disturbs all."""
    found = {name: Costs() for name in alternatives}
    for _ in range(RUNS):
        for name, command in alternatives.items():
            measure(command, found[name])
    first = next(iter(found.values()))
    plain, plain_cpu = statistics.median(first.wall), statistics.median(first.cpu)
    print(
        f"{'':42} {'median s':>9} {'min':>6} {'x plain':>8} {'CPU s':>7} {'min':>6} {'x plain':>8} {'gdb MB':>7}"
    )
    for name, costs in found.items():
        wall, cpu = statistics.median(costs.wall), statistics.median(costs.cpu)
        row = f"{name:42} {wall:9.2f} {min(costs.wall):6.2f} {wall / plain:8.2f}"
        row += f" {cpu:7.2f} {min(costs.cpu):6.2f} {cpu / plain_cpu:8.2f} {costs.memory / 1024:7.0f}"
        print(row, flush=True)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench start")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch-less", action="store_true")
    given = parser.parse_args(options)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    version = subprocess.run([given.python, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version}, medians of {RUNS}")
    compare(of_nothing(given.python))
    if not given.torch_less:
        compare(of_torch(given.python))


if __name__ == "__main__":
    main(sys.argv[1:])
