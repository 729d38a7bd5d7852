"""Takes breakpoint instructions out of a process whose debugger died: ``python -m … PID stopped|running [MEMORY]``.

A breakpoint is a trap instruction in a private copy of a code page. /proc/PID/pagemap shows which pages of a library
are no longer those of its file (Documentation/admin-guide/mm/pagemap.rst). Where such a page has a trap and the file
has none, the file's bytes are put back. Code that was changed in another way is left as it is.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

from ...errors import DualdbgError, TargetGone
from ...shared import page_size
from ...shared.proc_files import read_status
from ...system.patience import patient
from ...system.terminal_text import visible_text
from .memory import ProcessMemory
from .procfs import MemoryMap, read_process
from .ptrace import Hold, poke

_PAGE = page_size.of_this_machine()  # which pagemap counts by
_PRESENT, _SWAPPED, _OF_FILE = 1 << 63, 1 << 62, 1 << 61
# Machine: the trap instruction, and the alignment of instructions. int3; brk #0 as gdb has it (gdb/aarch64-tdep.c).
_TRAPS = {"x86_64": (b"\xcc", 1), "aarch64": (b"\x00\x00\x20\xd4", 4)}
_WORD = 8
_TO_LET_GO = patient(5.0)  # seconds for a gdb that dies
_STRAY_STOP_SECONDS = patient(0.3)  # a signal that was on its way arrives within this time


@dataclass(frozen=True)
class Trap:
    """A trap instruction in memory, and what the file has in its place."""

    address: int
    original: bytes


def find_traps(pid: int, machine: str = os.uname().machine, memory_file: int | None = None) -> list[Trap]:
    """The traps that somebody has put into the code of a process. Empty for a process that is gone."""
    trap, step = _TRAPS[machine]
    memory = ProcessMemory(pid, memory_file)
    found = []
    for row in MemoryMap.read(pid).rows:
        if not row.is_code or not row.path.startswith("/"):
            continue
        changed = _changed_pages(pid, row.start, row.end)
        if not changed:
            continue
        try:
            with open(_seen_by(pid, row.path), "rb") as file:
                for page in changed:
                    file.seek(row.offset + page - row.start)
                    original = file.read(_PAGE)
                    found += _differences(memory.read(page, _PAGE), original, page, trap, step)
        except (OSError, DualdbgError):
            continue  # the file was replaced, or the mapping is gone
    return found


def _seen_by(pid: int, path: str) -> str:
    """The file that the process calls ``path``: in a container it is another than that of this name out here."""
    inside = f"/proc/{pid}/root{path}"
    return inside if os.access(inside, os.R_OK) else path


def remove_traps(pid: int, memory_file: int | None = None) -> list[Trap]:
    """Puts the original instructions back. Raises PermissionRefused or TargetGone when that is not possible.

    ``memory_file`` is the open memory of the process, where it may not be traced.
    """
    traps = find_traps(pid, memory_file=memory_file)
    if not traps:
        return []
    if memory_file is not None and _written(memory_file, traps):
        return traps
    with Hold(pid) as hold:
        traps = find_traps(pid)
        for trap in traps:
            _restore(hold.threads[0].tid, trap)
    return traps


def _written(memory_file: int, traps: list[Trap]) -> bool:
    """Puts the original bytes back while the threads run. False where the kernel does not let code be written so."""
    try:
        for trap in traps:
            os.pwrite(memory_file, trap.original, trap.address)
    # proc_mem.force_override (Documentation/admin-guide/kernel-parameters.txt), or it is gone.
    except OSError:
        return False
    return True


def _restore(tid: int, trap: Trap) -> None:
    """Put the original bytes back. ptrace writes whole words; the rest of the word stays as it is."""
    base = trap.address // _WORD * _WORD
    word = bytearray(ProcessMemory(tid).read(base, _WORD))
    at = trap.address - base
    word[at : at + len(trap.original)] = trap.original
    poke(tid, base, int.from_bytes(word, "little"))


def _differences(there: bytes, original: bytes, page: int, trap: bytes, step: int) -> list[Trap]:
    size = len(trap)
    return [
        Trap(page + at, original[at : at + size])
        for at in range(0, len(original) - size + 1, step)
        if there[at : at + size] == trap and original[at : at + size] != trap
    ]


def _changed_pages(pid: int, start: int, end: int) -> list[int]:
    """The addresses of the pages that are private copies."""
    try:
        with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as file:
            file.seek(start // _PAGE * 8)
            data = file.read((end - start) // _PAGE * 8)
    except OSError:
        return []
    entries = struct.unpack(f"<{len(data) // 8}Q", data)
    return [
        start + index * _PAGE
        for index, entry in enumerate(entries)
        if entry & (_PRESENT | _SWAPPED) and not entry & _OF_FILE
    ]


def wait_until_untraced(pid: int, seconds: float = _TO_LET_GO) -> bool:
    """Whether the process has no tracer within that time: a dying gdb may still be at work."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tracer = _tracer(pid)
        if tracer is None:
            return False
        if tracer == 0:
            return True
        time.sleep(0.001)
    return False


def _tracer(pid: int) -> int | None:
    try:
        return int(read_status(f"/proc/{pid}/status")["TracerPid"])
    except (OSError, KeyError):
        return None


def repair(pid: int, was_stopped: bool, memory_file: int | None = None) -> list[Trap]:
    """Clean up after a debugger of the process has died: remove its traps, and end a stop that it asked for.

    gdb stops threads by SIGSTOP. When gdb dies before it takes this signal, the signal stops the process.
    ``was_stopped``: job control had stopped the process before the attach, and it stays stopped. Raises as
    :func:`remove_traps` does.
    """
    if not wait_until_untraced(pid):
        return []
    traps = remove_traps(pid, memory_file)
    end = time.monotonic() + _STRAY_STOP_SECONDS
    while not was_stopped and time.monotonic() < end:
        facts = read_process(pid)
        if facts is None:
            break
        if facts.state == "T":
            with suppress(ProcessLookupError, TargetGone):  # it has just ended
                _wake(pid)
            break
        time.sleep(0.002)
    return traps


def _wake(pid: int) -> None:
    """End a stop by SIGCONT; a program that handles this signal does not get to see it."""
    mask = 1 << signal.SIGCONT - 1
    if not _mask(pid, "SigCgt") & mask or _mask(pid, "SigBlk") & mask:
        os.kill(pid, signal.SIGCONT)
        return
    with Hold(pid) as hold:
        os.kill(pid, signal.SIGCONT)
        hold.swallow(signal.SIGCONT, pid)


def _mask(pid: int, name: str) -> int:
    try:
        return int(read_status(f"/proc/{pid}/status")[name], 16)
    except (OSError, KeyError):
        return 0


def main(words: list[str]) -> int:
    """Repair the process of the command line. Returns the exit status."""
    try:
        repair(int(words[0]), words[1] == "stopped", int(words[2]) if words[2:] else None)
    except DualdbgError as error:
        print(f"dualdbg: {visible_text(str(error))}", file=sys.stderr)
        return error.exit_status
    except ProcessLookupError:  # it has ended: nothing is left to repair
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
