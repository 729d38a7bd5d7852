"""Threads that a library has for itself: that they wait for something to do is what they are there for. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ...known.gpu_calls import is_nccl
from ...known.python_files import is_of_a_library
from ...model import NativeFrame, PythonFrame
from ..facts import ThreadReport
from .waits import Node, Scene

# Threads of libraries that wait for work, also in programs that are installed as libraries are.
_SERVICES = {
    ("multiprocessing/queues.py", "_feed"),
    ("multiprocessing/resource_sharer.py", "_serve"),
    ("rendezvous/utils.py", "_run"),  # a timer of torchrun
}
# The watchdog of NCCL's operations, and who watches over that.
_OF_C10D = ("c10d::ProcessGroupNCCL::",)


def is_service(scene: Scene, node: Node, thread: ThreadReport) -> bool:
    """Whether a library has a thread for itself, in which nothing of the user is called: a timer, a queue's feeder, a
    server of multiprocessing, a thread of NCCL.

    Where the program is installed as a library is, nothing tells whose a thread is, but for those that are known.
    """
    pid, tid = node
    python = python_frames(thread)
    if tid == pid:
        return False
    if not python:
        return is_of_nccl(thread)
    if not all(is_of_a_library(frame.file or "") for frame in python):
        return False
    known = {
        ("/".join(PurePath(one.file or "").parts[-2:]), one.function.rpartition(".")[2]) for one in python
    }
    if known & _SERVICES:
        return True
    main = scene.threads.get((pid, pid))
    return main is not None and any(not is_of_a_library(one.file or "") for one in python_frames(main))


def is_of_nccl(thread: ThreadReport) -> bool:
    """Whether a thread without Python runs NCCL's own code, or c10d's that watches over it."""
    return any(
        isinstance(frame, NativeFrame)
        and (is_nccl(frame.library) or (frame.function or "").startswith(_OF_C10D))
        for frame in thread.stack.frames
    )


def is_resource_tracker(thread: ThreadReport) -> bool:
    """Whether it is the main thread of multiprocessing's own process, which reads from a pipe as long as it lives."""
    return any(
        frame.function == "main" and (frame.file or "").endswith("/multiprocessing/resource_tracker.py")
        for frame in python_frames(thread)
    )


def python_frames(thread: ThreadReport) -> list[PythonFrame]:
    """The Python frames of a thread, the innermost first."""
    return [frame for frame in thread.stack.frames if isinstance(frame, PythonFrame)]
