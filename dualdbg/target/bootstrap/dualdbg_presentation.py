"""Runs in the target: pydevd shows values as dualdbg_values.py reads them, and runs the program's code on request.

pydevd makes the text of a value with ``repr``, looks into it with ``dir`` and ``getattr``, and words an exception with
``str``: all of that is code of the program, which can hang, change the program or end it. What is replaced here are its
classes of variables, its answers to ``evaluate`` and ``completions``, and how it keeps an exception that it stops for.
CPython 3.8 and later.
"""

from __future__ import annotations

import sys
import threading
import traceback
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

LIMIT = 5.0  # seconds for a __repr__ or a property of the program that is run on request
RETURNED = "__pydevd_ret_val_dict"  # pydevd's variable with what functions have returned
OWN_VARIABLES = ("_pydev_stop_at_break",)
HINT = "hover reads values and runs nothing; a watch or the debug console evaluates"


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

    @property
    def inside(self) -> Any:
        return self.beside("dualdbg_inside")

    def reader(self, fmt: Optional[Dict[str, Any]] = None, whole: bool = False) -> Any:
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
        return found

    def repr_of(self, value: Any, limit: float = LIMIT) -> Any:
        """The text that the program's own code gives. Raises Refused when it raises, or takes too long."""
        who = "the __repr__ of %s" % self.reader().type_name(value)
        text = self._run(who, lambda: str.__str__(repr(value)), limit)
        return self.beside("dualdbg_values").Text(text)

    def attribute_of(self, value: Any, name: str) -> Any:
        """An attribute as the program's code computes it. Raises Refused like :meth:`repr_of`."""
        return self._run(name, lambda: getattr(value, name), LIMIT)

    def _run(self, who: str, run: Callable[[], Any], limit: float) -> Any:
        try:
            return limited(self.pydevd, run, limit)
        except TimeIsUp:
            raise Refused("%s was ended after %g s" % (who, limit)) from None
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
        def get_var_data(self, fmt: Any = None, context: Any = None, **limits: Any) -> Dict[str, Any]:
            reader = presentation.reader(fmt, whole=context == "clipboard")
            if presentation.runs and not self._is_deferred():
                data: Dict[str, Any] = original.get_var_data(self, fmt, context, **limits)
                return {**data, **presentation.facts(reader, self.value)}
            name = "(return) %s" % self.name if self._is_return_value else self.name
            data = {"name": name, **row(presentation, reader, self.value)}
            if self._is_return_value or name == "len()":
                data.setdefault("presentationHint", {}).setdefault("attributes", []).append("readOnly")
            if self.evaluate_name is not None:
                data["evaluateName"] = self.evaluate_name
            return data

        def get_children_variables(self, fmt: Any = None, scope: Any = None) -> List[Any]:
            if presentation.runs and not self._is_deferred():
                return list(original.get_children_variables(self, fmt, scope))
            groups = self.py_db.variable_presentation
            if is_folder(self.value):
                entries, grouped = self.value.contents_debug_adapter_protocol, []
            else:
                reader = presentation.reader(fmt)
                try:
                    found = presentation.inside.children(reader, self.value, presentation)
                except Refused as error:
                    found = [(self.name, error, None)]
                entries, grouped = in_groups(presentation, groups, found)
            parent, rows = self.evaluate_name or "", []
            for name, value, expression in [*grouped, *entries]:
                known = parent + expression if parent and expression else None
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
    inside, values = presentation.inside, presentation.beside("dualdbg_values")
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
        "type": "str" if type(value) is values.Text else reader.type_name(value),
        "variablesReference": 0 if inside.is_leaf(reader, value) else id(value),
        **presentation.facts(reader, value),
    }
    if type(value) is str or type(value) is bytes or type(value) is bytearray:
        data["presentationHint"] = {"attributes": ["rawString"]}
    return data


def deferred_repr(presentation: Presentation, value: Any) -> Any:
    """A row that runs a value's ``repr`` when it is opened."""
    name = presentation.reader().type_name(value)
    return presentation.inside.Deferred("__repr__ of %s" % name, lambda: presentation.repr_of(value))


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


# -- evaluate ---------------------------------------------------------------------------------------


class Box:
    """Holds the value of an expression while it is on its way through pydevd, which asks values for their class."""

    def __init__(self, content: Any) -> None:
        self.content = content


def untouched(pydevd_vars: Any) -> Any:
    """pydevd's evaluation of an expression in a frame, whose result is in a Box, or an ExceptionOnEvaluate."""

    def boxed(*arguments: Any) -> Any:
        value = pydevd_vars.eval_in_context(*arguments)
        return value if type(value) is pydevd_vars.ExceptionOnEvaluate else Box(value)

    original = pydevd_vars.evaluate_expression.__wrapped__
    names = {**vars(pydevd_vars), "eval_in_context": boxed}
    return pydevd_vars._evaluate_with_timeouts(
        types.FunctionType(original.__code__, names, original.__name__)
    )


