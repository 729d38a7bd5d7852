"""What the hanging samples share: an end after all, children that die with them, and the line "ready"."""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import signal
import sys
import threading
import time
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SAMPLES))

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def parse_arguments(description: str | None, *positional: str, **options: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--limit", type=int, default=300, help="seconds until the sample ends by itself")
    for name in positional:
        parser.add_argument(name, **options)
    return parser.parse_args()


def end_after(seconds: int) -> None:
    """Has the kernel end this process: that needs no Python code to run, so a deadlock cannot prevent it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def die_with_parent(parent: int) -> None:
    """To be called in a child: it is killed as soon as its parent ends, however that happens."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before the call


def announce(**processes: int | list[int]) -> None:
    """Prints ``ready pid=… name=…,…``: from here on nothing moves any more."""
    words = [f"pid={os.getpid()}"]
    for name, pids in processes.items():
        words.append(f"{name}=" + ",".join(map(str, pids if isinstance(pids, list) else [pids])))
    print("ready", *words, flush=True)


def announce_when_asleep(pids: list[int], **processes: int | list[int]) -> None:
    """From a thread that ends afterwards: :func:`announce`, once the main threads of ``pids`` all sleep."""

    def wait_and_announce() -> None:
        wait_until_asleep(pids)
        announce(**processes)

    threading.Thread(target=wait_and_announce, name="announcer", daemon=True).start()


def wait_until_asleep(pids: list[int]) -> None:
    """Returns when the main thread of each process sleeps, and has not run for a few looks at it."""
    quiet_looks = 0
    last: list[str] = []
    while quiet_looks < 5:
        now = [_activity(pid) for pid in pids]
        quiet_looks = quiet_looks + 1 if now == last and all("\tS" in each for each in now) else 0
        last = now
        time.sleep(0.01)


def _activity(pid: int) -> str:
    """State and context switches of the main thread (proc(5), /proc/pid/task/tid/status)."""
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return "\n".join(
        line for line in status.splitlines() if line.startswith("State:") or "ctxt_switches" in line
    )


def build_folder(script: str) -> Path:
    """The folder that the ``build.py`` of another folder of samples gives."""
    spec = importlib.util.spec_from_file_location("sample_build", SAMPLES / script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.build()
    except module.BuildError as error:
        sys.exit(f"{script}: {error}")
