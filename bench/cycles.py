"""Attach and detach again and again on a busy threaded PyTorch program: the same results, no signal lost."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from dualdbg.system.patience import patient

CYCLES = int(os.environ.get("BENCH_CYCLES", "50"))
PROGRAM = Path(__file__).parent / "_busy_training.py"


def main() -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            walls = []
            for number in range(CYCLES):
                process.send_signal(signal.SIGUSR1)
                started = time.perf_counter()
                # In turn: native alone, and with Python control up to a breakpoint that every thread meets.
                steps = ["-x", "bt"] if number % 2 else ["-b", "py:train", "-x", "continue", "-x", "del 1"]
                command = [
                    sys.executable,
                    "-m",
                    "dualdbg",
                    "attach",
                    str(process.pid),
                    "--no-stacks",
                    "--batch",
                ]
                done = subprocess.run(
                    [*command, *steps], stdin=subprocess.DEVNULL, capture_output=True, text=True
                )
                walls.append(time.perf_counter() - started)
                if done.returncode != 0 or process.poll() is not None:
                    raise SystemExit(f"cycle {len(walls)}: {done.stdout}{done.stderr}")
            process.send_signal(signal.SIGTERM)
            answer, _ = process.communicate(timeout=patient(60))
        finally:
            process.kill()
    print(f"{CYCLES} cycles, {statistics.median(walls):.2f} s each; the program says: {answer.strip()}")
    words = dict(word.split("=") for word in answer.split())
    assert words["wrong"] == "0" and int(words["signals"]) == CYCLES, answer


if __name__ == "__main__":
    main()
