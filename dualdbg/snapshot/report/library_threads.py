"""Threads that belong to libraries, and those that wait in one of Python's own: told by their frames. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, islice, takewhile
from pathlib import PurePath

from ...known.gpu_calls import is_nccl
from ...known.python_files import is_of_a_library, is_standard_library
from ...model import Frame, NativeFrame, PythonFrame
from ..facts import ProcessReport, ThreadReport
from .waits import Node, Scene

# The last parts of the file, and the function without its class.
_LOOPS = frozenset(
    {
        ("concurrent/futures/thread.py", "_worker"),
        ("concurrent/futures/process.py", "_process_worker"),
        ("concurrent/futures/process.py", "run"),
        ("multiprocessing/forkserver.py", "main"),
        ("multiprocessing/managers.py", "accepter"),
        ("multiprocessing/managers.py", "serve_client"),
        ("multiprocessing/managers.py", "serve_forever"),
        ("multiprocessing/pool.py", "_handle_results"),
        ("multiprocessing/pool.py", "_handle_tasks"),
        ("multiprocessing/pool.py", "_handle_workers"),
        ("multiprocessing/pool.py", "worker"),
        ("multiprocessing/queues.py", "_feed"),
        ("multiprocessing/resource_sharer.py", "_serve"),
        ("multiprocessing/resource_tracker.py", "main"),
        ("asyncio/unix_events.py", "_do_waitpid"),
        ("socketserver.py", "serve_forever"),
        ("apscheduler/schedulers/blocking.py", "_main_loop"),
        ("billiard/pool.py", "body"),
        ("billiard/pool.py", "workloop"),
        ("execnet/gateway_base.py", "_thread_receiver"),
        ("execnet/gateway_base.py", "integrate_as_primary_thread"),
        ("grpc/_server.py", "wait_for_termination"),
        ("ipykernel/iostream.py", "_watch_pipe_fd"),
        ("joblib/externals/loky/backend/resource_tracker.py", "main"),
        ("joblib/externals/loky/process_executor.py", "_process_worker"),
        ("joblib/externals/loky/process_executor.py", "run"),
        ("loky/backend/resource_tracker.py", "main"),
        ("loky/process_executor.py", "_process_worker"),
        ("loky/process_executor.py", "run"),
        ("torch/_inductor/compile_worker/subproc_pool.py", "_read_thread"),
        ("torch/_inductor/compile_worker/subproc_pool.py", "main"),
        ("torch/distributed/elastic/rendezvous/utils.py", "_run"),
    }
)
# What such a loop waits with; in anything else it is at work.
_MEANS = frozenset({"threading.py", "queue.py", "queues.py", "selectors.py", "socket.py", "synchronize.py"})
_PACKAGES_OF_MEANS = frozenset({"multiprocessing", "billiard", "backend", "grpc", "execnet"})


def is_idle_loop(file: str, function: str) -> bool:
    """Whether a frame is such a loop. ``function`` may be qualified by its class, and by the function around it."""
    name, parts = function.rpartition(".")[2], PurePath(file).parts
    return any(("/".join(parts[-count:]), name) in _LOOPS for count in range(1, 6))


def waits_for_others(file: str) -> bool:
    """Whether a file has functions by which loops wait: locks, queues, connections."""
    path = PurePath(file)
    return path.name in _MEANS or path.parent.name in _PACKAGES_OF_MEANS


# What they wait for who are in a wait of Python's own, by its outermost function.
_NOTIFICATIONS = {
    ("threading.py", "Event.wait"): "an Event to be set",
    ("threading.py", "Condition.wait"): "a Condition to be notified",
    ("threading.py", "Barrier.wait"): "the other threads at a Barrier",
    ("threading.py", "Thread.join"): "another thread to end",
    ("threading.py", "Semaphore.acquire"): "a Semaphore",
    ("queue.py", "Queue.get"): "an item in a Queue",
    ("queue.py", "Queue.put"): "room in a Queue",
    ("queue.py", "Queue.join"): "all tasks of a Queue to be done",
    ("_base.py", "Future.result"): "the result of a Future",
}
# The functions that wait. In any other one of these files a thread waits for a lock.
_INNERMOST = ("Condition.wait", "Thread.join", "Thread._wait_for_tstate_lock")
_CALLS = {"Condition.wait": None, "Event.wait": "wait", "Barrier.wait": "_wait"}
# By these, in its main thread, a program that is over waits for what it has started.
_EXITS = (
    ("/threading.py", "_shutdown"),
    ("/concurrent/futures/thread.py", "_python_exit"),
    ("/concurrent/futures/process.py", "_python_exit"),
    ("/multiprocessing/util.py", "_exit_function"),
)

# The watchdog of NCCL's operations, and who watches over that.
_OF_C10D = "c10d::ProcessGroupNCCL::"


def is_worker(process: ProcessReport) -> bool:
    """Whether a child is a DataLoader's worker, by its loop; a Python whose frames cannot be read may be one."""
    if process.python is None or not process.threads:
        return False
    python = _python_frames(process.threads[0])
    return not python or any(frame.function == "_worker_loop" for frame in python)


