"""Threads, their frames, registers and signals; memory.

``gdb_thread`` is gdb's number of a thread, ``level`` counts its frames from the innermost, 0.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence

from .base import Request


class FrameRow(NamedTuple):
    """A frame as gdb unwinds it; the fields are those of ``NativeFrame`` (dualdbg/model/frames.py)."""

    pc: int
    is_call: bool
    sp: Optional[int]
    function: Optional[str]
    file: Optional[str]
    line: Optional[int]
    inlined: bool
    source_language: Optional[str]
    between: bool


class RegisterText(NamedTuple):
    """A register's content as gdb prints it."""

    name: str
    value: str


class SignalHandling(NamedTuple):
    """What gdb does when a signal arrives."""

    stops: bool
    prints: bool
    passes: bool


class ReadGdbVersion(Request[str], module="about"):
    """Return gdb's version as its distribution writes it."""


class ReadArchitecture(Request[str], module="threads", is_constant=True):
    """Return ``x86-64``, ``aarch64``, or gdb's name for another architecture."""


class ListThreads(Request[Dict[int, int]], module="threads"):
    """Map gdb's number of each thread to its OS thread id, read afresh."""


class ReadFrames(Request[List[FrameRow]], module="threads"):
    """Return at most ``limit`` frames of a thread, innermost first."""

    gdb_thread: int
    limit: int


class SelectFrame(Request[None], module="threads"):
    """Select a frame of a thread for gdb's own commands."""

    gdb_thread: int
    level: int


class IsInFront(Request[bool], module="threads"):
    """Return whether a thread stands in front of the entry of its function: in a part of it that is seldom run."""

    gdb_thread: int


class ReadRegisters(Request[Dict[str, int]], module="threads"):
    """Map the named registers of the innermost frame to their values, as unsigned numbers."""

    gdb_thread: int
    names: Sequence[str]


class PrintRegisters(Request[List[RegisterText]], module="threads"):
    """Return the registers of a frame as gdb prints them; ``group`` is ``general`` or ``vector``."""

    gdb_thread: int
    level: int
    group: str


class ReadSignalHandling(Request[SignalHandling], module="threads"):
    """Return what gdb does when the signal of this name arrives."""

    name: str


class ReadSignalCode(Request[int], module="threads"):
    """Return si_code of the signal for which the selected thread stopped. An error where there was none."""


class WasSentByTerminal(Request[bool], module="threads"):
    """Return whether the kernel itself sent the signal of this stop, as for Ctrl-C in the terminal."""


class ReadFaultAddress(Request[Optional[int]], module="threads"):
    """Return the address that the instruction of this stop (SIGSEGV, SIGBUS) could not use.

    None where the kernel names none: a signal that a process has sent, an address outside of what x86-64 can map.
    """


class ReadMemory(Request[bytes], module="memory"):
    """Return exactly ``length`` bytes. An error when some of them cannot be read."""

    address: int
    length: int


class ReadReadableMemory(Request[bytes], module="memory"):
    """Return the bytes from ``address`` on as far as they can be read, at most ``length``."""

    address: int
    length: int


class WriteMemory(Request[int], module="memory"):
    """Write all of ``data``; return the number of bytes."""

    address: int
    data: bytes
