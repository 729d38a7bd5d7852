"""Threads that libraries have for themselves, which wait for something to do as long as they live. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile
from pathlib import PurePath

from ...known.python_files import is_of_a_library
from ...model import Frame, NativeFrame, PythonFrame
from ..facts import ThreadReport

# Threads of libraries that wait for work, also in programs that are installed as libraries are.
_SERVICES = {
    ("multiprocessing/queues.py", "_feed"),
    ("multiprocessing/resource_sharer.py", "_serve"),
    ("rendezvous/utils.py", "_run"),  # a timer of torchrun
}


def is_service(thread: ThreadReport, main: ThreadReport | None) -> bool:
    """Whether a library has a thread for itself, in which nothing of the user is called: a timer, a queue's feeder, a
    server of multiprocessing. That such a thread waits for something to do is what it is there for.

    ``thread`` is not the ``main`` one of its process.

    Where the program is installed as a library is, nothing tells whose a thread is, but for those that are known.
    """
    python = _python_frames(thread)
    if not python or not all(is_of_a_library(frame.file or "") for frame in python):
        return False
    known = {
        ("/".join(PurePath(one.file or "").parts[-2:]), one.function.rpartition(".")[2]) for one in python
    }
    if known & _SERVICES:
        return True
    return main is not None and any(not is_of_a_library(one.file or "") for one in _python_frames(main))


def _python_frames(thread: ThreadReport) -> list[PythonFrame]:
    return [frame for frame in thread.stack.frames if isinstance(frame, PythonFrame)]


def waits_for_semaphore(frames: Sequence[Frame]) -> bool:
    """Whether a thread with these frames waits in multiprocessing's extension, whose locks all are semaphores.

    They do not say who has them: one that a process had when it ended stays taken.
    """
    native = takewhile(lambda frame: isinstance(frame, NativeFrame), frames)
    return any(
        PurePath(one.library or "").name.startswith("_multiprocessing.")
        for one in islice(native, 6)
        if isinstance(one, NativeFrame)
    )


def is_resource_tracker(thread: ThreadReport) -> bool:
    """Whether it is the main thread of multiprocessing's own process, which reads from a pipe as long as it lives."""
    return any(
        isinstance(frame, PythonFrame)
        and frame.function == "main"
        and (frame.file or "").endswith("/multiprocessing/resource_tracker.py")
        for frame in thread.stack.frames
    )
