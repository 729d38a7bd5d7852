"""From the command to the stop in ``at::native::randn`` with its stack printed, against gdb and debugpy by hand."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = str(ROOT / "samples" / "testdebug.py")
RUNS = int(os.environ.get("BENCH_RUNS", "5"))

PLAIN = [sys.executable, SCRIPT]
GDB = [
    *("gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"),
    *("-ex", "break at::native::randn", "-ex", "run", "-ex", "bt", "-ex", "kill", "--args", *PLAIN),
]
DUALDBG = [
    *(
        sys.executable,
        "-m",
        "dualdbg",
        "run",
        "-b",
        "randn",
        "-x",
        "bt",
        "--batch",
        "--python",
        sys.executable,
    ),
    SCRIPT,
]
# debugpy's own adapter with a client that waits for the stop on line 3.
DEBUGPY = [sys.executable, str(Path(__file__).with_name("_debugpy_client.py")), SCRIPT, "3"]

ALTERNATIVES = {
    "python, no debugger": PLAIN,
    "debugpy alone, stopped on line 3": DEBUGPY,
    "gdb by hand, break at::native::randn, bt": GDB,
    "dualdbg run -b randn -x bt": DUALDBG,
}


def measure(command: list[str]) -> tuple[float, int]:
    """Seconds until the command ended, and the peak memory in kB of the largest gdb that it ran."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=ROOT
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, _gdb_memory(process.pid))
        time.sleep(0.02)
    seconds = time.perf_counter() - started
    output = process.stdout.read() if process.stdout else b""
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"{command[0]} failed: {output.decode(errors='replace')[-500:]}")
    return seconds, peak


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


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in ALTERNATIVES}
    memory: dict[str, int] = dict.fromkeys(ALTERNATIVES, 0)
    for _ in range(RUNS):
        for name, command in ALTERNATIVES.items():  # side by side: what disturbs the machine disturbs all
            elapsed, peak = measure(command)
            seconds[name].append(elapsed)
            memory[name] = max(memory[name], peak)
    plain = statistics.median(seconds["python, no debugger"])
    print(f"{'':44} {'median s':>9} {'min':>6} {'max':>6} {'x python':>9} {'gdb MB':>7}")
    for name, values in seconds.items():
        middle = statistics.median(values)
        row = f"{name:44} {middle:9.2f} {min(values):6.2f} {max(values):6.2f} {middle / plain:9.2f}"
        print(f"{row} {memory[name] / 1024:7.0f}")
    by_hand = statistics.median(seconds["gdb by hand, break at::native::randn, bt"])
    alone = statistics.median(seconds["debugpy alone, stopped on line 3"])
    ours = statistics.median(seconds["dualdbg run -b randn -x bt"])
    print(f"dualdbg / gdb by hand: {ours / by_hand:.2f}   dualdbg / debugpy alone: {ours / alone:.2f}")


if __name__ == "__main__":
    main()
