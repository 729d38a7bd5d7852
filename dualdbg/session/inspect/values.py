"""Variables, children and expressions: from debugpy at a Python stop, from gdb in a native frame, else from memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from ...backends import python as debugpy
from ...backends.native import AskingGdb
from ...backends.python import PythonRequest, PythonValue
from ...errors import CommandError, EngineLost, EvaluationError, StaleHandle
from ...model import RETURNED, Frame, Language, NativeFrame, PythonFrame, State, Value
from ...shared.requests.arguments import EvaluatePassed, Passing, ReadPassedArguments
from ...shared.requests.threads import ReadArchitecture, ReadRegisters
from ...shared.requests.values import (
    AllowCalls,
    Evaluate,
    ForgetValues,
    ListArgumentNames,
    ListChildren,
    ListVariables,
    NativeVariable,
)
from ...system.patience import patient
from ...system.waiting import to_its_end
from ..loop import Loop
from ..native_expressions import names_in
from ..ports import Halting, Reads
from . import deferred
from .python_objects import PAGE, Fetch, MemoryValues, rest

EVALUATION_DEADLINE = patient(3600.0)
# In the target: dualdbg/target/bootstrap/pydevd_patches/dualdbg_steps.py.
_RETURNED_NOW = "__import__('pydevd').dualdbg_presentation.beside('dualdbg_steps').returned()"
_NOTHING = "NothingReturned"  # a class there
_NOT_KNOWN = "<not known>"
# Where the first integer and pointer arguments are at a function's entry: System V AMD64 ABI, figure 3.4, and
# AAPCS64, 6.8.2.
_ARGUMENT_REGISTERS = {
    "x86-64": ("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    "aarch64": tuple(f"x{number}" for number in range(8)),
}


CALL_DEADLINE = patient(5.0)  # seconds for what an expression calls that is not to stop


class ValueReader:
    """Values of the current stop. Every reference is stale once the target runs."""

    def __init__(self, loop: Loop, native: AskingGdb, halting: Halting, reads: Reads) -> None:
        self._loop = loop
        self._native = native
        self._halting = halting
        self._reads = reads
        self._fetchers: dict[int, Fetch] = {}
        # By reference: the attributes of the object itself, where it has more.
        self._own: dict[int, Fetch] = {}
        self._has_handles = False  # gdb keeps values for us
        self._native_handles: dict[int, int] = {}  # by reference: what gdb's helpers know the value by
        self._next_reference = 1
        # Where a function begins and what is passed to it, by an address in it, and whether that is a return address.
        self.passing_at: Callable[[int, bool], tuple[int, Passing] | None] = lambda pc, is_return: None
        self.memory = MemoryValues(native, halting, reads, self.register)

    def forget(self) -> None:
        """The target runs: every reference is stale."""
        self._fetchers.clear()
        self._own.clear()
        self._native_handles.clear()
        if self._has_handles:
            self._has_handles = False
            with contextlib.suppress(EngineLost):  # gdb is gone, and its values with it
                self._native.tell(ForgetValues())

    async def variables(self, tid: int, frame: Frame) -> list[Value]:
        """Arguments and locals of a frame, and what the function has returned that a step has left for it."""
        if isinstance(frame, NativeFrame):
            return await self.native_variables(tid, frame)
        if self._loop.state.phase is State.PYTHON_STOPPED and frame.engine_id is not None:
            return await self._python_variables(frame)  # debugpy has what was returned among them
        values = await self._halting.interrupted(lambda: self.memory.variables(tid, frame))
        return [*self._result(tid, frame), *values]

    def _result(self, tid: int, frame: Frame) -> list[Value]:
        stop = self._loop.state.stop
        if stop is None or stop.result is None or (tid, frame) != (stop.thread.tid, stop.frame):
            return []
        return [stop.result]

    async def children(self, reference: int) -> list[Value]:
        """The children of a value. Raises StaleHandle for a reference of an earlier stop."""
        return await self._fetch(reference, 0, None)

    async def _fetch(self, reference: int, start: int, count: int | None) -> list[Value]:
        fetch = self._fetchers.get(reference)
        if fetch is None:
            raise StaleHandle("that value belongs to an earlier stop", "ask for the variables again")
        return await fetch(start, count)

    async def page(self, reference: int, start: int, count: int) -> list[Value]:
        """``count`` children, from number ``start`` (from 0) on.

        Raises StaleHandle as :meth:`children` does.
        """
        return await self._fetch(reference, start, count)

    async def attributes(self, reference: int, start: int, count: int) -> list[Value]:
        """Of a Python object that is opaque: its own attributes, alike at Python and at native stops.

        Raises StaleHandle as :meth:`children` does.
        """
        own = self._own.get(reference)
        return await (self._fetch(reference, start, count) if own is None else own(start, count))

    def native_handle(self, reference: int) -> int:
        """By what gdb's helpers know a native value. Raises StaleHandle as :meth:`children` does."""
        if reference not in self._native_handles:
            raise StaleHandle("that value belongs to an earlier stop", "ask for the variables again")
        return self._native_handles[reference]

    # -- Python ---------------------------------------------------------------------------------

    async def _python_variables(self, frame: PythonFrame) -> list[Value]:
        assert frame.engine_id is not None
        scopes = await self._reads.ask(debugpy.scopes(frame.engine_id))
        return await self._python_children(scopes["Locals"]) if "Locals" in scopes else []

    async def _python_children(self, debugpy_reference: int) -> list[Value]:
        return [
            self._python_value(value) for value in await self._reads.ask(debugpy.variables(debugpy_reference))
        ]

    def _python_value(self, value: PythonValue) -> Value:
        inner = value.reference

        async def part(start: int, count: int | None) -> list[Value]:
            if count is None:
                return (await self._python_children(inner))[start:]
            rows = await self._reads.ask(debugpy.page(inner, start, count))
            return [self._python_value(row) for row in rows]

        async def own(start: int, count: int | None) -> list[Value]:
            rows = await self._reads.ask(debugpy.fields(inner))
            return [
                self._python_value(row) for row in (rows[start:] if count is None else rows[start:][:count])
            ]

        reference = self.register(part) if inner else 0
        if reference and value.opaque:
            self._own[reference] = own
        return Value(
            value.name,
            value.type,
            value.text,
            Language.PYTHON,
            reference,
            value.count,
            expression=value.expression,
            data=value.tensor,
            own_repr=value.own_repr,
            opaque=value.opaque,
        )

    async def evaluate_python(self, expression: str, frame: Frame) -> Value:
        """Evaluate with debugpy, at a Python stop. Raises EvaluationError with the exception of the expression."""
        return self._python_value(await self._evaluated(debugpy.evaluate(expression, _held(frame), "repl")))

    async def represent_python(self, expression: str, frame: Frame) -> Value:
        """The value of an expression, with the text that its own ``repr`` gives.

        Raises EvaluationError when that raises, ends the program, or does not return within seconds.
        """
        value = await self._evaluated(debugpy.deferred_repr(expression, _held(frame)))
        if not value.reference:
            return self._python_value(value)
        question = debugpy.variables(value.reference)
        rows = await deferred.ran(self._reads.ask(question, deferred.DEADLINE))
        if rows[0].type == debugpy.FAILED:
            raise EvaluationError(rows[0].text)
        return Value(expression, value.type, rows[0].text, Language.PYTHON)

    async def returned_in_python(self, frame: int, function: str) -> Value | None:
        """What a function has returned that debugpy's step out has left for its frame of this number; None for nothing.

        Raises WrongState when a native stop comes first.
        """
        try:
            value = await self._evaluated(debugpy.evaluate(_RETURNED_NOW, frame))
        except EvaluationError:
            return None
        if value.type == _NOTHING:
            return None
        return replace(self._python_value(value), name=f"{RETURNED}{function}", expression=None)

    async def _evaluated(self, question: PythonRequest[PythonValue]) -> PythonValue:
        try:
            return await self._reads.ask(question, EVALUATION_DEADLINE, lambda value: value.text)
        except CommandError as error:
            if type(error) is CommandError:  # the text is the exception of the expression
                raise EvaluationError(error.message) from error
            raise

    async def evaluate_memory(self, expression: str, tid: int, frame: PythonFrame) -> Value:
        """A name, with attributes and elements of it, while gdb holds the target. Raises EvaluationError."""
        return await self._halting.interrupted(lambda: self.memory.evaluate(expression, tid, frame))

    # -- native ---------------------------------------------------------------------------------

    async def native_variables(self, tid: int, frame: NativeFrame, style: str = "") -> list[Value]:
        """Arguments and locals of a native frame. ``style``: gdb's letter of a format; empty for the usual one."""
        values = await self._halting.interrupted(lambda: self._native_variables(tid, frame, style))
        return [*self._result(tid, frame), *values]

    async def argument_names(self, tid: int, frame: NativeFrame) -> list[str] | None:
        """The names of its arguments among the variables of a native frame with debug info; None where not known."""

        async def ask() -> list[str] | None:
            return await self._native.ask(ListArgumentNames(await self._reads.gdb_thread(tid), frame.level))

        return await self._halting.interrupted(ask)

    async def _native_variables(self, tid: int, frame: NativeFrame, style: str) -> list[Value]:
        number = await self._reads.gdb_thread(tid)
        rows = await self._native.ask(ListVariables(number, frame.level, style))
        if rows or frame.line is not None:
            return [self.native_value(row) for row in rows]
        return await self._arguments(number, frame)

    async def _arguments(self, number: int, frame: NativeFrame) -> list[Value]:
        """Without debug info: what is known to be passed; and where that is not all, the registers in which the ABI
        passes arguments.
        """
        found = self.passing_at(frame.pc, frame.is_call)
        if found is None:
            return await self._argument_registers(number) if frame.level == 0 else []
        entry, what = found
        rows = await self._passed_rows(number, frame, entry, what)
        values = [self.native_value(row) for row in rows]
        open_ = what.as_written and frame.pc == entry and any(row.value == _NOT_KNOWN for row in rows)
        return [*values, *(await self._argument_registers(number) if open_ else [])]

    async def _passed_rows(
        self, number: int, frame: NativeFrame, entry: int, what: Passing
    ) -> list[NativeVariable]:
        rows = await self._native.ask(ReadPassedArguments(number, frame.level, entry, what))
        self._has_handles = self._has_handles or any(row.handle is not None for row in rows)
        return rows

    async def _argument_registers(self, number: int) -> list[Value]:
        names = _ARGUMENT_REGISTERS.get(await self._native.ask(ReadArchitecture()), ())
        registers = await self._native.ask(ReadRegisters(number, names))
        return [
            Value(f"${name}", "register", f"{content:#x}", Language.NATIVE, expression=f"${name}")
            for name, content in registers.items()
        ]

    async def _passed(
        self, number: int, frame: NativeFrame, expression: str, style: str, may_stop: bool
    ) -> Value | None:
        """An argument, or an expression about arguments, where the function has no debug info; None for any other.

        Raises CommandError where it has no value.
        """
        names = names_in(expression)
        found = self.passing_at(frame.pc, frame.is_call) if frame.line is None and names else None
        if found is None or names.isdisjoint({"this", *(name for name, _ in found[1].parameters)}):
            return None
        entry, what = found
        rows = await self._passed_rows(number, frame, entry, what)
        if names.isdisjoint(row.name for row in rows):
            return None
        row = next((row for row in rows if row.name == expression), None)
        if row is None:
            told = {row.name: (row.type, row.value) for row in rows}
            seconds = None if may_stop else CALL_DEADLINE
            row = await self._native.ask(
                EvaluatePassed(number, frame.level, expression, entry, what, told, style, seconds)
            )
        return self.native_value(row)

    async def evaluate_native(
        self, expression: str, tid: int, frame: Frame, style: str = "", may_stop: bool = False
    ) -> Value:
        """Evaluate a C++ expression with gdb; ``style`` as in :meth:`native_variables`. Raises EvaluationError.

        ``may_stop``: breakpoints hold in what it calls.
        """
        level = frame.level if isinstance(frame, NativeFrame) else 0
        seconds = None if may_stop else CALL_DEADLINE

        async def read() -> Value:
            number = await self._reads.gdb_thread(tid)
            try:
                if isinstance(frame, NativeFrame):
                    passed = await self._passed(number, frame, expression, style, may_stop)
                    if passed is not None:
                        return passed
                variable = await self._native.ask(Evaluate(number, level, expression, style, seconds))
            except CommandError as error:
                raise EvaluationError(error.message) from error
            return self.native_value(variable)

        return await self._halting.interrupted(read)

    async def evaluate_native_memory(self, expression: str, tid: int, frame: Frame, style: str = "") -> Value:
        """As :meth:`evaluate_native`, and no function of the program is called for it."""

        async def read() -> Value:
            try:
                await self._native.ask(AllowCalls(False))
                return await self.evaluate_native(expression, tid, frame, style)
            finally:
                await to_its_end(self._native.ask(AllowCalls(True)))

        return await self._halting.interrupted(read)

    async def native_page(self, reference: int, start: int, count: int, style: str) -> list[Value]:
        """Children of a native value, as :meth:`page`; in the value's own style where ``style`` is empty."""
        handle = self.native_handle(reference)

        async def read() -> list[Value]:
            return [
                self.native_value(row)
                for row in await self._native.ask(ListChildren(handle, start, count, style))
            ]

        return await self._halting.interrupted(read)

    async def _native_children(self, handle: int, start: int, count: int | None) -> list[Value]:
        rows = await self._native.ask(ListChildren(handle, start, PAGE + 1 if count is None else count))
        if count is not None or len(rows) <= PAGE:
            return [self.native_value(row) for row in rows]
        values = [self.native_value(row) for row in rows[:PAGE]]
        return [*values, rest(Language.NATIVE, self._native_reference(handle, start + PAGE))]

    def _native_reference(self, handle: int, offset: int = 0) -> int:
        return self.register(
            lambda start, count: self._halting.interrupted(
                lambda: self._native_children(handle, offset + start, count)
            )
        )

    def native_value(self, variable: NativeVariable) -> Value:
        """What gdb showed, as a value of this stop."""
        handle = variable.handle
        reference = 0
        if handle is not None:
            self._has_handles = True
            reference = self._native_reference(handle)
            self._native_handles[reference] = handle
        return Value(
            variable.name,
            variable.type,
            variable.value,
            Language.NATIVE,
            reference,
            address=variable.address,
            expression=variable.expression,
        )

    def register(self, fetch: Fetch) -> int:
        """A reference, valid until the target runs, by which ``fetch`` is asked for children."""
        reference = self._next_reference
        self._next_reference += 1
        self._fetchers[reference] = fetch
        return reference


def _held(frame: Frame) -> int:
    """debugpy's number of a frame. Raises EvaluationError for a frame that is not one of its own."""
    engine_id = frame.engine_id if isinstance(frame, PythonFrame) else None
    if engine_id is None:
        raise EvaluationError("that frame is not one that debugpy holds", "select a Python frame")
    return engine_id
