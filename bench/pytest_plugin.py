"""What ``pytest --dualdbg`` costs while nothing goes wrong: 10,000 empty tests, beside plain pytest.

Each run with the plugin has a plain run beside it, in turns. What counts is the median of the ratios of their processor
time, which other work on the machine disturbs less than the time on the clock. The limit is 1.03. With
``--instructions`` valgrind counts what the processor would do: no other work disturbs that, and it takes minutes.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "9"))
FILES, TESTS = 100, 100
LIMIT = 1.03
KINDS = {
    "--dualdbg": ["--dualdbg"],
    "--dualdbg-timeout 60": ["--dualdbg-timeout", "60"],
    "not asked for": [],
}


def write(folder: Path) -> None:
    """A suite of empty tests."""
    (folder / "pytest.ini").touch()
    text = "".join(f"def test_{number}(): pass\n" for number in range(TESTS))
    for number in range(FILES):
        (folder / f"test_{number}.py").write_text(text)


def run(folder: Path, options: list[str]) -> tuple[float, float]:
    """Seconds of the processor, and on the clock, of one run and all its processes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after, ended = os.times(), time.perf_counter()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, ended - started


# The run up to where the plugin divides it: both processes have this in their count.
_UP_TO_FORK = """
import os, sys
import dualdbg.plugins.pytest_plugin.beginning as beginning
beginning.begin = lambda config: os._exit(0)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def instructions(folder: Path, command: list[str]) -> list[int]:
    """How many instructions each process of one run takes, the fewest first."""
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    tool = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={logs}/%p"]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:xdist"]
    subprocess.run(
        ["valgrind", *tool, sys.executable, *command, *options],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    counts = []
    for log in logs.iterdir():
        found = re.search(r"I +refs: +([\d,]+)", log.read_text())
        counts += [int(found[1].replace(",", ""))] if found else []
        log.unlink()
    return sorted(counts)


def count_instructions(folder: Path) -> int:
    """Prints the ratio of instructions; the status is 1 above the limit."""
    (plain,) = instructions(folder, ["-m", "pytest", "-p", "no:dualdbg"])
    parent, child = instructions(folder, ["-m", "pytest", "--dualdbg"])
    (before,) = instructions(folder, ["-c", _UP_TO_FORK, "--dualdbg"])
    ratio = (child + parent - before) / plain
    print(f"instructions, millions: plain {plain / 1e6:,.0f}; tests process {child / 1e6:,.0f}, parent")
    print(f"{parent / 1e6:,.0f}, of both up to the fork {before / 1e6:,.0f}: ratio {ratio:.4f}")
    return int(ratio > LIMIT)


def main(options: list[str] | None = None) -> int:
    if options == ["--instructions"]:
        with tempfile.TemporaryDirectory() as name:
            write(Path(name))
            return count_instructions(Path(name))
    print(
        f"{FILES * TESTS:,} empty tests: processor time with / without the plugin (-p no:dualdbg), of pairs"
    )
    print(f"{'':22} {'plain s':>8} {'ours s':>8} {'ratio':>7}   quartiles    on the clock")
    status = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        run(folder, [])  # compiles
        for label, options in KINDS.items():
            pairs = []
            for number in range(ROUNDS):
                order = [["-p", "no:dualdbg"], options]
                times = [run(folder, one) for one in (order if number % 2 else order[::-1])]
                pairs.append(times if number % 2 else times[::-1])
            ratios = [ours[0] / plain[0] for plain, ours in pairs]
            clock = statistics.median(ours[1] / plain[1] for plain, ours in pairs)
            low, middle, high = statistics.quantiles(ratios, n=4)
            plain_seconds, our_seconds = (statistics.median(pair[at][0] for pair in pairs) for at in range(2))
            print(
                f"{label:22} {plain_seconds:8.2f} {our_seconds:8.2f} {middle:7.3f}   {low:.3f} to {high:.3f}"
                f"   {clock:.3f}",
                flush=True,
            )
            status = status or int(middle > LIMIT)
    return status


if __name__ == "__main__":
    sys.exit(main())
