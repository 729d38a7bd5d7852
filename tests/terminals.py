"""Programs on a terminal of their own: dualdbg is forked there too, as by `tests.warm`."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from typing import Any

import pexpect
import ptyprocess

from tests import warm


class Terminal(pexpect.spawn):  # type: ignore[misc]
    """As pexpect.spawn, with a terminal that keeps at Ctrl-C what was printed."""

    def _spawnpty(self, args: list[Any], **more: Any) -> ptyprocess.PtyProcess:
        words, environ = list(map(os.fsdecode, args)), dict(more["env"] or os.environ)
        process = _Process(*begin(words, environ, *more.get("dimensions", (24, 80)), cwd=more["cwd"]))
        if not more["echo"]:
            process.setecho(False)
        return process


class _Process(ptyprocess.PtyProcess):  # type: ignore[misc]
    """A process that is not our child: who started it tells how it ended."""

    def __init__(self, process: subprocess.Popen[Any], master: int) -> None:
        super().__init__(process.pid, master)
        self._process = process

    def isalive(self) -> bool:
        return self._lives(self._process.poll())

    def wait(self) -> int | None:
        self._lives(self._process.wait())
        return self.exitstatus  # type: ignore[no-any-return]

    def _lives(self, status: int | None) -> bool:
        if status is not None:
            self.terminated = True
            self.exitstatus, self.signalstatus = (status, None) if status >= 0 else (None, -status)
        return status is None


class _Leader(warm.Popen):
    leads_terminal = True


def begin(
    words: list[str], environ: dict[str, str], lines: int, columns: int, cwd: Any = None
) -> tuple[subprocess.Popen[Any], int]:
    """Start a program as the leader of a new terminal; returns the process and our end of the terminal."""
    master, slave = os.openpty()
    keep_output(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    more: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    if not warm.can_be_warm(words, environ):
        more["preexec_fn"] = lead_terminal
    try:
        return _Leader(words, cwd=cwd, env=environ, start_new_session=True, **more), master
    finally:
        os.close(slave)


def lead_terminal() -> None:
    """Let our standard input be the terminal of this session of processes."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def keep_output(terminal: int) -> None:
    """Ctrl-C throws nothing away of what was printed there (termios(3), NOFLSH).

    Without it the kernel flushes what the test has not read yet: whether the answer of a moment ago is lost is chance.
    """
    modes = termios.tcgetattr(terminal)
    modes[3] |= termios.NOFLSH
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
