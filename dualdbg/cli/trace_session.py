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

from ..console import live_table, trace_report
from ..console.live_table import LiveRow
from ..console.output_pipes import OutputPipes
from ..console.style import Style
from ..errors import UsageError, WrongState
from ..model import Event, Notice, Output, State, Stopped
from ..session.attaching import attach
from ..session.breakpoints.tracing import Manner
from ..session.configured import session_options
from ..session.options import Options
from ..session.session import Session
from ..session.start import launch
from ..session.traced import Trace, clock, name_of, traced_specs
from ..session.traced_python import split_python, with_probes
from ..session.traced_start import spawn_alone
from ..symbols.cache import cache_directory
from ..symbols.names.cxx_names import parse
from ..symbols.torch.loaded_operators import operators_of
from ..symbols.torch.operators import OperatorTable
from ..system.in_thread import in_thread
from ..target import interpreter
from ..target.launcher import Launch
from ..target.terminal import Terminal, group_of
from ..trace import chrome_events
from ..trace.python_probes import PythonMemory, PythonProbe
from ..trace.summary import Summary, folded
from . import main as entry
from .commands.trace import TraceOptions
from .front_end import TROUBLE_STATUS, exit_status

_LEAST = 12  # lines of a terminal that has such an area
_MOST = 8  # lines of the area


