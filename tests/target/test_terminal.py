"""The terminal belongs to the target while it runs and to dualdbg while it does not, on a real pseudo terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from dualdbg.system.patience import patient
from dualdbg.target.terminal import Terminal
from tests import support, terminals

# Does what its control pipe says, as dualdbg does what its session says: lends the terminal and takes it back.
DRIVER = """
import asyncio, os, signal, sys, termios
from dualdbg.target.launcher import Launch
from dualdbg.target.terminal import Terminal
from tests.target.client import connected, status
control = open(sys.argv[1])
interrupts = []
def describe(terminal):
    modes = termios.tcgetattr(terminal.descriptor)[3]
    front = "dualdbg" if os.tcgetpgrp(terminal.descriptor) == os.getpgrp() else "target"
    return f"{front} {'canonical' if modes & termios.ICANON else 'raw'} {len(interrupts)} interrupts"
async def main():
    terminal = Terminal.open()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupts.append, 1)
    launch = Launch(sys.executable, script=sys.argv[2], args=(sys.argv[3],))
    async with connected(launch, terminal=terminal) as client:
        await client.start()
        while True:
            command = (await asyncio.to_thread(control.readline)).strip()
            if command == "end":
                break
            elif command == "give":
                terminal.give(client.target.pid)
            elif command == "take":
                terminal.take()
            elif command == "read":
                print("dualdbg got", repr(sys.stdin.readline()), flush=True)
            elif command == "wait":
                print("status", status(await client.target.wait()), flush=True)
                terminal.take()
            print("[" + describe(terminal) + "]", flush=True)
    terminal.close()
asyncio.run(main())
"""

# Reads one line for each that it gets from its own control pipe.
TARGET = """
import os, signal, sys, tty
signal.signal(signal.SIGINT, lambda number, frame: os.write(1, b"target interrupted\\n"))
control = open(sys.argv[1])
print("target is there", flush=True)
while control.readline():
    line = sys.stdin.readline().strip()
    print("target got", repr(line), flush=True)
    if line == "raw":
        tty.setcbreak(0)
        print("target raw", flush=True)
    if line == "exit":
        sys.exit(4)
"""


class Screen:
    """A terminal with the driver on it, and the pipe that tells the driver what to do."""

    def __init__(self, folder: Path) -> None:
        (folder / "driver.py").write_text(DRIVER)
        (folder / "target.py").write_text(TARGET)
        self._pipes = []
        arguments = [str(folder / "driver.py")]
        for name, program in (("driver-control", "target.py"), ("target-control", "")):
            os.mkfifo(folder / name)
            self._pipes.append(os.open(folder / name, os.O_RDWR))
            arguments += [str(folder / name), *([str(folder / program)] if program else [])]
        self.tty = terminals.Terminal(
            sys.executable,
            arguments,
            env={**os.environ, "PYTHONPATH": str(support.ROOT)},
            encoding="utf-8",
            timeout=patient(120),
            echo=False,
        )
        self.tty.expect("target is there")

    def tell(self, command: str) -> str:
        """Gives the driver a command; what it says of the terminal afterwards."""
        os.write(self._pipes[0], command.encode() + b"\n")
        self.tty.expect(r"\[(.*?)\]")
        return str(self.tty.match[1])

    def let_target_read(self) -> None:
        os.write(self._pipes[1], b"\n")

    def type(self, line: str) -> None:
        """Types a line for the target."""
        self.let_target_read()
        self.tty.sendline(line)
        self.tty.expect(f"target got '{line}'")

    def end(self) -> None:
        """Lets the driver come to its end."""
        os.write(self._pipes[0], b"end\n")

    def close(self) -> None:
        for pipe in self._pipes:
            os.close(pipe)
        self.tty.close(force=True)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    screen = Screen(tmp_path)
    yield screen
    screen.close()


def test_each_reads_what_is_typed_while_it_is_in_front(screen: Screen) -> None:
    screen.type("one")
    assert screen.tell("take") == "dualdbg canonical 0 interrupts"
    screen.tty.sendline("two")
    screen.tell("read")
    assert "dualdbg got 'two" in screen.tty.before
    assert screen.tell("give") == "target canonical 0 interrupts"
    screen.type("three")


def test_a_target_that_reads_in_the_background_waits_for_the_terminal(screen: Screen) -> None:
    screen.tell("take")
    screen.let_target_read()
    support.wait_until(lambda: _state(screen) == "T", what="the target is stopped by SIGTTIN")
    screen.tty.sendline("for dualdbg")
    screen.tell("read")
    assert "dualdbg got 'for dualdbg" in screen.tty.before
    screen.tell("give")
    screen.tty.sendline("for the target")
    screen.tty.expect("target got 'for the target'")


def test_each_side_finds_its_own_modes_again(screen: Screen) -> None:
    screen.type("raw")
    screen.tty.expect("target raw")
    assert screen.tell("take") == "dualdbg canonical 0 interrupts"
    assert screen.tell("give") == "target raw 0 interrupts"
    assert screen.tell("take") == "dualdbg canonical 0 interrupts"


def test_ctrl_c_reaches_who_is_in_front(screen: Screen) -> None:
    screen.tty.sendintr()
    screen.tty.expect("target interrupted")
    assert screen.tell("take") == "dualdbg canonical 0 interrupts"
    screen.tty.sendintr()
    support.wait_until(lambda: screen.tell("look").endswith("1 interrupts"), what="dualdbg is interrupted")


def test_after_the_target_the_terminal_is_ours_with_our_modes(screen: Screen) -> None:
    screen.type("raw")
    screen.tty.expect("target raw")
    screen.let_target_read()
    screen.tty.sendline("exit")
    assert screen.tell("wait") == "dualdbg canonical 0 interrupts"
    assert "status 4" in screen.tty.before
    assert screen.tell("give") == "dualdbg canonical 0 interrupts"  # there is nobody to give it to
    screen.end()
    screen.tty.expect(pexpect.EOF)


def test_a_closed_terminal_ends_everything(screen: Screen) -> None:
    driver, target = screen.tty.pid, _target(screen.tty.pid)
    screen.tty.close(force=False)  # as a terminal window does: the kernel sends SIGHUP
    support.wait_until(lambda: not support.is_running(driver) and not support.is_running(target))


def test_without_a_terminal_there_is_none_to_lend(tmp_path: Path) -> None:
    program = "from dualdbg.target.terminal import Terminal; print(Terminal.open())"
    env = {**os.environ, "PYTHONPATH": str(support.ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], start_new_session=True, env=env, capture_output=True, text=True
    )
    assert done.stdout == "None\n", done.stderr


def test_in_the_background_there_is_none_to_lend(tmp_path: Path) -> None:
    program = "from dualdbg.target.terminal import Terminal; print(Terminal.open())"
    shell = f"set -m; {sys.executable} -c '{program}' & wait"
    env = {**os.environ, "PYTHONPATH": str(support.ROOT)}
    tty = pexpect.spawn("/bin/bash", ["-c", shell], env=env, encoding="utf-8", timeout=patient(120))
    tty.expect("None")
    tty.expect(pexpect.EOF)
    tty.close()


def test_open_closes_what_it_does_not_use() -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    terminal = Terminal.open()
    if terminal is not None:
        terminal.close()
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def _target(driver: int) -> int:
    [target] = [
        child.pid
        for child in psutil.Process(driver).children(recursive=True)
        if "target.py" in " ".join(child.cmdline())
    ]
    return target


def _state(screen: Screen) -> str:
    return Path(f"/proc/{_target(screen.tty.pid)}/stat").read_text().rpartition(")")[2].split()[0]
