"""Runs in the target: pydevd's answers to evaluate, setExpression and completions, with values shown our way.

The user's own expression is run; what is shown of its value runs nothing. A hover runs nothing at all: nobody has asked
for more than a look. CPython 3.8 and later.
"""

from __future__ import annotations

import sys
import traceback
import types
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Type

HINT = "hover reads values and runs nothing; a watch or the debug console evaluates"
SHOWN = ("type", "variablesReference", "presentationHint", "memoryReference", "dualdbg")


@contextmanager
def written_out() -> Iterator[None]:
    """What is printed meanwhile does not wait in a buffer: the streams are the program's, and the user looks there."""
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            # One may be None, or closed, or of the program's own making: that is no fault of the expression.
            with suppress(Exception):
                stream.flush()


class Box:
    """Holds the value of an expression while it is on its way through pydevd, which asks values for their class."""

    def __init__(self, content: Any) -> None:
        self.content = content


def untouched(pydevd_vars: Any, statements: Any) -> Any:
    """pydevd's evaluation in a frame: of an expression, whose result is in a Box, or an ExceptionOnEvaluate; or of
    statements, as Python's prompt runs them (``statements`` is that module).
    """

    def boxed(*arguments: Any) -> Any:
        value = pydevd_vars.eval_in_context(*arguments)
        return value if type(value) is pydevd_vars.ExceptionOnEvaluate else Box(value)

    def compiled(text: str) -> Any:
        flags = pydevd_vars._ASYNC_COMPILE_FLAGS or 0
        return statements.compiled(pydevd_vars._expression_to_evaluate(text), "<string>", flags)

    original = pydevd_vars.evaluate_expression.__wrapped__
    names = {**vars(pydevd_vars), "eval_in_context": boxed, "_compile_as_exec": compiled}
    return pydevd_vars._evaluate_with_timeouts(
        types.FunctionType(original.__code__, names, original.__name__)
    )


