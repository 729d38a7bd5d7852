"""Reads Python objects of a process that gdb holds: variables of frames, elements and attributes, from memory."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable

from ...backends.native import AskingGdb
from ...errors import EvaluationError
from ...model import Language, PythonFrame, Value
from ...shared.requests.values import FollowPythonPath, ObjectRow, ReadPythonChildren, ReadPythonObjects
from ...snapshot.cpython.held_process import PythonSide
from ..ports import Halting, HeldThreads

_STEPS = 32  # the longest path of attributes and elements that is followed
# What the statements of a module bind besides its data. debugpy groups these apart too.
_DEFINITIONS = {"function", "type"}
PAGE = 200  # so many children are read when nobody says how many


Fetch = Callable[[int, int | None], Awaitable[list[Value]]]
"""``count`` children from number ``start`` on; for None as many as fit a page, with a row for the rest."""


class NeedsCode(EvaluationError):
    """The expression cannot be read from memory."""


class NoVariable(EvaluationError):
    """Neither the frame nor its module has a variable of that name."""


class MemoryValues:
    """Decodes in gdb, with gdb_scripts/dualdbg_helpers: the same code for every front end and for plain gdb."""

    def __init__(
        self, native: AskingGdb, halting: Halting, threads: HeldThreads, register: Callable[[Fetch], int]
    ) -> None:
        """``register`` gives the reference by which the children of a value are asked for."""
        self._native = native
        self._halting = halting
        self._threads = threads
        self._register = register

    async def variables(self, tid: int, frame: PythonFrame) -> list[Value]:
        """Arguments and locals that have a value. Of a module, its variables without functions and classes."""
        names = self._side.variables(await self._read_frame(tid, frame))
        rows = await self._native.ask(ReadPythonObjects(names, False))
        is_module = frame.function == "<module>"
        return [self._value(row) for row in rows if not (is_module and row.kind in _DEFINITIONS)]

    async def children(self, address: int, start: int, count: int | None) -> list[Value]:
        """Elements and attributes of an object: ``count`` of them, from number ``start`` on.

        With a ``count`` of None: a page of them, and a last row that stands for the rest.
        """
        answer = await self._native.ask(ReadPythonChildren(address, start, count or PAGE))
        values = [self._value(row) for row in answer.rows]
        end = start + len(values)
        if count is None and values and end < answer.total:
            values.append(rest(Language.PYTHON, self._reference(address, end)))
        return values

    async def evaluate(self, expression: str, tid: int, frame: PythonFrame) -> Value:
        """The value of a name, with attributes and elements of it: ``model.layers[0]``, ``config['lr']``.

        Raises EvaluationError for what only code of the target can tell: calls, operators, properties.
        """
        address = await self.address(expression, tid, frame)
        rows = await self._native.ask(ReadPythonObjects([(expression, address)], True))
        return self._value(rows[0], whole=True)

    async def address(self, expression: str, tid: int, frame: PythonFrame) -> int:
        """The address of the object that :meth:`evaluate` shows."""
        name, *steps = path_of(expression)
        frame = await self._read_frame(tid, frame)
        known = dict(self._side.variables(frame))
        if name not in known:
            known = dict(self._side.globals(frame))
        if name not in known:
            raise NoVariable(
                f"there is no variable {name} in {frame.function}", "locals lists those that are set"
            )
        if not steps:
            return known[name]
        found = await self._native.ask(FollowPythonPath(known[name], steps))
        if found.address is None:
            raise EvaluationError(
                f"{found.type} has no {found.missing} in its memory",
                "attributes that code computes cannot be read while gdb holds the target",
            )
        return found.address

    def _reference(self, address: int, offset: int = 0) -> int:
        return self._register(
            lambda start, count: self._halting.interrupted(
                lambda: self.children(address, offset + start, count)
            )
        )

    @property
    def _side(self) -> PythonSide:
        return self._threads.reader.python_side

    async def _read_frame(self, tid: int, frame: PythonFrame) -> PythonFrame:
        """The frame as it was read from memory; at a Python stop debugpy has named it."""
        if frame.address is not None:
            return frame
        stack = await self._threads.stack_while_held(tid)
        frames = [one for one in stack.frames if isinstance(one, PythonFrame)]
        return next((one for one in frames if _same_frame(one, frame)), frame)

    def _value(self, row: ObjectRow, whole: bool = False) -> Value:
        address = row.address
        total = row.total or 0
        reference = self._reference(address) if total and address is not None else 0
        return Value(
            row.name,
            row.type,
            row.value if whole else " ".join(row.value.split()),
            Language.PYTHON,
            reference,
            total if reference else None,
            address,
            data=row.data,
            opaque=address is not None and row.value == f"<{row.type} object at 0x{address:x}>",
        )


def rest(language: Language, reference: int) -> Value:
    """The row that stands for the children that come after a page."""
    return Value("…", "", "more", language, reference)


def path_of(expression: str) -> list[str]:
    """A variable's name, then attributes as ``.name`` and elements as ``[key]`` with the key as repr writes it.

    Raises EvaluationError for any other expression.
    """
    try:
        node = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise EvaluationError(f"{expression!r} is no Python expression: {error}") from error
    steps: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(f".{node.attr}")
            node = node.value
        elif isinstance(node, ast.Subscript):
            steps.append(f"[{_key(node.slice, expression)}]")
            node = node.value
        else:
            raise _needs_code(expression)
        if len(steps) > _STEPS:
            raise _needs_code(expression)
    return [node.id, *reversed(steps)]


def _key(node: ast.expr, expression: str) -> str:
    try:
        return repr(ast.literal_eval(node))
    except ValueError as error:
        raise _needs_code(expression) from error


def _needs_code(expression: str) -> NeedsCode:
    return NeedsCode(
        f"{expression!r} would have to run Python code, and gdb holds the target",
        "names, attributes and elements are read from memory",
    )


def _same_frame(one: PythonFrame, other: PythonFrame) -> bool:
    return (one.function, one.file, one.line) == (other.function, other.file, other.line)