def evaluating(presentation: Presentation, original: Any) -> Callable[..., None]:
    """pydevd's answer to ``evaluate``: the user's expression is run, and its value shown as any other.

    With ``dualdbgRepr`` in the request the value is what the program's own ``__repr__`` says, when it is looked into.
    """
    from _pydevd_bundle import pydevd_comm, pydevd_io, pydevd_vars  # type: ignore[import-not-found]

    run = untouched(pydevd_vars)

    def answer(py_db: Any, request: Any, thread_id: Any) -> None:
        wanted = request.arguments
        frame = py_db.find_frame(thread_id, wanted.frameId) if wanted.frameId is not None else None
        if frame is None:
            original(py_db, request, thread_id)
            return
        in_console = wanted.context == "repl"
        if not in_console:
            around: Any = pydevd_comm.filter_all_warnings()
        elif py_db.is_output_redirected:
            around = pydevd_comm.NULL
        else:
            around = pydevd_io.redirect_stream_to_pydb_io_messages_context()
        with around:
            try:
                body = evaluated(presentation, py_db, frame, wanted, thread_id)
            except Refused as error:
                pydevd_comm._evaluate_response(py_db, request, result=str(error), error_message=str(error))
                return
            send(py_db, request, body)

    def send(py_db: Any, request: Any, body: Dict[str, Any]) -> None:
        schema = pydevd_comm.pydevd_schema.EvaluateResponseBody(**body)
        response = pydevd_comm.pydevd_base_schema.build_response(request, kwargs={"body": schema})
        py_db.writer.add_command(pydevd_comm.NetCommand(pydevd_comm.CMD_RETURN, 0, response, is_json=True))

    def evaluated(
        presentation: Presentation, py_db: Any, frame: Any, wanted: Any, thread_id: Any
    ) -> Dict[str, Any]:
        text, context = wanted.expression, wanted.context
        if context == "hover" and not presentation.runs:
            value = followed(frame, text)
        else:
            value = run(py_db, frame, text, is_exec=False)
            value = value.content if type(value) is Box else value
        if type(value) is pydevd_vars.ExceptionOnEvaluate:
            if context == "repl" and not is_expression(text):
                return statement(py_db, frame, text)
            if context in ("watch", "hover"):
                raise Refused(presentation.worded(value.result))
            if context == "repl":
                raise Refused(told(value.result, value.tb))
            value = value.result
        if context == "repl" and value is None:
            return {"result": "", "variablesReference": 0}
        fmt = wanted.format.to_dict() if hasattr(wanted.format, "to_dict") else wanted.format
        tracker = py_db.suspended_frames_manager.get_frame_tracker(thread_id)
        if tracker is None:
            raise Refused("the thread runs again")
        of_repr = wanted.kwargs.get("dualdbgRepr") and not presentation.reader().is_leaf(value)
        shown = deferred_repr(presentation, value) if of_repr else value
        data = tracker.obtain_as_variable(text, shown, frame=frame).get_var_data(fmt=fmt, context=context)
        names = ("type", "variablesReference", "presentationHint", "memoryReference", "dualdbg")
        return {"result": data["value"], **{name: data[name] for name in names if name in data}}

    def followed(frame: Any, text: str) -> Any:
        inside, reader = presentation.inside, presentation.reader()
        try:
            return inside.follow(reader, frame, text)
        except inside.NeedsCode:
            raise Refused("%s may take code of the program: %s" % (text, HINT)) from None
        except NameError as error:
            raise Refused("NameError: %s" % error) from None

    def statement(py_db: Any, frame: Any, text: str) -> Dict[str, Any]:
        try:
            run(py_db, frame, text, is_exec=True)
        except (Exception, KeyboardInterrupt) as error:
            raise Refused(told(error, error.__traceback__)) from None
        return {"result": "", "variablesReference": 0}

    def is_expression(text: str) -> bool:
        try:
            pydevd_vars.compile_as_eval(text)
        except Exception:
            return False
        return True

    def told(error: BaseException, trace: Any) -> str:
        """The traceback below the debugger's own frames, and the exception."""
        own = trace
        while trace is not None:
            if presentation.pydevd.get_global_debugger().get_file_type(trace.tb_frame) is not None:
                own = trace.tb_next
            trace = trace.tb_next
        lines = traceback.format_tb(own) if own is not None else []
        return "Traceback (most recent call last):\n%s%s\n" % ("".join(lines), presentation.worded(error))

    return answer


def completing(presentation: Presentation, original: Any) -> Callable[..., Any]:
    """pydevd's completions, without ``dir`` and ``getattr`` of the program's objects."""
    from _pydev_bundle import _pydev_imports_tipper as tipper  # type: ignore[import-not-found]

    def generate(frame: Any, path: str) -> Any:
        if presentation.runs or frame is None:
            return original(frame, path)
        inside, reader = presentation.inside, presentation.reader()
        kinds = {"function variables": tipper.TYPE_FUNCTION, "class variables": tipper.TYPE_CLASS}
        return [
            (name, "", "", kinds.get(inside.group(reader, "a", value), tipper.TYPE_ATTR))
            for name, value in inside.completions(reader, frame, path)
        ]

    return generate


