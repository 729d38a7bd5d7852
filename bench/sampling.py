"""What it costs a busy PyTorch program to be sampled 20 or 100 times a second, beside ``py-spy record --native``.

The program does a fixed piece of work, sampled and not, in turns. Its time is told in three parts, by the kernel's
schedstat of its thread: on a processor (more of it: caches, and the way into a stop and out of it), waiting for one
(others have it, the sampler among them), and neither (it stood still). py-spy is taken where it is on PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dualdbg.shared.proc_files import read_status
from dualdbg.system.patience import patient

UNITS = int(os.environ.get("BENCH_UNITS", "2000"))
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
RATES = tuple(int(word) for word in os.environ.get("BENCH_RATES", "20 100").split())
PROGRAM = """\
import json, select, sys, time, torch
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

def clocks():
    with open("/proc/thread-self/schedstat") as file:
        used, waited = map(int, file.read().split()[:2])
    return time.monotonic(), used / 1e9, waited / 1e9

print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:  # until the sampler has begun
    unit()
sys.stdin.readline()
began = clocks()
for _ in range(int(sys.argv[1])):
    unit()
wall, used, waited = (end - begin for begin, end in zip(began, clocks()))
print(json.dumps({"wall": wall, "used": used, "waited": waited, "still": wall - used - waited}), flush=True)
sys.stdin.readline()
"""
STOPS_TO_BEGIN = 20
PARTS = ("wall", "used", "waited", "still")


def _used_by(pid: int) -> float:
    """The seconds of processor time that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def one_run(sampler: list[str] | None) -> dict[str, float]:
    """The seconds that the work takes, in parts, sampled by a command that takes the PID at its end."""
    command = [sys.executable, "-c", PROGRAM, str(UNITS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        sampling, before = None, 0.0
        if sampler is not None:
            sampling = subprocess.Popen(
                [*sampler, str(process.pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            _wait_until_it_samples(sampling.pid, process.pid)
            before = _used_by(sampling.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        figures: dict[str, float] = json.loads(process.stdout.readline())
        if sampling is not None:
            if sampling.poll() is not None:
                raise SystemExit(f"{sampler} ended before the program: {sampling.returncode}")
            figures["sampler"] = _used_by(sampling.pid) - before
            sampling.send_signal(signal.SIGINT)
            told, _ = sampling.communicate()
            if os.environ.get("BENCH_TELL"):
                print(told[:400], file=sys.stderr)
        process.kill()
    return figures


def _wait_until_it_samples(sampler: int, pid: int) -> None:
    """Until the program, which sleeps for nothing else, has been stopped some times."""
    end, first = time.monotonic() + patient(60.0), _sleeps(pid)
    while _sleeps(pid) < first + STOPS_TO_BEGIN:
        if time.monotonic() > end:
            raise SystemExit(f"process {sampler} has not begun to sample process {pid}")
        time.sleep(0.01)


def _sleeps(pid: int) -> int:
    return int(read_status(f"/proc/{pid}/status")["voluntary_ctxt_switches"])


def samplers(folder: str) -> list[tuple[str, list[str] | None]]:
    """What is compared: a name, and the command that samples the PID behind it."""
    rows: list[tuple[str, list[str] | None]] = [("nobody samples", None)]
    many = "1000000"
    theirs = shutil.which("py-spy")
    for rate in RATES:
        ours = [
            sys.executable,
            "-m",
            "dualdbg",
            "stacks",
            "--top",
            "--watch",
            many,
            "--interval",
            str(1 / rate),
        ]
        rows.append((f"dualdbg stacks --watch, {rate} a second", ours))
        if theirs is not None:
            words = ["record", "--native", "-r", str(rate), "-d", many, "-f", "raw", "-o", f"{folder}/folded"]
            rows.append((f"py-spy record --native, {rate} a second", [theirs, *words, "-p"]))
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = samplers(folder)
        runs: dict[str, list[dict[str, float]]] = {name: [] for name, _ in rows}
        for _ in range(RUNS):  # in turns, for the machine is not the same all the time
            for name, sampler in rows:
                runs[name].append(one_run(sampler))
    alone = {part: statistics.median(run[part] for run in runs[rows[0][0]]) for part in PARTS}
    print(f"{'':40}" + "".join(f"{part:>15}" for part in (*PARTS, "sampler")))
    for name, taken in runs.items():
        cells = []
        for part in (*PARTS, "sampler"):
            values = [run.get(part, 0.0) for run in taken]
            middle = statistics.median(values)
            more = (middle - alone.get(part, 0.0)) / alone["wall"]
            cells.append(f"{middle:7.2f} {more:+7.1%}")
        print(f"{name:40}" + "".join(cells))


if __name__ == "__main__":
    main()
