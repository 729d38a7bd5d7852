"""Variables, children and expressions: debugpy's at a Python stop, gdb's in a native frame, memory else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..errors import CommandError, EvaluationError, StaleHandle
from ..model import Frame, Language, NativeFrame, PythonFrame, State, Value
from .memory_values import PAGE, MemoryValues, rest

if TYPE_CHECKING:
    from .inspector import Inspector
    from .session import Session

EVALUATION_DEADLINE = 3600.0
Fetch = Callable[[int, int | None], Awaitable[list[Value]]]
"""``count`` children from number ``start`` on; for None as many as fit a page, with a row for the rest."""
# Where the first integer and pointer arguments are at a function's entry: System V AMD64 ABI, figure 3.4.
_ARGUMENT_REGISTERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")


class ValueReader:
    """Values of the current stop; every reference is void once the target runs."""

    def __init__(self, session: Session, inspector: Inspector) -> None:
        self._session = session
        self._inspector = inspector
        self._fetchers: dict[int, Fetch] = {}
        self._native_handles: dict[int, int] = {}  # reference -> what gdb's helpers know the value by
        self._next_reference = 1
        self.memory = MemoryValues(session, self)

    def forget(self) -> None:
        self._fetchers.clear()
        self._native_handles.clear()

    async def variables(self, tid: int, frame: Frame) -> list[Value]:
        if isinstance(frame, NativeFrame):
            return await self._session.interrupted(lambda: self._native_variables(tid, frame))  # type: ignore[no-any-return]
        if self._session.state is State.PYTHON_STOPPED and frame.engine_id is not None:
            return await self._python_variables(frame)
        return await self._session.interrupted(lambda: self.memory.variables(tid, frame))  # type: ignore[no-any-return]

    async def children(self, reference: int) -> list[Value]:
        """Raises StaleHandle for a reference of an earlier stop."""
        return await self._fetch(reference, 0, None)

    async def _fetch(self, reference: int, start: int, count: int | None) -> list[Value]:
        fetch = self._fetchers.get(reference)
        if fetch is None:
            raise StaleHandle("that value belongs to an earlier stop", "ask for the variables again")
        return await fetch(start, count)

    async def page(self, reference: int, start: int, count: int) -> list[Value]:
        """``count`` children from number ``start`` (from 0) on. Raises StaleHandle like :meth:`children`."""
        return await self._fetch(reference, start, count)

    def native_handle(self, reference: int) -> int:
        """What gdb's helpers know a native value by. Raises StaleHandle like :meth:`children`."""
        if reference not in self._native_handles:
            raise StaleHandle("that value belongs to an earlier stop", "ask for the variables again")
        return self._native_handles[reference]

    # -- Python ---------------------------------------------------------------------------------

    async def _python_variables(self, frame: PythonFrame) -> list[Value]:
        scopes = await self._inspector.ask("scopes", {"frameId": frame.engine_id})
        for scope in scopes.get("scopes", ()):
            if scope["name"] == "Locals":
                return await self._python_children(int(scope["variablesReference"]))
        return []

    async def _python_children(self, debugpy_reference: int) -> list[Value]:
        answer = await self._inspector.ask("variables", {"variablesReference": debugpy_reference})
        return [
            self._python_value(str(row["name"]), row, str(row.get("value", "")))
            for row in answer.get("variables", ())
        ]

    def _python_value(self, name: str, row: dict[str, Any], text: str) -> Value:
        inner = int(row.get("variablesReference") or 0)

        async def part(start: int, count: int | None) -> list[Value]:
            children = await self._python_children(inner)
            return children[start:] if count is None else children[start : start + count]

        reference = self.register(part) if inner else 0
        return Value(
            name,
            str(row.get("type") or ""),
            text,
            Language.PYTHON,
            reference,
            row.get("indexedVariables"),
            expression=row.get("evaluateName"),
        )

    async def evaluate_python(self, expression: str, frame: Frame) -> Value:
        engine_id = frame.engine_id if isinstance(frame, PythonFrame) else None
        if engine_id is None:
            raise EvaluationError("that frame is not one that debugpy holds", "select a Python frame")
        try:
            answer = await self._inspector.ask(
                "evaluate",
                {"expression": expression, "frameId": engine_id, "context": "repl"},
                EVALUATION_DEADLINE,
            )
        except CommandError as error:
            if type(error) is CommandError:  # debugpy's own words: the expression's exception
                raise EvaluationError(error.message) from error
            raise
        return self._python_value(expression, answer, str(answer.get("result", "")))

    async def evaluate_memory(self, expression: str, tid: int, frame: PythonFrame) -> Value:
        """A name, with attributes and elements of it, while gdb holds the target. Raises EvaluationError."""
        return await self._session.interrupted(lambda: self.memory.evaluate(expression, tid, frame))  # type: ignore[no-any-return]

    # -- native ---------------------------------------------------------------------------------

    async def _native_variables(self, tid: int, frame: NativeFrame) -> list[Value]:
        number = await self._inspector.gdb_thread(tid)
        rows = await self._session.native.helper("variables", number, frame.level)
        if rows or frame.line is not None:
            return [self.native_value(row) for row in rows]
        return await self._argument_registers(number, frame)

    async def _argument_registers(self, number: int, frame: NativeFrame) -> list[Value]:
        """Without debug info, the innermost frame's arguments are at least where the ABI puts them."""
        if frame.level != 0:
            return []
        registers = await self._session.native.helper("registers", number, _ARGUMENT_REGISTERS)
        return [
            Value(f"${name}", "register", f"{content:#x}", Language.NATIVE, expression=f"${name}")
            for name, content in registers.items()
        ]

    async def evaluate_native(self, expression: str, tid: int, frame: Frame) -> Value:
        level = frame.level if isinstance(frame, NativeFrame) else 0

        async def read() -> Value:
            number = await self._inspector.gdb_thread(tid)
            try:
                row = await self._session.native.helper("evaluate", number, level, expression)
            except CommandError as error:
                raise EvaluationError(error.message) from error
            return self.native_value(row)

        return await self._session.interrupted(read)  # type: ignore[no-any-return]

    async def _native_children(self, handle: int, start: int, count: int | None) -> list[Value]:
        rows = await self._session.native.helper(
            "children", handle, start, PAGE + 1 if count is None else count
        )
        if count is not None or len(rows) <= PAGE:
            return [self.native_value(row) for row in rows]
        values = [self.native_value(row) for row in rows[:PAGE]]
        return [*values, rest(Language.NATIVE, self._native_reference(handle, start + PAGE))]

    def _native_reference(self, handle: int, offset: int = 0) -> int:
        return self.register(
            lambda start, count: self._session.interrupted(
                lambda: self._native_children(handle, offset + start, count)
            )
        )

    def native_value(self, row: dict[str, Any]) -> Value:
        """A row of gdb's helpers as a value of this stop."""
        handle = row["handle"]
        reference = 0
        if handle is not None:
            reference = self._native_reference(handle)
            self._native_handles[reference] = handle
        return Value(
            row["name"], row["type"], row["value"], Language.NATIVE, reference, address=row["address"]
        )

    def register(self, fetch: Fetch) -> int:
        """A reference, valid until the target runs, by which ``fetch`` is asked for children."""
        reference = self._next_reference
        self._next_reference += 1
        self._fetchers[reference] = fetch
        return reference
