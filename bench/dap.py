"""An editor's view: F5 to the first stop, the views after a stop, and steps; debugpy's own adapter beside it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dualdbg.system.patience import patient
from samples.native.build import build

ROUNDS = 7
STEPS = 30
LINES = "items = list(range(100))\n" + "x = 0\n" + "x += 1\n" * 60
NATIVE = "import sample_pybind\nfor i in range(100):\n    a = sample_pybind.outer(1.5, 2)\n"
OURS = ["-m", "dualdbg", "dap"]
THEIRS = ["-m", "debugpy.adapter"]


class Editor:
    """One adapter process and the messages of one session, in the order in which VS Code sends them."""

    def __init__(self, adapter: list[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *adapter],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self._process.pid
        self._seq = 0

    def send(self, command: str, arguments: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()
        return self._seq

    def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise SystemExit("the adapter closed the connection")
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message

    def event(self, name: str) -> dict[str, Any]:
        while (message := self.read()).get("event") != name:
            if message["type"] == "response" and not message["success"]:
                raise SystemExit(f"{message['command']}: {message.get('message')}")
        return dict(message.get("body") or {})

    def ask(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        seq = self.send(command, arguments)
        while (message := self.read()).get("request_seq") != seq:
            pass
        return dict(message.get("body") or {})

    def start(self, script: Path, line: int, functions: list[str], environment: dict[str, str]) -> int:
        """F5: returns the thread of the first stop."""
        abilities = {"supportsStartDebuggingRequest": True}  # child processes are followed, as in VS Code
        self.ask("initialize", {"adapterID": "x", "linesStartAt1": True, "pathFormat": "path", **abilities})
        launch = {"program": str(script), "console": "internalConsole", "env": environment}
        self.send("launch", {**launch, "python": [sys.executable], "cwd": str(script.parent)})
        self.event("initialized")
        source = {"path": str(script)}
        self.ask("setBreakpoints", {"source": source, "breakpoints": [{"line": line}]})
        self.ask("setFunctionBreakpoints", {"breakpoints": [{"name": name} for name in functions]})
        self.ask("setExceptionBreakpoints", {"filters": []})
        self.send("configurationDone", {})
        return int(self.event("stopped")["threadId"])

    def views(self, thread: int) -> float:
        """Seconds for what an editor shows after a stop: the stack, and the variables of its first frame."""
        started = time.perf_counter()
        frame = self.ask("stackTrace", {"threadId": thread, "levels": 20})["stackFrames"][0]
        scope = self.ask("scopes", {"frameId": frame["id"]})["scopes"][0]
        self.ask("variables", {"variablesReference": scope["variablesReference"]})
        return time.perf_counter() - started

    def step(self, command: str, thread: int) -> float:
        started = time.perf_counter()
        self.send(command, {"threadId": thread})
        self.event("stopped")
        return time.perf_counter() - started

    def close(self) -> None:
        self.send("disconnect", {"terminateDebuggee": True})
        self._process.communicate(timeout=patient(30))


def first_stop(adapter: list[str], script: Path) -> float:
    started = time.perf_counter()
    editor = Editor(adapter)
    editor.start(script, 2, [], {})
    seconds = time.perf_counter() - started
    editor.close()
    return seconds


def stepping(adapter: list[str], script: Path) -> tuple[list[float], list[float]]:
    """Seconds of each step, and of the views after it, without the first two, which load things that are then kept."""
    editor = Editor(adapter)
    thread = editor.start(script, 2, [], {})
    steps, views = [], []
    for _ in range(STEPS):
        steps.append(editor.step("next", thread))
        views.append(editor.views(thread))
    editor.close()
    return steps[2:], views[2:]


def native_views(script: Path) -> list[float]:
    """The same at stops in C++, with frames of both languages."""
    editor = Editor(OURS)
    thread = editor.start(script, 1, ["sample::helper"], {"PYTHONPATH": str(build())})
    editor.step("continue", thread)
    times = []
    for _ in range(STEPS):
        times.append(editor.views(thread))
        editor.step("continue", thread)
    editor.close()
    return times[2:]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        lines, native = Path(name) / "lines.py", Path(name) / "native.py"
        lines.write_text(LINES)
        native.write_text(NATIVE)
        pairs = [(first_stop(OURS, lines), first_stop(THEIRS, lines)) for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        our_steps, our_views = stepping(OURS, lines)
        their_steps, their_views = stepping(THEIRS, lines)
        both = native_views(native)
    print(f"{'':44} {'dualdbg':>10} {'debugpy':>10}")
    print(f"{'F5 to the first stop':44} {ours:8.2f} s {theirs:8.2f} s   {ours / theirs:.2f} x, at most 1.2")
    show("next", our_steps, their_steps, "faster")
    show("stackTrace + scopes + variables, Python", our_views, their_views, "at most 30 ms")
    show("stackTrace + scopes + variables, C++", both, None, "at most 30 ms")


def show(name: str, ours: list[float], theirs: list[float] | None, limit: str) -> None:
    other = f"{statistics.median(theirs) * 1000:7.1f} ms" if theirs else " " * 10
    print(f"{name:44} {statistics.median(ours) * 1000:7.1f} ms {other}   {limit}")


if __name__ == "__main__":
    main()
