"""What a hit costs the program: counted, with a condition, taken down, timed; beside gdb's own breakpoints and uprobes.

A program of C times its own calls, by the time of its processor. Each row is the least of some rounds, less the least
without a debugger. Uprobes need root and perf; they are in a mount namespace of their own. At the end eight threads
make two million calls a second together, and then as many as they can.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROUNDS = 3
CALLS = 5_000_000
FEW = 60_000  # calls whose records the rings hold, whoever reads them
GDB_CALLS = 2_000
UPROBE_CALLS = 20_000
RATE = 250_000  # calls a second of each of eight threads
_SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline, noclone)) long work(long number, const char *text) {
    return number * 3 + (text ? text[0] : 0);
}
static long count, rate;
static double now(int clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}
static void *run(void *argument) {
    volatile long sum = 0;
    double began = now(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++) {
        sum += work(i, "x");
        if (rate && i % 100 == 99) {
            double early = began + (double)(i + 1) / rate - now(CLOCK_MONOTONIC);
            struct timespec wait = {0, early * 1e9};
            if (early > 0.0005 && early < 1) nanosleep(&wait, 0);
        }
    }
    return 0;
}
/* For a program of Python. */
double measure(long calls) {
    double began = now(CLOCK_THREAD_CPUTIME_ID);
    count = calls;
    run(0);
    return (now(CLOCK_THREAD_CPUTIME_ID) - began) * 1e9 / calls;
}
int main(int argc, char **argv) {
    int threads = atoi(argv[2]);
    pthread_t all[64];
    count = atol(argv[1]);
    rate = argc > 3 ? atol(argv[3]) : 0;
    double from = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
    for (int i = 0; i < threads; i++) pthread_create(&all[i], 0, run, 0);
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
    double seconds = now(CLOCK_PROCESS_CPUTIME_ID) - from, passed = now(CLOCK_MONOTONIC) - wall;
    printf("%.3f ns, %.3f s\n", seconds * 1e9 / threads / count, passed);
    return 0;
}
"""
_SCRIPT = """\
import ctypes, sys
measure = ctypes.CDLL(sys.argv[1]).measure
measure.restype, measure.argtypes = ctypes.c_double, [ctypes.c_long]
print(f"{measure(int(sys.argv[2])):.3f} ns, 0.0 s")
"""
_TRACE = [sys.executable, "-m", "dualdbg", "trace", "--json", "-b"]
_WAYS = {
    "another one counted": ["measure", "--count"],
    "counted": ["work", "--count"],
    "condition, false": ["work if $rdi == -1", "--count"],
    "condition, true": ["work if $rdi >= 0 && *(char*)$rsi == 'x'", "--count"],
    "timed, no records": ["work", "--time", "--count"],
    "rings full": ["work"],
}

_GDB = {
    "gdb, counted": ["break work", "ignore 1 1000000000"],
    "gdb, false": ["break work if $rdi == -1"],
}


def _told(text: str) -> tuple[float, float]:
    """Nanoseconds a call, and the seconds that passed."""
    match = re.search(r"([\d.]+) ns, ([\d.]+) s", text)
    assert match, text
    return float(match[1]), float(match[2])


def _run(words: list[str], program: Path, calls: int, threads: int = 1, rate: int = 0) -> str:
    words = [*words, "--native"] if words else []
    done = subprocess.run(
        [*words, program, str(calls), str(threads), str(rate)], capture_output=True, text=True, check=True
    )
    return done.stdout


def _by_python(words: list[str], script: Path, library: Path) -> str:
    """The same calls out of a function of Python."""
    own = [] if words else [sys.executable]
    done = subprocess.run(
        [*words, *own, script, library, str(FEW)], capture_output=True, text=True, check=True
    )
    return done.stdout


