"""Where a native stack leads to what is no code: it was overwritten, and what lies beyond means nothing. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model import NativeFrame

NO_CODE = "there is no code at {:#x}, and no call has led there (corrupt stack?)"


def up_to_no_code(frames: Sequence[NativeFrame], is_code: Callable[[int], bool]) -> Sequence[NativeFrame]:
    """Return the frames up to the first return address that is none.

    A bad pointer that was called is no return address: its caller follows.
    """
    for at, frame in enumerate(frames):
        if at and frame.is_call and not is_code(frame.pc):
            return frames[: at if not is_code(frames[at - 1].pc) else at + 1]
    return frames