# -- exceptions ---------------------------------------------------------------------------------------


class ExceptionName:
    """What pydevd reads of an exception's type."""

    def __init__(self, values: Any, type_: type) -> None:
        self.__name__: str = values.name_of(type_)
        self.__qualname__: str = values.qualname_of(type_)
        self.__module__ = values.module_of(type_) or ""


class ExceptionText(str):
    """The text of an exception, which the exception itself goes with."""

    exception: Any


def keep_exceptions(presentation: Presentation, utils: Any) -> None:
    """pydevd's list of the frames of an exception gives its text and its type without running their code."""

    def text(self: Any) -> Any:
        error = self.__dict__.get("dualdbg_exception")
        if error is None or presentation.runs:
            return error
        found = ExceptionText(presentation.reader().message(error))
        found.exception = error
        return found

    def name(self: Any) -> Any:
        error = self.__dict__.get("dualdbg_exception")
        if error is None or presentation.runs:
            return self.__dict__.get("dualdbg_type")
        return ExceptionName(presentation.beside("dualdbg_values"), type(error))

    def keep_text(self: Any, value: Any) -> None:
        self.__dict__["dualdbg_exception"] = value.exception if type(value) is ExceptionText else value

    def keep_type(self: Any, value: Any) -> None:
        self.__dict__["dualdbg_type"] = value

    utils.FramesList.exc_desc = property(text, keep_text)
    utils.FramesList.exc_type = property(name, keep_type)


def cause_of(utils: Any) -> Callable[..., Any]:
    """pydevd's frames of the exception that an exception came from, read past its class."""
    read = {
        name: BaseException.__dict__[name].__get__ for name in ("__cause__", "__context__", "__traceback__")
    }

    def frames(trace: Any, frame: Any, type_: Any, error: Any, memo: Any) -> Any:
        error = error.exception if type(error) is ExceptionText else error
        if error is None:
            return None
        cause, message = read["__cause__"](error), utils._cause_message
        if cause is None:
            cause, message = read["__context__"](error), utils._context_message
        if cause is None or id(cause) in memo:
            return None
        memo.add(id(cause))
        found = utils.FramesList()
        found.exc_type, found.exc_desc, found.exc_context_msg = type(cause), cause, message
        found.trace_obj = at = read["__traceback__"](cause)
        while at is not None:
            # One frame may stand at two lines of a chain: each has a stand-in.
            shown = utils._DummyFrameWrapper(at.tb_frame, at.tb_lineno, None)
            found.append(shown)
            found.frame_id_to_lineno[id(shown)] = at.tb_lineno
            found.frame_id_to_line_col_info[id(shown)] = utils._get_line_col_info_from_tb(at)
            at = at.tb_next
        return found

    return frames


def class_of_code(presentation: Presentation) -> Callable[..., Optional[str]]:
    """pydevd's search for the class whose method a frame runs, for the name of what it returned."""

    def name(code: Any, frame: Any) -> Optional[str]:
        values = presentation.beside("dualdbg_values")
        if not code.co_argcount:
            return None
        first = presentation.inside.variables(frame).get(code.co_varnames[0])
        kind = first if values.is_class(first) else type(first)
        for base in values.MRO(kind):
            for key, entry in values.NAMESPACE(base).items():
                function = (
                    entry.__func__ if type(entry) is classmethod or type(entry) is staticmethod else entry
                )
                if type(key) is str and key == code.co_name and type(function) is type(name):
                    return str(values.name_of(kind)) if function.__code__ is code else None
        return None

    return name


# -- all of it --------------------------------------------------------------------------------------


def install(pydevd: Any, beside: Callable[[str], Any]) -> Presentation:
    """Have pydevd show values our way. Once in a process: a later session finds what an earlier one has replaced."""
    earlier: Optional[Presentation] = getattr(pydevd, "dualdbg_presentation", None)
    if earlier is not None:
        return earlier
    from _pydev_bundle import _pydev_completer
    from _pydevd_bundle import pydevd_api, pydevd_frame_utils, pydevd_suspended_frames

    presentation = Presentation(pydevd, beside)
    frames = pydevd_suspended_frames
    variable = object_variable(presentation, frames._ObjectVariable)
    frames._FrameVariable = frame_variable(presentation, frames._FrameVariable, variable)
    frames._ObjectVariable = variable
    pydevd_api.internal_evaluate_expression_json = evaluating(
        presentation, pydevd_api.internal_evaluate_expression_json
    )
    _pydev_completer.generate_completions = completing(presentation, _pydev_completer.generate_completions)
    keep_exceptions(presentation, pydevd_frame_utils)
    pydevd_frame_utils.create_frames_list_from_exception_cause = cause_of(pydevd_frame_utils)
    named = class_of_code(presentation)
    for name, module in list(sys.modules.items()):
        if (
            type(name) is str
            and name.startswith(("_pydevd_", "pydevd"))
            and "get_clsname_for_code" in vars(module)
        ):
            vars(module)["get_clsname_for_code"] = named
    pydevd.dualdbg_presentation = presentation
    return presentation
