"""A helper that somebody has stopped (SIGSTOP) goes on when it is needed: it would keep whoever waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio.subprocess


def wake(process: subprocess.Popen[Any] | asyncio.subprocess.Process) -> None:
    """Call it before ``process``, a child of ours, is asked for something or waited for. Nothing where it has ended."""
    # Not by send_signal, which would reap a process that has just ended: asyncio, which waits for it, would not learn
    # how, and say so on standard error. sudo is root's, and may have left our session: then only root stops or wakes
    # it (kill(2)).
    if process.returncode is None:
        with suppress(PermissionError, ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
