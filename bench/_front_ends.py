"""The front ends of dualdbg, started and watched from outside: what they write, how they end, their terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any, Protocol

DUALDBG = [sys.executable, "-m", "dualdbg"]
_MODES = re.compile(rb"\x1b\[\?(1049|2004|25)([hl])")
_CLEAN = {b"1049": b"l", b"2004": b"l", b"25": b"h"}


class Place(Protocol):
    """Where a session is started."""

    kill: Any
    environment: dict[str, str]
    work: Path


class FrontEnd:
    """A dualdbg with pipes, or on a terminal of its own."""

    def __init__(self, place: Place, words: list[str], on_terminal: bool = False) -> None:
        self._written = b""
        self._status: int | None = None
        self._lock = threading.Lock()
        self._master = -1
        self.process: subprocess.Popen[bytes] | None = None
        command = [*DUALDBG, *words]
        if on_terminal:
            self._master, slave = pty.openpty()
            self._before = termios.tcgetattr(self._master)
            self.process = subprocess.Popen(
                # A shell's child has the terminal as its controlling one; so has this.
                [sys.executable, "-c", _ON_TERMINAL, *command],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=place.work,
                env=place.environment,
                start_new_session=True,
            )
            os.close(slave)
        else:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=place.work,
                env=place.environment,
                start_new_session=True,
            )
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.greet(place)

    @classmethod
    def run(cls, place: Place, program: list[str]) -> FrontEnd:
        words = ["run", *cls.options, "-b", "PyNumber_Power"]
        words += ["--follow", "python"] if place.kill.start == "followed" else []
        words += ["--stop-on-entry"] if place.kill.stopped else []
        return cls(place, [*words, *program], cls.on_terminal)

    @classmethod
    def attach(cls, place: Place, pid: int) -> FrontEnd:
        words = ["attach", str(pid), "--no-stacks", *cls.options, "-b", "PyNumber_Power"]
        words += [] if place.kill.stopped else ["-x", "continue"]
        return cls(place, words, cls.on_terminal)

    options: tuple[str, ...] = ()
    on_terminal = False

    def greet(self, place: Place) -> None:
        """What a client says first."""

    # -- what can be seen --------------------------------------------------------------------------

    def _read(self) -> None:
        assert self.process is not None
        source = self._master if self._master >= 0 else self.process.stdout.fileno()  # type: ignore[union-attr]
        while True:
            try:
                data = os.read(source, 1 << 16)
            except OSError:  # the terminal has no user any more
                return
            if not data:
                return
            with self._lock:
                self._written += data
            self.received(data)

    def received(self, data: bytes) -> None:
        """More was written."""

    def text(self) -> str:
        with self._lock:
            return self._written.decode("utf-8", "replace")

    def has_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    def status(self) -> int:
        """As a shell shows it."""
        assert self.process is not None
        code = self.process.wait(60)
        return code if code >= 0 else 128 - code

    def is_clean(self) -> bool:
        """Whether the terminal is as it was before."""
        if self._master < 0:
            return True
        with self._lock:
            last = dict(_MODES.findall(self._written))
        now = termios.tcgetattr(self._master)
        return now == self._before and all(_CLEAN[mode] == state for mode, state in last.items())

    def abort(self) -> None:
        """One that hangs says where, see PYTHONFAULTHANDLER."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            self._reader.join(1)

    def close(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what it was to be told is lost
                    continue
        if self._master >= 0:
            os.close(self._master)


# The pty's master holds the terminal open, so that it can be looked at when everything has ended.
_ON_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Prompt(FrontEnd):
    on_terminal = True


class Dashboard(FrontEnd):
    options = ("--tui",)
    on_terminal = True

    @classmethod
    def attach(cls, place: Place, pid: int) -> FrontEnd:
        words = ["attach", str(pid), *cls.options, "-b", "PyNumber_Power"]
        words += [] if place.kill.stopped else ["-x", "continue"]
        return cls(place, words, cls.on_terminal)


class Batch(FrontEnd):
    options = ("--batch",)


class JsonLines(FrontEnd):
    options = ("--json",)


class Adapter(FrontEnd):
    """Over standard input and output, with the few requests that begin a session."""

    _asked: tuple[str, dict[str, Any]]
    _number = 0
    _configured = False

    @classmethod
    def run(cls, place: Place, program: list[str]) -> FrontEnd:
        follow = place.kill.start == "followed"
        script, *arguments = program
        asked = {
            "program": script,
            "args": arguments,
            "subProcess": follow,
            "stopOnEntry": place.kill.stopped,
        }
        return cls._asking(place, "launch", asked)

    @classmethod
    def attach(cls, place: Place, pid: int) -> FrontEnd:
        return cls._asking(place, "attach", {"processId": pid})

    @classmethod
    def _asking(cls, place: Place, command: str, arguments: dict[str, Any]) -> FrontEnd:
        kind = type("AskingAdapter", (cls,), {"_asked": (command, arguments)})
        made: FrontEnd = kind(place, ["dap"])
        return made

    def greet(self, place: Place) -> None:
        self._send("initialize", {"adapterID": "dualdbg"})
        self._send(*self._asked)

    def _send(self, command: str, arguments: dict[str, Any]) -> None:
        assert self.process is not None and self.process.stdin is not None
        self._number += 1
        body = {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        data = json.dumps(body).encode()
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            self.process.stdin.flush()
        except OSError:  # it was killed
            pass

    def received(self, data: bytes) -> None:
        if not self._configured and '"initialized"' in self.text():
            self._configured = True
            self._send("setFunctionBreakpoints", {"breakpoints": [{"name": "PyNumber_Power"}]})
            self._send("configurationDone", {})


FRONT_ENDS: dict[str, type[FrontEnd]] = {
    "prompt": Prompt,
    "batch": Batch,
    "json": JsonLines,
    "tui": Dashboard,
    "dap": Adapter,
}
