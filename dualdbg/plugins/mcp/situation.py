"""What a session does and what has happened in it, as an answer and as text: stops, ends, notices, breakpoints."""

from __future__ import annotations

from dataclasses import replace

from ...console.printer import Printer
from ...console.reports import BreakpointsReport
from ...console.style import Style
from ...model import Breakpoint, Exited, Notice, State, Stop, Stopped, Value
from ...system.source_files import source_line
from .answers import BreakpointRow, Reply, Situation, StopRow, ValueRow
from .bounds import bounded_text, joined, line
from .debuggee import Debuggee
from .frames import frame_row
from .news import Happened
from .wording import for_tools

_PRINTER = Printer(Style(), source_line)
_MOST_PLACES = 4
_LONGEST = 600  # characters of a message


async def situation(debuggee: Debuggee, waited: float | None = None) -> Reply:
    """What a session does now, with its news. ``waited``: so many seconds passed, and nothing has happened."""
    await debuggee.flush()
    happened = debuggee.news.tell()
    happened = replace(happened, notices=in_tools(happened.notices, debuggee.id))
    session = debuggee.session
    answer = Situation(
        session=debuggee.id,
        state=session.state.value,
        pid=session.pid,
        stop=None if happened.stop is None else stop_row(happened.stop),
        exit_code=None if happened.exit is None else happened.exit.code,
        exit_signal=None if happened.exit is None else happened.exit.signal,
        breakpoints=[breakpoint_row(row) for row in happened.breakpoints] or None,
        notices=notices(happened.notices) or None,
        unread_output=debuggee.output.unread or None,
        next=_next(debuggee, waited),
        left_out=joined(
            f"{happened.dropped} older notices" if happened.dropped else None,
            f"places of a breakpoint beyond the first {_MOST_PLACES}"
            if any(len(row.locations) > _MOST_PLACES for row in happened.breakpoints)
            else None,
        ),
    )
    return Reply(answer, bounded_text(_as_text(debuggee, answer, happened)))


def _next(debuggee: Debuggee, waited: float | None) -> str | None:
    id, state = debuggee.id, debuggee.session.state
    if waited is not None and state in (State.RUNNING, State.STARTING):
        return (
            f"nothing stopped it within {waited:g} s. continue_until(session={id!r}) waits on, with at_time='pause' it "
            f"stops the program; diagnose(session={id!r}) says what its threads wait for"
        )
    if state in (State.EXITED, State.DETACHED, State.LOST):
        return f"output(session={id!r}) has what it wrote; end(session={id!r}) when you are done"
    return None


def _as_text(debuggee: Debuggee, answer: Situation, happened: Happened) -> str:
    text = f"session {debuggee.id}, process {answer.pid}: {answer.state}\n"
    for notice in happened.notices:
        text += _PRINTER.render(notice)
    if happened.breakpoints:
        text += _PRINTER.render(BreakpointsReport(tuple(map(_shown, happened.breakpoints))))
    if happened.stop is not None:
        text += _PRINTER.render(Stopped(happened.stop)).lstrip("\n")
    if happened.exit is not None:
        text += _PRINTER.render(Exited(happened.exit)).lstrip("\n")
    if answer.unread_output:
        text += f"unread output: {answer.unread_output} characters, output(session={debuggee.id!r})\n"
    for end in (answer.next, answer.left_out and f"left out: {answer.left_out}"):
        text += f"{end}\n" if end else ""
    return text


def stop_row(stop: Stop) -> StopRow:
    """The structured form of a stop."""
    frame = stop.frame
    code = source_line(frame.file, frame.line) if frame is not None and frame.file and frame.line else None
    return StopRow(
        number=stop.epoch,
        language=stop.origin.value,
        reason=stop.reason.value,
        thread=stop.thread.tid,
        thread_name=line(stop.thread.name),
        breakpoints=list(stop.breakpoints),
        description=None if stop.description is None else stop.description[:_LONGEST],
        frame=None if frame is None else frame_row(stop.number, frame),
        code=None if code is None else line(code.strip()),
        returned=None if stop.result is None else _returned(stop.result),
    )


def _returned(value: Value) -> ValueRow:
    return ValueRow(name=line(value.name), type=line(value.type), value=value.value[:_LONGEST])


def breakpoint_row(row: Breakpoint) -> BreakpointRow:
    """The structured form of a breakpoint, with the first of its places."""
    return BreakpointRow(
        id=row.id,
        spec=line(" ".join([row.spec.text, *row.spec.suffixes]), _LONGEST),
        state=row.state.value,
        message=None if row.message is None else line(for_tools(row.message), _LONGEST),
        places=[_place(row, at) for at in range(min(len(row.locations), _MOST_PLACES))],
        place_count=len(row.locations),
        hits=row.hit_count,
        enabled=row.enabled,
    )


def _place(row: Breakpoint, at: int) -> str:
    location = row.locations[at]
    where = (
        f"{location.file}:{location.line}" if location.file else (location.library or "").rpartition("/")[2]
    )
    function = line(location.function or "")
    return f"{function} in {line(where)}" if function and where else function or line(where)


def _shown(row: Breakpoint) -> Breakpoint:
    """With the first places, and with calls of tools in its message."""
    message = None if row.message is None else for_tools(row.message)
    return replace(row, locations=row.locations[:_MOST_PLACES], message=message)


def breakpoints_text(rows: list[Breakpoint]) -> str:
    """The table of breakpoints as the prompt lists it, with the first places of each."""
    return _PRINTER.render(BreakpointsReport(tuple(map(_shown, rows))))


def notices_text(rows: tuple[Notice, ...]) -> str:
    """The same in words."""
    return "".join(map(_PRINTER.render, rows))


def notices(rows: tuple[Notice, ...]) -> list[str]:
    """What the session said, each with its hint."""
    return [line(": ".join(part for part in (row.message, row.hint) if part), _LONGEST) for row in rows]


def in_tools(rows: tuple[Notice, ...], session: str) -> tuple[Notice, ...]:
    """The same notices, with calls of tools in the place of commands."""
    return tuple(
        replace(row, message=for_tools(row.message, session), hint=for_tools(row.hint, session))
        for row in rows
    )
