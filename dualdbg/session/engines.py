"""What the session needs of its engines: small Protocols by use, so that it knows no concrete backend.

Most of what is asked of gdb is declared in :mod:`dualdbg.shared.requests`, and needs ``AskingGdb`` alone. Here is what
gdb's client does besides: it lets the target run, and keeps what spans several requests. Threads and breakpoints are
gdb's own numbers; a level counts frames from the innermost, which is 0. A refusal is a CommandError with gdb's words, a
missing answer an EngineTimeout, and a gdb that is gone an EngineLost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..backends.native import AskingGdb, Move
from ..backends.python import Answer, PythonRequest
from ..shared.requests.probes import ProbeCode


class Running(Protocol):
    """Lets the target run, and stops it. Each stop is an event."""

    running: bool

    async def resume(self) -> None:
        """Let every thread run."""

    async def move(
        self, move: Move, gdb_thread: int | None = ..., level: int = ..., address: int | None = ...
    ) -> None:
        """Let the target run on, or begin a step of ``gdb_thread``. ``FINISH`` leaves the frame at ``level``."""

    async def resume_with_signal(self, name: str) -> None:
        """Let every thread run, with the signal of this name for which the target was stopped."""

    async def interrupt(self) -> None:
        """Ask for a stop of every thread. It returns when gdb has taken that, before the stop."""


class Holding(Protocol):
    """Takes hold of a target and lets go of it."""

    async def attach(self, pid: int, index: Path | None, root: str = "") -> None:
        """Attach to the process and return when every thread of it is stopped; that stop is no event."""

    async def stop_at_program_changes(self) -> None:
        """Stop from now on when a library comes or goes, and when the program replaces itself."""

    async def detach(self) -> None:
        """Let go of the stopped target, which runs on."""

    async def write_core(self, path: Path) -> None:
        """Write a core file of the stopped target."""

    async def kill(self) -> None:
        """End the stopped target, or take note that it has ended. Its end is an event."""


class SymbolFeed(Protocol):
    """Takes symbols to read, and tables to unwind by."""

    async def add_symbols(self, path: Path, bias: int) -> None:
        """Give gdb a symbol file for code that lies ``bias`` bytes above its link-time addresses."""

    async def remove_symbols(self, address: int) -> None:
        """Take back the symbol file that was given for the code at ``address``."""

    async def keep_index(self, folder: Path | None) -> None:
        """Say in which folder gdb keeps its index of debug info; None for nowhere."""


class BreakpointChanges(Protocol):
    """Changes and deletes breakpoints in the way that each kind needs; requests insert them."""

    async def delete_breakpoint(self, number: int) -> None:
        """Delete a breakpoint or watchpoint, also an internal one, whose number is below zero."""

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        """Let a breakpoint stop again, or stop no more; it keeps its number."""

    async def set_condition(self, number: int, condition: str | None, gdb_thread: int | None = ...) -> None:
        """Stop only where an expression is true (None: always), and only in this thread if one is given."""


class SignalControl(Protocol):
    """Says which signals stop the target."""

    async def handle(self, name: str, stops: bool) -> None:
        """Have the target stop when a signal arrives, and get it; or do again what was done before the first call."""

    def of_probes(self) -> str:
        """The name of a signal that does nothing in the target."""


class ProbeWriting(Protocol):
    """Writes probes into the target, which do the work of breakpoints while it runs freely."""

    left_out: Mapping[int, str]
    ever_left_out: Mapping[int, str]

    def new_trace(self) -> int:
        """A number for a probe that traces, and for which the engine has no breakpoint. It is deleted as one."""

    async def insert(self, number: int, probe: ProbeCode) -> None:
        """Write a probe that stands for a breakpoint of this number."""

    def switch(self, number: int, on: bool) -> None:
        """Whether a probe that traces is in force from the next run on."""


class UserCommands(Protocol):
    """Runs what users type for gdb itself, and says what gdb's users want in its words, about a frame of a thread."""

    async def user_command(self, text: str) -> str:
        """Run a command that the user typed for gdb; returns what gdb printed."""

    async def printed(self, expression: str, style: str) -> str:
        """A value as gdb prints it; ``style`` is one of its formats (``x``, ``4xb``)."""

    async def examined(self, address: str, style: str) -> str:
        """What lies at the value of an expression, in the same way (``i`` for instructions)."""

    async def address(self, expression: str) -> int:
        """The value of an expression as an address. Raises CommandError where it is none."""

    async def code_of_line(self, location: str) -> str:
        """gdb's words for where the code of a line or function is, or which line an address belongs to."""

    async def select(self, gdb_thread: int, level: int | None) -> None:
        """Select the thread, and the frame if one is given, for all this."""


class NativeEngine(AskingGdb, Running, Holding, SymbolFeed, BreakpointChanges, UserCommands, Protocol):
    """gdb, as the session sees it."""

    version: str | None
    exits: int
    """How many threads have ended since gdb last said that it lets the target run."""

    @property
    def probes(self) -> ProbeWriting:
        """The probes in the target."""

    @property
    def signals(self) -> SignalControl:
        """The signals of the target."""

    @property
    def pid(self) -> int | None:
        """The process id of gdb itself; None before it has started."""

    def wake(self) -> None:
        """Let gdb itself go on when somebody has stopped it."""

    async def close(self, grace: float = ...) -> bool:
        """End gdb: ask it, and insist after ``grace`` seconds. Whether it ended because it was asked to."""


class Refusal(Protocol):
    """Hears that a posted request was refused."""

    def __call__(self, error: Any) -> None: ...


class PythonEngine(Protocol):
    """debugpy, as the session sees it. It answers nothing while gdb holds the target."""

    python_version: str | None
    configured: bool

    @property
    def connected(self) -> bool:
        """Whether debugpy's connection stands."""

    async def request(self, request: PythonRequest[Answer], deadline: float = ...) -> Answer:
        """Send a request and return its answer.

        A refusal is a CommandError, a missing answer an EngineTimeout after ``deadline`` seconds, a lost connection an
        EngineLost.
        """

    def post(
        self,
        request: PythonRequest[Answer],
        on_refused: Refusal | None = ...,
        on_answer: Callable[[Answer], None] | None = ...,
        on_lost: Callable[[], None] | None = ...,
    ) -> None:
        """Send a request whose answer nobody waits for; one of the callbacks hears it."""

    def renew(self) -> None:
        """The program has replaced itself with another, whose debugpy may connect."""

    async def configuration_done(self, deadline: float | None = None) -> None:
        """Let the program run; without a deadline this does not wait for the answer."""

    async def hang_up(self, deadline: float) -> bool:
        """Close our side. Whether the target has closed its side within ``deadline`` seconds."""

    async def close(self) -> None:
        """Close the connection at once; requests without an answer fail."""
