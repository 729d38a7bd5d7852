"""``stacks`` of a session says what each thread does, as it does of a process without one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualdbg.shared.proc_files import stat_of
from dualdbg.snapshot.thread_states import Doing, thread_states
from tests.mcp.driver import Tools, with_server
from tests.support import wait_until

PROGRAM = """
import os, socket, threading, time
ours, theirs = socket.socketpair()
threading.Thread(target=ours.recv, args=(1,), daemon=True, name="receiver").start()
threading.Thread(target=time.sleep, args=(1000,), daemon=True, name="sleeper").start()
while sum(open(f"/proc/self/task/{one}/stat").read().split()[2] == "S" for one in os.listdir("/proc/self/task")) < 2:
    time.sleep(0.01)
time.sleep(0.1)
print(1)
os.getppid()
"""


@pytest.mark.processes
@pytest.mark.parametrize("breakpoint", ["{script}:9", "getppid"])
def test_each_thread_says_what_it_does(breakpoint: str, tmp_path: Path) -> None:
    script = tmp_path / "threads.py"
    script.write_text(PROGRAM)

    async def work(tools: Tools) -> None:
        run = await tools("run", program=str(script), breakpoints=[breakpoint.format(script=script)])
        found = await tools("stacks", session=run.data["session"])
        told = {row["name"]: row.get("activity") for one in found.data["groups"] for row in one["threads"]}
        assert "in recvfrom of descriptor" in told["receiver"] and "unix socket" in told["receiver"], told
        assert "asleep for a set time" in told["sleeper"], told
        assert "in recvfrom of descriptor" in found.text and "asleep for a set time" in found.text
        assert not any(line.endswith(": ") for line in found.text.splitlines() if line.startswith("["))

    with_server(work)


# Who waits for the GIL is in futex(2) too, but with a time limit.
WAITERS = """
import os, select, threading, time
lock = threading.Lock()
ours, _theirs = os.pipe()
polled = select.poll()
polled.register(ours, select.POLLIN)
def holder():
    with lock:
        time.sleep(1_000)
def wants():
    with lock:
        pass
def begin(name, wait):
    thread = threading.Thread(target=wait, daemon=True, name=name)
    thread.start()
    return thread.native_id
def call(thread):
    return open(f"/proc/self/task/{thread}/syscall").read().split()
others = [begin("poller", lambda: polled.poll(1_000_000)), begin("holder", holder)]
while not lock.locked():
    time.sleep(0.01)
waiter = begin("waiter", wants)
while call(waiter)[4:5] != ["0x0"] or {call(one)[0] for one in others} & {"running", call(waiter)[0]}:
    time.sleep(0.01)
while True:
    os.getppid()
"""


@pytest.mark.processes
def test_of_a_process_that_has_ended_the_state_is_told_until_its_parent_knows() -> None:
    with subprocess.Popen(["true"]) as process:
        wait_until(lambda: stat_of(process.pid).state == "Z")
        assert thread_states(process.pid) == {process.pid: Doing("Z")}
    assert thread_states(process.pid) == {}


@pytest.mark.processes
def test_a_stop_by_gdb_hides_no_wait(tmp_path: Path) -> None:
    """Neither the first one, nor one that has made the kernel restart the calls."""
    script = tmp_path / "waiters.py"
    script.write_text(WAITERS)

    async def work(tools: Tools) -> None:
        session = (await tools("run", program=str(script), breakpoints=["getppid"])).data["session"]
        for _ in range(3):
            found = await tools("stacks", session=session)
            told = {
                row["name"]: row.get("activity") for one in found.data["groups"] for row in one["threads"]
            }
            assert "poll of descriptor" in told["poller"] and "pipe" in told["poller"], told
            assert "futex" in told["waiter"], told
            said = await tools("diagnose", session=session)
            assert [row["kind"] for row in said.data["findings"]] == ["lock", "io"], said.text
            assert "waiter" in said.text and "stopped by" not in said.text and "not stopped" not in said.text
            assert (await tools("continue_until", session=session)).data["state"] == "native-stopped"

    with_server(work)
