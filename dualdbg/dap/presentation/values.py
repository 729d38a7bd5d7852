"""Values for the client: debugpy's own rows at a Python stop, the session's values everywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...errors import CommandError, EvaluationError
from ...model import RETURNED, Language, NativeFrame, PythonFrame, State, Value
from ...protocol.dap_types import EvaluateResponseBody, Scope, SetVariableResponseBody, Variable
from ...session.inspect import deferred
from ...session.inspect.disassembly import REGISTER_GROUPS
from ...session.inspect.torch_commands import HelperWords
from ..client.arguments import Arguments
from ..debuggee import Debuggee
from ..handles import Container, FrameHandle
from .formats import style_of

PAGE = 200  # children of a native value that are shown at once; the rest is behind one more row


class Values:
    """Makes the rows of ``scopes``, ``variables`` and ``evaluate``, and remembers what their references mean."""

    def __init__(self, debuggee: Debuggee) -> None:
        self.debuggee = debuggee

    def add(self, container: Container) -> int:
        """The number of a container, which the client asks for its children with."""
        return self.debuggee.handles.variables.add(container)

    # -- scopes -----------------------------------------------------------------------------------

    def native_scopes(self, handle: FrameHandle) -> list[Scope]:
        """The scopes of a native frame."""
        named = "Locals" if handle.frame.line is not None else "Arguments (in registers)"
        scopes = [self._locals(named, NativeLocals(self, handle))]
        for group in REGISTER_GROUPS:
            scopes.append(
                {
                    "name": "Registers" if group == "general" else f"Registers ({group})",
                    "presentationHint": "registers",
                    "variablesReference": self.add(Registers(self, handle, group)),
                    "expensive": True,
                }
            )
        return scopes

    async def python_scopes(self, handle: FrameHandle) -> list[Scope]:
        """The scopes of a Python frame: those of debugpy where it holds the target."""
        frame = handle.frame
        assert isinstance(frame, PythonFrame)
        session = self.debuggee.session
        if session.state is State.PYTHON_STOPPED and frame.engine_id is not None:
            answer = await session.inspector.relay("scopes", {"frameId": frame.engine_id})
            rows: list[Scope] = answer.get("scopes", [])
            return [self._python_scope(row, frame) for row in rows]
        return [self._locals("Locals", FrameLocals(self, handle))]

    def _locals(self, name: str, container: Container) -> Scope:
        reference = self.add(container)
        return {
            "name": name,
            "presentationHint": "locals",
            "variablesReference": reference,
            "expensive": False,
        }

    def _python_scope(self, row: Scope, frame: PythonFrame) -> Scope:
        scope = row.copy()
        scope["variablesReference"] = self.add(PythonChildren(self, row["variablesReference"], frame=frame))
        if "source" in scope:
            del scope["source"]  # an empty scope says nothing
        return scope

    # -- rows -------------------------------------------------------------------------------------

    def python_row(self, row: Variable, frame: PythonFrame | None = None) -> Variable:
        """A variable of debugpy, with its reference replaced by ours. ``frame`` is the one whose variable it is."""
        body = {**row, "variablesReference": self.python_reference(row, frame)}
        body.pop(deferred.OURS, None)
        return cast(Variable, body)

    def python_reference(self, row: Mapping[str, Any], frame: PythonFrame | None = None) -> int:
        """Our reference in place of the reference in a row of debugpy."""
        inner = int(row.get("variablesReference") or 0)
        is_deferred = bool((row.get("presentationHint") or {}).get("lazy"))
        return self.add(PythonChildren(self, inner, is_deferred, frame)) if inner else 0

    def row(self, handle: FrameHandle, value: Value) -> Variable:
        """A value of the session as a variable."""
        body: Variable = {
            "name": value.name,
            "value": value.value,
            "variablesReference": self._reference(handle, value),
        }
        if value.type:
            body["type"] = value.type
        if value.expression:
            body["evaluateName"] = value.expression
        if value.name.startswith(RETURNED):
            body["presentationHint"] = {"attributes": ["readOnly"]}
        if value.address is not None:
            body["memoryReference"] = f"{value.address:#x}"
        return body

    def result(self, handle: FrameHandle, value: Value) -> EvaluateResponseBody:
        """A value of the session as the result of an evaluation."""
        row = self.row(handle, value)
        body: EvaluateResponseBody = {"result": row["value"], "variablesReference": row["variablesReference"]}
        if "type" in row:
            body["type"] = row["type"]
        if "memoryReference" in row:
            body["memoryReference"] = row["memoryReference"]
        return body

    def assigned(self, handle: FrameHandle, value: Value) -> SetVariableResponseBody:
        """A value of the session as what was assigned."""
        row = self.row(handle, value)
        return _assigned(row, row["variablesReference"])

    def python_assigned(self, row: Mapping[str, Any]) -> SetVariableResponseBody:
        """What debugpy has assigned, with its reference replaced by ours."""
        return _assigned(row, self.python_reference(row))

    async def place_of_expression(self, handle: FrameHandle, expression: str) -> tuple[int, int]:
        """Address and size in bytes of what a native expression means. Raises EvaluationError."""
        if not isinstance(handle.frame, NativeFrame):
            raise EvaluationError("Python values have no place of their own to watch")
        return await self.debuggee.memory.place(handle.tid, handle.frame, None, expression, expression)

    def _reference(self, handle: FrameHandle, value: Value) -> int:
        if not value.reference:
            return self.add(Tensor(self, handle, value)) if _is_tensor(value) else 0
        if value.language is Language.NATIVE:
            return self.add(NativeChildren(self, handle, value.reference))
        return self.add(Children(self, handle, value.reference))


class PythonChildren(Container):
    """A container of debugpy, by its number there. ``is_deferred``: to look into it runs code of the program.

    ``frame`` is the one whose variables it belongs to, where that is known.
    """

    def __init__(
        self, values: Values, reference: int, is_deferred: bool = False, frame: PythonFrame | None = None
    ) -> None:
        self._values = values
        self._reference = reference
        self._is_deferred = is_deferred
        self._frame = frame

    async def watched(self, name: str) -> tuple[str, PythonFrame] | None:
        if self._frame is None or self._is_deferred:
            return None
        answer = await self._values.debuggee.session.inspector.relay(
            "variables", {"variablesReference": self._reference}
        )
        known = (row.get("evaluateName") for row in answer.get("variables", []) if row["name"] == name)
        expression = next(known, None)
        return None if expression is None else (expression, self._frame)

    async def rows(self, arguments: Arguments) -> list[Variable]:
        asked = {
            key: arguments.values[key] for key in ("filter", "start", "count", "format") if key in arguments
        }
        inspector = self._values.debuggee.session.inspector
        wanted = {"variablesReference": self._reference, **asked}
        if self._is_deferred:
            answer = await deferred.ran(inspector.relay("variables", wanted, deferred.DEADLINE))
        else:
            answer = await inspector.relay("variables", wanted)
        return [self._values.python_row(row, self._frame) for row in answer.get("variables", [])]

    async def assign(self, name: str, text: str, arguments: Arguments) -> SetVariableResponseBody:
        asked: dict[str, Any] = {"variablesReference": self._reference, "name": name, "value": text}
        if "format" in arguments:
            asked["format"] = arguments.values["format"]
        try:
            answer = await self._values.debuggee.session.inspector.relay("setVariable", asked)
        except CommandError as error:
            raise as_evaluation(error) from error
        return self._values.python_assigned(answer)


class FrameLocals(Container):
    """The locals of a Python frame while gdb holds the target: read from memory."""

    def __init__(self, values: Values, handle: FrameHandle) -> None:
        self._values = values
        self._handle = handle

    async def rows(self, arguments: Arguments) -> list[Variable]:
        values = await self._values.debuggee.session.inspector.variables(self._handle.tid, self._handle.frame)
        return [self._values.row(self._handle, value) for value in values]

    async def assign(self, name: str, text: str, arguments: Arguments) -> SetVariableResponseBody:
        raise EvaluationError(
            f"{name} cannot be set while gdb holds the target", "continue to a Python stop, and set it there"
        )


class NativeLocals(FrameLocals):
    """The arguments and locals of a native frame."""

    async def rows(self, arguments: Arguments) -> list[Variable]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        reader = self._values.debuggee.session.inspector.values
        values = await reader.native_variables(self._handle.tid, frame, style_of(arguments))
        return [self._values.row(self._handle, value) for value in values]

    async def assign(self, name: str, text: str, arguments: Arguments) -> SetVariableResponseBody:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        if frame.line is None:
            return await self._assign_register(name, text)
        value = await self._values.debuggee.memory.assign(self._handle.tid, frame, None, name, text)
        return self._values.assigned(self._handle, value)

    async def _assign_register(self, name: str, text: str) -> SetVariableResponseBody:
        value = await self._values.debuggee.session.inspector.evaluate(
            f"{name} = ({text})", self._handle.tid, self._handle.frame, Language.NATIVE
        )
        return self._values.assigned(self._handle, value)

    async def place(self, name: str) -> tuple[int, int]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        return await self._values.debuggee.memory.place(self._handle.tid, frame, None, name, None)


class Registers(NativeLocals):
    """A group of the registers of a native frame."""

    def __init__(self, values: Values, handle: FrameHandle, group: str) -> None:
        super().__init__(values, handle)
        self._group = group

    async def rows(self, arguments: Arguments) -> list[Variable]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        values = await self._values.debuggee.code.registers(self._handle.tid, frame, self._group)
        return [self._values.row(self._handle, value) for value in values]

    async def assign(self, name: str, text: str, arguments: Arguments) -> SetVariableResponseBody:
        return await self._assign_register(f"${name}", text)

    async def place(self, name: str) -> tuple[int, int]:
        raise EvaluationError(f"{name} is a register")


class Children(Container):
    """The children of a value that was read from memory, not by gdb."""

    def __init__(self, values: Values, handle: FrameHandle, reference: int) -> None:
        self._values = values
        self._handle = handle
        self._reference = reference

    async def rows(self, arguments: Arguments) -> list[Variable]:
        values = await self._values.debuggee.session.inspector.children(self._reference)
        return [self._values.row(self._handle, value) for value in values]


class Tensor(Container):
    """A tensor as the helpers read it from memory. They are asked only when the user opens it.

    The row ``data`` has the address of the first element, for the editor's view of memory.
    """

    def __init__(self, values: Values, handle: FrameHandle, value: Value) -> None:
        self._values = values
        self._handle = handle
        self._value = value

    async def rows(self, arguments: Arguments) -> list[Variable]:
        handle, address = self._handle, self._value.address
        words = HelperWords(self._values.debuggee.session)
        found = await words.run("tensor", f"{address:#x} --data {_ELEMENTS}", handle.tid, handle.frame)
        facts: dict[str, Any] = found.data if isinstance(found.data, dict) else {}
        rows = [_fact(name, facts[name]) for name in _FACTS if facts.get(name) is not None]
        storage = facts.get("storage")
        if isinstance(storage, dict) and isinstance(storage.get("data"), str):
            row = _fact("data", f"{storage['nbytes']} bytes at {storage['data']} on {storage['device']}")
            row["memoryReference"] = storage["data"]
            rows.append(row)
        rows += [_fact(f"[{index}]", value) for index, value in enumerate(facts.get("values") or ())]
        return rows


_TENSORS = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"})
_ELEMENTS = 100  # elements of a tensor that are shown, in its own order
_FACTS = (
    "dtype",
    "sizes",
    "strides",
    "offset",
    "device",
    "requires_grad",
    "grad_fn",
    "version",
    "dispatch_keys",
)


def _is_tensor(value: Value) -> bool:
    return value.type in _TENSORS and value.address is not None and value.language is Language.PYTHON


def _fact(name: str, value: Any) -> Variable:
    text = ", ".join(map(str, value)) if name == "dispatch_keys" else str(value)
    return {"name": name, "value": text, "variablesReference": 0}


class NativeChildren(Children):
    """The children of a value that gdb holds, from the ``start``-th on."""

    def __init__(self, values: Values, handle: FrameHandle, reference: int, start: int = 0) -> None:
        super().__init__(values, handle, reference)
        self._start = start

    async def rows(self, arguments: Arguments) -> list[Variable]:
        start = self._start + max(arguments.number("start", 0), 0)
        count = arguments.number("count", 0)
        length = min(count, PAGE) if count > 0 else PAGE
        reader = self._values.debuggee.session.inspector.values
        values = await reader.native_page(self._reference, start, length + 1, style_of(arguments))
        rows = [self._values.row(self._handle, value) for value in values[:length]]
        if len(values) > length and not count:
            more = NativeChildren(self._values, self._handle, self._reference, start + length)
            rows.append({"name": "…", "value": "more", "variablesReference": self._values.add(more)})
        return rows

    async def assign(self, name: str, text: str, arguments: Arguments) -> SetVariableResponseBody:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        value = await self._values.debuggee.memory.assign(
            self._handle.tid, frame, self._reference, name, text
        )
        return self._values.assigned(self._handle, value)

    async def place(self, name: str) -> tuple[int, int]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        return await self._values.debuggee.memory.place(self._handle.tid, frame, self._reference, name, None)


def _assigned(row: Mapping[str, Any], reference: int) -> SetVariableResponseBody:
    body: SetVariableResponseBody = {"value": row["value"], "variablesReference": reference}
    if "type" in row:
        body["type"] = row["type"]
    if "namedVariables" in row:
        body["namedVariables"] = row["namedVariables"]
    if "indexedVariables" in row:
        body["indexedVariables"] = row["indexedVariables"]
    if "memoryReference" in row:
        body["memoryReference"] = row["memoryReference"]
    return body


def as_evaluation(error: CommandError) -> CommandError:
    """A failure with debugpy's own words, as a failure of the expression."""
    return EvaluationError(error.message, error.hint) if type(error) is CommandError else error
