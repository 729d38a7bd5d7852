"""Values for the client: debugpy's own rows at a Python stop, the session's values everywhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..errors import CommandError, DualdbgError, EvaluationError
from ..model import Language, NativeFrame, PythonFrame, State, Value
from ..session.code import REGISTER_GROUPS
from ..session.helper_words import HelperWords
from .arguments import Arguments

if TYPE_CHECKING:
    from .adapter import Adapter, FrameHandle

PAGE = 200  # children of a native value that are shown at once; the rest is behind one more row

Row = dict[str, Any]


class Values:
    """Makes the rows of ``scopes``, ``variables`` and ``evaluate``, and remembers what their references mean."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def add(self, container: Container) -> int:
        return self._adapter.tables.variables.add(container)

    # -- scopes -----------------------------------------------------------------------------------

    def native_scopes(self, handle: FrameHandle) -> list[Row]:
        assert isinstance(handle.frame, NativeFrame)
        named = "Locals" if handle.frame.line is not None else "Arguments (in registers)"
        scopes = [
            {
                "name": named,
                "presentationHint": "locals",
                "variablesReference": self.add(NativeLocals(self._adapter, handle)),
                "expensive": False,
            }
        ]
        for group in REGISTER_GROUPS:
            scopes.append(
                {
                    "name": "Registers" if group == "general" else f"Registers ({group})",
                    "presentationHint": "registers",
                    "variablesReference": self.add(Registers(self._adapter, handle, group)),
                    "expensive": True,
                }
            )
        return scopes

    async def python_scopes(self, handle: FrameHandle) -> list[Row]:
        frame = handle.frame
        assert isinstance(frame, PythonFrame)
        adapter = self._adapter
        if adapter.session.state is State.PYTHON_STOPPED and frame.engine_id is not None:
            answer = await adapter.session.inspector.ask("scopes", {"frameId": frame.engine_id})
            return [self._python_scope(row, frame.engine_id) for row in answer.get("scopes", ())]
        return [
            {
                "name": "Locals",
                "presentationHint": "locals",
                "variablesReference": self.add(FrameLocals(adapter, handle)),
                "expensive": False,
            }
        ]

    def _python_scope(self, row: Row, frame: int) -> Row:
        reference = self.add(PythonChildren(self._adapter, int(row["variablesReference"]), frame))
        kept = {
            key: value for key, value in row.items() if key != "source"
        }  # an empty one, which says nothing
        return {**kept, "variablesReference": reference}

    # -- rows -------------------------------------------------------------------------------------

    def python_row(self, row: Row) -> Row:
        """A variable or an evaluation of debugpy's, with its reference replaced by one of ours."""
        inner = int(row.get("variablesReference") or 0)
        reference = self.add(PythonChildren(self._adapter, inner)) if inner else 0
        return {**row, "variablesReference": reference}

    async def add_places(self, rows: list[Row], frame: int) -> None:
        """Give tensors among debugpy's rows the address of their data, for the editor's view of memory.

        Only variables of the frame with debugpy's number ``frame``: to look at an attribute again may run code.
        """
        tensors = [row for row in rows if row.get("type") in _PYTHON_TENSORS and row.get("evaluateName")]
        tensors = tensors[:_PLACES]
        if not tensors:
            return
        names = "".join(f"({row['evaluateName']})," for row in tensors)
        expression = f"[hex(t.data_ptr() if t.is_cpu else 0) for t in ({names})]"
        try:
            answer = await self._adapter.session.inspector.ask(
                "evaluate", {"expression": expression, "frameId": frame, "context": "watch"}
            )
        except DualdbgError:
            return  # one of them has no data of its own (sparse, fake), or the program runs again
        places = _PLACE.findall(str(answer.get("result")))
        for row, place in zip(tensors, places, strict=False):
            if int(place, 16):
                row["memoryReference"] = place

    def row(self, handle: FrameHandle, value: Value) -> Row:
        """A value of the session's as a variable."""
        body: Row = {
            "name": value.name,
            "value": value.value,
            "variablesReference": self._reference(handle, value),
        }
        if value.type:
            body["type"] = value.type
        if value.expression:
            body["evaluateName"] = value.expression
        if value.address is not None:
            body["memoryReference"] = f"{value.address:#x}"
        return body

    def result(self, handle: FrameHandle, value: Value) -> Row:
        """A value of the session's as the result of an evaluation."""
        row = self.row(handle, value)
        return {
            "result": row["value"],
            **{key: row[key] for key in ("type", "variablesReference", "memoryReference") if key in row},
        }

    async def place_of_expression(self, handle: FrameHandle, expression: str) -> tuple[int, int]:
        """Address and size in bytes of what a native expression means. Raises EvaluationError."""
        if not isinstance(handle.frame, NativeFrame):
            raise EvaluationError("Python values have no place of their own to watch")
        return await self._adapter.memory.place(handle.tid, handle.frame, None, expression, expression)

    def _reference(self, handle: FrameHandle, value: Value) -> int:
        if not value.reference:
            return self.add(Tensor(self._adapter, handle, value)) if _is_tensor(value) else 0
        if value.language is Language.NATIVE:
            return self.add(NativeChildren(self._adapter, handle, value.reference))
        return self.add(Children(self._adapter, handle, value.reference))


