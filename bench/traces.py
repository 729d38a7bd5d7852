"""What a hit costs the program: counted, with a condition, taken down; beside gdb's own breakpoint with a condition.

A program of C times its own calls, by the time of its processor. Each row is the least of some rounds, less the least
without a debugger. The sustained rate is that of eight threads which do nothing else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3
CALLS = 5_000_000
FEW = 60_000  # calls whose records the rings hold, whoever reads them
GDB_CALLS = 2_000
_SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline, noclone)) long work(long number, const char *text) {
    return number * 3 + (text ? text[0] : 0);
}
static long count;
static void *run(void *argument) {
    volatile long sum = 0;
    for (long i = 0; i < count; i++) sum += work(i, "x");
    return 0;
}
int main(int argc, char **argv) {
    struct timespec from, to, wall, end;
    int threads = atoi(argv[2]);
    pthread_t all[64];
    count = atol(argv[1]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    clock_gettime(CLOCK_MONOTONIC, &wall);
    for (int i = 0; i < threads; i++) pthread_create(&all[i], 0, run, 0);
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9;
    double passed = (end.tv_sec - wall.tv_sec) + (end.tv_nsec - wall.tv_nsec) / 1e9;
    printf("%.3f ns, %.3f s\n", seconds * 1e9 / threads / count, passed);
    return 0;
}
"""
_TRACE = [sys.executable, "-m", "dualdbg", "trace", "--json", "-b"]
_WAYS = {
    "counted": ["work", "--count"],
    "condition, false": ["work if $rdi == -1", "--count"],
    "condition, true": ["work if $rdi >= 0 && *(char*)$rsi == 'x'", "--count"],
    "rings full": ["work"],
}


def _told(text: str) -> tuple[float, float]:
    """Nanoseconds a call, and the seconds that passed."""
    match = re.search(r"([\d.]+) ns, ([\d.]+) s", text)
    assert match, text
    return float(match[1]), float(match[2])


def _run(words: list[str], program: Path, calls: int, threads: int = 1) -> str:
    words = [*words, "--native"] if words else []
    done = subprocess.run(
        [*words, program, str(calls), str(threads)], capture_output=True, text=True, check=True
    )
    return done.stdout


def _by_gdb(program: Path) -> float:
    """Nanoseconds a hit of gdb's own breakpoint with a condition that is false."""
    commands = ["break work if $rdi == -1", "run"]
    words = ["gdb", "-nx", "-q", "-batch", *(word for one in commands for word in ("-ex", one)), "--args"]
    done = subprocess.run([*words, program, str(GDB_CALLS), "1"], capture_output=True, text=True, check=True)
    return _told(done.stdout)[1] * 1e9 / GDB_CALLS


def _row(said: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(said.splitlines()[-1])["functions"][0]
    return found


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        (program.with_suffix(".c")).write_text(_SOURCE)
        subprocess.run(["gcc", "-O2", "-pthread", "-o", program, program.with_suffix(".c")], check=True)
        plain = min(_told(_run([], program, CALLS))[0] for _ in range(ROUNDS))
        print(f"{os.cpu_count()} processors; a call without a debugger: {plain:.1f} ns")
        for name, words in _WAYS.items():
            found = min(_told(_run([*_TRACE, *words], program, CALLS))[0] for _ in range(ROUNDS))
            print(f"{name:<20} {found - plain:10.1f} ns a hit")
        few = min(_told(_run([], program, FEW))[0] for _ in range(ROUNDS))
        runs = [_run([*_TRACE, "work"], program, FEW) for _ in range(ROUNDS)]
        assert all(_row(said)["recorded"] == FEW for said in runs)
        print(f"{'taken down':<20} {min(_told(said)[0] for said in runs) - few:10.1f} ns a hit")
        print(f"{'gdb, false':<20} {min(_by_gdb(program) for _ in range(ROUNDS)) - plain:10.0f} ns a hit")
        said = _run([*_TRACE, "work"], program, CALLS // 4, 8)
        row, seconds = _row(said), _told(said)[1]
        rates = row["hits"] / seconds / 1e6, row["recorded"] / seconds / 1e6
        print(
            f"8 threads that do nothing else: {rates[0]:.1f} million hits a second, {rates[1]:.1f} million taken down"
        )
    return 0
