"""A program under two debuggers, as far as the session can see it: who holds it, why it stopped, its signals.

It keeps account of what must be told and must not be lost; what is broken is written down in ``broken``.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from dualdbg.backends.events import (
    EngineEnded,
    EngineEvent,
    NativeExited,
    NativeStopped,
    PythonCause,
    PythonStopped,
    StopCause,
)
from dualdbg.errors import CommandError, EngineTimeout
from dualdbg.model import Exit

PID = 5_000_000  # no process of this machine has so great a number
INTERNAL = 8  # gdb's number of a breakpoint that nobody is to see
FILE = str(Path(__file__).resolve())  # of the program's Python code: breakpoints want a file that is there
LINE = 3  # at which it stops
WATCH_GRACE = 2.0  # seconds until the watcher tells an end of which gdb says nothing
MAIN = 1  # gdb's number of the main thread, and debugpy's
WORKER = 2
TIDS = {MAIN: PID, WORKER: PID + 1}


class NoAnswer(EngineTimeout):
    """This debugpy has kept its answer to itself."""


@dataclass
class Point:
    """A breakpoint of gdb that the program may meet."""

    cause: StopCause = StopCause.BREAKPOINT
    enabled: bool = True


@dataclass
class Held:
    """A thread that debugpy holds. ``counts``: the user is to see it.

    ``depth``: the number of its Python frames. ``inner``: of each function that it is just leaving, whether C code had
    called it. ``changes``: see :class:`World`.
    """

    cause: PythonCause
    counts: bool
    mark: str
    depth: int
    inner: tuple[bool, ...]
    changes: int
    told: bool = False


@dataclass
class World:
    """The truth. ``held`` is what gdb stopped for, None while it lets the program run.

    ``changes`` counts how often a breakpoint of the user was removed or switched off: a stop that came before may
    be for nobody any more. ``wants`` and ``wants_in_python`` say of a breakpoint, by the engine's number, whether the
    user has it, as the session knows, and no condition is looked at before it counts.
    """

    chance: random.Random
    report: Callable[[EngineEvent], None] = lambda event: None
    tell_end: Callable[[Exit], None] = lambda exit: None  # who watches the program says how it ended
    wants: Callable[[int], bool] = lambda number: False
    wants_in_python: Callable[[int], bool] = lambda number: False
    changes: int = 0
    unanswered: float = 0.01  # of what is asked about a Python stop
    points: dict[int, Point] = field(default_factory=dict)  # of gdb, by its numbers
    lines: tuple[int, ...] = ()  # debugpy's numbers of the breakpoints that it has
    threads: dict[int, int] = field(default_factory=lambda: dict(TIDS))  # OS thread ids by gdb's numbers
    parked: set[int] = field(default_factory=set)  # gdb's numbers
    held: NativeStopped | None = None
    mark: str | None = None  # of a native stop that the user is to see
    mark_told: bool = True
    not_left: str | None = None  # the stop of which gdb said late that it stands there still
    mark_changes: int = 0  # ``changes`` when that stop came
    python: dict[int, Held] = field(default_factory=dict)
    alive: bool = True
    watched: bool = False  # it was forked off a program that is followed: its end is told by a watcher too
    killed: bool = False  # with a SIGKILL; while gdb holds it gdb does not know it
    takes_interrupts: bool = True  # Ctrl-C in the terminal has been for the debugger all the while
    pause_owed: bool = False  # the user wants a stop, and has not got one since
    ctrl_c_owed: bool = False  # the same, by a Ctrl-C; that counts while nobody changes whose it is
    met_in_call: bool = False  # a call of the user's has met the stop
    stops: int = 0  # of gdb
    gdb_alive: bool = True
    debugpy_alive: bool = True
    programs: int = 0  # how often it has replaced itself with another
    detached: bool = False
    pending_interrupt: str | None = None  # who sent the SIGINT that has not been delivered
    interrupt_sender: str | None = None  # of the SIGINT at which gdb stopped
    owes_interrupt: bool = False  # somebody else has sent the program a SIGINT, and it has not got one since
    # gdb's numbers of threads, by those of breakpoints.
    step_breakpoints: dict[int, int] = field(default_factory=dict)
    stepping: str | None = None  # how gdb steps
    python_step: str | None = None
    count: int = 0
    broken: list[str] = field(default_factory=list)
    thawed: asyncio.Event = field(default_factory=asyncio.Event)
    stops_of_user: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.thawed.set()

    @property
    def runs(self) -> bool:
        return self.alive and self.held is None and self.gdb_alive and not self.detached

    def delay(self) -> float:
        """A moment of an engine, in seconds: often none, sometimes long enough for anything to come between."""
        return self.chance.choice((0.0, 0.0, 0.001, 0.003, 0.02))

    def thread(self) -> int:
        """A thread that runs. One that is parked does nothing."""
        running = [number for number in self.threads if number not in self.parked]
        return self.chance.choice(running or [MAIN])

    def changed(self) -> None:
        """The user takes a breakpoint away, or switches it off."""
        self.changes += 1

    def new_mark(self, kind: str) -> str:
        self.count += 1
        mark = f"{kind} {self.count}"
        self.stops_of_user.add(mark)
        return mark

    # -- the program --------------------------------------------------------------------------------

    def stop_natively(self, stop: NativeStopped, mark: str | None = None) -> None:
        if not self.runs:  # another stop came first
            self.stops_of_user.discard(mark or "")
            return
        self.held, self.mark, self.mark_told = stop, mark, mark is None
        self.mark_changes = self.changes
        self.stepping = None
        self.stops += 1
        self.thawed.clear()
        self.report(stop)

    def hit(self, number: int) -> None:
        """The program arrives at a breakpoint or watchpoint of gdb."""
        cause = self.points[number].cause if number in self.points else StopCause.BREAKPOINT
        mark = self.new_mark("native") if self.wants(number) else None
        # The thread that makes the step: most often it is there first.
        wanted = self.step_breakpoints.get(number)
        steps = wanted in self.threads and wanted not in self.parked and self.chance.random() < 0.8
        gdb_thread = wanted if steps and wanted is not None else self.thread()
        tid = self.threads[gdb_thread]
        self.stop_natively(NativeStopped(cause, tid, gdb_thread, 0x100, number, words=mark or ""), mark)

    def get_signal(self) -> None:
        """A signal arrives that is shown to the user."""
        mark = self.new_mark("signal")
        gdb_thread = self.thread()
        tid = self.threads[gdb_thread]
        stop = NativeStopped(StopCause.SIGNAL, tid, gdb_thread, 0x100, signal="SIGUSR1", words=mark)
        self.stop_natively(stop, mark)

    def change(self, cause: StopCause) -> None:
        """A library comes or goes, or the program replaces itself with another, which has one thread."""
        if cause is StopCause.EXEC:
            if MAIN in self.parked or not self.runs:
                return
            self.threads = {MAIN: PID}
            self.points.clear()
            self.step_breakpoints.clear()
            self.parked.clear()
            self.python, self.python_step = {}, None
            self.programs += 1
        reports = [partial(self.stop_natively, NativeStopped(cause, PID, MAIN))]
        if cause is StopCause.EXEC and self.debugpy_alive:
            # The connection of the earlier program's debugpy closes with it; it is seen before gdb's word or after it.
            reports.append(partial(self.report, EngineEnded("debugpy", "it closed the connection")))
            self.chance.shuffle(reports)
        for report in reports:
            report()

    def fork(self) -> None:
        """The program forks, and the user has told gdb to catch that (``gdb catch fork``)."""
        mark = self.new_mark("fork")
        self.stop_natively(NativeStopped(StopCause.OTHER, PID, MAIN, 0x100, words=mark), mark)

    def call(self, held: NativeStopped | None, number: int | None) -> None:
        """A function of the program is run by gdb at the stop ``held``, and meets a breakpoint or nothing."""
        if held is None or self.held is not held or self.killed:
            raise CommandError("gdb: the thread is not where it was")
        if number is not None:
            self.held = None
            self.hit(number)
            self.met_in_call = True

    def be_killed(self) -> None:
        """Somebody ends the program with SIGKILL. gdb notices at once only while it lets the program run."""
        if not self.alive:
            return
        self.killed = True
        if self.held is None:
            self.exit()
        else:
            self.python = {}
            if self.watched:
                # The kernel tells it at once of a program with one thread, of others when gdb has seen their ends.
                after = self.chance.choice((self.delay(), WATCH_GRACE))
                asyncio.get_running_loop().call_later(after, self._tell_its_end)

    def end_native_step(self) -> None:
        self.stop_natively(NativeStopped(StopCause.STEPPED, PID, MAIN, 0x200))

    def interrupt(self, sender: str) -> None:
        """Somebody sends a SIGINT; one that is pending already swallows it, as the kernel does."""
        if self.pending_interrupt is not None:
            return
        if sender == "other":
            self.owes_interrupt = True
        self.pending_interrupt = sender
        if self.runs:
            self._deliver()

    def interrupt_for_gdb(self) -> None:
        """gdb's own signal arrives; what is not met before another stop is passed on and does nothing."""
        if self.runs:
            self.stop_natively(NativeStopped(StopCause.INTERRUPTED, PID, MAIN, 0x300, signal="SIGURG"))

    def _deliver(self) -> None:
        sender, self.pending_interrupt = self.pending_interrupt, None
        self.interrupt_sender = sender
        if sender == "terminal" and self.takes_interrupts:
            self.ctrl_c_owed = True
        self.stop_natively(NativeStopped(StopCause.SIGNAL, PID, MAIN, 0x300, signal="SIGINT"))

    def stop_in_python(self, cause: PythonCause) -> None:
        """debugpy holds a thread, in a function that may just be back from others."""
        if cause is not PythonCause.BREAKPOINT or self.lines:
            self.hold(cause)

    def hold(self, cause: PythonCause) -> None:
        """The same, also where debugpy has no breakpoints: for a watchpoint of Python."""
        number = self.thread()
        at_line = cause is PythonCause.BREAKPOINT and self.lines
        breakpoints = (self.chance.choice(self.lines),) if at_line else ()
        counts = any(map(self.wants_in_python, breakpoints))
        mark = self.new_mark("python") if counts else ""
        inner = tuple(self.chance.random() < 0.5 for _ in range(self.chance.choice((0, 0, 1, 2))))
        depth = self.chance.choice((1, 1, 2, 3))
        self.python[number] = Held(cause, counts, mark, depth, inner, self.changes)
        self.python_step = None
        self.report(PythonStopped(cause, number, description=mark, breakpoints=breakpoints))

    def is_left_unread(self, number: int) -> None:
        """What debugpy holds the thread for is not known: the stop may be shown as it is, without its mark."""
        if number in self.python:
            self.python[number].counts = False

    def exit(self) -> None:
        if not self.alive:
            return
        self.alive = False
        self.held, self.python = None, {}
        self.thawed.set()
        reports = [self.report_exit, self._tell_its_end] if self.watched else [self.report_exit]
        self.chance.shuffle(reports)
        for report in reports:
            asyncio.get_running_loop().call_later(self.delay(), report)

    async def ends_within(self, seconds: float) -> bool:
        """As ``process_end.py`` waits for it."""
        await asyncio.sleep(seconds if self.alive else 0.0)
        return not self.alive

    def report_exit(self) -> None:
        """gdb says how the program ended."""
        if self.gdb_alive:
            self.report(NativeExited(signal="SIGKILL") if self.killed else NativeExited(0))

    def _tell_its_end(self) -> None:
        """As ``target/child.py`` does, which has a pidfd of it and waits a moment for gdb."""
        self.tell_end(Exit(signal=signal.SIGKILL) if self.killed else Exit(code=0))

    # -- gdb ----------------------------------------------------------------------------------------

    def let_run(self, how: str, signal: bool = False) -> None:
        """gdb lets the program run on."""
        if self.held is None:
            self.broken.append(f"{how}: gdb does not hold the target")
            return
        if self.killed:
            self.exit()
            return
        lost = self.mark is not None and not self.mark_told and self.mark_changes == self.changes
        if lost and self.alive:
            self.broken.append(f"{how}: the stop {self.mark} was never told")
        if signal and not self.owes_interrupt and self.takes_interrupts:
            self.broken.append(f"{how}: the program got a SIGINT that nobody had sent it")
        if signal:  # what came since is owed as well
            self.owes_interrupt = self.pending_interrupt == "other"
        self.interrupt_sender = None
        self.held, self.mark, self.met_in_call = None, None, False
        self.thawed.set()
        if self.pending_interrupt is not None:
            asyncio.get_running_loop().call_soon(self._deliver_if_running)

    def _deliver_if_running(self) -> None:
        if self.runs and self.pending_interrupt is not None:
            self._deliver()

    def gdb_dies(self) -> None:
        self.gdb_alive = False
        if self.killed:
            self.alive = False
        self.held = None
        self.thawed.set()
        self.report(EngineEnded("gdb", "it was ended by signal 9"))

    def debugpy_dies(self) -> None:
        self.debugpy_alive = False
        self.python = {}
        self.report(EngineEnded("debugpy", "connection closed"))
