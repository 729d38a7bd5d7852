"""Which processes of a snapshot are ranks of one job of torch.distributed, and what each of them does. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from ...known.python_files import is_of_a_library
from ...known.torch_operations import FRAMES
from ...known.worker_processes import is_loader, is_of_multiprocessing
from ...model import NativeFrame, PythonFrame
from ..facts import Collective, Distributed, ProcessReport, ThreadReport
from .collectives import Member
from .fold import thread_key
from .gpu_waits import gpu_call
from .standing import standing
from .telling_frame import own_python_frame, place, where
from .wording import activity

_FILE = "/torch/distributed/distributed_c10d.py"
_DEEPEST = 100  # processes one below the other: a file may claim any number
_WAITS = ("c10d::",)  # C++ functions that the main thread is in while it waits for an operation


def jobs(processes: Sequence[ProcessReport]) -> list[list[ProcessReport]]:
    """The ranks of each job: processes of the same parent and program. A rank's own children are none."""
    processes = [each for each in processes if each.threads and not is_loader(_functions(each))]
    ranks = {process.pid for process in processes if _is_rank(process)}
    found: dict[tuple[object, ...], list[ProcessReport]] = {}
    parents = {process.pid: process.parent for process in processes}
    for process in processes:
        if not _is_below(process.pid, ranks, parents):
            key = (process.parent, *process.command.split()[:2])
            found.setdefault(key, []).append(process)
    return [job for job in found.values() if any(process.pid in ranks for process in job)]


def rank_processes(processes: Sequence[ProcessReport]) -> list[ProcessReport]:
    """The ranks of all jobs, and the processes that a launcher has given a rank: these may not have begun yet."""
    members = {process.pid for job in jobs(processes) for process in job}
    told = [process for process in processes if process.label is not None and process.threads]
    members |= those_that_are_ranks([_of_rank(each) for each in told])
    return [process for process in processes if process.pid in members]


def _of_rank(process: ProcessReport) -> OfRank:
    functions = _functions(process)
    return OfRank(
        process.pid,
        process.parent,
        process.label,
        process.python is not None,
        is_loader(functions),
        is_of_multiprocessing(functions),
    )


def _functions(process: ProcessReport) -> list[tuple[str | None, str | None]]:
    frames = process.threads[0].stack.frames
    return [(frame.function, frame.file) for frame in frames if isinstance(frame, PythonFrame)]


@dataclass(frozen=True)
class OfRank:
    """A process with a rank in its environment. Its children have the same one there unless they were given another.

    ``is_loader``: it is a DataLoader's worker. ``is_started``: multiprocessing has started it.
    """

    pid: int
    parent: int
    rank: Hashable
    is_python: bool
    is_loader: bool = False
    is_started: bool = False


def those_that_are_ranks(ones: Sequence[OfRank]) -> set[int]:
    """Their process ids. What has processes of other ranks below it is a launcher, whatever rank it was given itself.

    Of the rest, of processes of one rank, one below the other, the topmost Python is it, else the topmost: what is
    above is a script or a tool that has started it, what is below are its own children. These may live on when it has
    ended: a data loader is no rank, and several that multiprocessing has started for the same rank are none either.
    """
    by_pid = {one.pid: one for one in ones}
    for launcher in {pid for one in ones for pid in _above(one, by_pid) if by_pid[pid].rank != one.rank}:
        del by_pid[launcher]
    ones = [*by_pid.values()]
    above = {one.pid: _above(one, by_pid) for one in ones}
    found = {
        one.pid for one in ones if one.is_python and not any(by_pid[pid].is_python for pid in above[one.pid])
    }
    wrappers = {pid for each in found for pid in above[each]}
    found |= {one.pid for one in ones if not above[one.pid] and one.pid not in wrappers}
    of_rank = Counter(by_pid[pid].rank for pid in found)
    return {
        pid
        for pid in found
        if not (one := by_pid[pid]).is_loader and not (one.is_started and of_rank[one.rank] > 1)
    }


