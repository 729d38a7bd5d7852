"""Runs in the target: pydevd shows values as dualdbg_values.py reads them, and runs the program's code on request.

pydevd makes the text of a value with ``repr``, looks into it with ``dir`` and ``getattr``, and words an exception with
``str``: all of that is code of the program, which can hang, change the program or end it. What is replaced here are its
classes of variables; expressions are in dualdbg_expressions.py, exceptions in dualdbg_raised.py. CPython 3.8 and later.
"""

from __future__ import annotations

import threading
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

RETURNED = "__pydevd_ret_val_dict"  # pydevd's variable with what functions have returned
OWN_VARIABLES = ("_pydev_stop_at_break",)


class TimeIsUp(BaseException):
    """The time limit has passed. ``except Exception`` in the program's code does not catch it."""


class Refused(Exception):
    """What was asked for cannot be told; the message says why."""


class Presentation:
    """How values are shown. It ``runs`` the program's ``repr`` where the user wants them as debugpy shows them."""

    def __init__(self, pydevd: Any, beside: Callable[[str], Any]) -> None:
        self.pydevd = pydevd
        self.beside = beside
        self.runs = False
        self.limit = 0.0  # seconds for a __repr__ or a property of the program that is run on request

    @property
    def inside(self) -> Any:
        """The module with the children of values."""
        return self.beside("dualdbg_inside")

    def reader(self, fmt: Optional[Dict[str, Any]] = None, whole: bool = False) -> Any:
        """A reader for one answer. ``fmt`` is DAP's ValueFormat; ``whole``: strings are not cut."""
        fmt = fmt or {}
        arrays = self.beside("dualdbg_arrays")
        hexadecimal, raw = bool(fmt.get("hex")), bool(fmt.get("rawString"))
        return self.beside("dualdbg_values").Reader(arrays, whole, hexadecimal, raw)

    def facts(self, reader: Any, value: Any) -> Dict[str, Any]:
        """What the session is told besides the text: a tensor's facts, and that a ``__repr__`` was not run."""
        found: Dict[str, Any] = {}
        tensor, place = reader.libraries.tensor_facts(reader.kind(value), value)
        if tensor is not None:
            found["dualdbg"] = {"tensor": tensor}
            if place is not None:
                found["memoryReference"] = "0x%x" % place
        elif not self.runs and reader.own_repr(value):
            found["dualdbg"] = {"ownRepr": True}
        count = self.inside.length(reader, value)
        if count is not None:
            found.setdefault("dualdbg", {})["count"] = count
        return found

    def log(self, id: int, *text: Any) -> bool:
        """See dualdbg_log.py."""
        return bool(self.beside("dualdbg_log").write(self, id, *text))

    def repr_of(self, value: Any) -> Any:
        """The text that the program's own code gives. Raises Refused when it raises, or takes too long."""
        who = "the __repr__ of %s" % self.reader().type_name(value)
        text = self._run(who, lambda: str.__str__(repr(value)))
        return self.beside("dualdbg_kinds").Text(text)

    def deferred_repr(self, value: Any) -> Any:
        """A row that runs a value's ``repr`` when it is opened."""
        name = self.reader().type_name(value)
        return self.inside.Deferred("__repr__ of %s" % name, lambda: self.repr_of(value))

    def attribute_of(self, value: Any, name: str) -> Any:
        """An attribute as the program's code computes it. Raises Refused like :meth:`repr_of`."""
        return self._run(name, lambda: getattr(value, name))

    def _run(self, who: str, run: Callable[[], Any]) -> Any:
        try:
            return limited(self.pydevd, run, self.limit)
        except TimeIsUp:
            raise Refused("%s was ended after %g s" % (who, self.limit)) from None
        except Exception as error:
            raise Refused("%s raised %s" % (who, self.worded(error))) from None

    def worded(self, error: BaseException) -> str:
        """Type and text of an exception."""
        reader = self.reader()
        text = str(error) if self.runs else reader.message(error)
        return "%s: %s" % (reader.type_name(error), text) if text else str(reader.type_name(error))