class Expressions:
    """Answers the requests. ``refused`` is the exception whose text goes to the user."""

    def __init__(self, presentation: Any, refused: Type[Exception]) -> None:
        from _pydevd_bundle import pydevd_comm, pydevd_vars  # type: ignore[import-not-found]

        self._presentation, self._refused = presentation, refused
        self._comm, self._vars = pydevd_comm, pydevd_vars
        self._statements = presentation.beside("dualdbg_statements")
        self._run = untouched(pydevd_vars, self._statements)

    def evaluate(self, py_db: Any, request: Any, thread_id: Any) -> None:
        """Answer ``evaluate``.

        With ``dualdbgRepr`` in the request the value is what the program's own ``__repr__`` says, when it is looked
        into.
        """
        wanted = request.arguments
        refused, shown, body = None, "", {}
        with self._around(py_db, wanted.context):
            try:
                frame = self._frame(py_db, thread_id, wanted.frameId)
                body = self._evaluated(py_db, frame, thread_id, wanted)
            except self._refused as error:
                refused = shown = str(error)
            except Exception as error:  # pydevd itself would not answer
                refused = "%s: %s" % (type(error).__name__, error)
        # Whoever reads the answer finds what was printed: it is written out by now.
        if refused is not None:
            self._comm._evaluate_response(py_db, request, result=shown, error_message=refused)
        else:
            self._send(py_db, request, self._comm.pydevd_schema.EvaluateResponseBody(**body))

    def assign(self, py_db: Any, request: Any, thread_id: Any) -> None:
        """Answer ``setExpression``."""
        wanted = request.arguments
        statement = "%s = (%s)" % (wanted.expression, wanted.value)
        try:
            frame = self._frame(py_db, thread_id, wanted.frameId)
            self._run(py_db, frame, statement, is_exec=True)
            value = self._value(py_db, frame, wanted.expression)
        except (Exception, KeyboardInterrupt):
            self._comm._set_expression_response(
                py_db, request, error_message="Error executing: %s" % statement
            )
            return
        data = self._data(py_db, frame, thread_id, wanted, value)
        body = {"value": data["value"], **{name: data[name] for name in SHOWN[:3] if name in data}}
        self._send(py_db, request, self._comm.pydevd_schema.SetExpressionResponseBody(**body))

    def _frame(self, py_db: Any, thread_id: Any, number: int) -> Any:
        """Raises Refused when the thread has gone on since: pydevd says None of any expression in no frame."""
        frame = py_db.find_frame(thread_id, number)
        if frame is None:
            raise self._refused("the thread has gone on from that frame")
        return frame

    def _send(self, py_db: Any, request: Any, body: Any) -> None:
        response = self._comm.pydevd_base_schema.build_response(request, kwargs={"body": body})
        py_db.writer.add_command(self._comm.NetCommand(self._comm.CMD_RETURN, 0, response, is_json=True))

    def _around(self, py_db: Any, context: str) -> Any:
        """In the console what the expression prints is shown at once; elsewhere it warns nobody."""
        from _pydevd_bundle import pydevd_io

        if context != "repl":
            return self._comm.filter_all_warnings()
        if py_db.is_output_redirected:
            return written_out()
        return pydevd_io.redirect_stream_to_pydb_io_messages_context()

    def _evaluated(self, py_db: Any, frame: Any, thread_id: Any, wanted: Any) -> Dict[str, Any]:
        text, context = wanted.expression, wanted.context
        if context == "hover" and not self._presentation.runs:
            value = self._followed(frame, text)
        else:
            value = self._value(py_db, frame, text)
        if type(value) is self._vars.ExceptionOnEvaluate:
            if context == "repl" and not self._is_expression(text):
                return self._statement(py_db, frame, text)
            if context in ("watch", "hover"):
                raise self._refused(self._presentation.worded(value.result))
            if context == "repl":
                raise self._refused(self._told(py_db, value.result, value.tb))
            value = value.result
        if context == "repl" and value is None:
            return {"result": "", "variablesReference": 0}
        if wanted.kwargs.get("dualdbgRepr") and not self._presentation.reader().is_leaf(value):
            value = self._presentation.deferred_repr(value)
        data = self._data(py_db, frame, thread_id, wanted, value)
        if not text.strip().isidentifier():  # the value may be gone when its memory is looked at
            data.pop("memoryReference", None)
        return {"result": data["value"], **{name: data[name] for name in SHOWN if name in data}}

    def _data(self, py_db: Any, frame: Any, thread_id: Any, wanted: Any, value: Any) -> Dict[str, Any]:
        """The value as a row. Raises Refused when the thread runs again."""
        tracker = py_db.suspended_frames_manager.get_frame_tracker(thread_id)
        if tracker is None:
            raise self._refused("the thread runs again")
        fmt = wanted.format.to_dict() if hasattr(wanted.format, "to_dict") else wanted.format
        variable = tracker.obtain_as_variable(wanted.expression, value, frame=frame)
        return variable.get_var_data(fmt=fmt, context=getattr(wanted, "context", None))  # type: ignore[no-any-return]

    def _value(self, py_db: Any, frame: Any, text: str) -> Any:
        value = self._run(py_db, frame, text, is_exec=False)
        return value.content if type(value) is Box else value

    def _followed(self, frame: Any, text: str) -> Any:
        inside = self._presentation.inside
        try:
            return inside.follow(self._presentation.reader(), frame, text)
        except inside.NeedsCode:
            raise self._refused("%s may take code of the program: %s" % (text, HINT)) from None
        except NameError as error:
            raise self._refused("NameError: %s" % error) from None

    def _statement(self, py_db: Any, frame: Any, text: str) -> Dict[str, Any]:
        text_of, write = self._presentation.reader().text, self._statements.write
        try:
            with self._statements.displayed(lambda value: write(text_of(value))):
                self._run(py_db, frame, text, is_exec=True)
        except (Exception, KeyboardInterrupt) as error:
            trace = BaseException.__dict__["__traceback__"].__get__(error)
            raise self._refused(self._told(py_db, error, trace)) from None
        return {"result": "", "variablesReference": 0}

    def _is_expression(self, text: str) -> bool:
        try:
            self._vars.compile_as_eval(text)
        except Exception:
            return False
        return True

    def _told(self, py_db: Any, error: BaseException, trace: Any) -> str:
        """The traceback below the debugger's own frames, and the exception."""
        own = trace
        while trace is not None:
            if py_db.get_file_type(trace.tb_frame) is not None:
                own = trace.tb_next
            trace = trace.tb_next
        lines = traceback.format_tb(own) if own is not None else []
        return "Traceback (most recent call last):\n%s%s\n" % (
            "".join(lines),
            self._presentation.worded(error),
        )


def completing(presentation: Any, original: Any) -> Callable[..., Any]:
    """pydevd's completions, without ``dir`` and ``getattr`` of the program's objects."""
    from _pydev_bundle import _pydev_imports_tipper as tipper  # type: ignore[import-not-found]

    def generate(frame: Any, path: str) -> Any:
        if presentation.runs or frame is None:
            return original(frame, path)
        inside, reader = presentation.inside, presentation.reader()

        def kind(value: Any) -> Any:
            if reader.is_callable_of_python(value):
                return tipper.TYPE_FUNCTION
            return tipper.TYPE_CLASS if reader.kind(value).has(type) else tipper.TYPE_ATTR

        return [(name, "", "", kind(value)) for name, value in inside.completions(reader, frame, path)]

    return generate


def install(presentation: Any, refused: Type[Exception]) -> None:
    """Have pydevd ask us instead."""
    from _pydev_bundle import _pydev_completer
    from _pydevd_bundle import pydevd_api

    expressions = Expressions(presentation, refused)
    evaluate = pydevd_api.internal_evaluate_expression_json

    def answer(py_db: Any, request: Any, thread_id: Any) -> None:
        wanted = request.arguments
        if wanted.frameId is None and wanted.context == "hover" and not presentation.runs:
            error = (
                "a hover runs nothing, and reads no names while the program runs; the debug console evaluates"
            )
            expressions._comm._evaluate_response(py_db, request, result=error, error_message=error)
        elif wanted.frameId is None:  # while the program runs: with the names of its main module
            evaluate(py_db, request, thread_id)
        else:
            expressions.evaluate(py_db, request, thread_id)

    pydevd_api.internal_evaluate_expression_json = answer
    pydevd_api.internal_set_expression_json = expressions.assign
    _pydev_completer.generate_completions = completing(presentation, _pydev_completer.generate_completions)