class StatusArea:
    """A terminal scrolls what is above; where it has another size the area is made again at the next text.

    ``descriptor`` is that of the terminal.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size: tuple[int, int] | None = None  # with which the area was made: lines, columns

    def show(self, text: Callable[[int, int], list[str]]) -> None:
        """Write the lines of a text, which is asked for by how many there are to be, and their columns."""
        columns, rows = os.get_terminal_size(self._descriptor)
        made = ""
        if self._size != (rows, columns):
            made = self._cleared() if self._size is not None else ""
            if rows < _LEAST:
                self._size = None
                self._write(made)
                return
            self._size = rows, columns
            height = self._height(rows)
            # Room for it is made by lines at the end; the cursor stays with the last line above.
            made += "\n" * height + f"\x1b[{height}A\x1b7\x1b[1;{rows - height}r\x1b8"
        height = self._height(rows)
        lines = "".join(
            f"\x1b[{rows - height + 1 + at};1H\x1b[2K{line}" for at, line in enumerate(text(height, columns))
        )
        self._write(f"{made}\x1b7{lines}\x1b8")

    def close(self) -> None:
        """The terminal is as it was."""
        if self._size is not None:
            self._write(self._cleared())
            self._size = None

    def _cleared(self) -> str:
        assert self._size is not None
        rows, _ = self._size
        return f"\x1b7\x1b[r\x1b[{rows - self._height(rows) + 1};1H\x1b[J\x1b8"

    @staticmethod
    def _height(rows: int) -> int:
        return min(_MOST, rows // 3)

    def _write(self, text: str) -> None:
        os.write(self._descriptor, text.encode())


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SIGNAL_BASE = 128
_LIVE = 0.5  # seconds between two tables while the program runs
_MOST_LIVE = 20  # functions of it
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
        status = await tracer.to_the_end(session) if session is not None else tracer.received()
    finally:
        if pipes is not None:
            pipes.close()
        if terminal is not None:
            terminal.close()
    if session is None:
        return status
    summary = tracer.summary
    if options.json:
        sys.stdout.write(json.dumps(trace_report.to_json(summary)) + "\n")
    else:
        sys.stdout.write(_as_text(summary))
    sys.stdout.flush()
    if tracer.failure is not None:
        raise tracer.failure
    return status


def _as_text(summary: Summary) -> str:
    return trace_report.text(summary, Style.of(sys.stdout), "--json has all", "--folded FILE has all")


class _Tracer:
    def __init__(self, options: TraceOptions, show: Callable[[Event], None]) -> None:
        self._options = options
        self._show = show
        self._events: asyncio.Queue[Event]
        self._received: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
        self._clock = clock() if options.perfetto is not None or options.times else None
        # It is closed when the trace has ended.
        self._spool = tempfile.TemporaryFile(buffering=0) if options.perfetto is not None else None  # noqa: SIM115
        self._manner = Manner(not options.counts, options.times)
        self._trace: Trace | None = None  # once there is a session
        self._python_probes: list[PythonProbe] = []
        self._python_memory: PythonMemory | None = None
        self.summary = Summary((), 0.0)
        self.failure: UsageError | None = None  # of a file that was asked for; the rest is shown before

    # -- the start ----------------------------------------------------------------------------------

    async def start(self, pipes: OutputPipes | None, terminal: Terminal | None) -> Session | None:
        """The session; the program runs. None where a signal has ended it before: to place many probes takes long."""
        for path, option in ((self._options.perfetto, "--perfetto"), (self._options.folded, "--folded")):
            if path is not None:
                with _opened(path, option):
                    pass  # before the program has run for hours
        for number in _ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self._receive, number)
        pid = self._options.pid
        starting = asyncio.ensure_future(self._launch(pipes, terminal) if pid is None else self._attach(pid))
        waits: set[asyncio.Future[Any]] = {starting, self._received}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return None
        return starting.result()

    def received(self) -> int:
        """The exit status for the signal that has ended the trace."""
        return _SIGNAL_BASE + self._received.result()

    def _receive(self, number: signal.Signals) -> None:
        if not self._received.done():
            self._received.set_result(signal.Signals(number))

    def _session_options(self, operators: OperatorTable | None, what: Launch | None) -> Options:
        is_operator = operators.is_operator if operators is not None else None
        native, self._python_probes = split_python(self._options.specs, is_operator, what)
        specs = traced_specs(native, is_operator, self._manner)
        return replace(session_options(self._options.config, self._options.asked), breakpoints=specs)

    async def _attach(self, pid: int) -> Session:
        operators = operators_of(pid)
        lowering = None
        if self._options.fix_ptrace:
            from ..target.scope import lowering_for

            lowering = lowering_for([pid], f"gdb has attached to process {pid}", entry.tell)
        return await attach(
            pid,
            self._session_options(operators, None),
            operators,
            entry.STARTED,
            self._subscribe,
            lowering=lowering,
            with_python=False,
        )

    async def _launch(self, pipes: OutputPipes | None, terminal: Terminal | None) -> Session:
        facts = self._interpreter()
        operators = OperatorTable.load(Path(facts.torch)) if facts is not None and facts.torch else None
        what = self._what(pipes)
        chosen = replace(self._session_options(operators, what), terminal=terminal)
        what = self._with_python_probes(what)
        leader = 0

        def subscribed(session: Session) -> None:
            nonlocal leader
            leader = group_of(session.pid)
            if terminal is not None:
                session.before_resume.append(lambda: terminal.give(leader))
                session.after_stop.append(terminal.take)
            self._subscribe(session)

        session = await launch(what, chosen, operators, entry.STARTED, subscribed, start_target=spawn_alone)
        if pipes is not None:
            pipes.close_write_ends()
        return session

    def _subscribe(self, session: Session) -> None:
        session.interrupt_pauses = False  # Ctrl-C is the program's
        session.new_program.brings_python = False
        self._events = session.subscribe()
        trace = self._trace = Trace(session, self._spool, _MOST_EVENTS, self._clock)
        if self._python_memory is not None:
            trace.add_python(self._python_probes, self._python_memory, self._manner)

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

    def _with_python_probes(self, what: Launch) -> Launch:
        """The program without anything of ours, but for what counts in its interpreter, where that is wanted."""
        what, self._python_memory = with_probes(what, self._python_probes, self._manner)
        return what

    def _what(self, pipes: OutputPipes | None) -> Launch:
        """The program as the user would start it."""
        options, program = self._options, self._options.program
        streams = pipes.write_ends if pipes is not None else {}
        return Launch(
            python=options.python,
            script=None if options.native else program.script,
            module=program.module,
            code=program.code,
            native=program.script if options.native else None,
            args=program.args,
            cwd=options.cwd,
            env=dict(options.env),
            stdout=streams.get("stdout", "inherit"),
            stderr=streams.get("stderr", "inherit"),
        )

    # -- the program runs ---------------------------------------------------------------------------

    async def to_the_end(self, session: Session) -> int:
        """Wait for the end of the program, of the time, or of the user's patience. Returns the exit status."""
        assert self._trace is not None
        trace = self._trace
        driving = asyncio.ensure_future(self._drive(session))
        over = asyncio.Event()
        live = asyncio.ensure_future(self._show_live(trace, over))
        waits: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(session.ended.wait()),
            driving,
            self._received,
        }
        try:
            await asyncio.wait(waits, timeout=self._options.seconds, return_when=asyncio.FIRST_COMPLETED)
            trace.stop_clock()
            if driving.done():
                driving.result()
        finally:
            over.set()
            await live
            await session.close()
            try:
                await trace.end()
                self.summary = await trace.summary()
                try:
                    self._write_files(trace)
                except UsageError as error:
                    self.failure = error
            finally:
                if self._spool is not None:
                    self._spool.close()
            driving.cancel()
            await asyncio.gather(driving, return_exceptions=True)
            while not self._events.empty():
                self._tell(self._events.get_nowait())
            for number in _ENDING:
                asyncio.get_running_loop().remove_signal_handler(number)
        if self._received.done():
            return self.received()
        if session.state is State.LOST:
            return TROUBLE_STATUS
        if self._options.pid is not None or session.exit is None:
            return 0
        return exit_status(session.exit.code, session.exit.signal)

    async def _show_live(self, trace: Trace, over: asyncio.Event) -> None:
        """A table of what was counted so far, at the end of the terminal, until it is over."""
        if not self._options.live or not (sys.stdout.isatty() and sys.stderr.isatty()):
            return
        area = StatusArea(sys.stderr.fileno())
        before: dict[str, int] = {}
        shown = time.monotonic()
        try:
            while not over.is_set():
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(over.wait(), _LIVE)
                    break
                seconds = time.monotonic() - shown
                shown += seconds
                found = await in_thread(trace.so_far, _MOST_LIVE)
                rows = [
                    LiveRow(parse(name).short, name, hits, line, inside) for name, hits, line, inside in found
                ]
                area.show(partial(live_table.lines, rows, before, seconds))
                before = {row.name: row.hits for row in rows}
            area.close()
        except (
            OSError
        ):  # the terminal is gone, and what is to be said of that is said where the result is written
            return

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

    def _write_files(self, trace: Trace) -> None:
        options = self._options
        if options.folded is not None:
            with _opened(options.folded, "--folded") as file:
                file.writelines(f"{line}\n" for line in folded(self.summary.rows))
        if options.perfetto is None or self._spool is None or self._clock is None:
            return
        tracing = trace.tracing
        sources, timing = tracing.sources(), self._clock
        memories = [source.memory for source in sources]
        described = {
            (memories.index(place.memory), probe): (name_of(place), place.arguments, probe == place.returns)
            for place in tracing.places
            if place.memory is not None
            for probe in (place.probe, place.returns)
            if probe is not None
        }
        speed = timing.ticks_a_second()
        with _opened(options.perfetto, "--perfetto") as file:
            chrome_events.write(
                self._spool,
                file,
                trace.names,
                lambda source: (
                    (timing.began_ns, 1e9) if sources[source].in_nanoseconds else (timing.began, speed)
                ),
                lambda *which: described.get(which),
                trace.collector.lines,
            )
        kept = trace.collector.spooled
        returns = sum(times.count for row in self.summary.rows for times in row.caller_times.values())
        left = sum(row.records or 0 for row in self.summary.rows) + returns - kept
        if left > 0:
            entry.tell(
                f"{options.perfetto} has the first {kept:,} records; {left:,} more are left out",
                "trace less: fewer functions, a condition, or --for SECONDS",
            )


@contextmanager
def _opened(path: Path, option: str) -> Iterator[TextIO]:
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        hint = f"name another file behind {option}"
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint) from error


def _write_text(event: Event) -> None:
    if isinstance(event, Output):
        (sys.stderr if event.stream == "stderr" else sys.stdout).write(event.text)


def _write_json(event: Event) -> None:
    from .json_lines import line

    sys.stdout.write(line(event))
    sys.stdout.flush()
