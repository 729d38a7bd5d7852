"""What each thread waits for, as an edge from thread to thread where the memory says so. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...known.binding_layers import RUST_LIBRARY
from ...known.runtime_functions import is_runtime_function
from ...model import Frame, NativeFrame
from ...shared.libraries import is_c_library
from ..facts import Lock, ProcessReport, ThreadReport
from .standing import has_time_limit, standing, stands_still

# Code that runs once, for which other threads wait: static variables of C++, Once and OnceLock of Rust. The futex does
# not say who runs it: that thread has the function that began it on its stack too.
_ONCE = re.compile(r"__cxa_guard_acquire\b|_*pthread_once|std::sys::.*\bonce::|std::sys_common::once::")

_Place = tuple[str, "str | None"]  # function and library

Node = tuple[int, int]
"""Process id and thread id."""


@dataclass(frozen=True)
class Wait:
    """``thread`` waits for ``what``, which ``holder`` has: ``relation`` is the verb for it, empty of the end of the
    holder itself. ``forked``: the holder is a thread of the process that
    this one was forked from, so it will never let go here. ``limited``: the wait ends by itself, at its time limit."""

    thread: Node
    what: str
    holder: Node
    forked: bool = False
    limited: bool = False
    relation: str = "holds"

    @property
    def for_good(self) -> bool:
        """Whether it ends only when the holder lets go."""
        return not (self.forked or self.limited)


@dataclass(frozen=True)
class Earlier:
    """An earlier look at the same processes, about ``seconds`` ago."""

    processes: Sequence[ProcessReport]
    seconds: float

    def until(self, now: ProcessReport) -> float:
        """Seconds between both looks at a process: a look at many takes its time too, and where the machine is slow."""
        was = self._of(now.pid)
        return seconds_between(was, now, self.seconds) if was is not None else self.seconds

    def ran_until(self, now: ProcessReport) -> float:
        """Those of them in which the process was not stopped by the earlier look, which is behind that look's time."""
        was = self._of(now.pid)
        return self.until(now) - ((was.stopped or 0.0) if was is not None else 0.0)

    def _of(self, pid: int) -> ProcessReport | None:
        return next((was for was in self.processes if was.pid == pid), None)


def seconds_between(was: ProcessReport, now: ProcessReport, otherwise: float) -> float:
    """Between two looks at a process; ``otherwise`` where they have no time."""
    return otherwise if was.at is None or now.at is None else now.at - was.at


def seconds_in_words(seconds: float) -> str:
    """``1.2 s``: the time between two looks, for people."""
    return f"{round(seconds, 1):g} s"


class Scene:
    """Processes and threads by number. ``context`` are processes that were not asked for but explain others.

    ``moved`` are the threads that have not stood still since the ``earlier`` look, where there is one.
    """

    def __init__(
        self,
        processes: Sequence[ProcessReport],
        context: Sequence[ProcessReport] = (),
        earlier: Earlier | None = None,
    ) -> None:
        self.earlier = earlier
        self.shown = list(processes)
        self.processes = {process.pid: process for process in [*context, *processes]}
        self.threads: dict[Node, ThreadReport] = {
            (process.pid, thread.thread.tid): thread
            for process in self.processes.values()
            for thread in process.threads
        }
        self.moved = frozenset[Node]() if earlier is None else frozenset(_moved(earlier, self.shown))

    def gil_holder(self, pid: int) -> Node | None:
        """The thread of a process that holds the GIL; None where none is known to, and where there are several GILs."""
        holders = [thread for thread in self.processes[pid].threads if thread.thread.holds_gil]
        return (pid, holders[0].thread.tid) if len(holders) == 1 else None

    def holder_of(self, pid: int, lock: Lock) -> Node | None:
        """The thread of process ``pid`` that has a lock, by what the lock says or by the thread's ``with`` blocks. None
        where several are in such blocks: all but one have released it there."""
        if lock.owner:
            return (pid, lock.owner) if (pid, lock.owner) in self.threads else None
        if lock.kind == "mutex" or pid not in self.processes:
            return None
        threads = self.processes[pid].threads
        found = [thread.thread.tid for thread in threads if lock.address in thread.held_locks]
        return (pid, found[0]) if len(found) == 1 else None


def _moved(earlier: Earlier, processes: Sequence[ProcessReport]) -> Iterator[Node]:
    before = {
        (process.pid, thread.thread.tid): standing(process, thread)
        for process in earlier.processes
        for thread in process.threads
    }
    for process in processes:
        seconds = earlier.until(process)
        for thread in process.threads:
            node = process.pid, thread.thread.tid
            if node in before and not stands_still(before[node], standing(process, thread), seconds):
                yield node


