"""What the session needs of its engines: small Protocols by use, so that it knows no concrete backend.

For gdb: threads and breakpoints are gdb's own numbers; a level counts frames from the innermost, which is 0. A
refusal is a CommandError with gdb's words, a missing answer an EngineTimeout, and a gdb that is gone an EngineLost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..backends.native import Move
from ..backends.python import Answer, PythonRequest
from ..shared.requests.base import Request
from .breakpoint_engines import NativeBreakpointEngine, ProbeEngine

T = TypeVar("T")


class Asking(Protocol):
    """Asks gdb what is declared in :mod:`dualdbg.shared.requests`."""

    async def ask(self, request: Request[T], deadline: float | None = ...) -> T:
        """Return the answer to a request, which has ``deadline`` seconds instead of its own."""
        ...

    def tell(self, request: Request[None]) -> None:
        """Send a request behind all earlier ones, and wait for no answer. Raises EngineLost when gdb is gone."""


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


class CodeReading(Asking, Protocol):
    """Reads code: where functions and lines begin, instructions, calls."""


class Reading(Asking, Protocol):
    """Reads threads, stacks, registers and memory of the held target, and writes memory."""

    async def write_core(self, path: Path) -> None:
        """Write a core file of the stopped target."""


class Evaluating(Asking, Protocol):
    """Shows values: those of C++, Python objects in memory, and the answers of our helpers in gdb."""

    async def allow_calls(self, allowed: bool) -> None:
        """Whether expressions may call functions of the program."""


class CallingTarget(Asking, Protocol):
    """Runs code in a thread of the held target, or keeps threads from running."""

    async def call_probe(
        self, gdb_thread: int, functions: Mapping[str, int], method: str, argument: str, mailbox: int
    ) -> int:
        """Call a method of the probe in a thread that holds the GIL; returns its number, 0 if it fails.

        ``functions`` has the addresses of :data:`~dualdbg.backends.native.PROBE_FUNCTIONS`. ``mailbox`` is the address
        of the probe's mailbox, 0 where that is not known.
        """

    async def probe_text(
        self, gdb_thread: int, functions: Mapping[str, int], method: str, argument: str, deadline: float
    ) -> str:
        """As :meth:`call_probe`, but returns the text of the method, within ``deadline`` seconds."""

    async def run_text(
        self, gdb_thread: int, ensure: int, run: int, release: int, text: int, deadline: float
    ) -> None:
        """Run the Python code at address ``text`` in a thread that sleeps without the GIL, within ``deadline``
        seconds.

        The first three are the addresses of PyGILState_Ensure, PyRun_SimpleString and PyGILState_Release.
        """

    async def park(self, gdb_threads: Sequence[int], instruction: int) -> None:
        """Let these threads wait at the system call instruction at an address while the target runs."""

    async def unpark(self) -> None:
        """Give each parked thread its own registers again."""


class NewPrograms(Protocol):
    """What is done at gdb's stop before the first instruction of a program that takes the place of another (exec)."""

    async def forget_program(self) -> None:
        """Nothing that was set in the earlier program is left."""

    async def environment_variable(self, name: str) -> str | None:
        """The value of a variable of the new program's environment."""

    async def set_environment(self, values: Mapping[str, str]) -> None:
        """Set variables of the new program's environment."""


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


class NativeEngine(
    Running,
    Holding,
    NativeBreakpointEngine,
    ProbeEngine,
    SymbolFeed,
    CodeReading,
    Reading,
    Evaluating,
    CallingTarget,
    NewPrograms,
    UserCommands,
    Protocol,
):
    """gdb, as the session sees it."""

    version: str | None

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