class Container:
    """What a variables reference stands for."""

    async def rows(self, arguments: Arguments) -> list[Row]:
        """The children, as ``variables`` is to answer them."""
        raise NotImplementedError

    async def assign(self, name: str, text: str, arguments: Arguments) -> Row:
        """Set a child; the answer of ``setVariable``. Raises EvaluationError when it cannot be set."""
        raise EvaluationError(
            f"{name} cannot be set here", "set it at a Python stop, or in a frame with debug information"
        )

    async def place(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a child. Raises EvaluationError for what is not in memory of its own."""
        raise EvaluationError(f"{name} has no place in memory of its own")


class PythonChildren(Container):
    """A container of debugpy's, by its own number; ``frame`` is that of the frame whose variables it holds."""

    def __init__(self, adapter: Adapter, reference: int, frame: int | None = None) -> None:
        self._adapter = adapter
        self._reference = reference
        self._frame = frame

    async def rows(self, arguments: Arguments) -> list[Row]:
        asked = {
            key: arguments.values[key] for key in ("filter", "start", "count", "format") if key in arguments
        }
        answer = await self._adapter.session.inspector.ask(
            "variables", {"variablesReference": self._reference, **asked}
        )
        values = self._adapter.values
        rows = [values.python_row(row) for row in answer.get("variables", ())]
        if self._frame is not None:
            await values.add_places(rows, self._frame)
        return rows

    async def assign(self, name: str, text: str, arguments: Arguments) -> Row:
        asked: Row = {"variablesReference": self._reference, "name": name, "value": text}
        if "format" in arguments:
            asked["format"] = arguments.values["format"]
        try:
            answer = await self._adapter.session.inspector.ask("setVariable", asked)
        except CommandError as error:
            raise as_evaluation(error) from error
        return self._adapter.values.python_row(answer)


class FrameLocals(Container):
    """The locals of a Python frame while gdb holds the target: read from memory."""

    def __init__(self, adapter: Adapter, handle: FrameHandle) -> None:
        self._adapter = adapter
        self._handle = handle

    async def rows(self, arguments: Arguments) -> list[Row]:
        values = await self._adapter.session.inspector.variables(self._handle.tid, self._handle.frame)
        return [self._adapter.values.row(self._handle, value) for value in values]

    async def assign(self, name: str, text: str, arguments: Arguments) -> Row:
        raise EvaluationError(
            f"{name} cannot be set while gdb holds the target", "continue to a Python stop, and set it there"
        )


class NativeLocals(FrameLocals):
    """The arguments and locals of a native frame."""

    async def assign(self, name: str, text: str, arguments: Arguments) -> Row:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        if frame.line is None:
            return await self._assign_register(name, text)
        value = await self._adapter.memory.assign(self._handle.tid, frame, None, name, text)
        return self._adapter.values.row(self._handle, value)

    async def _assign_register(self, name: str, text: str) -> Row:
        value = await self._adapter.session.inspector.evaluate(
            f"{name} = ({text})", self._handle.tid, self._handle.frame, Language.NATIVE
        )
        return self._adapter.values.row(self._handle, value)

    async def place(self, name: str) -> tuple[int, int]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        return await self._adapter.memory.place(self._handle.tid, frame, None, name, None)


class Registers(NativeLocals):
    """A group of the registers of a native frame."""

    def __init__(self, adapter: Adapter, handle: FrameHandle, group: str) -> None:
        super().__init__(adapter, handle)
        self._group = group

    async def rows(self, arguments: Arguments) -> list[Row]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        values = await self._adapter.code.registers(self._handle.tid, frame, self._group)
        return [self._adapter.values.row(self._handle, value) for value in values]

    async def assign(self, name: str, text: str, arguments: Arguments) -> Row:
        return await self._assign_register(f"${name}", text)

    async def place(self, name: str) -> tuple[int, int]:
        raise EvaluationError(f"{name} is a register")


class Children(Container):
    """The children of a value of the session's that is not gdb's."""

    def __init__(self, adapter: Adapter, handle: FrameHandle, reference: int) -> None:
        self._adapter = adapter
        self._handle = handle
        self._reference = reference

    async def rows(self, arguments: Arguments) -> list[Row]:
        values = await self._adapter.session.inspector.children(self._reference)
        return [self._adapter.values.row(self._handle, value) for value in values]


class Tensor(Container):
    """What the helpers read of a tensor in memory; asked for only when the user opens it.

    The row ``data`` has the address of the first element, for the editor's view of memory.
    """

    def __init__(self, adapter: Adapter, handle: FrameHandle, value: Value) -> None:
        self._adapter = adapter
        self._handle = handle
        self._value = value

    async def rows(self, arguments: Arguments) -> list[Row]:
        handle, address = self._handle, self._value.address
        words = HelperWords(self._adapter.session)
        found = await words.run("tensor", f"{address:#x} --data {_ELEMENTS}", handle.tid, handle.frame)
        facts: dict[str, Any] = found.data if isinstance(found.data, dict) else {}
        rows = [_fact(name, facts[name]) for name in _FACTS if facts.get(name) is not None]
        storage = facts.get("storage")
        if isinstance(storage, dict) and isinstance(storage.get("data"), str):
            row = _fact("data", f"{storage['nbytes']} bytes at {storage['data']} on {storage['device']}")
            rows.append({**row, "memoryReference": storage["data"]})
        rows += [_fact(f"[{index}]", value) for index, value in enumerate(facts.get("values") or ())]
        return rows


_TENSORS = frozenset({"torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"})
_PYTHON_TENSORS = frozenset({"Tensor", "Parameter", "Buffer"})  # as debugpy names types
_PLACE = re.compile(r"'(0x[0-9a-f]+)'")
_PLACES = 20  # tensors of one list that are asked for their data
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


def _fact(name: str, value: Any) -> Row:
    text = ", ".join(map(str, value)) if name == "dispatch_keys" else str(value)
    return {"name": name, "value": text, "variablesReference": 0}


class NativeChildren(Children):
    """The children of a value of gdb's, from the ``start``-th on."""

    def __init__(self, adapter: Adapter, handle: FrameHandle, reference: int, start: int = 0) -> None:
        super().__init__(adapter, handle, reference)
        self._start = start

    async def rows(self, arguments: Arguments) -> list[Row]:
        start = self._start + max(arguments.number("start", 0), 0)
        count = arguments.number("count", 0)
        length = min(count, PAGE) if count > 0 else PAGE
        values = await self._adapter.session.inspector.values.page(self._reference, start, length + 1)
        rows = [self._adapter.values.row(self._handle, value) for value in values[:length]]
        if len(values) > length and not count:
            more = NativeChildren(self._adapter, self._handle, self._reference, start + length)
            rows.append({"name": "…", "value": "more", "variablesReference": self._adapter.values.add(more)})
        return rows

    async def assign(self, name: str, text: str, arguments: Arguments) -> Row:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        value = await self._adapter.memory.assign(self._handle.tid, frame, self._reference, name, text)
        return self._adapter.values.row(self._handle, value)

    async def place(self, name: str) -> tuple[int, int]:
        frame = self._handle.frame
        assert isinstance(frame, NativeFrame)
        return await self._adapter.memory.place(self._handle.tid, frame, self._reference, name, None)


def as_evaluation(error: CommandError) -> CommandError:
    """debugpy's own words of a failure, as a failure of the expression."""
    return EvaluationError(error.message, error.hint) if type(error) is CommandError else error