def _above(one: OfRank, by_pid: Mapping[int, OfRank]) -> list[int]:
    """Its parent, the parent of that, and so on, as far as they have a rank."""
    found = [one.pid]
    while (
        (parent := by_pid.get(one.parent)) is not None and parent.pid not in found and len(found) < _DEEPEST
    ):
        found.append(parent.pid)
        one = parent
    return found[1:]


def _is_below(pid: int, ranks: set[int], parents: dict[int, int]) -> bool:
    """Whether an ancestor is a rank: a data loader's worker has its parent's variables, by the fork."""
    seen = {pid}
    pid = parents.get(pid, 0)
    while pid and pid not in seen:
        if pid in ranks:
            return True
        seen.add(pid)
        pid = parents.get(pid, 0)
    return False


def _is_rank(process: ProcessReport) -> bool:
    found = process.distributed
    if found is not None and (found.groups or found.collectives):
        return True
    return any(_operation(thread) for thread in process.threads)


def member_of(process: ProcessReport) -> Member:
    """The record of one rank. Without what was read of torch.distributed, its frames alone tell its operation."""
    found = process.distributed or _by_frames(process)
    rank = found.rank if found.rank is not None else _number(process.label)
    world = found.world_size if found.world_size is not None else process.world_size
    name = f"rank {rank} (process {process.pid})" if rank is not None else f"process {process.pid}"
    main = process.threads[0]
    calling = {call.thread for call in found.collectives if call.thread is not None}
    called_by = next((thread for thread in process.threads if thread.thread.tid in calling), None)
    telling = called_by or _joined(process) or main
    on_gpu = gpu_call(telling)
    blocked = bool(calling) or _waits_in_c10d(main) or on_gpu is not None
    at = _place(telling, blocked)
    if telling not in (main, called_by):
        at += f" of thread {telling.thread.python_name or telling.thread.name}"
    return Member(
        pid=process.pid,
        name=name,
        rank=rank,
        world_size=world,
        place=at,
        activity=activity(telling),
        distributed=found,
        blocked=blocked,
        spins=on_gpu is not None and telling.state == "R",
        stack=thread_key(telling),
        cpu=telling.cpu,
        standing=standing(process, telling),
    )


def _joined(process: ProcessReport) -> ThreadReport | None:
    """The thread that does the work, where the main one waits for its end; None where it does not."""
    threads = {thread.thread.tid: thread for thread in process.threads}
    found, seen = process.threads[0], {process.threads[0].thread.tid}
    while (following := threads.get(found.joins or 0)) is not None and following.thread.tid not in seen:
        if not _runs_code_of_the_user(following):
            break
        found = following
        seen.add(found.thread.tid)
    return None if found is process.threads[0] else found


def _runs_code_of_the_user(thread: ThreadReport) -> bool:
    return any(
        isinstance(frame, PythonFrame) and not is_of_a_library(frame.file or "")
        for frame in thread.stack.frames
    )


def _place(thread: ThreadReport, blocked: bool) -> str:
    frame = own_python_frame(thread) if blocked else None
    return place(frame) if frame is not None else where(thread)


def _waits_in_c10d(thread: ThreadReport) -> bool:
    return any(
        isinstance(frame, NativeFrame) and (frame.function or "").startswith(_WAITS)
        for frame in thread.stack.frames
    )


def _by_frames(process: ProcessReport) -> Distributed:
    calls = [
        Collective(operation, thread=thread.thread.tid)
        for thread in process.threads
        if (operation := _operation(thread)) is not None
    ]
    return Distributed(collectives=tuple(calls))


def _operation(thread: ThreadReport) -> str | None:
    for frame in thread.stack.frames:
        if isinstance(frame, PythonFrame) and (frame.file or "").endswith(_FILE):
            name = FRAMES.get(frame.function.rsplit(".", 1)[-1])
            if name is not None:
                return name
    return None


def _number(label: str | None) -> int | None:
    word = (label or "").removeprefix("rank ")
    return int(word) if word.isdecimal() else None
