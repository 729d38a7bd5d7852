"""A helper that somebody has stopped (SIGSTOP) goes on when it is needed: it would keep whoever waits for it."""

from __future__ import annotations

import signal
import subprocess
from typing import Any


def wake(process: subprocess.Popen[Any]) -> None:
    """Call it before ``process``, a child of ours, is asked for something or waited for. Nothing where it has ended."""
    process.send_signal(signal.SIGCONT)
