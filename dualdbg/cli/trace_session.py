"""The session of ``dualdbg trace``: nobody is at a prompt, and the program goes on at every stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ..console.output_pipes import OutputPipes
from ..console.style import Style
from ..errors import UsageError, WrongState
from ..in_thread import in_thread
from ..model import Event, Notice, Output, State, Stopped
from ..session.attaching import attach
from ..session.breakpoints.tracing import TracedPlace
from ..session.configured import session_options
from ..session.options import Options
from ..session.session import Session
from ..session.start import launch
from ..symbols.cache import cache_directory
from ..symbols.locspec.breakpoint_spec import parse_spec, spec_text
from ..symbols.torch.loaded_operators import operators_of
from ..symbols.torch.operators import OperatorTable
from ..target import interpreter
from ..target.launcher import Launch, Meeting, Target, spawn
from ..target.terminal import Terminal, group_of
from ..trace import chrome_events
from ..trace.clock import Clock
from ..trace.collector import Collector, Records
from ..trace.summary import Caller, Row, Summary, folded, summed
from . import main as entry
from . import trace_report
from .commands.trace import TraceOptions
from .front_end import TROUBLE_STATUS, exit_status

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SIGNAL_BASE = 128
_MOST_EVENTS = 1_000_000  # of --perfetto: some 200 MB


async def trace(options: TraceOptions) -> int:
    """Run or attach to a program, trace it to the end, and show the result. Returns the exit status of dualdbg.

    Raises DualdbgError when the session cannot be started; a process that was attached to runs on then.
    """
    show = _write_json if options.json else _write_text
    pipes = OutputPipes(show) if options.json and options.pid is None else None
    terminal = Terminal.open() if options.pid is None and sys.stdin.isatty() else None
    tracer = _Tracer(options, show)
    try:
        session = await tracer.start(pipes, terminal)
        status = await tracer.to_the_end(session)
    finally:
        if pipes is not None:
            pipes.close()
        if terminal is not None:
            terminal.close()
    summary = tracer.summary
    if options.json:
        sys.stdout.write(json.dumps(trace_report.to_json(summary)) + "\n")
    else:
        sys.stdout.write(trace_report.text(summary, Style.of(sys.stdout)))
    sys.stdout.flush()
    return status


class _Tracer:
    def __init__(self, options: TraceOptions, show: Callable[[Event], None]) -> None:
        self._options = options
        self._show = show
        self._events: asyncio.Queue[Event]
        self._received: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
        self._began = 0.0
        self._collector: Collector
        self._clock = _clock() if options.perfetto is not None else None
        # It is closed when the trace has ended.
        self._spool = tempfile.TemporaryFile() if options.perfetto is not None else None  # noqa: SIM115
        self.summary = Summary((), 0.0)
        self._ended = 0.0

    # -- the start ----------------------------------------------------------------------------------

    async def start(self, pipes: OutputPipes | None, terminal: Terminal | None) -> Session:
        """The session; the program runs."""
        for number in _ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self._receive, number)
        pid = self._options.pid
        session = await (self._launch(pipes, terminal) if pid is None else self._attach(pid))
        self._began = time.monotonic()
        return session

    def _receive(self, number: signal.Signals) -> None:
        if not self._received.done():
            self._received.set_result(signal.Signals(number))

    def _session_options(self, operators: OperatorTable | None) -> Options:
        is_operator = operators.is_operator if operators is not None else None
        specs = []
        for text in self._options.specs:
            spec = parse_spec(text, is_operator)
            specs.append(spec_text(replace(spec, counts=True)))
        return replace(session_options(self._options.config, self._options.asked), breakpoints=tuple(specs))

    async def _attach(self, pid: int) -> Session:
        operators = operators_of(pid)
        lowering = None
        if self._options.fix_ptrace:
            from ..target.scope import lowering_for

            lowering = lowering_for([pid], f"gdb has attached to process {pid}", entry.tell)
        return await attach(
            pid,
            self._session_options(operators),
            operators,
            entry.STARTED,
            self._subscribe,
            lowering=lowering,
            with_python=False,
        )

    async def _launch(self, pipes: OutputPipes | None, terminal: Terminal | None) -> Session:
        facts = self._interpreter()
        operators = OperatorTable.load(Path(facts.torch)) if facts is not None and facts.torch else None
        chosen = replace(self._session_options(operators), terminal=terminal)
        leader = 0

        def subscribed(session: Session) -> None:
            nonlocal leader
            leader = group_of(session.pid)
            if terminal is not None:
                session.before_resume.append(lambda: terminal.give(leader))
                session.after_stop.append(terminal.take)
            self._subscribe(session)

        session = await launch(
            self._what(pipes), chosen, operators, entry.STARTED, subscribed, start_target=partial(_spawn)
        )
        if pipes is not None:
            pipes.close_write_ends()
        return session

    def _subscribe(self, session: Session) -> None:
        session.interrupt_pauses = False  # Ctrl-C is the program's
        self._events = session.subscribe()
        tracing = session.breakpoints.tracing
        tracing.records = not self._options.counts
        self._collector = Collector(tracing.sources, tracing.arguments, self._spool, _MOST_EVENTS)
        if self._options.pid is None:  # another process is not given one more trap, for the case of our death
            tracing.before_end = partial(in_thread, self._collector.take)
        self._collector.start()

    def _interpreter(self) -> interpreter.Interpreter | None:
        options = self._options
        if not options.python:
            return None
        environment = {**os.environ, **dict(options.env)}
        facts = interpreter.inspect(options.python, environment, options.cwd, cache_directory())
        if facts.is_wrapped:
            raise UsageError(
                f"trace: {options.python} starts the interpreter as a process of its own",
                "name the interpreter itself: --python PATH",
            )
        return facts

    def _what(self, pipes: OutputPipes | None) -> Launch:
        """The program as a native one: nothing of ours runs in its interpreter."""
        options, program = self._options, self._options.program
        streams = pipes.write_ends if pipes is not None else {}
        words = list(program.args)
        if not options.native:
            what = Launch(options.python, program.script, program.module, program.code).what()
            words = [*what, *words]
        return Launch(
            python=options.python,
            native=program.script if options.native else options.python,
            args=tuple(words),
            cwd=options.cwd,
            env=dict(options.env),
            stdout=streams.get("stdout", "inherit"),
            stderr=streams.get("stderr", "inherit"),
        )

    # -- the program runs ---------------------------------------------------------------------------

    async def to_the_end(self, session: Session) -> int:
        """Wait for the end of the program, of the time, or of the user's patience. Returns the exit status."""
        driving = asyncio.ensure_future(self._drive(session))
        waits: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(session.ended.wait()),
            driving,
            self._received,
        }
        try:
            await asyncio.wait(waits, timeout=self._options.seconds, return_when=asyncio.FIRST_COMPLETED)
            self._ended = time.monotonic()
            if driving.done():
                driving.result()
        finally:
            await session.close()
            self._ended = self._ended or time.monotonic()
            try:
                await in_thread(self._collector.stop)
                self.summary = self._summary(session)
                self._write_files(session)
            finally:
                session.breakpoints.tracing.close()
                if self._spool is not None:
                    self._spool.close()
            driving.cancel()
            await asyncio.gather(driving, return_exceptions=True)
            while not self._events.empty():
                self._tell(self._events.get_nowait())
            for number in _ENDING:
                asyncio.get_running_loop().remove_signal_handler(number)
        if self._received.done():
            return _SIGNAL_BASE + self._received.result()
        if session.state is State.LOST:
            return TROUBLE_STATUS
        if self._options.pid is not None or session.exit is None:
            return 0
        return exit_status(session.exit.code, session.exit.signal)

    async def _drive(self, session: Session) -> None:
        """Tell what the user should know, and let the program go on at every stop."""
        while True:
            event = await self._events.get()
            self._tell(event)
            if isinstance(event, Stopped):
                with suppress(WrongState):  # it has ended meanwhile
                    await session.resume()

    def _tell(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level != "info":
            entry.tell(event.message, event.hint)
        elif isinstance(event, Output):
            self._show(event)

    # -- the result ---------------------------------------------------------------------------------

    def _summary(self, session: Session) -> Summary:
        """What was found."""
        tracing = session.breakpoints.tracing
        found = {place.id for place in tracing.places}
        missing = tuple(row.spec.text for row in session.breakpoints.all() if row.id not in found)
        rows = summed(self._row(session, place) for place in tracing.places)
        return Summary(rows, self._ended - self._began, missing)

    def _row(self, session: Session, place: TracedPlace) -> Row:
        where = place.location
        library = Path(where.library).name if where.library is not None else None
        row = Row(_name(place), library, None, place.why_not)
        if place.memory is None:
            return row
        row.hits, row.why = place.hits, place.left_out
        if self._options.counts:
            return row
        records = self._collector.records.get((place.memory, place.probe), Records())
        row.records, row.numbers = records.count, records.numbers
        names: dict[int, str | None] = {0: None}
        for site, count in records.sites.items():
            if site.caller not in names:
                names[site.caller] = session.breakpoints.image.describe(site.caller - 1)[0]
            row.callers[Caller(site.line, names[site.caller])] += count
        return row

    def _write_files(self, session: Session) -> None:
        options = self._options
        if options.folded is not None:
            with _opened(options.folded, "--folded") as file:
                file.writelines(f"{line}\n" for line in folded(self.summary.rows))
        if options.perfetto is None or self._spool is None or self._clock is None:
            return
        tracing = session.breakpoints.tracing
        memories = [source.memory for source in tracing.sources()]
        described = {
            (memories.index(place.memory), place.probe): (_name(place), place.arguments)
            for place in tracing.places
            if place.memory is not None
        }
        speed = self._clock.ticks_a_second()
        with _opened(options.perfetto, "--perfetto") as file:
            chrome_events.write(
                self._spool,
                file,
                session.pid,
                self._clock.began,
                speed,
                lambda *which: described.get(which),
                self._collector.lines,
            )
        left = sum(row.records or 0 for row in self.summary.rows) - self._collector.spooled
        if left > 0:
            entry.tell(
                f"{options.perfetto} has the first {self._collector.spooled:,} records; {left:,} more are left out",
                "trace less: fewer functions, a condition, or --for SECONDS",
            )


def _clock() -> Clock:
    try:
        return Clock()
    except OSError as error:
        text = f"trace: the time of events cannot be read, for no machine code may be made: {error.strerror}"
        raise UsageError(text, "leave --perfetto away") from error


def _name(place: TracedPlace) -> str:
    return place.location.function or f"{place.location.address or 0:#x}"


@contextmanager
def _opened(path: Path, option: str) -> Iterator[TextIO]:
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        hint = f"name another file behind {option}"
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint) from error


async def _spawn(launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None) -> Target:
    """Start it without anything of ours."""
    return await spawn(launch, None, terminal=terminal)


def _write_text(event: Event) -> None:
    if isinstance(event, Output):
        (sys.stderr if event.stream == "stderr" else sys.stdout).write(event.text)


def _write_json(event: Event) -> None:
    from .json_lines import line

    sys.stdout.write(line(event))
    sys.stdout.flush()
