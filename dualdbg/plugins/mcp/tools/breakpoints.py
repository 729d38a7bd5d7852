"""``break``: breakpoints set, removed and listed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ....errors import CommandError, SpecError
from ....model import Breakpoint, BreakpointState, PythonFrame, State
from ....session.breakpoints.table import WatchedFrame
from ..answers import BreakpointsAnswer, Reply
from ..bounds import bounded_text, part_of
from ..debuggee import Debuggee
from ..registry import Arguments, tool
from ..sessions import Sessions
from ..situation import breakpoint_row, breakpoints_text, in_tools, notices, notices_text
from .fields import Limit, SessionId, Start, Texts

_SPECS = "break(session=SESSION, add=[SPEC]) with another one: the resource dualdbg://docs/breakpoints.md has all specs"


class BreakArguments(Arguments):
    session: SessionId
    add: Annotated[
        Texts,
        Field(
            description="specs: randn (an operator), a C or C++ function, FILE:LINE, FILE:LINE@kernel (compiled), "
            "py:NAME, throw, raise:ValueError, uncaught, watch:EXPRESSION (native), watch:py:EXPRESSION (at a Python "
            "stop), signal:SIGUSR1; suffixes: if CONDITION, hits N, thread T, temporary"
        ),
    ] = []
    remove: Annotated[list[int], Field(description="numbers of breakpoints")] = []
    start: Start = 0
    limit: Limit = 20


@tool("break", "Set, remove or list breakpoints", BreakArguments, BreakpointsAnswer)
async def break_(sessions: Sessions, arguments: BreakArguments) -> Reply:
    """Set and remove breakpoints in either language; answers those added, or all where nothing was to be
    added. A name that is not there yet waits for its library. The resource docs/breakpoints.md has all specs."""
    async with sessions.using(arguments.session) as debuggee:
        sessions.permissions.check_specs(arguments.add)
        table = debuggee.session.breakpoints
        for number in arguments.remove:
            await table.remove(number)
        added = await _added(debuggee, arguments.add)
        await debuggee.flush()
        happened = in_tools(debuggee.news.breakpoints_are_told(), debuggee.id)
        rows, part = part_of(
            [table.get(row.id) for row in added] or table.all(), arguments.start, arguments.limit
        )
        answer = BreakpointsAnswer(
            session=debuggee.id,
            breakpoints=[breakpoint_row(row) for row in rows],
            notices=notices(happened) or None,
            left_out=part.left_out("breakpoints", f"break(session={debuggee.id!r}, start={{start}})"),
        )
        left = f"left out: {answer.left_out}\n" if answer.left_out else ""
        return Reply(answer, bounded_text(notices_text(happened) + breakpoints_text(rows) + left))


async def _added(debuggee: Debuggee, texts: list[str]) -> list[Breakpoint]:
    """All of them, or none: raises CommandError for the first that cannot be set, and says why."""
    table = debuggee.session.breakpoints
    added: list[Breakpoint] = []
    for at, text in enumerate(texts):
        try:
            rows = await table.add(text, frame=await _frame(debuggee))
            added += rows
            refused = next((row for row in rows if row.state is BreakpointState.REJECTED), None)
            if refused is not None:
                raise SpecError(refused.message or "there is no such place", "")
        except SpecError as error:
            for row in added:
                await table.remove(row.id)
            await debuggee.flush()
            debuggee.news.breakpoints_are_told()  # of those that are no more
            others = ", nor were the others added" if len(texts) > 1 else ""
            raise CommandError(
                f"the breakpoint add[{at}] ({text}) cannot be set: {error.message}{others}",
                error.hint or _SPECS,
            ) from error
    return added


async def _frame(debuggee: Debuggee) -> WatchedFrame | None:
    """The frame of a stop in which a watched expression is read; a native one by gdb's thread and level."""
    if not debuggee.stopped:
        return None
    tid, _, frame = await debuggee.frame(None, None)
    if isinstance(frame, PythonFrame):
        return frame if debuggee.session.state is State.PYTHON_STOPPED else None
    if not debuggee.session.native_held.is_set():
        return None
    return await debuggee.session.inspector.gdb_thread(tid), frame.level
