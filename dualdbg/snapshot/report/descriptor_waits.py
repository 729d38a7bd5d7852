"""What a thread waits for at a descriptor, in words. Pure."""

from __future__ import annotations

from ..facts import Descriptor, SystemCall
from ..linux.system_calls import POLLS, READS, WRITES
from .standing import has_time_limit, time_limit
from .telling_frame import where as where_it_is
from .waits import Scene
from .wording import activity

OF_SERVICES = ("accept", "accept4", *POLLS)
"""In these a thread of a library waits for something to do."""
IO = (*READS, *WRITES, *POLLS, "flock", "fcntl", "fsync", "fdatasync", "ioctl")
"""Calls that wait for a descriptor."""
_LOCKS = ("flock", "fcntl")  # of the commands of fcntl only those for locks wait
_LONG = 80  # characters of a command line


def descriptor_wait(call: SystemCall, descriptor: Descriptor, where: str) -> str:
    """``waits to read from descriptor 3 (pipe:[4711]), in load (train.py:12)``, and who has the other end."""
    text = f"waits{_limit(call)} {_direction(call)} descriptor {descriptor.number} ({descriptor.target or 'not known'})"
    text += f", in {where}"
    if call.name in _LOCKS:
        return text
    if descriptor.others:
        text += f"\nthe other end is open in {', '.join(map(str, descriptor.others))}"
    elif descriptor.others is not None:
        text += "\nno process that may be looked at has the other end open"
    return text


def lock_holders(scene: Scene, pid: int, descriptor: Descriptor) -> str:
    """The lines that say which processes have the lock of a file that process ``pid`` waits for."""
    lines = []
    for holder in descriptor.lock_holders:
        if holder.pid == pid:
            lines.append("the process itself has it locked, by another descriptor or thread")
            continue
        command = holder.command or "it has ended"
        command = command if len(command) <= _LONG else f"{command[: _LONG - 3]}..."
        line = f"process {holder.pid} ({command}) has it locked"
        threads = scene.processes[holder.pid].threads if holder.pid in scene.processes else ()
        if threads:
            line += f", and is in {', '.join(filter(None, (where_it_is(threads[0]), activity(threads[0]))))}"
        lines.append(line)
    return "".join(f"\n{line}" for line in lines)


def _direction(call: SystemCall) -> str:
    if call.name in _LOCKS:
        return "for the lock of the file at"
    if call.name in WRITES or call.sends:
        return "to write to"
    return "to read from" if call.name in READS or call.sends is False else "in I/O on"


def _limit(call: SystemCall) -> str:
    """Of a wait that ends by itself, and begins again where the program has it in a loop."""
    if not has_time_limit(call):
        return ""
    seconds = time_limit(call)
    return ", with a time limit," if seconds is None else f", with a time limit of {seconds:g} s,"
