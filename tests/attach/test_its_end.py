"""The end of a process that is attached to is told, also where gdb does not notice it or loses how it came."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import support, warm
from tests.attach.driver import state_of

# When gdb lets many threads go on, with a signal that ends them all, it may meet threads that are not there any more.
# It then says "Couldn't get registers: No such process", and nothing of the process from then on (gdb 13.1).
PROGRAM = """\
import os, sys, threading, time
for _ in range(20):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
os.kill(os.getpid(), 40)
"""

# Its main thread ends with the first line that it reads, and the other one goes on when the kernel says so: the join
# of glibc 2.43 returns before, woken by the thread that is about to end.
WITHOUT_MAIN_THREAD = """\
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
static char state_of_the_main_thread(void) {
    char state = '?';
    FILE *stat = fopen("/proc/self/stat", "r");
    if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1) abort();
    fclose(stat);
    return state;
}
__attribute__((noinline)) void tick(int number) { __asm__ volatile("" ::"r"(number) : "memory"); }
static void *work(void *main_thread) {
    pthread_join(*(pthread_t *)main_thread, NULL);
    while (state_of_the_main_thread() != 'Z') sched_yield();
    for (int number = 0; number < 5; number++) tick(number);
    exit(7);
}
int main(void) {
    pthread_t other, self = pthread_self();
    pthread_create(&other, NULL, work, &self);
    puts("ready");
    fflush(stdout);
    getchar();
    pthread_exit(NULL);
}
"""


class Attached:
    """dualdbg on a process, its events one after the other."""

    def __init__(self, pid: int) -> None:
        self.session = warm.Popen(
            [sys.executable, "-m", "dualdbg", "attach", str(pid), "--no-stacks", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(support.ROOT)},
        )

    def until(self, kind: str) -> dict[str, Any]:
        assert self.session.stdout is not None
        seen = []
        for line in self.session.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == kind:
                return event
            seen.append(line)
        raise AssertionError(f"no event {kind} in\n{''.join(seen)}")

    def type(self, command: str) -> None:
        assert self.session.stdin is not None
        print(command, file=self.session.stdin, flush=True)

    def __enter__(self) -> Attached:
        return self

    def __exit__(self, *error: object) -> None:
        with self.session:
            self.session.kill()


@pytest.fixture
def program(tmp_path: Path) -> Any:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def test_it_is_killed_while_gdb_holds_it(program: subprocess.Popen[bytes]) -> None:
    with Attached(program.pid) as attached:
        attached.until("stopped")
        program.kill()
        exited = attached.until("exited")
        assert (exited["code"], exited["signal"]) == (None, signal.SIGKILL)
        assert attached.session.wait(patient(60)) == 128 + signal.SIGKILL
    assert program.wait(patient(60)) == -signal.SIGKILL  # its parent has heard of it as well


@pytest.mark.parametrize("time", range(3))
def test_a_signal_ends_many_threads(program: subprocess.Popen[bytes], time: int) -> None:
    with Attached(program.pid) as attached:
        attached.until("stopped")
        attached.type("continue")
        assert program.stdin is not None
        program.stdin.close()
        stop = attached.until("stopped")
        assert stop["description"] == "SIG40, Real-time event 40"
        attached.type("continue")
        program.wait(patient(60))  # whoever reaps it takes its status along
        exited = attached.until("exited")
        assert exited["signal"] in ({40} if support.KERNEL_TELLS else {40, None})
        assert exited["code"] is None
    assert program.returncode == -40


def test_a_main_thread_that_ends_before_others(tmp_path: Path) -> None:
    """What still runs stops as before, and nothing is taken for the end but the end."""
    source, path = tmp_path / "program.c", tmp_path / "program"
    source.write_text(WITHOUT_MAIN_THREAD)
    compiler = support.require(shutil.which("gcc") or shutil.which("cc"), "a C compiler")
    subprocess.run([compiler, "-g", "-O1", "-pthread", "-o", path, source], check=True)
    with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        try:
            stops_at_each_call(program)
        finally:
            program.kill()


def stops_at_each_call(program: subprocess.Popen[bytes]) -> None:
    assert program.stdin is not None and program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    with Attached(program.pid) as attached:
        attached.until("stopped")
        attached.type("break tick")
        attached.type("continue")
        program.stdin.write(b"\n")
        program.stdin.flush()
        for number in range(5):
            assert attached.until("stopped")["frame"]["function"] == "tick"
            assert state_of(program.pid) == "Z", "the main thread has ended"
            attached.type("print number")
            assert attached.until("value")["value"] == str(number)
            attached.type("continue")
        exited = attached.until("exited")
        assert (exited["code"], exited["signal"]) == (7, None)
