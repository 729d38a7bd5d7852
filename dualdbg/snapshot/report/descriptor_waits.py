"""What a thread waits for at a descriptor, in words. Pure."""

from __future__ import annotations

from ..facts import Descriptor, SystemCall
from ..linux.system_calls import POLLS, READS, WRITES
from .standing import has_time_limit, time_limit

OF_SERVICES = ("accept", "accept4", *POLLS)
"""In these a thread of a library waits for something to do."""
IO = (*READS, *WRITES, *POLLS, "flock", "fcntl", "fsync", "fdatasync", "ioctl")
"""Calls that wait for a descriptor."""


def descriptor_wait(call: SystemCall, descriptor: Descriptor, where: str) -> str:
    """``waits to read from descriptor 3 (pipe:[4711]), in load (train.py:12)``, and who has the other end."""
    text = f"waits{_limit(call)} {_direction(call)} descriptor {descriptor.number} ({descriptor.target or 'not known'})"
    text += f", in {where}"
    if descriptor.others:
        text += f"\nthe other end is open in {', '.join(map(str, descriptor.others))}"
    elif descriptor.others is not None:
        text += "\nno process that may be looked at has the other end open"
    return text


def _direction(call: SystemCall) -> str:
    if call.name in WRITES or call.sends:
        return "to write to"
    return "to read from" if call.name in READS or call.sends is False else "in I/O on"


def _limit(call: SystemCall) -> str:
    """Of a wait that ends by itself, and begins again where the program has it in a loop."""
    if not has_time_limit(call):
        return ""
    seconds = time_limit(call)
    return ", with a time limit," if seconds is None else f", with a time limit of {seconds:g} s,"
