"""The frame that tells most about a thread: the user's own code rather than a library's. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from ...known.gpu_calls import is_gpu_library
from ...known.python_files import is_of_a_library
from ...known.runtime_functions import is_runtime_function
from ...model import Frame, NativeFrame, PythonFrame, Role
from ...shared.libraries import is_runtime
from ..facts import ThreadReport

_PASSES_CALLS = "libffi"  # ctypes and cffi call every function by it


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


def faulting_frame(thread: ThreadReport) -> NativeFrame | None:
    """The frame in which a fault was: the innermost one, whatever it is to the reader."""
    first = next(iter(thread.stack.frames), None)
    return first if isinstance(first, NativeFrame) else None


def with_fault_shown(thread: ThreadReport) -> ThreadReport:
    """The thread of a fault, with its innermost frame shown, whosever code that is."""
    first = faulting_frame(thread)
    if first is None or first.role is not Role.PLUMBING:
        return thread
    frames = (replace(first, role=Role.USER), *thread.stack.frames[1:])
    return replace(thread, stack=replace(thread.stack, frames=frames))


def _is_runtime(frame: NativeFrame) -> bool:
    passes = PurePath(frame.library or "").name.startswith(_PASSES_CALLS) or is_gpu_library(frame.library)
    return passes or is_runtime(frame.library) or is_runtime_function(frame.function, frame.file)


def place(frame: Frame) -> str:
    """``load (train.py:12)``, or the library of a native function."""
    name = frame.function or "??"
    if frame.file is not None:
        # An instruction before the first line of a function has none.
        line = "" if frame.line is None else f":{frame.line}"
        return f"{name} ({PurePath(frame.file).name}{line})"
    library = PurePath(frame.library).name if isinstance(frame, NativeFrame) and frame.library else None
    return f"{name} ({library})" if library else name


def where(thread: ThreadReport) -> str:
    """``sum_rows (rows.so), called in train (train.py:12)``: the innermost places that a user knows."""
    frames: list[Frame | None] = [own_native_frame(thread), own_python_frame(thread)]
    if any(frames):
        return _called_in(frames)
    visible = thread.stack.visible()
    return place(visible[0]) if visible else "unknown code"


def where_faulted(thread: ThreadReport) -> str:
    """``strlen (libc.so.6), called in train (train.py:12)``: where a fault was, then as :func:`where`."""
    return _called_in([faulting_frame(thread), own_native_frame(thread), own_python_frame(thread)])


def _called_in(frames: Sequence[Frame | None]) -> str:
    parts = dict.fromkeys(_place_of_code(frame) for frame in frames if frame is not None)
    return ", called in ".join(parts) or "unknown code"


def _place_of_code(frame: Frame) -> str:
    if isinstance(frame, NativeFrame) and frame.function is None and frame.library is None:
        return f"unknown code at {frame.pc:#x}"
    return place(frame)
