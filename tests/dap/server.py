"""`dualdbg dap --listen` as a process, and the processes that a client hears of."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

from dualdbg.system.patience import patient
from tests import warm
from tests.support import ROOT, is_running, wait_until

from .client import Client


def process_id(client: Client) -> int:
    return int(client.event("process")["systemProcessId"])


def gone(pid: int) -> None:
    wait_until(lambda: not is_running(pid), what=f"the end of process {pid}")


class Server:
    """``dualdbg dap --listen 0``."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self.process = warm.Popen(
            [sys.executable, "-m", "dualdbg", "dap", "--listen", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            text=True,
        )
        assert self.process.stderr
        line = self.process.stderr.readline()
        match = re.fullmatch(r"dualdbg: waiting for an editor on 127\.0\.0\.1:(\d+)\n", line)
        assert match, line + self.process.stderr.read()
        self.port = int(match[1])
        self._rest = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        self._rest = self.process.stderr.read()

    def close(self) -> tuple[int, str]:
        """End it; its status and what it wrote to stderr after the first line."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(patient(60))
        self._reader.join(patient(5))
        return status, self._rest
