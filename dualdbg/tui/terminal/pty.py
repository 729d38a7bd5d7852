"""The pty pair between the program and its pane: bytes out of it in bounded pieces, keys into it, its size."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import pty
import struct
import termios
import time
from collections import deque
from collections.abc import Callable

from ...errors import TargetError
from ...system.locale_encoding import new_decoder
from .parser import Parser
from .screen import Screen

_CHUNK = 1 << 16  # bytes read at a time; the kernel gives 4 kB of a pty
_PIECES = 16  # reads before others have their turn
_WAITING = 1 << 20  # bytes read and not yet shown; with as many, the program has to wait
_TICK = 1 / 30  # seconds between two looks at what was written
_FLOOD_TICK = 1 / 10  # seconds between two looks while more is written than anybody can read
_FLOOD = 1 << 15  # characters within one look that make a flood
_SLICE = 1 << 15  # characters drawn at a time, so that keys come through
_REST = 2  # times the drawing time of a slice in which nothing is drawn: at most a third of a core is used

# What the program is told about its terminal, in its environment.
ENVIRONMENT = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


class ProgramTerminal:
    """The program's terminal. ``slave`` is the descriptor for its standard streams, until :meth:`started`.

    ``screen`` is what it shows. ``changed`` is called when that has changed, at most 30 times a second (10 in a
    flood).
    """

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        try:
            self._master, self.slave = pty.openpty()
        except OSError as error:
            raise TargetError(
                f"no terminal for the program: {error.strerror}",
                "is /dev/pts mounted? run without --tui",
            ) from error
        os.set_blocking(self._master, False)
        self.screen = Screen(columns, lines)
        self.changed: Callable[[], None] = lambda: None
        self._parser = Parser(self.screen, self.send)
        self._decoder = new_decoder()
        self._waiting: deque[str] = deque()
        self._amount = 0
        self._to_send = b""
        self._tick: asyncio.TimerHandle | None = None
        self._open = True
        self._reading = False
        self._flooded = False
        self._sliced = False  # what waits is not to be drawn at once
        self._told = 0.0  # when ``changed`` was last called
        self.received = 0  # characters, ever
        self.resize(columns, lines)

    # -- the program's side -----------------------------------------------------------------------

    def listen(self) -> None:
        """Begin to read; the loop must run."""
        self._listen(True)

    def started(self) -> None:
        """The program has its own copy of the descriptor now: close ours, so that the program's end is seen."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def resize(self, columns: int, lines: int) -> None:
        """The kernel tells the program by SIGWINCH (tty_ioctl(4))."""
        self.screen.resize(columns, lines)
        if self._open:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, text: str) -> None:
        """Keys for the program; what it does not read in time waits here."""
        if self._open:
            self._to_send += text.encode()
            self._write()

    def close(self) -> None:
        """Takes in what was still written, and lets go of it."""
        self.started()
        if self._open:
            while self._read():
                pass
            self._shut()
        while self._waiting:
            self._show_some()
        self.changed()

    # -- inside -----------------------------------------------------------------------------------

    def _listen(self, on: bool) -> None:
        if on == self._reading or not self._open:
            return
        self._reading = on
        loop = asyncio.get_running_loop()
        if on:
            loop.add_reader(self._master, self._read_pieces)
        else:
            loop.remove_reader(self._master)

    def _read_pieces(self) -> None:
        for _ in range(_PIECES):
            if not (self._open and self._read()):
                return

    def _read(self) -> bool:
        """Take in one piece; False when there is none."""
        try:
            data = os.read(self._master, _CHUNK)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:  # every copy of the other end is closed
                raise
            data = b""
        text = self._decoder.decode(data, final=not data)
        if text:
            self._waiting.append(text)
            self._amount += len(text)
            self.received += len(text)
            if self._amount > _WAITING:
                self._listen(False)
            self._schedule(_FLOOD_TICK if self._flooded else _TICK)
        if not data:
            self._shut()
        return bool(data)

    def _schedule(self, delay: float) -> None:
        if self._tick is None:
            self._tick = asyncio.get_running_loop().call_later(delay, self._show)

    def _show(self) -> None:
        self._tick = None
        begin = time.monotonic()
        self._show_some()
        now = time.monotonic()
        if self._waiting:
            self._schedule(max(_REST * (now - begin), 0.001))  # in between, keys are read
        else:
            self._listen(True)
        if not self._waiting or now - self._told >= _FLOOD_TICK:
            self._told = now
            self.changed()

    def _show_some(self) -> None:
        """Show what only scrolls by at once, and anything else a slice at a time."""
        waiting = self._waiting
        self._flooded = self._amount > _FLOOD
        text = waiting.popleft() if self._sliced else "".join(waiting)
        if not self._sliced:
            waiting.clear()
        rest = self._parser.feed(text, _SLICE)
        waiting.extendleft(rest[start : start + _SLICE] for start in reversed(range(0, len(rest), _SLICE)))
        self._amount -= len(text) - len(rest)
        self._sliced = bool(rest) or (self._sliced and bool(waiting))

    def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._to_send = self._to_send[os.write(self._master, self._to_send) :]
        except BlockingIOError:
            pass
        except OSError:  # nobody is there to read it
            self._to_send = b""
        if self._to_send:
            loop.add_writer(self._master, self._write)
        else:
            loop.remove_writer(self._master)

    def _shut(self) -> None:
        if self._open:
            self._listen(False)
            self._open = False
            asyncio.get_running_loop().remove_writer(self._master)
            os.close(self._master)
