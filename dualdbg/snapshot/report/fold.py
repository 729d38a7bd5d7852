"""Threads with the same stack, over threads and over processes, told once; the odd one out comes first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath

from ...model import Frame, NativeFrame
from ..facts import ProcessReport, ThreadReport
from ..linux.memory import PAGE
from .recursion import Run, runs

Key = tuple[object, ...]


@dataclass(frozen=True)
class Member:
    """One thread, with the process that it belongs to."""

    process: ProcessReport
    thread: ThreadReport


@dataclass(frozen=True)
class Group:
    """Threads whose visible stacks are equal. ``members`` keep the order in which they were given.

    ``differs_from`` is the index of the larger group that shares most outer frames with this one, and ``differs_at``
    the number of the outermost frame here that differs from the one there; None where no frame is shared.
    """

    members: tuple[Member, ...]
    differs_from: int | None = None
    differs_at: int | None = None

    @property
    def example(self) -> ThreadReport:
        """The first of them; its stack is that of all."""
        return self.members[0].thread


def fold(processes: Sequence[ProcessReport]) -> list[Group]:
    """The groups, the smallest first; of equal ones, that of the first thread given comes first."""
    by_key: dict[Key, list[Member]] = {}
    for process in processes:
        for thread in process.threads:
            by_key.setdefault(thread_key(thread), []).append(Member(process, thread))
    ordered = sorted(by_key.values(), key=len)
    keys = [thread_key(members[0].thread) for members in ordered]
    return [
        Group(tuple(members), *_nearest(index, keys, [len(each) for each in ordered]))
        for index, members in enumerate(ordered)
    ]


def thread_key(thread: ThreadReport) -> Key:
    """Equal for threads that are shown as one: the same visible frames, and the same relation to the GIL."""
    role = bool(thread.thread.holds_gil), bool(thread.thread.waits_for_gil)
    return (*(frame_key(frame) for frame in thread.stack.visible()), role)


def frame_key(frame: Frame) -> Key:
    """The same place in the program, in any process. A library may lie at another page there, but the offset in the
    file is the same, or that in the page where the file is not known."""
    if isinstance(frame, NativeFrame):
        offset = frame.pc % PAGE if frame.offset is None else frame.offset
        return frame.function or offset, frame.library, frame.line
    return frame.function, frame.file, frame.line


def shown_runs(frames: Sequence[Frame]) -> Iterator[tuple[Run, str]]:
    """The runs of a stack, and what stands for the frames of each that are not shown. Frames without names that follow
    each other in one library are alike."""
    keys: list[Key] = []
    for library, adjacent in groupby(frames, key=_nameless_in):
        own = [frame_key(frame) for frame in adjacent]
        keys += [tuple(own)] * len(own) if library is not None and len(set(own)) > 1 else own
    for run in runs(keys):
        first, library = frames[run.start], _nameless_in(frames[run.start])
        if run.times > 1 and run.period == 1 and library is not None and keys[run.start] != frame_key(first):
            yield run, f"... {run.times - 1} more frames of {PurePath(library).name} without names"
        else:
            yield run, run.left_out


def _nameless_in(frame: Frame) -> str | None:
    return frame.library if isinstance(frame, NativeFrame) and not frame.function else None


def _nearest(index: int, keys: Sequence[Key], sizes: Sequence[int]) -> tuple[int | None, int | None]:
    own = keys[index][:-1]
    best, best_shared = None, 0
    for other in range(len(keys)):
        if other == index or sizes[other] <= sizes[index]:
            continue
        shared = _shared_outer(own, keys[other][:-1])
        if shared > best_shared:
            best, best_shared = other, shared
    if best is None or best_shared == len(own):
        return (best, None) if best is None else (best, 0)
    return best, len(own) - best_shared - 1


def _shared_outer(one: Key, other: Key) -> int:
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def ranges(numbers: Sequence[int]) -> str:
    """``0-6, 9`` for 0, 1, … 6, 9."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
