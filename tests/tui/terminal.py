"""A real terminal for a program under test: a pty, the screen it draws on, and keys typed into it."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence

from dualdbg.system.patience import patient
from dualdbg.tui.terminal.parser import Parser
from dualdbg.tui.terminal.screen import Screen
from tests.terminals import begin

KEYS = {
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "enter": "\r", "tab": "\t",
    "escape": "\x1b", "f1": "\x1bOP", "f2": "\x1bOQ", "f5": "\x1b[15~", "f6": "\x1b[17~", "f7": "\x1b[18~",
    "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "shift+f11": "\x1b[23;2~", "ctrl+c": "\x03",
    "ctrl+q": "\x11",
}  # fmt: skip


class RealTerminal:
    """Runs ``command`` as the leader of a terminal; :meth:`close` ends it."""

    def __init__(
        self, command: Sequence[str], columns: int, lines: int, env: Mapping[str, str] | None = None
    ) -> None:
        self.screen = Screen(columns, lines)
        self._parser = Parser(self.screen)
        self.raw = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.status: int | None = None
        environ = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        self._process, self.master = begin(list(command), environ, lines, columns)
        self.pid = self._process.pid
        os.set_blocking(self.master, False)

    def resize(self, columns: int, lines: int) -> None:
        self.screen.resize(columns, lines)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, *keys: str) -> None:
        """Keys by name, anything else as it is."""
        for key in keys:
            data = KEYS.get(key, key).encode()
            while data:
                try:
                    data = data[os.write(self.master, data) :]
                except BlockingIOError:
                    self.pump(0.01)

    def pump(self, seconds: float) -> bool:
        """Take in what was drawn within that time; False when the program has closed its side."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno == errno.EIO:
                return False
            raise
        self.raw = (self.raw + data)[-(1 << 20) :]
        self._parser.feed(self._decoder.decode(data))
        return bool(data)

    def until(self, condition: Callable[[], bool], what: str, deadline: float = patient(120.0)) -> float:
        """Wait until it holds on the screen; returns the seconds. Fails with what the screen shows."""
        start = time.monotonic()
        while not condition():
            waited = time.monotonic() - start
            assert waited < deadline, f"{what} never came\n{self.text()}"
            if not self.pump(0.05) and not condition():
                raise AssertionError(f"the program ended before {what} came\n{self.text()}")
        return time.monotonic() - start

    def shows(self, text: str) -> bool:
        return text in self.text()

    def text(self) -> str:
        return "\n".join(row.text() for row in self.screen.rows)

    def hang_up(self) -> None:
        """The terminal is gone, as when an SSH connection is lost."""
        os.close(self.master)
        self.master = -1

    def wait(self, deadline: float = patient(30.0)) -> int:
        """The exit status of the program, as a shell shows it."""
        end = time.monotonic() + deadline
        while self.status is None:
            code = self._process.poll()
            if code is not None:
                self.status = code if code >= 0 else 128 - code
                break
            assert time.monotonic() < end, f"the program never ended\n{self.text()}"
            if self.master >= 0:
                self.pump(0.05)
            else:
                time.sleep(0.01)
        while self.master >= 0 and self.pump(0.2) and select.select([self.master], [], [], 0.2)[0]:
            pass
        return self.status

    def close(self) -> None:
        if self.status is None:
            self._process.kill()
            self._process.wait()
        if self.master >= 0:
            os.close(self.master)
