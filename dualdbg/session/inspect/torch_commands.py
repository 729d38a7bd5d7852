"""Runs the commands of the helpers (``tensor``, ``ivalue-stack``, ...) in gdb, in a frame of either language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol

from ...backends.native import AskingGdb
from ...errors import EvaluationError
from ...model import Event, Frame, Language, NativeFrame, PythonFrame, Value
from ...shared.requests.values import HelperAnswer, LoadHelpers, ObjectRow, RunHelper
from ..ports import Halting
from ..progress import progress
from .inspector import Inspector
from .python_objects import NoVariable

# Begins like a variable of Python, not like a register, a number, a cast or an option.
# Commands to which a variable of Python can be given.
_OF_PYTHON = {"dispatch-keys", "py2cpp", "pyobject", "tensor"}
_PYTHON_FIRST = {"py2cpp"}  # in native frames too, where it means the Python frame below
_PYTHON = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:-?\d+|'[^']*'|\"[^\"]*\")\])*")


class Debuggee(Halting, Protocol):
    """What these commands need of a session."""

    @property
    def native(self) -> AskingGdb:
        """What is asked of gdb."""

    @property
    def inspector(self) -> Inspector:
        """The stacks and values of the stopped threads."""

    def emit(self, event: Event) -> None:
        """Tell an event to every front end."""


class HelperWords:
    """Works while gdb holds the target, or within a short halt.

    Nothing in the target is called or written.
    """

    def __init__(self, session: Debuggee) -> None:
        self._halting: Halting = session
        self._emit = session.emit
        self._native, self._threads = session.native, session.inspector
        self._reader, self._variables = session.inspector.reader, session.inspector.values.memory

    async def run(self, word: str, argument: str, tid: int | None, frame: Frame | None) -> Value:
        """The answer as a value: ``value`` is the text for people, ``children`` and ``data`` its structure.

        In a Python frame, an argument that begins with a variable (``tensor self.weight --stats``) means its object.
        For ``py2cpp`` in a native frame it may be a variable of the nearest Python frame below. ``tid`` is None for
        commands that ask about no thread. Raises EvaluationError with the helpers' own hint.
        """

        async def ask() -> HelperAnswer:
            level = frame.level if isinstance(frame, NativeFrame) else 0
            number = None if tid is None else await self._threads.gdb_thread(tid)
            expression = argument
            if isinstance(frame, PythonFrame) and tid is not None and word in _OF_PYTHON:
                expression = await self._without_variables(argument, tid, frame)
            elif isinstance(frame, NativeFrame) and tid is not None and word in _PYTHON_FIRST:
                expression = await self._of_caller(argument, tid, frame)
            found = await self._native.ask(RunHelper(number, level, word, expression))
            if await self._reads_more(found):
                found = await self._native.ask(RunHelper(number, level, word, expression))
            return found

        async with progress(self._emit, f"reading memory for {word}"):
            answer: HelperAnswer = await self._halting.interrupted(ask)
        if answer.value is None:
            raise EvaluationError(answer.error, answer.hint)
        return replace(_value(answer.value), name=argument or word)

    async def _reads_more(self, found: HelperAnswer) -> bool:
        """Where gdb lacks the type of an object: have it read the library of that type, if it has not yet."""
        row = found.value
        place = int(str((row.data or {}).get("type_info", "0")), 16) if row is not None else 0
        return bool(place) and await self._reader.prepare_at(place)

    async def load(self) -> None:
        """Load the helpers' settings and commands into gdb itself."""
        await self._native.ask(LoadHelpers())

    async def _of_caller(self, argument: str, tid: int, frame: NativeFrame) -> str:
        """As :meth:`_without_variables`, in the nearest Python frame below. C++ where that has no such variable."""
        frames = (await self._threads.stack_while_held(tid)).visible()
        below = frames[frames.index(frame) + 1 :] if frame in frames else frames
        caller = next((one for one in below if isinstance(one, PythonFrame)), None)
        if caller is None:
            return argument
        try:
            return await self._without_variables(argument, tid, caller)
        except NoVariable:
            return argument

    async def _without_variables(self, argument: str, tid: int, frame: PythonFrame) -> str:
        match = _PYTHON.match(argument)
        if match is None or argument[match.end() : match.end() + 2] == "::":
            return argument
        address = await self._variables.address(match[0], tid, frame)
        return f"{address:#x}{argument[match.end() :]}"


def _value(row: ObjectRow) -> Value:
    return Value(
        row.name,
        row.type,
        row.value,
        Language.NATIVE,
        child_count=row.total,
        address=row.address,
        data=row.data,
        layout=row.layout,
        children=None if row.children is None else tuple(_value(child) for child in row.children),
    )
