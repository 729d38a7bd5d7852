"""What it costs a busy PyTorch program to be sampled 20 or 100 times a second, beside ``py-spy record --native``.

The program counts what it gets done while it is sampled and while it is not. py-spy is taken where it is on PATH.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
RUNS = int(os.environ.get("BENCH_RUNS", "3"))
PROGRAM = """\
import sys, time, torch
torch.set_num_threads(1)
x = torch.randn(200, 200)

def loop():
    s = 0
    for i in range(20000):
        s += i * i
    return s

def unit():
    torch.nn.functional.relu(x @ x).sum()
    loop()

for _ in range(100):
    unit()
print("ready", flush=True)
sys.stdin.readline()  # the sampler has begun
end, count = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    unit()
    count += 1
print(count, flush=True)
sys.stdin.readline()
"""


def units(sampler: list[str] | None) -> float:
    """The units a second that the program gets done, sampled by a command that takes its PID at the end."""
    command = [sys.executable, "-c", PROGRAM, str(SECONDS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        sampling = None
        if sampler is not None:
            quiet = subprocess.DEVNULL
            sampling = subprocess.Popen([*sampler, str(process.pid)], stdout=quiet, stderr=quiet)
        process.stdin.write("\n")
        process.stdin.flush()
        count = int(process.stdout.readline())
        if sampling is not None:
            if sampling.poll() is not None:
                raise SystemExit(f"{sampler} ended before the program: {sampling.returncode}")
            sampling.kill()
            sampling.wait()
        process.kill()
    return count / SECONDS


def main() -> None:
    samples = str(int(SECONDS * 1000))
    with tempfile.TemporaryDirectory() as folder:
        rows: list[tuple[str, list[str] | None]] = [("nobody samples", None)]
        for rate in (20, 100):
            ours = [
                sys.executable,
                "-m",
                "dualdbg",
                "stacks",
                "--top",
                "--watch",
                samples,
                "--interval",
                str(1 / rate),
            ]
            rows.append((f"dualdbg stacks --watch, {rate} a second", ours))
            theirs = shutil.which("py-spy")
            if theirs is not None:
                output = str(Path(folder) / "folded")
                words = [
                    "record",
                    "--native",
                    "-r",
                    str(rate),
                    "-d",
                    samples,
                    "-f",
                    "raw",
                    "-o",
                    output,
                    "-p",
                ]
                rows.append((f"py-spy record --native, {rate} a second", [theirs, *words]))
        counts: dict[str, list[float]] = {name: [] for name, _ in rows}
        for _ in range(RUNS):  # in turns, for the machine is not the same all the time
            for name, sampler in rows:
                counts[name].append(units(sampler))
    alone = statistics.median(counts[rows[0][0]])
    for name, values in counts.items():
        middle = statistics.median(values)
        told = f"{middle:8.1f} units a second ({min(values):.1f} to {max(values):.1f})"
        print(f"{name:50} {told}, {1 - middle / alone:6.1%} slower")


if __name__ == "__main__":
    main()
