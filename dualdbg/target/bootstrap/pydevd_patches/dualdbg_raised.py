"""pydevd runs the program's code to ask for an exception's text and type, and for the class of a method.

Runs in the target: the same is read from their memory.

CPython 3.8 and later.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


class ExceptionName:
    """What pydevd reads of an exception's type."""

    def __init__(self, kinds: Any, type_: type) -> None:
        self.__name__: str = kinds.name_of(type_)
        self.__qualname__: str = kinds.qualname_of(type_)
        self.__module__ = kinds.module_of(type_) or ""


class ExceptionText(str):
    """The text of an exception, which the exception itself goes with."""

    exception: Any


def keep_exceptions(presentation: Any, utils: Any) -> None:
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
        return ExceptionName(presentation.beside("dualdbg_kinds"), type(error))

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


def class_of_code(presentation: Any) -> Callable[..., Optional[str]]:
    """pydevd's search for the class whose method a frame runs, for the name of what it returned."""

    def name(code: Any, frame: Any) -> Optional[str]:
        kinds = presentation.beside("dualdbg_kinds")
        if not code.co_argcount:
            return None
        first = presentation.inside.variables(frame).get(code.co_varnames[0])
        kind = first if kinds.is_class(first) else type(first)
        for base in kinds.MRO(kind):
            for key, entry in kinds.NAMESPACE(base).items():
                function = (
                    entry.__func__ if type(entry) is classmethod or type(entry) is staticmethod else entry
                )
                if type(key) is str and key == code.co_name and type(function) is type(name):
                    return str(kinds.name_of(kind)) if function.__code__ is code else None
        return None

    return name


def install(presentation: Any) -> None:
    """Have pydevd ask us instead."""
    from _pydevd_bundle import pydevd_frame_utils as utils  # type: ignore[import-not-found]

    keep_exceptions(presentation, utils)
    utils.create_frames_list_from_exception_cause = cause_of(utils)
    named = class_of_code(presentation)
    for name, module in list(sys.modules.items()):  # each has its own name of the function
        if (
            type(name) is str
            and name.startswith(("_pydevd_", "pydevd"))
            and "get_clsname_for_code" in vars(module)
        ):
            vars(module)["get_clsname_for_code"] = named
