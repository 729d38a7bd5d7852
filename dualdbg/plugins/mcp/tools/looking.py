"""``stack``, ``variables``, ``evaluate`` and ``source``: what is there at a stop."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from ....errors import CommandError, EvaluationError, SpecError
from ....model import Frame, Language, NativeFrame, PythonFrame, State, Value
from ....session.inspect import inferior_evaluation
from ....session.inspect.python_objects import NeedsCode, NoVariable
from ....session.native_expressions import check_expression
from ....system.source_files import source_lines
from ..answers import (
    EvaluationAnswer,
    Reply,
    SourceAnswer,
    StackAnswer,
    ValueRow,
    VariablesAnswer,
)
from ..bounds import MOST_OF_STACKS, Part, bounded_text, joined, line, part_of
from ..debuggee import Debuggee
from ..frames import frame_row, note_of, shown
from ..registry import Arguments, tool
from ..sessions import Sessions
from ..values import Page, Rows, as_text
from .fields import AllFrames, Depth, FrameNumber, Length, Limit, SessionId, Start, Thread

_BUDGET = "values beyond what one answer holds: a smaller limit, depth or length, or start"
_MOST_CHILDREN, _AT_ONCE = 10_000, 500  # among which a name of path is looked for
# debugpy's folders among the variables of a frame; they are no variables.
_GROUPS = {"special variables", "function variables", "class variables", "protected variables"}


class StackArguments(Arguments):
    session: SessionId
    thread: Thread = None
    start: Start = 0
    limit: Limit = 20
    all_frames: AllFrames = False


@tool("stack", "The stack of a thread", StackArguments, StackAnswer, looks=True)
async def stack(sessions: Sessions, arguments: StackArguments) -> Reply:
    """The stack of one thread of a stopped program, innermost frame first, both languages in one. Runs of binding
    layers are folded to one row. All threads at once: stacks."""
    async with sessions.using(arguments.session) as debuggee:
        tid = debuggee.thread(arguments.thread)
        whole = await debuggee.stack(tid)
        part = shown(whole, arguments.start, arguments.limit, arguments.all_frames).within(MOST_OF_STACKS)
        answer = StackAnswer(
            session=debuggee.id,
            thread=tid,
            frames=part.as_rows(),
            frame_count=part.part.total,
            note=_cut(note_of(whole)),
            left_out=part.part.left_out(
                "frames", f"stack(session={debuggee.id!r}, thread={tid}, start={{start}})"
            ),
        )
        return Reply(answer, bounded_text(part.as_text() + _left(answer.left_out)))


class VariablesArguments(Arguments):
    session: SessionId
    frame: FrameNumber = None
    thread: Thread = None
    path: Annotated[
        list[str],
        Field(max_length=10, description="the children of this variable: its name, a child's name, …"),
    ] = []
    start: Start = 0
    limit: Limit = 20
    depth: Depth = 1
    length: Length = 200


@tool("variables", "Variables of a frame", VariablesArguments, VariablesAnswer, looks=True)
async def variables(sessions: Sessions, arguments: VariablesArguments) -> Reply:
    """Arguments and locals of a frame of a stopped program, read without running its code. Values are short first:
    length, depth and path show more."""
    async with sessions.using(arguments.session) as debuggee:
        tid, number, frame = await debuggee.frame(arguments.thread, arguments.frame)
        values = await debuggee.session.inspector.variables(tid, frame)
        values = [value for value in values if value.type or value.name not in _GROUPS]
        chosen, part = part_of(values, arguments.start, arguments.limit)
        if arguments.path:
            chosen, part = await _children_at(debuggee, values, arguments)
        rows = Rows(_page(debuggee), arguments.limit, arguments.depth, arguments.length)
        told = await rows.of(chosen)
        path = f"path={arguments.path!r}, " if arguments.path else ""
        call = f"variables(session={debuggee.id!r}, frame={number}, thread={tid}, {path}start={{start}})"
        native_without_info = isinstance(frame, NativeFrame) and frame.line is None
        answer = VariablesAnswer(
            session=debuggee.id,
            frame=frame_row(number, frame),
            variables=told,
            note="this function has no debug info" if native_without_info else None,
            left_out=joined(
                replace(part, shown=len(told)).left_out("variables", call), _BUDGET if rows.spent else None
            ),
        )
        text = as_text(told) or "no variables\n"
        note = f"{answer.note}\n" if answer.note else ""
        return Reply(
            answer, bounded_text(f"#{number} {frame.function or '??'}\n{text}{note}{_left(answer.left_out)}")
        )


async def _children_at(
    debuggee: Debuggee, values: Sequence[Value], arguments: VariablesArguments
) -> tuple[list[Value], Part]:
    """The children of the value at the end of ``path`` that are asked for, and what part of all they are."""
    page = _page(debuggee)
    found = _named(values, arguments.path[0])
    for name in arguments.path[1:]:
        found = await _child(page, found, name)
    rows = list(await page(found, arguments.start, arguments.limit + 1))
    chosen = rows[: arguments.limit]
    total = arguments.start + len(rows)
    if len(rows) > arguments.limit:  # else these are the last, whatever was counted
        total = max(total, found.child_count or 0)
    return chosen, Part(arguments.start, len(chosen), total)


async def _child(page: Page, parent: Value, name: str) -> Value:
    """The child of this name, of the first ones. Raises CommandError."""
    values: list[Value] = []
    while len(values) < _MOST_CHILDREN and not any(value.name == name for value in values):
        more = await page(parent, len(values), _AT_ONCE)
        values += more
        if len(more) < _AT_ONCE:
            break
    return _named(values, name)


def _named(values: Sequence[Value], name: str) -> Value:
    found = next((value for value in values if value.name == name), None)
    if found is None or not found.reference:
        names = ", ".join(line(value.name) for value in values[:20])
        why = f"there is no {name!r} here" if found is None else f"{name!r} has no children"
        raise CommandError(why, f"path goes through names of variables: {names}")
    return found


def _page(debuggee: Debuggee) -> Page:
    values = debuggee.session.inspector.values

    async def page(value: Value, start: int, count: int) -> Sequence[Value]:
        read = values.attributes if value.opaque else values.page
        return await read(value.reference, start, count)

    return page


class EvaluateArguments(Arguments):
    session: SessionId
    expression: Annotated[str, Field(min_length=1, max_length=4000)]
    language: Annotated[
        Literal["frame", "python", "native"],
        Field(description="in which language it is read; frame: the frame's own"),
    ] = "frame"
    frame: FrameNumber = None
    thread: Thread = None
    run_code: Annotated[
        bool, Field(description="run code of the program for it: calls, operators, properties, assignments")
    ] = False
    limit: Limit = 20
    depth: Depth = 1
    length: Length = 1000


@tool("evaluate", "Evaluate an expression", EvaluateArguments, EvaluationAnswer)
async def evaluate(sessions: Sessions, arguments: EvaluateArguments) -> Reply:
    """The value of a Python or C++ expression in a frame of a stopped program. Names, members and elements are read
    from memory; what would run code is refused unless run_code is true."""
    async with sessions.using(arguments.session) as debuggee:
        if arguments.run_code:
            sessions.permissions.check_unlisted("run_code")
        tid, number, frame = await debuggee.frame(arguments.thread, arguments.frame)
        language = frame.language if arguments.language == "frame" else Language(arguments.language)
        where = await debuggee.frame_in(language, tid, number)
        read = _run if arguments.run_code else _look
        try:
            value = await read(debuggee, arguments.expression, tid, where, language)
        except CommandError as error:
            if error.hint or type(error) not in (CommandError, EvaluationError):
                raise
            raise EvaluationError(error.message, _instead(debuggee.id, language)) from error
        value = replace(value, name=value.name or arguments.expression)
        rows = Rows(_page(debuggee), arguments.limit, arguments.depth, arguments.length)
        (row,) = await rows.of([value])
        answer = EvaluationAnswer(
            session=debuggee.id,
            language=language.value,
            ran_code=arguments.run_code,
            value=row,
            left_out=joined(_more(row, arguments), _BUDGET if rows.spent else None),
        )
        text = f"{language.value}, in {where.function or '??'}: {as_text([row])}{_left(answer.left_out)}"
        return Reply(answer, bounded_text(text))


def _instead(session: str, language: Language) -> str:
    """What to call where an engine has refused an expression without more words."""
    other = Language.PYTHON if language is Language.NATIVE else Language.NATIVE
    return (
        f"variables(session={session!r}) lists what there is in this frame; "
        f"evaluate(…, language={other.value!r}) reads it in the other language"
    )


def _more(row: ValueRow, arguments: EvaluateArguments) -> str | None:
    if row.length is not None:
        longer = min(row.length, 10_000)
        how = f"evaluate(…, length={longer})" if longer > arguments.length else "evaluate a part of it"
        return f"{row.length - arguments.length} more characters: {how}"
    shown = len(row.children or ())
    if row.children is not None and (row.has_children or (row.child_count or 0) > shown):
        count = f"{row.child_count - shown} " if row.child_count else ""
        return f"{count}more children: a larger limit (100 at most), or variables(…, path=…, start={shown})"
    if row.children is None and (row.child_count or row.has_children):
        return f"children: evaluate(…, depth={arguments.depth + 1})"
    return None


async def _look(debuggee: Debuggee, text: str, tid: int, frame: Frame, language: Language) -> Value:
    """Read an expression without running anything. Raises EvaluationError where that takes code."""
    again = "evaluate(…, run_code=true) runs it"
    session = debuggee.session
    if isinstance(frame, PythonFrame):
        try:
            return await session.inspector.values.evaluate_memory(text, tid, frame)
        except NeedsCode as error:
            raise NeedsCode(f"{text!r} would have to run Python code", again) from error
        except NoVariable as error:
            raise NoVariable(
                error.message, f"variables(session={debuggee.id!r}) lists those that are set"
            ) from error
        except EvaluationError as error:  # an attribute that its memory does not have; or a statement
            raise EvaluationError(error.message, again if _is_python(text) else "") from error
    try:
        check_expression(text)
    except SpecError as error:
        raise EvaluationError(error.message, again) from error
    if language is Language.NATIVE:
        return await session.inspector.values.evaluate_native_memory(text, tid, frame)
    return await session.inspector.evaluate(text, tid, frame, language)


def _is_python(text: str) -> bool:
    """Whether it can be run as Python: an expression, or a statement."""
    try:
        ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


async def _run(debuggee: Debuggee, text: str, tid: int, frame: Frame, language: Language) -> Value:
    """The value of an expression, for which code of the program may run. Raises EvaluationError."""
    session = debuggee.session
    if isinstance(frame, PythonFrame) and session.state is State.NATIVE_STOPPED:
        return await inferior_evaluation.evaluate(session, text, tid, frame)
    return await session.inspector.evaluate(text, tid, frame, language)


class SourceArguments(Arguments):
    session: SessionId
    frame: FrameNumber = None
    thread: Thread = None
    line: Annotated[int | None, Field(ge=1, description="the middle line; left out: that of the frame")] = (
        None
    )
    limit: Limit = 15


@tool("source", "Source lines around a frame", SourceArguments, SourceAnswer, looks=True)
async def source(sessions: Sessions, arguments: SourceArguments) -> Reply:
    """Lines of the source file of a frame of a stopped program."""
    async with sessions.using(arguments.session) as debuggee:
        _, number, frame = await debuggee.frame(arguments.thread, arguments.frame)
        if frame.file is None:
            raise CommandError(
                f"frame {number} has no source: its library has no debug info",
                f"stack(session={debuggee.id!r}) has the files of the others",
            )
        lines = source_lines(frame.file)
        if not lines:
            raise CommandError(
                f"the source file {frame.file} cannot be read here", "another frame may have one"
            )
        middle = arguments.line or frame.line or 1
        first = max(min(middle, len(lines)) - arguments.limit // 2, 1)
        chosen = [
            line(text.replace("\t", "    "), 300) for text in lines[first - 1 : first - 1 + arguments.limit]
        ]
        others = len(lines) - len(chosen)
        answer = SourceAnswer(
            file=frame.file,
            first=first,
            lines=chosen,
            current=frame.line,
            left_out=f"{others} other lines: source(…, line=…)" if others else None,
        )
        width = len(str(first + len(chosen)))
        text = "".join(
            f"{'>' if at == frame.line else ' '}{at:>{width}}  {text}\n"
            for at, text in enumerate(chosen, first)
        )
        return Reply(answer, bounded_text(f"{line(frame.file, 500)}\n{text}"))


def _left(left_out: str | None) -> str:
    return f"left out: {left_out}\n" if left_out else ""


def _cut(text: str | None) -> str | None:
    return None if text is None else line(text, 500)
