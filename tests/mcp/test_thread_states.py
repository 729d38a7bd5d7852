"""``stacks`` of a session says what each thread does, as it does of a process without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mcp.driver import Tools, with_server

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
