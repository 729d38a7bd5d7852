"""What the virtual machine runs of the parts behind the commands: scripts in Python, for test_yama.py."""

from __future__ import annotations

from tests import support

# What the kernel says of a process: a child of ours asks it to be its tracer.
CHECK = """
import asyncio, os, subprocess, sys
os.environ["DUALDBG_PATIENCE"] = "10"  # the machine is emulated
from dualdbg.errors import DualdbgError
from dualdbg.target import ptrace
from dualdbg.target.launcher import Launch, spawn
def check(pid):
    try:
        ptrace.check(pid)
        return "allowed"
    except DualdbgError as error:
        return f"{type(error).__name__}: {error.message} | {error.hint}"
def check_child():
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    print("child:", check(child.pid))
    child.communicate()
"""

# Starts a program as dualdbg does, lets a real gdb attach to it, and tries to trace one that does not name us.
LAUNCH = (
    CHECK
    + """
from tests.target.client import connected
def gdb(pid):
    # Whether it may trace is the question: to read symbols takes minutes on an emulated machine.
    command = ["gdb", "-nx", "-nh", "-batch", "-readnever", "-iex", "set auto-solib-add off", "-p", str(pid)]
    command += ["-ex", "info inferiors", "-ex", "detach"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return "attached" if f"process {pid}" in done.stdout else "refused"
async def main():
    async with connected(Launch(sys.executable, code="pass")) as client:
        print("launched:", check(client.target.pid))
        print("gdb:", await asyncio.to_thread(gdb, client.target.pid))
        await client.start()
        await client.target.wait()
    check_child()
asyncio.run(main())
"""
)

# The same where nobody may trace: that is so from the program's first instruction on, and it needs no pydevd.
REFUSED = (
    CHECK
    + """
async def main():
    target = await spawn(Launch(sys.executable, code="input()", stdin="pipe"), None)
    print("launched:", check(target.pid))
    target.kill()
    await target.wait()
    check_child()
asyncio.run(main())
"""
)

# A program that imports dualdbg.allow.
ALLOW = """
code = "import sys, dualdbg.allow; print('ready', flush=True); sys.stdin.read()"
with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
    program.stdout.readline()
    print("allows:", check(program.pid))
    program.stdin.close()
"""

# A child that joins a run, which its parent's permission does not cover.
JOIN = f"""
import json, subprocess, sys
command = [sys.executable, "-B", "-m", "dualdbg", "run", "--json", "--follow", "python", "-b", "children.py:11",
           "--batch", "-x", "continue", {str(support.ROOT / "tests" / "follow" / "programs" / "children.py")!r}, "fork"]
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
events = [json.loads(line) for line in done.stdout.splitlines()]
print("joined:", [event["process"] for event in events if event["event"] == "stopped"])
"""

# What is asked of the scope while and after it is lowered, also when who has lowered it is killed.
LOWER = """
import signal, subprocess, sys, time
from dualdbg.target import permission, scope
def settled(value):
    deadline = time.monotonic() + 60
    while permission.yama_scope() != value and time.monotonic() < deadline:
        time.sleep(0.01)
    return permission.yama_scope()
told, was = [], int(sys.argv[1])
print("none for what is allowed:", scope.lowering_for([], "never", told.append), told)
lowering = scope.Lowering()
with lowering.lowered():
    print("inside", permission.yama_scope())
print("after", permission.yama_scope())
try:
    with lowering.lowered():
        raise KeyError
except KeyError:
    print("after an error", permission.yama_scope())
lowering.lower()
lowering.close()
print("closed while lowered", permission.yama_scope())
hold = "import time; from dualdbg.target import scope\\n"
hold += "with scope.Lowering().lowered(): print('low', flush=True); time.sleep(1000)"
def start():
    return subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True)
first = start()
first.stdout.readline()
second = start()
print("while one holds it", permission.yama_scope())
first.kill()
second.stdout.readline()
print("the next in turn", permission.yama_scope())
second.send_signal(signal.SIGTERM)
print("after a signal", settled(was))
first = start()
first.stdout.readline()
first.kill()
print("after kill -9", settled(was))
scope.LONGEST, usual = 1, scope.LONGEST
short = scope.Lowering()
scope.LONGEST = usual  # also how long it waits for its turn: the shell of the one before may still be at work
with short.lowered():
    print("after its time", settled(was))
print("and then", permission.yama_scope())
"""

# What is said to a user who may not use sudo; a sudo that refuses nobody says so too.
WITHOUT_SUDO = """
from dualdbg.errors import PermissionRefused
from dualdbg.target import scope
for ask in (True, False):
    try:
        scope.Lowering(ask)
    except PermissionRefused as error:
        print(error.message, '|', error.hint)
"""