def is_idle_worker(thread: ThreadReport) -> bool:
    """Whether a DataLoader worker waits for work: no code of the user is called from its loop."""
    for frame in thread.stack.visible():
        if isinstance(frame, PythonFrame):
            if frame.function == "_worker_loop":
                return True
            if "/multiprocessing/" not in (frame.file or "") and "selectors.py" not in (frame.file or ""):
                return False
    return False


def is_service(scene: Scene, node: Node, thread: ThreadReport) -> bool:
    """Whether a library has a thread for itself, in which nothing of the user is called: a timer, a queue's feeder, a
    server of multiprocessing, a thread of NCCL. That such a thread waits for something to do is what it is there for.

    Where the program is installed as a library is, nothing tells whose a thread is. See :func:`is_idle` for those that
    are known.
    """
    pid, tid = node
    python = _python_frames(thread)
    if tid == pid or not all(is_of_a_library(frame.file or "") for frame in python):
        return False
    if not python:
        return is_of_nccl(thread)
    main = scene.threads.get((pid, pid))
    return main is not None and any(not is_of_a_library(one.file or "") for one in _python_frames(main))


def is_of_nccl(thread: ThreadReport) -> bool:
    """Whether a thread without Python runs NCCL's own code, or c10d's that watches over it."""
    frames = [frame for frame in thread.stack.frames if isinstance(frame, NativeFrame)]
    return len(frames) == len(thread.stack.frames) and any(
        is_nccl(frame.library) or (frame.function or "").startswith(_OF_C10D) for frame in frames
    )


def _python_frames(thread: ThreadReport) -> list[PythonFrame]:
    return [frame for frame in thread.stack.frames if isinstance(frame, PythonFrame)]


def is_idle(scene: Scene, node: Node, thread: ThreadReport) -> bool:
    """Whether a loop of a library waits for work: for a message, a client, a child that it looks after.

    Workers that share a queue take turns: one reads, and the others wait for its lock. Where all of a pool wait for
    that, whoever had it is gone.
    """
    loop = _idle_loop(thread)
    if loop is None:
        return False
    if not waits_for_semaphore(thread.stack.frames):
        return True
    parent = scene.processes[node[0]].parent
    return any(
        one.parent == parent
        and one.threads
        and _idle_loop(one.threads[0]) == loop
        and not waits_for_semaphore(one.threads[0].stack.frames)
        for one in scene.shown
    )


def _idle_loop(thread: ThreadReport) -> tuple[str, str] | None:
    """The loop of a library from which a thread waits: file and function."""
    for frame in _python_frames(thread):
        file = frame.file or ""
        if not is_of_a_library(file):
            break
        if is_idle_loop(file, frame.function):
            return file, frame.function
        if not waits_for_others(file):
            break
    return None


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


def notification_of(thread: ThreadReport) -> str | None:
    """The outermost wait among the innermost Python frames: Event.wait, not the Condition.wait that it calls.

    Frames are the innermost ones as long as they are of such waits: a handler of a signal, or a method of the user's,
    does something else above a wait. Who takes the lock of a Queue or a Condition waits for that lock.
    """
    if waits_for_semaphore(thread.stack.frames):
        return "a lock, a semaphore or a queue of multiprocessing"
    frames = list(takewhile(_is_of_waits, _python_frames(thread)))
    if not frames or not any(_is(frames[0], one) for one in _INNERMOST):
        return None
    if thread.waits_for is not None and thread.waits_for.kind == "rlock":
        return None  # it has been notified
    found = [
        what
        for callee, frame in zip((None, *frames), frames, strict=False)
        for (file, function), what in _NOTIFICATIONS.items()
        if _is(frame, function, callee) and PurePath(frame.file or "").name == file
    ]
    return found[-1] if found else None


def _is_of_waits(frame: PythonFrame) -> bool:
    file = frame.file or ""
    return is_standard_library(file) and any(PurePath(file).name == one for one, _ in _NOTIFICATIONS)


def is_at_exit(thread: ThreadReport) -> bool:
    """Whether a thread waits in the exit of a program, whose own code has ended, for what that has started."""
    frames = takewhile(lambda frame: is_of_a_library(frame.file or ""), _python_frames(thread))
    return any(
        frame.function == function and (frame.file or "").endswith(file)
        for frame in frames
        for file, function in _EXITS
    )


def _is(frame: PythonFrame, function: str, callee: PythonFrame | None = None) -> bool:
    """Whether a frame is of this method. Up to Python 3.10 a frame has the name without the class, and what it calls
    tells."""
    if "." in frame.function:
        return frame.function == function
    calls = callee.function if callee is not None else None
    return frame.function == function.rpartition(".")[2] and _CALLS.get(function, calls) == calls


def is_in_program(node: Node, thread: ThreadReport) -> bool:
    """Whether a wait of this thread is the program's own: its main thread has called it, or the innermost Python that
    does more than wait."""
    python = _python_frames(thread)
    if node[0] != node[1]:
        python = list(dropwhile(lambda frame: waits_for_others(frame.file or ""), python))[:1]
    return any(not is_of_a_library(frame.file or "") for frame in python)