def name_of(scene: Scene, node: Node) -> str:
    """A thread, and where several processes are looked at which one it is of."""
    pid, tid = node
    thread = scene.threads[node]
    name = thread.thread.python_name or thread.thread.name
    of_process = f" of {process_name(scene, pid)}" if len(scene.processes) > 1 else ""
    return f"thread {tid} {name}{of_process}"


def process_name(scene: Scene, pid: int) -> str:
    """A process, with its rank where it has one."""
    label = scene.processes[pid].label
    return f"process {pid}" + (f" ({label})" if label else "")


def lock_in_words(lock: Lock) -> str:
    """A lock, with where it lies."""
    if lock.kind == "import":
        return f"the import lock of {lock.name or 'a module'}"
    of = f" of {lock.name}" if lock.name else ""
    return f"{_LOCK_NAMES[lock.kind]}{of} at {lock.address:#x}"


_LOCK_NAMES = {"mutex": "the mutex", "lock": "the Python lock", "rlock": "the Python RLock"}


def find_waits(scene: Scene) -> dict[Node, Wait]:
    """The wait of each thread of which it is known what it waits for.

    Threads that have moved since the earlier look are left out, except those that wait for the GIL: they look every
    5 ms whether it is free, and in a ring it never is.
    """
    waits = {}
    for (pid, tid), thread in scene.threads.items():
        if (pid, tid) in scene.moved and not thread.thread.waits_for_gil:
            continue
        found = _wait_of(scene, pid, tid, thread)
        if found is not None and found.holder != (pid, tid):
            waits[pid, tid] = found
    return waits


def _wait_of(scene: Scene, pid: int, tid: int, thread: ThreadReport) -> Wait | None:
    if thread.thread.waits_for_gil:
        holder = scene.gil_holder(pid)
        return Wait((pid, tid), "the GIL", holder) if holder is not None else None
    limited = has_time_limit(thread.system_call)
    joined = pid, thread.joins or 0
    if joined in scene.threads:
        return Wait((pid, tid), f"{name_of(scene, joined)} to end", joined, limited=limited, relation="")
    place = _awaited_once(thread)
    if place is not None:
        runs = _runs_once(place, scene.processes[pid].threads)
        what = f"the initialization that runs once in {place[0]}"
        return None if runs is None else Wait((pid, tid), what, (pid, runs), limited=limited, relation="runs")
    lock = thread.waits_for
    if lock is None:
        return None
    what = lock_in_words(lock)
    holder = scene.holder_of(pid, lock)
    if holder is not None:
        return Wait((pid, tid), what, holder, limited=limited)
    parent = scene.processes[pid].parent
    holder = scene.holder_of(parent, lock)
    return Wait((pid, tid), what, holder, forked=True) if holder is not None else None


def _awaited_once(thread: ThreadReport) -> _Place | None:
    """The function at whose code that runs once a thread waits; None where it waits for something else."""
    if thread.system_call is None or thread.system_call.name != "futex":
        return None
    for at, frame in enumerate(thread.stack.frames):
        if not isinstance(frame, NativeFrame) or not _is_library(frame):
            names = [one.function or "" for one in thread.stack.frames[:at]]
            return _place_of(frame) if any(map(_ONCE.match, names)) else None
    return None


def _runs_once(place: _Place, threads: Iterable[ThreadReport]) -> int | None:
    """The thread that runs the code for which another one waits in ``place``; None where that is not clear."""
    found = [
        thread.thread.tid
        for thread in threads
        if any(_place_of(frame) == place for frame in thread.stack.frames) and _awaited_once(thread) != place
    ]
    return found[0] if len(found) == 1 else None


def _place_of(frame: Frame) -> _Place | None:
    return (frame.function, frame.library) if isinstance(frame, NativeFrame) and frame.function else None


def _is_library(frame: NativeFrame) -> bool:
    name = frame.function or ""
    is_rust = RUST_LIBRARY.match(name) is not None
    return is_rust or is_c_library(frame.library) or is_runtime_function(name, frame.file)


def cycles(waits: Mapping[Node, Wait]) -> list[list[Wait]]:
    """Every ring of threads in which each waits for the next, and none ever gives up; each ring once."""
    found: list[list[Wait]] = []
    done: set[Node] = set()
    for start in waits:
        path: list[Node] = []
        node = start
        while node in waits and node not in done and node not in path and waits[node].for_good:
            path.append(node)
            node = waits[node].holder
        if node in path:
            found.append([waits[each] for each in path[path.index(node) :]])
        done.update(path)
    return found