def _by_gdb(program: Path, commands: list[str]) -> float:
    """Nanoseconds a hit of gdb's own breakpoint."""
    commands = [*commands, "run"]
    words = ["gdb", "-nx", "-q", "-batch", *(word for one in commands for word in ("-ex", one)), "--args"]
    done = subprocess.run([*words, program, str(GDB_CALLS), "1"], capture_output=True, text=True, check=True)
    return _told(done.stdout)[1] * 1e9 / GDB_CALLS


def _by_uprobe(program: Path) -> float | str:
    """Nanoseconds a hit that the kernel counts, or why it does not."""
    event = f"probe_{program.name}:work"
    steps = [
        "mount -t tracefs none /sys/kernel/tracing",
        f"perf probe -q -x {program} work",
        f"perf stat -e {event} {program} {UPROBE_CALLS} 1; status=$?",
        f"perf probe -q -d {event}",
        "exit $status",
    ]
    done = subprocess.run(["unshare", "-m", "sh", "-ec", "\n".join(steps)], capture_output=True, text=True)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["no word"])[-1]
    assert re.search(rf"{UPROBE_CALLS}\s+{event}", done.stderr.replace(",", "")), done.stderr
    return _told(done.stdout)[0]


def _row(said: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said.splitlines()[-1])["functions"][0]
    return found


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        program, script = Path(folder) / "program", Path(folder) / "script.py"
        library = Path(folder) / "library.so"
        script.write_text(_SCRIPT)
        (program.with_suffix(".c")).write_text(_SOURCE)
        subprocess.run(["gcc", "-O2", "-pthread", "-o", program, program.with_suffix(".c")], check=True)
        words = ["gcc", "-O2", "-pthread", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run([*words, program.with_suffix(".c")], check=True)
        plain = min(_told(_run([], program, CALLS))[0] for _ in range(ROUNDS))
        print(f"{os.cpu_count()} processors; a call without a debugger: {plain:.1f} ns")
        for name, words in _WAYS.items():
            found = min(_told(_run([*_TRACE, *words], program, CALLS))[0] for _ in range(ROUNDS))
            print(f"{name:<20} {found - plain:10.1f} ns a hit")
        few = min(_told(_run([], program, FEW))[0] for _ in range(ROUNDS))
        runs = [_run([*_TRACE, "work"], program, FEW) for _ in range(ROUNDS)]
        assert all(_row(said)["recorded"] == FEW for said in runs)
        print(f"{'taken down':<20} {min(_told(said)[0] for said in runs) - few:10.1f} ns a hit")
        few = min(_told(_by_python([], script, library))[0] for _ in range(ROUNDS))
        runs = [_by_python([*_TRACE, "work"], script, library) for _ in range(ROUNDS)]
        assert all(_row(said)["callers"][0]["python"]["line"] == 4 for said in runs)
        assert all(_row(said)["callers"][0]["hits"] == FEW for said in runs)
        print(f"{'with the Python line':<20} {min(_told(said)[0] for said in runs) - few:10.1f} ns a hit")
        for name, commands in _GDB.items():
            found = min(_by_gdb(program, commands) for _ in range(ROUNDS))
            print(f"{name:<20} {found - plain:10.0f} ns a hit")
        by_kernel = _by_uprobe(program)
        cost = (
            f"{by_kernel - plain:10.0f} ns a hit"
            if isinstance(by_kernel, float)
            else f"not here: {by_kernel}"
        )
        print(f"{'uprobe, counted':<20} {cost}")
        for what, rate in (
            (f"{8 * RATE / 1e6:.1f} million calls a second", RATE),
            ("as many as they can", 0),
        ):
            for options in ([], ["--time"]):
                said = _run([*_TRACE, "work", *options], program, CALLS // 4, 8, rate)
                row, seconds = _row(said), _told(said)[1]
                rates = row["hits"] / seconds / 1e6, row["recorded"] / seconds / 1e6
                lost = 100 * (1 - row["recorded"] / row["hits"])
                print(
                    f"8 threads{', timed' if options else ''}, {what}: {rates[0]:.1f} million hits a second, "
                    f"{rates[1]:.1f} million taken down, {lost:.1f} % lost"
                )
    return 0
