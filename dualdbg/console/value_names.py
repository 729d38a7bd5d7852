"""Names that may stand at the end of an expression in a frame of the stopped program: variables, and fields of values.

Nothing of the program's code is run for them.
"""

from __future__ import annotations

import re

from ..errors import CommandError, DualdbgError
from ..model import Frame, Language, NativeFrame, PythonFrame, State, Value
from ..session.inspect.memory import Memory
from ..session.session import Session
from .commands.registry import find_command, split_line
from .console import Console

_WORD = re.compile(r"(?:[^\W\d]\w*)?\Z")
_NATIVE_WORD = re.compile(r"(?:[A-Za-z_$][\w$:]*)?\Z")
_BEFORE_EXPRESSION = re.compile(r"\s*(?:!|[\w?-]+(?:/\w+)?\s)\s*(?:-{1,2}[a-z]+\s+)*")
_PATH = re.compile(r"(?P<path>[^\W\d]\w*(?:\.[^\W\d]\w*|\[\w+\])*)\.\Z")


async def names_at_end(console: Console, line: str) -> tuple[list[str], int]:
    """What may stand at the end of a line whose command takes an expression, and how many characters that replaces.

    Nothing while the program runs, and where the text before cannot be read: whoever presses Tab has not asked why.
    """
    text = _expression_of(line)
    if text is None:
        return [], 0
    try:
        frame, tid = await console.frame(), console.selected().tid
        names, length = await _names(console.session, tid, frame, text)
    except DualdbgError:
        return [], 0
    written = text[len(text) - length :]
    if not written.startswith("_"):
        names = [name for name in names if not name.startswith("__")]  # every object has dozens of these
    return sorted({name for name in names if name.startswith(written) and name != written}), length


def wants_value(line: str) -> bool:
    """Whether an expression stands at the end of the line, so that the target has to be asked."""
    return _expression_of(line) is not None


def _expression_of(line: str) -> str | None:
    """The expression at the end of a line whose command takes one: ``model.`` of ``p/x model.``. None for others."""
    match = _BEFORE_EXPRESSION.match(line)
    if match is None:
        return None
    try:
        name, _ = split_line(line)
        return line[match.end() :] if "expression" in find_command(name).completes.split() else None
    except CommandError:
        return None


async def native_names(memory: Memory, tid: int, frame: NativeFrame, text: str) -> tuple[list[str], int]:
    """What gdb would put at the end of ``text`` in a native frame, and how many characters that replaces."""
    word = _NATIVE_WORD.search(text)
    length = len(word.group()) if word else 0
    before = text[: len(text) - length]
    rows = await memory.completions(tid, frame, text)
    return [row[len(before) :] for row in rows if row.startswith(before)], length


async def _names(session: Session, tid: int, frame: Frame, text: str) -> tuple[list[str], int]:
    if isinstance(frame, NativeFrame):
        return await native_names(Memory(session), tid, frame, text)
    assert isinstance(frame, PythonFrame)
    word = _WORD.search(text)
    length = len(word.group()) if word else 0
    if session.state is not State.PYTHON_STOPPED:
        return _identifiers(await _in_memory(session, tid, frame, text[: len(text) - length])), length
    if frame.engine_id is None:
        return [], length
    asked = {"text": text, "column": len(text) + 1, "line": 1, "frameId": frame.engine_id}
    answer = await session.inspector.relay("completions", asked)
    return [str(row["label"]) for row in answer.get("targets", ())], length


async def _in_memory(session: Session, tid: int, frame: PythonFrame, before: str) -> list[Value]:
    """The variables of a frame, or what is in the value before the last dot, while gdb holds the process."""
    path = _PATH.search(before)
    if path is None:
        return [] if before.endswith(".") else await session.inspector.variables(tid, frame)
    value = await session.inspector.evaluate(path["path"], tid, frame, Language.PYTHON)
    if value.children is not None:
        return list(value.children)
    return await session.inspector.children(value.reference) if value.reference else []


def _identifiers(values: list[Value]) -> list[str]:
    return [value.name for value in values if value.name.isidentifier()]
