"""What each thread of a process does, by /proc alone: nothing is stopped, and another may hold the process."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .facts import SystemCall
from .linux.descriptors import describe_descriptor
from .linux.procfs import descriptor_target, read_threads
from .linux.registers import AARCH64, X86_64
from .linux.system_calls import describe, descriptor_of


@dataclass(frozen=True)
class Doing:
    """``state`` is the letter of proc(5), empty where the thread is held. ``call``: the system call that it is in."""

    state: str = ""
    call: SystemCall | None = None


def thread_states(pid: int) -> dict[int, Doing]:
    """By thread. Without the right to trace there are no calls; of a process that has ended there is nothing."""
    architecture = AARCH64 if os.uname().machine == "aarch64" else X86_64
    found = {}
    for thread in read_threads(pid, deep=True):
        call = None
        if thread.system_call is not None and thread.system_call[0] >= 0:
            raw = thread.system_call
            number = descriptor_of(architecture, raw)
            descriptor = (
                None if number is None else describe_descriptor(pid, number, descriptor_target(pid, number))
            )
            call = SystemCall(describe(architecture, raw[0])[0], raw[1:], descriptor)
        found[thread.tid] = Doing("" if thread.state in "tT" else thread.state, call)
    return found
