"""The frame that tells most about a thread: the user's own code rather than a library's. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ...known.python_files import is_of_a_library
from ...model import Frame, NativeFrame, PythonFrame, Role
from ...shared.libraries import is_runtime
from ..facts import ThreadReport

_RUNTIME_FUNCTIONS = ("std::", "__")


def own_python_frame(thread: ThreadReport) -> PythonFrame | None:
    """The innermost Python frame outside of libraries; without such a frame, the innermost one."""
    python = [frame for frame in thread.stack.visible() if isinstance(frame, PythonFrame)]
    own = [frame for frame in python if frame.file and not is_of_a_library(frame.file)]
    return next(iter(own or python), None)


def own_native_frame(thread: ThreadReport) -> NativeFrame | None:
    """The innermost native function that belongs neither to the run-time libraries nor to the interpreter.

    None when a Python frame lies further in.
    """
    for frame in thread.stack.visible():
        if isinstance(frame, PythonFrame):
            return None
        if frame.role is Role.USER and frame.function and not _is_runtime(frame):
            return frame
    return None


def _is_runtime(frame: NativeFrame) -> bool:
    return is_runtime(frame.library) or (frame.function or "").startswith(_RUNTIME_FUNCTIONS)


def place(frame: Frame) -> str:
    """``load (train.py:12)``, or the library of a native function."""
    name = frame.function or "??"
    if frame.file is not None:
        return f"{name} ({PurePath(frame.file).name}:{frame.line})"
    library = PurePath(frame.library).name if isinstance(frame, NativeFrame) and frame.library else None
    return f"{name} ({library})" if library else name


def where(thread: ThreadReport) -> str:
    """``sum_rows (rows.so), called in train (train.py:12)``: the innermost places that a user knows."""
    frames: list[Frame | None] = [own_native_frame(thread), own_python_frame(thread)]
    parts = [place(frame) for frame in frames if frame is not None]
    if parts:
        return ", called in ".join(parts)
    visible = thread.stack.visible()
    return place(visible[0]) if visible else "unknown code"
