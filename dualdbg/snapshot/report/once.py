"""Code that runs once, for which other threads wait: static variables of C++, Once and OnceLock of Rust. Pure.

The futex of such a wait does not say who runs the code. That thread has the function that began it on its stack too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...known.binding_layers import RUST_LIBRARY
from ...known.runtime_functions import is_runtime_function
from ...model import Frame, NativeFrame
from ...shared.libraries import is_c_library
from ..facts import ThreadReport

_WAITS = re.compile(r"__cxa_guard_acquire\b|_*pthread_once|std::sys::.*\bonce::|std::sys_common::once::")

Place = tuple[str, str | None]  # function and library


def awaited_once(thread: ThreadReport) -> Place | None:
    """The function at whose code that runs once a thread waits; None where it waits for something else."""
    if thread.system_call is None or thread.system_call.name != "futex":
        return None
    for at, frame in enumerate(thread.stack.frames):
        if not isinstance(frame, NativeFrame) or not _is_library(frame):
            names = [one.function or "" for one in thread.stack.frames[:at]]
            return _place(frame) if any(map(_WAITS.match, names)) else None
    return None


def runs_once(place: Place, threads: Iterable[ThreadReport]) -> int | None:
    """The thread that runs the code for which another one waits in ``place``; None where that is not clear."""
    found = [
        thread.thread.tid
        for thread in threads
        if any(_place(frame) == place for frame in thread.stack.frames) and awaited_once(thread) != place
    ]
    return found[0] if len(found) == 1 else None


def _place(frame: Frame) -> Place | None:
    return (frame.function, frame.library) if isinstance(frame, NativeFrame) and frame.function else None


def _is_library(frame: NativeFrame) -> bool:
    name = frame.function or ""
    is_rust = RUST_LIBRARY.match(name) is not None
    return is_rust or is_c_library(frame.library) or is_runtime_function(name, frame.file)
