"""What memory says of the Python frames of a thread that debugpy holds. The thread stands meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from ...known.python_files import is_of_a_library
from ...model import PythonFrame
from ..stops.facts import PythonHold
from .debugpy_frames import same_frame
from .stack_reader import StackReader


class HeldFrames:
    """Answers what a step has to know of the frames that debugpy does not look at."""

    def __init__(self, reader: StackReader) -> None:
        self._reader = reader

    def may_be_called(self, hold: PythonHold) -> bool:
        """Whether C code may have called the user's innermost Python function of a thread that debugpy holds, or one
        that is below it. The thread stands, so memory says it.
        """
        frames, at = self._frames_in_memory(hold)
        return any(frame.entry and not self._is_start(frame) for frame in frames[at:])

    def unseen_frames(self, hold: PythonHold) -> int:
        """How many Python functions are on the stack of a thread that debugpy holds, from the user's innermost one on.

        The answer is 0 unless an inner function is still being left, or C code has called one of them: the innermost,
        one without a caller, or one whose caller is a function in which debugpy does not stop.
        The thread stands, so memory has them. (Up to 3.11 debugpy's ``next`` does not stop where an exception ends the
        innermost, but in its callers.)
        """
        frames, at = self._frames_in_memory(hold)
        below = frames[at:]
        if any(not self._is_start(frame) for frame in frames[:at]):
            return len(below)  # an inner function is still being left, and debugpy does not look at this one
        for frame, caller in zip(below, (*below[1:], None), strict=True):
            unseen = (
                frame is below[0]
                or caller is None
                or is_of_a_library(caller.file or "")
                or self._reader.rules.is_ours(caller.file)
            )
            if frame.entry and unseen and not self._is_start(frame):
                return len(below)
        return 0

    def _is_start(self, frame: PythonFrame) -> bool:
        """Whether a function is where the program or a thread of it begins."""
        file = frame.file or ""
        return frame.function == "<module>" or is_of_a_library(file) or self._reader.rules.is_ours(file)

    def may_be_leaving(self, hold: PythonHold) -> bool:
        """Whether a function that C code called is about to be left for the frame at which debugpy stopped."""
        frames, at = self._frames_in_memory(hold)
        rules = self._reader.rules
        return any(frame.entry and not rules.is_ours(frame.file) for frame in frames[:at])

    def _frames_in_memory(self, hold: PythonHold) -> tuple[Sequence[PythonFrame], int]:
        """The Python frames of a thread that debugpy holds, and which of them is that at which it stopped."""
        thread = self._reader.python_thread(hold.tid) if hold.tid is not None else None
        frames = thread.frames if thread is not None else ()
        top = hold.top
        return frames, next(
            (at for at, one in enumerate(frames) if top is not None and same_frame(one, top)), 0
        )
