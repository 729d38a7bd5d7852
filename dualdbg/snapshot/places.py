"""The frame that tells most about a thread: the user's own code rather than a library's. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath

from ..model import Frame, NativeFrame, PythonFrame, Role
from .report import ThreadReport

_RUNTIME_LIBRARIES = (
    "libc.so",
    "libc-",
    "libpthread",
    "libstdc++",
    "libgcc_s",
    "ld-linux",
    "libpython",
    "python",
)
_RUNTIME_FUNCTIONS = ("std::", "__")
_LIBRARY_FILE = re.compile(r"^<frozen |/python3\.\d+/|/(site|dist)-packages/")


def own_python_frame(thread: ThreadReport) -> PythonFrame | None:
    """The innermost Python frame outside of libraries, else the innermost one."""
    python = [frame for frame in thread.stack.visible() if isinstance(frame, PythonFrame)]
    own = [frame for frame in python if frame.file and not _LIBRARY_FILE.search(frame.file)]
    return next(iter(own or python), None)


def own_native_frame(thread: ThreadReport) -> NativeFrame | None:
    """The innermost native function that is neither the run-time libraries' nor the interpreter's, if it is called
    from Python more closely than anything else, or by no Python at all."""
    for frame in thread.stack.visible():
        if isinstance(frame, PythonFrame):
            return None
        if frame.role is Role.USER and frame.function and not _is_runtime(frame):
            return frame
    return None


def _is_runtime(frame: NativeFrame) -> bool:
    if "/lib-dynload/" in (frame.library or ""):
        return True
    library = PurePath(frame.library or "").name
    return library.startswith(_RUNTIME_LIBRARIES) or (frame.function or "").startswith(_RUNTIME_FUNCTIONS)


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
