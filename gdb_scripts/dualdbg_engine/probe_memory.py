"""New memory in the target for probes: code and data near an address, and records that are shared with us."""

from __future__ import annotations

import os
import resource
from typing import Sequence

import gdb
from dualdbg_helpers import language
from dualdbg_shared.requests.probes import CloseDescriptor, MapProbeRoom, MapTraceMemory

from .calls import settings, without_breakpoints
from .leaving import calling
from .registry import answers
from .stopped_threads import WORD, Memory
from .threads import select_innermost

_GROWTH = 1 << 30  # bytes that are left free for the heap and the main stack
_PROT_READ, _PROT_WRITE, _PROT_EXEC = 1, 2, 4
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED, _MAP_ANONYMOUS, _MAP_FIXED_NOREPLACE = 0x01, 0x02, 0x10, 0x20, 0x100000
_MAP_POPULATE = 0x8000  # the program is not to wait for pages one by one
_MFD_CLOEXEC = 1


@answers(MapProbeRoom)
def probe_room(near: int, size: int, reach: int, mmap: int, gdb_thread: int) -> int:
    """Map new memory near an address: ``size`` bytes of code, and behind them as many of data. Returns its address.

    ``mmap`` is the address of the C library's: a thread calls it, alone. No page is ever writable and executable at
    once. Raises GdbError where there is no room.
    """
    base = _gap(near, 2 * size, reach)
    select_innermost(gdb_thread)
    call = "((long(*)(long,long,long,long,long,long))%d)(%d,%d,%d,%d,-1,0)"
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_FIXED_NOREPLACE
    with without_breakpoints(), settings({"scheduler-locking": "on", "unwindonsignal": "on"}), calling():
        for at, access in ((base, _PROT_READ | _PROT_EXEC), (base + size, _PROT_READ | _PROT_WRITE)):
            found = int(language.evaluate(call % (mmap, at, size, access, flags))) & WORD
            if found != at:
                raise gdb.GdbError("no memory could be mapped near it")
    return base


@answers(MapTraceMemory)
def trace_memory(
    functions: "Sequence[int]", near: int, sizes: "tuple[int, int]", gdb_thread: int
) -> "tuple[int, int]":
    """Map memory that the target shares with whoever opens its descriptor. Returns the address and the descriptor.

    ``functions`` are the addresses of the C library's memfd_create, mmap and close, which a thread calls, alone. There
    is room for a name at ``near``. ``sizes``: the bytes that are shared, and of memory behind them that is the
    target's own. Raises GdbError where one of the calls fails. The size is set from here: a limit on the size of files
    (RLIMIT_FSIZE) would end a program that sets it.
    """
    create, mmap, close = functions
    shared, private = sizes
    with Memory() as memory:
        memory.write(near, b"dualdbg\0")
    select_innermost(gdb_thread)
    with without_breakpoints(), settings({"scheduler-locking": "on", "unwindonsignal": "on"}), calling():
        descriptor = int(language.evaluate("((int(*)(long,int))%d)(%d,%d)" % (create, near, _MFD_CLOEXEC)))
        if descriptor < 0:
            raise gdb.GdbError("the process may not make shared memory (memfd_create)")
        try:
            _set_size(descriptor, shared)
            base = _mapped(mmap, 0, shared + private, _MAP_PRIVATE | _MAP_ANONYMOUS, -1)
            _mapped(mmap, base, shared, _MAP_SHARED | _MAP_FIXED | _MAP_POPULATE, descriptor)
        except BaseException:
            language.evaluate("((int(*)(int))%d)(%d)" % (close, descriptor))
            raise
    return base & WORD, descriptor


def _mapped(mmap: int, at: int, size: int, flags: int, descriptor: int) -> int:
    """What the target's mmap returns. Raises GdbError where it fails."""
    call = "((long(*)(long,long,long,long,long,long))%d)(%d,%d,%d,%d,%d,0)"
    found = int(language.evaluate(call % (mmap, at, size, _PROT_READ | _PROT_WRITE, flags, descriptor)))
    if found == -1:
        raise gdb.GdbError("no memory could be mapped")
    return found


def _set_size(descriptor: int, size: int) -> None:
    """Give a file of the target its size."""
    soft = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if soft != resource.RLIM_INFINITY and soft < size:
        raise gdb.GdbError("shared memory is larger than files may be here (ulimit -f)")
    try:
        ours = os.open("/proc/%d/fd/%d" % (gdb.selected_inferior().pid, descriptor), os.O_RDWR | os.O_CLOEXEC)
        try:
            os.ftruncate(ours, size)
        finally:
            os.close(ours)
    except OSError as error:
        raise gdb.GdbError(
            "there is no room for shared memory: %s" % os.strerror(error.errno or 0)
        ) from error


@answers(CloseDescriptor)
def close_descriptor(close: int, descriptor: int, gdb_thread: int) -> None:
    select_innermost(gdb_thread)
    with without_breakpoints(), settings({"scheduler-locking": "on", "unwindonsignal": "on"}), calling():
        language.evaluate("((int(*)(int))%d)(%d)" % (close, descriptor))


def _gap(near: int, size: int, reach: int) -> int:
    """The nearest free place of this size, that is, all of it, within reach."""
    rows: "list[tuple[int, int]]" = []
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as file:
        for line in file:
            start, end = (int(one, 16) for one in line.split(" ", 1)[0].split("-"))
            grown = _GROWTH if line.rstrip().endswith("[heap]") else 0
            down = _GROWTH if line.rstrip().endswith("[stack]") else 0
            rows.append((max(start - down, rows[-1][1] if rows else 0), end + grown))
    best = None
    before = 0x10000
    for start, end in [*rows, (1 << 47, 0)]:
        low, high = before + 0x10000, start - size - 0x10000
        before = max(before, end)
        if high < low:
            continue
        at = min(max(near, low), high) & ~0xFFFF
        if (
            at >= low
            and abs(at - near) + size < reach
            and (best is None or abs(at - near) < abs(best - near))
        ):
            best = at
    if best is None:
        raise gdb.GdbError("there is no room within 2 GB of it")
    return best
