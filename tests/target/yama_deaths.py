"""Runs in the virtual machine, as root: ``USER``. Ends dualdbg and gdb in attached sessions; what is left then."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from dualdbg.snapshot.linux.repair import find_traps

from .yama_commands import DUALDBG, ENVIRONMENT, SCOPE, answer, start_ticks

_SECONDS = 900  # for anything here
_QUIET = 5  # seconds


def main() -> None:
    found = {
        "dualdbg killed while it is lowered": killed_while_lowered(),
        "gdb killed": killed_in_session(both=False),
        "both killed": killed_in_session(both=True),
        "an editor": editor(),
    }
    print(json.dumps(found))


def wait_until(what: Callable[[], object]) -> None:
    end = time.monotonic() + _SECONDS
    while not what():
        assert time.monotonic() < end, what
        time.sleep(0.001)


def left_of(program: subprocess.Popen[str]) -> dict[str, Any]:
    """What is so in the end, once it is put back; the program reads three more lines and meets every trap."""
    wait_until(lambda: SCOPE.read_text() == "1\n")
    wait_until(lambda: not find_traps(program.pid))
    first = int(answer(program))
    unharmed = answer(program) == str(first + 1) and program.poll() is None
    traps = len(find_traps(program.pid))
    program.kill()
    program.wait()
    return {"scope": int(SCOPE.read_text()), "unharmed": unharmed, "traps": traps}


def attach(pid: int, *options: str) -> subprocess.Popen[str]:
    words = [*DUALDBG, "attach", str(pid), "--fix-ptrace", "--no-stacks", *options]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, env=ENVIRONMENT, text=True
    )


def wait_until_quiet(pid: int) -> None:
    """Until the breakpoint is in it and gdb has done nothing for some seconds: not killed in the middle of a step."""
    since = time.monotonic()

    def quiet() -> bool:
        nonlocal since
        try:
            states = [
                task.joinpath("stat").read_text().split()[2] for task in Path(f"/proc/{pid}/task").iterdir()
            ]
        except FileNotFoundError:  # a thread has just ended
            states = ["t"]
        if "t" in states or not find_traps(pid):
            since = time.monotonic()
        return time.monotonic() > since + _QUIET

    wait_until(quiet)


def killed_while_lowered() -> dict[str, Any]:
    program = start_ticks()
    dualdbg = attach(program.pid)
    wait_until(lambda: SCOPE.read_text() == "0\n")
    dualdbg.kill()
    dualdbg.communicate()
    return left_of(program)


def killed_in_session(both: bool) -> dict[str, Any]:
    """While the program waits for a line; at what it calls then is a breakpoint."""
    program = start_ticks()
    dualdbg = attach(program.pid, "-b", "builtin_print", "-x", "continue")
    assert dualdbg.stdout is not None
    next(line for line in dualdbg.stdout if "Python control is there" in line)
    wait_until_quiet(program.pid)
    gdb = next(child for child in psutil.Process(dualdbg.pid).children() if child.name() == "gdb")
    if both:
        dualdbg.kill()
    gdb.kill()
    if not both:
        dualdbg.wait()
    found = left_of(program)
    dualdbg.communicate()
    return found if both else {**found, "status": dualdbg.returncode}


def editor() -> tuple[str, dict[str, Any]]:
    """A debug adapter that is asked to attach: without ``fixPtrace``, and with it."""
    program = start_ticks()
    adapter = subprocess.Popen(
        [*DUALDBG, "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    assert adapter.stdin is not None and adapter.stdout is not None
    read, write = adapter.stdout, adapter.stdin

    def send(number: int, command: str, arguments: dict[str, Any]) -> None:
        body = json.dumps(
            {"seq": number, "type": "request", "command": command, "arguments": arguments}
        ).encode()
        write.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        write.flush()

    def receive(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            size = int(read.readline().split(b":")[1])
            read.readline()
            message = json.loads(read.read(size))
            if wanted(message):
                return dict(message)

    send(1, "initialize", {"adapterID": "dualdbg"})
    send(2, "attach", {"processId": program.pid})
    refused = receive(lambda message: message.get("request_seq") == 2)
    send(3, "attach", {"processId": program.pid, "fixPtrace": True})
    receive(lambda message: message.get("event") == "initialized")
    send(4, "configurationDone", {})
    attached = receive(lambda message: message.get("request_seq") == 3)
    send(5, "disconnect", {})
    receive(lambda message: message.get("request_seq") == 5)
    write.close()
    adapter.wait()
    return json.dumps(refused), {**left_of(program), "attached": attached["success"]}