def limited(pydevd: Any, run: Callable[[], Any], limit: float) -> Any:
    """What ``run`` returns. Raises TimeIsUp in its Python code after ``limit`` seconds; native code cannot be ended."""
    import ctypes

    number = ctypes.c_ulong(threading.get_ident())
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    lock = threading.Lock()
    over: List[str] = []

    def end() -> None:
        with lock:
            if not over:
                over.append("time")
                set_exception(number, ctypes.py_object(TimeIsUp))

    with pydevd.get_global_debugger().timeout_tracker.call_on_timeout(limit, end):
        try:
            return run()
        finally:
            with lock:
                if over:
                    set_exception(number, None)  # it may not have come yet
                over.append("done")


# -- pydevd's variables -----------------------------------------------------------------------------


def object_variable(presentation: Presentation, original: Any) -> Any:
    """pydevd's class for a value, with our text and our children."""

    class ObjectVariable(original):  # type: ignore[misc]
        def get_variable_reference(self) -> int:
            # pydevd has the variables of a frame under the frame's own number.
            return id(self) if type(self.value) is types.FrameType else id(self.value)

        def get_var_data(self, fmt: Any = None, context: Any = None, **limits: Any) -> Dict[str, Any]:
            reader = presentation.reader(fmt, whole=context == "clipboard")
            if presentation.runs and not self._is_deferred():
                data: Dict[str, Any] = original.get_var_data(self, fmt, context, **limits)
                return {**data, **presentation.facts(reader, self.value)}
            name = "(return) %s" % self.name if self._is_return_value else self.name
            data = {"name": name, **row(presentation, reader, self.value)}
            if data["variablesReference"]:
                data["variablesReference"] = self.get_variable_reference()
            if self._is_return_value or name == "len()":
                data.setdefault("presentationHint", {}).setdefault("attributes", []).append("readOnly")
            if self.evaluate_name is not None:
                data["evaluateName"] = self.evaluate_name
            return data

        def get_children_variables(self, fmt: Any = None, scope: Any = None) -> List[Any]:
            fmt, groups = fmt or {}, self.py_db.variable_presentation
            part = fmt.get("dualdbgPage")
            if part is not None and not self._is_deferred() and not is_folder(self.value):
                reader = presentation.reader(fmt)
                return self._rows(presentation.inside.page(reader, self.value, presentation, *part))
            if presentation.runs and not self._is_deferred():
                return list(original.get_children_variables(self, fmt, scope))
            grouped: List[Any] = []
            if is_folder(self.value):
                entries = self.value.contents_debug_adapter_protocol
            elif fmt.get("dualdbgFields"):
                entries = presentation.inside.fields(presentation.reader(fmt), self.value)
            else:
                reader = presentation.reader(fmt)
                methods = not fmt.get("dualdbgBrief")
                try:
                    found = presentation.inside.children(reader, self.value, presentation, methods)
                except Refused as error:
                    found = [(self.name, error, None)]
                entries, grouped = in_groups(presentation, groups, found)
            return self._rows([*grouped, *entries])

        def _rows(self, entries: List[Any]) -> List[Any]:
            parent, rows = self.evaluate_name or "", []
            for name, value, expression in entries:
                known = None
                if parent and expression:
                    known = expression(parent) if callable(expression) else parent + expression
                rows.append(self._child(name, value, known))
            return rows

        def _is_deferred(self) -> bool:
            return any(type(self.value) is kind for kind in (presentation.inside.Deferred, Refused))

        def _child(self, name: str, value: Any, expression: Optional[str]) -> Any:
            kind = type(self)
            return kind(
                self.py_db, name, value, self._register_variable, evaluate_name=expression, frame=self.frame
            )

    return ObjectVariable


def row(presentation: Presentation, reader: Any, value: Any) -> Dict[str, Any]:
    """The text, the type and the reference of a value, as DAP has them."""
    inside, kinds = presentation.inside, presentation.beside("dualdbg_kinds")
    if type(value) is inside.Deferred:
        hint = {"kind": "virtual", "attributes": ["readOnly"], "lazy": True}
        text = "<%s: not run>" % value.what
        return {"value": text, "type": "", "variablesReference": id(value), "presentationHint": hint}
    if type(value) is inside.Rest:
        return {"value": value.text, "type": "", "variablesReference": id(value)}
    if is_folder(value):
        return {"value": "", "type": "", "variablesReference": id(value)}
    if type(value) is Refused:
        return {"value": str(value), "type": "<error>", "variablesReference": 0}
    data = {
        "value": reader.text(value),
        "type": "str" if type(value) is kinds.Text else reader.type_name(value),
        "variablesReference": 0 if inside.is_leaf(reader, value) else id(value),
        **presentation.facts(reader, value),
    }
    if data["value"].startswith("<") and data["value"] == reader.plain(reader.kind(value), value):
        data.setdefault("dualdbg", {})["opaque"] = True
    if type(value) is str or type(value) is bytes or type(value) is bytearray:
        data["presentationHint"] = {"attributes": ["rawString"]}
    return data


