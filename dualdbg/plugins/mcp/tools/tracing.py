"""``trace``: which lines call native functions, how often and with what, while the program runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import Field

from ....config import Asked
from ....console import trace_report
from ....console.style import Style
from ....errors import UsageError, WrongState
from ....model import Reason, Stop, signal_in_words
from ....session.attaching import attach
from ....session.breakpoints.tracing import Manner
from ....session.options import Options
from ....session.session import Session
from ....session.start import launch
from ....session.traced import Trace, clock, traced_specs
from ....session.traced_python import split_python, with_probes
from ....session.traced_start import spawn_alone
from ....symbols.torch.loaded_operators import operators_of
from ....symbols.torch.operators import OperatorTable
from ....system.in_thread import in_thread
from ....system.waiting import to_its_end
from ....target.launcher import Launch
from ....trace.collector import Times
from ....trace.python_probes import PythonProbe
from ....trace.summary import Caller, Row, Summary
from ..answers import CallerRow, NumbersRow, Reply, TimesRow, TraceAnswer, TracedRow
from ..bounds import bounded_text, joined, line, part_of
from ..debuggee import Debuggee, Subscribe
from ..permissions import NotPermitted
from ..program_output import as_text
from ..registry import tool
from ..sessions import Sessions
from ..wording import for_tools
from .fields import Limit, Texts
from .programs import ProgramArguments, check_program, check_specs, launched, prepare, title_of

_IDLE = 10  # functions that nobody called
_OUTPUT = 2000  # characters

_Start = Callable[[Debuggee, Subscribe], Awaitable[Session]]


class TraceArguments(ProgramArguments):
    pid: Annotated[int | None, Field(ge=1, description="a running process instead")] = None
    specs: Annotated[
        Texts,
        Field(
            min_length=1,
            description="what to trace: copy_ (an operator), malloc, mylib::*, 'malloc if $rdi > 4096'; of a "
            "started program also py:NAME, FILE.py:LINE",
        ),
    ]
    only_count: Annotated[bool, Field(description="count alone")] = False
    times: Annotated[bool, Field(description="how long calls took")] = False
    callers: Annotated[int, Field(ge=1, le=100, description="the most of each function")] = 5
    seconds: Annotated[float, Field(gt=0, le=600, description="to trace at most")] = 60.0
    limit: Limit = 15


@tool("trace", "Which lines call native functions", TraceArguments, TraceAnswer)
async def trace(sessions: Sessions, arguments: TraceArguments) -> Reply:
    """Count each call of native functions of a program (or of a process that runs), and say which lines of Python call
    them and with which whole numbers. Nothing stops: machine code in the process does it. The
    answer comes when the program ends, or after seconds; a program that was started is ended then. x86-64 alone."""
    if arguments.times:
        clock()  # before a program is started in vain
    id = sessions.new_id()
    if arguments.pid is None:
        title, start = await _launched(sessions, arguments, id)
        afterwards = "its program was ended"
    else:
        title, start = await _attached(sessions, arguments, arguments.pid, id)
        afterwards = f"process {arguments.pid} goes on"
    debuggee = await sessions.begin(id, title, start, afterwards)
    try:
        await debuggee.started()
        over, crash = await _runs_on(debuggee, arguments.seconds)
        debuggee.session.trace.stop_clock()
    finally:
        await to_its_end(sessions.end(debuggee.id, "its trace has ended"))
    await debuggee.session.trace.end()
    summary = await debuggee.session.trace.summary()
    return _reply(debuggee, summary, arguments, over, crash)


async def _launched(sessions: Sessions, arguments: TraceArguments, id: str) -> tuple[str, _Start]:
    check_program(sessions, arguments, "trace")
    sessions.permissions.check_specs(arguments.specs)
    what, operators = await in_thread(partial(prepare, arguments, with_python=False))
    if what.is_wrapped:
        raise UsageError(
            f"{what.python} starts the interpreter as a process of its own",
            "python=… names the interpreter itself",
        )
    options, probes = _options(sessions, arguments, id, operators, what)
    manner = _manner(arguments)
    program, memory = with_probes(what, probes, manner)

    async def start(debuggee: Debuggee, subscribe: Subscribe) -> Session:
        def subscribed(session: Session) -> None:
            session.new_program.brings_python = False
            found = Trace(session)
            if memory is not None:
                found.add_python(probes, memory, manner)
            subscribe(session)

        return await launched(
            debuggee,
            program,
            lambda program: launch(
                program, options, operators, subscribe=subscribed, start_target=spawn_alone
            ),
        )

    return f"trace of {title_of(what)}", start


async def _attached(sessions: Sessions, arguments: TraceArguments, pid: int, id: str) -> tuple[str, _Start]:
    given = [
        name
        for name in ("program", "module", "code", "args", "cwd", "env", "python")
        if getattr(arguments, name)
    ]
    if given:
        raise UsageError(
            f"process {pid} runs already: it takes no {given[0]}", f"trace(pid={pid}, specs=[…])"
        )
    if sessions.permissions.read_only:
        raise NotPermitted("this server only looks: no process is attached to", f"stacks(pid={pid})")
    sessions.permissions.check_specs(arguments.specs)
    operators = await in_thread(operators_of, pid)
    options, _ = _options(sessions, arguments, id, operators, None)

    async def start(_: Debuggee, subscribe: Subscribe) -> Session:
        def subscribed(session: Session) -> None:
            session.new_program.brings_python = False
            Trace(session)
            subscribe(session)

        return await attach(pid, options, operators, subscribe=subscribed, with_python=False)

    return f"trace of process {pid}", start


def _options(
    sessions: Sessions,
    arguments: TraceArguments,
    id: str,
    operators: OperatorTable | None,
    what: Launch | None,
) -> tuple[Options, list[PythonProbe]]:
    """Those of the server, with nothing but what is to be traced as breakpoints; and what is traced in Python."""
    options = sessions.options(id, Asked())
    check_specs(arguments.specs, operators, options.presets, "specs")
    is_operator = operators.is_operator if operators is not None else None
    native, probes = split_python(arguments.specs, is_operator, what)
    traced = traced_specs(native, is_operator, _manner(arguments))
    return replace(options, breakpoints=traced, stop_on_entry=False), probes


def _manner(arguments: TraceArguments) -> Manner:
    return Manner(not arguments.only_count, arguments.times)


async def _runs_on(debuggee: Debuggee, seconds: float) -> tuple[bool, Stop | None]:
    """Let the program go on at every stop; whether it has ended within the time, and its last stop by a signal."""
    deadline = asyncio.get_running_loop().time() + seconds
    crash: Stop | None = None
    while await debuggee.wait(max(deadline - asyncio.get_running_loop().time(), 0.0)):
        if debuggee.over:
            return True, crash
        stop = debuggee.session.stop
        crash = stop if stop is not None and stop.reason is Reason.SIGNAL else crash
        with suppress(WrongState):  # it has ended meanwhile
            await debuggee.session.resume()
    return False, crash


# -- the answer --------------------------------------------------------------------------------


def _how_ended(debuggee: Debuggee, arguments: TraceArguments, over: bool, crash: Stop | None) -> str:
    exit = debuggee.session.exit
    if not over:
        return f"after {arguments.seconds:g} s: {debuggee.afterwards}"
    if exit is None or exit.signal is None:
        return "the program has ended" if exit is None else f"the program ended with status {exit.code}"
    how = f"the program was ended by {signal_in_words(exit.signal)}"
    if crash is None:
        return how
    frame = crash.frame
    place = f" in {frame.function}" if frame is not None and frame.function else ""
    place += f" ({frame.file}:{frame.line})" if frame is not None and frame.file else ""
    what = f": {crash.description}" if crash.description else ""
    return line(f"{how}{what}{place}; run instead of trace stops there, and diagnose says more", 600)


def _reply(
    debuggee: Debuggee, summary: Summary, arguments: TraceArguments, over: bool, crash: Stop | None
) -> Reply:
    called = [row for row in summary.rows if row.hits or row.hits is None]
    idle = [row.function for row in summary.rows if row.hits == 0]
    rows, part = part_of(called, 0, arguments.limit)
    exit = debuggee.session.exit if over else None
    written = debuggee.output.read(None, _OUTPUT)
    answer = TraceAnswer(
        seconds=round(summary.seconds, 3),
        exit_code=exit.code if exit is not None else None,
        signal=exit.signal if exit is not None else None,
        ended=_how_ended(debuggee, arguments, over, crash),
        functions=[_row(row, arguments.callers) for row in rows],
        not_called=[line(name) for name in idle[:_IDLE]],
        not_called_count=len(idle),
        missing=[line(spec) for spec in summary.missing],
        output=as_text(written.pieces),
        left_out=joined(
            f"{part.left} more functions: a larger limit, or fewer specs" if part.left else None,
            f"{summary.dropped} calls were counted and not taken down: a condition, or fewer specs"
            if summary.dropped
            else None,
            f"{written.skipped + written.lost} characters of output"
            if written.skipped + written.lost
            else None,
        ),
    )
    shown = replace(summary, rows=(*rows, *(row for row in summary.rows if row.hits == 0)))
    text = for_tools(
        trace_report.text(
            shown, Style(), "fewer specs tell each", "a larger callers has more", arguments.callers
        )
    )
    left = f"left out: {answer.left_out}\n" if answer.left_out else ""
    return Reply(answer, bounded_text(f"{text}{answer.ended}\n{answer.output}{left}"))


def _row(row: Row, most_callers: int) -> TracedRow:
    callers = row.lines()
    return TracedRow(
        function=line(row.function, 300),
        library=row.library,
        hits=row.hits,
        why=None if row.why is None else line(row.why, 300),
        recorded=row.records,
        times=_times(row.times, has_longest=row.records is not None),
        untimed=[line(why, 300) for why in row.untimed],
        callers=[
            _caller(one, hits, None if row.times is None else times)
            for one, hits, times in callers[:most_callers]
        ],
        caller_count=len(callers),
        numbers={
            line(name): NumbersRow(least=numbers.least, most=numbers.most, sum=numbers.total)
            for name, numbers in row.numbers.items()
            if numbers.count
        },
    )


def _caller(caller: Caller, hits: int, times: Times | None) -> CallerRow:
    python = caller.line
    return CallerRow(
        caller=line(caller.text, 300),
        hits=hits,
        function=None if python is None else line(python.function, 300),
        file=None if python is None else line(python.file, 500),
        line=None if python is None else python.line,
        native=None if caller.function is None else line(caller.function, 300),
        times=_times(times),
    )


def _times(times: Times | None, has_longest: bool = True) -> TimesRow | None:
    if times is None:
        return None
    longest = round(times.most, 9) if has_longest else None
    return TimesRow(timed=times.count, sum=round(times.total, 9), longest=longest)
