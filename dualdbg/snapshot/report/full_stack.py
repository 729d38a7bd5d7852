"""Whether a thread crashed because its stack is full: what lies at the address of the fault, and who called itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...model import Frame, NativeFrame
from ...shared.proc_files import mappings, read_maps

_NEAR = 1 << 16  # bytes between the stack pointer and a fault that the stack has grown to
_DEEP = 200  # frames of one function that recursion is called by name from


@dataclass(frozen=True)
class Area:
    """Mapped memory around an address: who may do what with it, and of which file it is."""

    access: str
    file: str


def area_at(pid: int, address: int) -> Area | None:
    """What is mapped at an address of a process; None for nothing, and for a process that is gone."""
    try:
        rows = mappings(read_maps(pid))
    except OSError:
        return None
    return next((Area(row.mode, row.path) for row in rows if row.start <= address < row.end), None)


def full_stack(frames: Sequence[Frame], fault: int, mapped: Area | None) -> str | None:
    """A sentence, where the address is near the stack pointer and is no memory that the thread may use. Pure.

    ``frames``: of the thread, the innermost first. ``mapped``: what is at the address.
    """
    sp = next((one.sp for one in frames if isinstance(one, NativeFrame) and one.sp is not None), None)
    usable = mapped is not None and mapped.access.startswith("rw")
    if sp is None or usable or abs(fault - sp) > _NEAR:
        return None
    names = Counter(frame.function for frame in frames if frame.function)
    recursion = ""
    for name, count in names.most_common(1):
        if count >= _DEEP:
            recursion = f": {name} has called itself, {count:,} of {len(frames):,} frames that were read"
    return f"the stack of the thread is full{recursion}"