def is_folder(value: Any) -> bool:
    """Whether it is one of the rows in which debugpy groups others."""
    from _pydevd_bundle.pydevd_utils import DAPGrouper  # type: ignore[import-not-found]

    return type(value) is DAPGrouper


def in_groups(presentation: Presentation, groups: Any, found: List[Any]) -> Any:
    """The rows that stand alone, and those of debugpy's folders, by what the user wants of each kind."""
    from _pydevd_bundle.pydevd_utils import DAPGrouper

    alone, reader = [], presentation.reader()
    folders: Dict[str, Any] = {}
    for entry in found:
        scope = presentation.inside.group(reader, entry[0], entry[1])
        wanted = groups.get_presentation(scope) if scope else "inline"
        if wanted == "inline":
            alone.append(entry)
        elif wanted != "hide":
            folder = folders.setdefault(scope, DAPGrouper(scope))
            folder.contents_debug_adapter_protocol.append(entry)
    return alone, [(scope, folders[scope], None) for scope in DAPGrouper.SCOPES_SORTED if scope in folders]


def frame_variable(presentation: Presentation, original: Any, variable: Any) -> Any:
    """pydevd's class for the variables of a frame; ``variable`` is the class for each."""

    class FrameVariable(original):  # type: ignore[misc]
        def get_children_variables(self, fmt: Any = None, scope: Any = None) -> List[Any]:
            if presentation.runs:
                return list(original.get_children_variables(self, fmt, scope))
            inside = presentation.inside
            known = inside.variables(self.frame, "locals" if scope is None else scope.scope)
            returned = known.pop(RETURNED, {})
            found = [(name, one, name) for name, one in known.items() if name not in OWN_VARIABLES]
            alone, grouped = in_groups(presentation, self.py_db.variable_presentation, found)
            for _, folder, _ in grouped:
                folder.contents_debug_adapter_protocol.sort(key=inside.order)
            rows = [self._child(name, one, name) for name, one, _ in alone]
            for name, one in returned.items():
                rows.append(self._child(name, one, "%s[%r]" % (RETURNED, name), is_return_value=True))
            rows.sort(key=lambda one: inside.order((one.name, None, None)))
            return [self._child(name, one) for name, one, _ in grouped] + rows

        def _child(
            self, name: str, value: Any, expression: Optional[str] = None, is_return_value: bool = False
        ) -> Any:
            return variable(
                self.py_db,
                name,
                value,
                self._register_variable,
                is_return_value,
                expression,
                frame=self.frame,
            )

    return FrameVariable


def obtaining(original: Any, variable: Any) -> Any:
    """pydevd's method that finds the variable for a value: a frame as a value is none of the frames on the stack."""

    def obtain_as_variable(
        self: Any, name: str, value: Any, evaluate_name: Optional[str] = None, frame: Any = None
    ) -> Any:
        if type(value) is not types.FrameType:
            return original(self, name, value, evaluate_name, frame)
        expression = evaluate_name or name
        return variable(self.py_db, name, value, self._register_variable, False, expression, frame=frame)

    return obtain_as_variable


# -- all of it --------------------------------------------------------------------------------------


def install(pydevd: Any, beside: Callable[[str], Any]) -> Presentation:
    """Have pydevd show values our way. Once in a process: a later session finds what an earlier one has replaced."""
    earlier: Optional[Presentation] = getattr(pydevd, "dualdbg_presentation", None)
    if earlier is not None:
        return earlier
    from _pydevd_bundle import pydevd_suspended_frames as frames  # type: ignore[import-not-found]

    presentation = Presentation(pydevd, beside)
    variable = object_variable(presentation, frames._ObjectVariable)
    frames._FrameVariable = frame_variable(presentation, frames._FrameVariable, variable)
    frames._ObjectVariable = variable
    tracker = frames._FramesTracker
    tracker.obtain_as_variable = obtaining(tracker.obtain_as_variable, variable)
    beside("dualdbg_expressions").install(presentation, Refused)
    beside("dualdbg_raised").install(presentation)
    pydevd.dualdbg_presentation = presentation
    return presentation
