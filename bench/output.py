"""1 GB of a program's output through an adapter to an editor that reads it; debugpy's own adapter beside ours.

Told are the time from configurationDone to the end, the largest resident size of the adapter and of the processes below
it that are not the program, and whether every byte arrived, in order, under its category.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from .dap import OURS, THEIRS, Editor

LINE = 100  # bytes
PROGRAM = """\
import sys
block = "".join(f"{n:0{width}}\\n" for n in range(1000))
for n in range(blocks):
    sys.stdout.write(block)
    if n % 100 == 0:
        sys.stdout.flush()
        sys.stderr.write(f"{n}\\n")
"""


class Largest:
    """The largest resident size, in bytes, of a process with all below it but one program; looked at by a thread."""

    def __init__(self, pid: int, program: Path) -> None:
        self.bytes = 0
        self._process, self._program = psutil.Process(pid), str(program)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            size = 0
            try:
                for one in [self._process, *self._process.children(recursive=True)]:
                    command = one.cmdline()
                    if command and command[-1] != self._program:
                        size += one.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self.bytes = max(self.bytes, size)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def measure(adapter: list[str], megabytes: int) -> dict[str, object]:
    blocks = megabytes * 10**6 // (LINE * 1000)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(f"width, blocks = {LINE - 1}, {blocks}\n{PROGRAM}")
        editor = Editor(adapter)
        largest = Largest(editor.pid, program)
        editor.ask("initialize", {"adapterID": "x", "linesStartAt1": True, "pathFormat": "path"})
        launch = {"program": str(program), "console": "internalConsole", "cwd": folder}
        editor.send("launch", {**launch, "python": [sys.executable]})
        editor.event("initialized")
        began = time.monotonic()
        editor.send("configurationDone", {})
        came = {"stdout": hashlib.sha256(), "stderr": hashlib.sha256()}
        count = {"stdout": 0, "stderr": 0}
        while (message := editor.read()).get("event") != "terminated":
            body = message.get("body") or {}
            if message.get("event") == "output" and body.get("category") in came:
                data = body["output"].encode()
                came[body["category"]].update(data)
                count[body["category"]] += len(data)
        seconds = time.monotonic() - began
        largest.close()
        editor.ask("disconnect", {})
        block = "".join(f"{n:0{LINE - 1}}\n" for n in range(1000)).encode()
        wanted = hashlib.sha256()
        for _ in range(blocks):
            wanted.update(block)
        errors = "".join(f"{n}\n" for n in range(0, blocks, 100)).encode()
        whole = (
            came["stdout"].digest() == wanted.digest()
            and came["stderr"].digest() == hashlib.sha256(errors).digest()
        )
        return {
            "seconds": round(seconds, 1),
            "megabytes of memory": round(largest.bytes / 10**6),
            "megabytes that came": round(count["stdout"] / 10**6),
            "every byte": whole,
        }


def main(words: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench output", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    given = parser.parse_args(list(words))
    for name, adapter in (("dualdbg", OURS), ("debugpy", THEIRS)):
        print(f"{name}: {json.dumps(measure(adapter, given.megabytes))}", flush=True)
    return 0
