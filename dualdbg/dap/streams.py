"""Where the program's standard streams go: the debug console, the server's terminal, or an editor's."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Protocol

from ..console.output_pipes import OutputPipes
from ..model import Output
from ..session.start import StartedTarget
from ..target.launcher import Launch, Meeting, spawn
from ..target.terminal import Terminal
from .client.port import ClientPort


class HeldTarget(StartedTarget, Protocol):
    """A program that was started; one of machine code is held before its first instruction."""

    def let_go(self) -> None:
        """A held program is no longer stopped."""


class Streams:
    """One program's streams, from before it starts until it is gone. What one has nothing to do for is here.

    ``terminal`` is one of dualdbg, lent to the program.
    """

    terminal: Terminal | None = None

    async def start_target(
        self, launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None
    ) -> HeldTarget:
        """Start the process. Raises TargetError."""
        return await spawn(launch, meeting, terminal=terminal)

    def launch(self, what: Launch) -> Launch:
        """``what`` with the streams filled in."""
        return what

    def begun(self) -> None:
        """The process is there."""

    def drain(self) -> None:
        """Tell the client what was written until now."""

    def close(self) -> None:
        """The process is gone."""


class DebugConsole(Streams):
    """Output goes to the client as output events; there is nothing to read."""

    def __init__(self, connection: ClientPort) -> None:
        self._connection = connection
        self._pipes = OutputPipes(self._show, connection.room)
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _show(self, output: Output) -> None:
        self._connection.output(output.stream, output.text)

    def launch(self, what: Launch) -> Launch:
        return replace(
            what,
            stdin=self._null,
            stdout=self._pipes.write_ends["stdout"],
            stderr=self._pipes.write_ends["stderr"],
            # The user sees what the program prints at once, as on a terminal.
            env={"PYTHONUNBUFFERED": "1", **what.env},
        )

    def begun(self) -> None:
        self._pipes.close_write_ends()
        os.close(self._null)
        self._null = -1

    def drain(self) -> None:
        self._pipes.drain()

    def close(self) -> None:
        self._pipes.close()
        if self._null >= 0:
            os.close(self._null)
            self._null = -1


class NoConsole(Streams):
    """Output is not told (``"redirectOutput": false``). As under debugpy what goes to stderr goes to the adapter's."""

    def __init__(self) -> None:
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def launch(self, what: Launch) -> Launch:
        return replace(what, stdin=self._null, stdout=self._null)

    def close(self) -> None:
        if self._null >= 0:
            os.close(self._null)
            self._null = -1


class OwnTerminal(Streams):
    """The program has the terminal on which the server was started, all the time. The launcher lends it."""

    def __init__(self) -> None:
        self.terminal = Terminal.open()

    def close(self) -> None:
        if self.terminal is not None:
            self.terminal.take()
            self.terminal.close()
            self.terminal = None
