"""Threads that sleep, or wait, for a set time: whether, for how long, and which are worth telling. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import ProcessReport, ThreadReport
from ..linux.system_calls import SLEEPS
from .library_threads import is_in_program
from .standing import has_time_limit
from .telling_frame import where

_LONG = 1.0  # seconds: who sleeps for less is on its way
_MOST = 4


def is_asleep(thread: ThreadReport) -> bool:
    """Whether a thread sleeps for a set time: nothing but that ends it."""
    call = thread.system_call
    return call is not None and (call.name in SLEEPS or call.sleep is not None)


def sleep_in_words(thread: ThreadReport) -> str:
    """``sleeps, for 12 s more``; without the time where it could not be read."""
    sleep = thread.system_call.sleep if thread.system_call is not None else None
    if sleep is None:
        return "sleeps for a set time"
    seconds = f"{sleep.seconds:.0f}" if sleep.seconds >= 10 else f"{sleep.seconds:.1f}"
    return f"sleeps, for {seconds} s {'more' if sleep.is_left else 'in all'}"


def waits_with_limit(thread: ThreadReport) -> bool:
    """Whether a thread waits for another one, perhaps, and goes on without it when its time limit is over."""
    call, asks_for_gil = thread.system_call, thread.thread.waits_for_gil
    return call is not None and call.name == "futex" and has_time_limit(call) and not asks_for_gil


def sleepers(processes: Sequence[ProcessReport]) -> list[str]:
    """The threads in which the program itself sleeps for long, or waits with a time limit, a line each."""
    found = []
    for process in processes:
        for thread in process.threads:
            sleep = thread.system_call.sleep if thread.system_call is not None else None
            node = process.pid, thread.thread.tid
            limited = waits_with_limit(thread)
            if ((sleep is None or sleep.seconds < _LONG) and not limited) or not is_in_program(node, thread):
                continue
            does = "waits, with a time limit" if limited else sleep_in_words(thread)
            name = thread.thread.python_name or thread.thread.name
            of_process = f" of process {process.pid}" if len(processes) > 1 else ""
            found.append(f"thread {node[1]} {name}{of_process} {does}, in {where(thread)}")
    more = [f"and {len(found) - _MOST} more threads that do"] if len(found) > _MOST else []
    return [*found[:_MOST], *more]
