"""``output`` and ``end``: what the program wrote, and the end of a session."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..answers import EndAnswer, OutputAnswer, OutputRow, Reply
from ..bounds import bounded_text, joined
from ..program_output import as_text
from ..registry import Arguments, tool
from ..sessions import Sessions
from .fields import SessionId


class OutputArguments(Arguments):
    session: SessionId
    since: Annotated[
        int | None,
        Field(ge=0, description="a position in characters; left out: the last of what nobody has read yet"),
    ] = None
    limit: Annotated[int, Field(ge=1, le=20_000, description="the most characters")] = 2000


@tool("output", "What the program wrote", OutputArguments, OutputAnswer)
async def output(sessions: Sessions, arguments: OutputArguments) -> Reply:
    """What a program that run has started wrote to its standard output and error, and texts of log points. In the text
    of the answer each of its lines begins with out|, err| or log|."""
    async with sessions.using(arguments.session) as debuggee:
        debuggee.drain()
        await debuggee.flush()
        excerpt = debuggee.output.read(arguments.since, arguments.limit)
        rest = debuggee.output.end - excerpt.until
        call = f"output(session={debuggee.id!r}, since="
        answer = OutputAnswer(
            session=debuggee.id,
            output=[OutputRow(stream=piece.stream, text=piece.text) for piece in excerpt.pieces],
            until=excerpt.until,
            left_out=joined(
                f"{excerpt.lost} characters, which are not kept any more" if excerpt.lost else None,
                f"{excerpt.skipped} characters before: {call}{excerpt.skipped_at})"
                if excerpt.skipped
                else None,
                f"{rest} characters after: {call}{excerpt.until})" if rest else None,
            ),
        )
        left = f"left out: {answer.left_out}\n" if answer.left_out else ""
        return Reply(answer, bounded_text((as_text(excerpt.pieces) or "nothing new\n") + left))


class EndArguments(Arguments):
    session: SessionId


@tool("end", "End a session", EndArguments, EndAnswer, looks=True)
async def end(sessions: Sessions, arguments: EndArguments) -> Reply:
    """End a session. A program that run started ends with it; a process that was attached to goes on as it was."""
    async with sessions.using(arguments.session) as debuggee:
        what = "the program had ended" if debuggee.over else debuggee.afterwards
    await sessions.end(arguments.session, "a call of end ended it")
    return Reply(
        EndAnswer(session=arguments.session, ended=what), f"session {arguments.session} is over: {what}\n"
    )
