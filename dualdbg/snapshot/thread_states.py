"""What each thread of a process does. Nothing is stopped, and a debugger may hold the process."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import TargetError
from .capture import Held, Wanted, capture
from .facts import SystemCall
from .linux.procfs import read_threads
from .report.assemble import call_of


@dataclass(frozen=True)
class Doing:
    """``state`` is the letter of proc(5), empty where the thread is held. ``call``: the system call that it is in."""

    state: str = ""
    call: SystemCall | None = None


def thread_states(pid: int, held: Held | None = None) -> dict[int, Doing]:
    """By thread. Where the process cannot be read there are no calls; of one that is no more there is nothing.

    ``held``: a debugger of ours holds it, which hides from /proc the call that a thread is in; its registers tell.
    """
    try:
        captured = capture(pid, stop=False, wanted=Wanted(names=False), held=held)
    except TargetError:
        return {thread.tid: Doing(_shown(thread.state)) for thread in read_threads(pid, deep=False)}
    return {one.tid: Doing(_shown(one.state), call_of(captured, one)) for one in captured.threads}


def _shown(state: str) -> str:
    return "" if state in "tT" else state
