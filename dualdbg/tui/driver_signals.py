"""What Textual's driver does about signals, where that is not enough."""

from __future__ import annotations

import signal
from types import FrameType


def resume_only_after_suspension() -> None:
    """Let SIGCONT restart the driver only after a SIGTSTP has stopped it.

    SIGCONT also comes without a SIGTSTP: with the hangup of a terminal (setpgid(2), exit of a session leader), or from
    a program that had frozen us. The driver would then read the keyboard a second time, and never end.
    """
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    suspended = False

    def on_suspend(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        suspended = True
        if callable(suspend):
            suspend(number, frame)

    def on_resume(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        if suspended and callable(resume):
            suspended = False
            resume(number, frame)

    signal.signal(signal.SIGTSTP, on_suspend)
    signal.signal(signal.SIGCONT, on_resume)
