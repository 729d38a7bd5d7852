"""Which thread started the OpenMP region that a worker runs in, and where. Pure.

The thread that meets the region calls the runtime, and takes part in the work: its stack has the region's function,
the runtime, and the function that holds the region. A worker's stack has the region's function and the worker's loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath

from ..model import NativeFrame

_MARK = " [parallel region]"  # dualdbg/toolchains/registry.py
_STARTS = ("GOMP_parallel", "GOMP_taskloop", "__kmpc_fork_call", "__kmpc_fork_teams")


def region_of_worker(frames: Sequence[NativeFrame]) -> str | None:
    """The function that holds the region in which a worker is; None for any other thread, the one that began too."""
    if any((frame.function or "").startswith(_STARTS) for frame in frames):
        return None
    regions = (frame.function for frame in frames if frame.function and frame.function.endswith(_MARK))
    return next((name.removesuffix(_MARK) for name in regions), None)


def start_of(region: str, frames: Sequence[NativeFrame]) -> NativeFrame | None:
    """The frame of the function ``region`` in which this thread started the region; None where it has not."""
    for inner, outer in pairwise(frames):
        if (inner.function or "").startswith(_STARTS) and outer.function == region:
            return outer
    return None


def told(start: NativeFrame, tid: int) -> str:
    """For people: where the region was started."""
    place = f" at {PurePath(start.file).name}:{start.line}" if start.file and start.line else ""
    return f"in a parallel region that thread {tid} started{place} in {start.function}"
