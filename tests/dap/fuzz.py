"""Random clients: seeded messages, most of them nearly right, sent to a real adapter with a real program behind it.

What must hold: every request that has a number is answered once, every message follows the schema, no answer tells
of a defect of ours, and afterwards the program runs, or has ended: it is never left frozen.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dualdbg.dap import requests  # noqa: F401 (fills the table)
from dualdbg.dap.registry import REQUESTS
from dualdbg.protocol import dap
from dualdbg.system.patience import patient

from .client import Client

SECONDS = patient(180.0)  # until a batch is answered; the machine may be busy
_SLOW = 5.0
_ENDING = ("disconnect", "terminate", "restart", "launch", "attach")

PROGRAM = """\
import sys, threading, time
sys.path.insert(0, {samples!r})
import sample_pybind

class Thing:
    def __init__(self):
        self.items = list(range(300))
        self.text = "text"

def work(value, thing):
    total = sample_pybind.outer(1.0, 3)
    try:
        int("x")
    except ValueError:
        total += sample_pybind.call_back(lambda number: number + value, 2.0)
    return total

def side():
    while True:
        time.sleep(0.01)

threading.Thread(target=side, daemon=True).start()
thing = Thing()
end = time.monotonic() + 600
count = 0
while time.monotonic() < end:
    work(count % 7, thing)
    count += 1
    with open({counter!r}, "w") as file:
        file.write(str(count))
"""

_NO_MESSAGES = (  # each ends the connection
    b"garbage\r\n\r\n",
    b"Content-Length: many\r\n\r\n",
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: 3\r\n\r\nabc",
    b"Content-Length: 2\r\n\r\n[]",
    b"Content-Length: 2\r\n\r\n{}",
    b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
    b"Content-Length: 6000\r\n\r\n" + b"[" * 6000,
    b"x" * 5000 + b"\r\n\r\n",
    b"Content-Length: 2\r\nContent-Type: x\r\n\r\n{}",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01",
)
_WRECKS = (
    dap.encode({"type": "event", "seq": 1, "event": "x"}),
    dap.encode({"type": "response", "seq": 1, "request_seq": 3, "success": True, "command": "x"}),
    dap.encode({"type": "request", "seq": "one", "command": "threads"}),
    dap.encode({"type": "request", "seq": 1.5, "command": "threads"}),
    dap.encode({"type": "request", "seq": None, "command": "stackTrace"}),
    dap.encode({"type": "what", "seq": 5}),
)

_EXPRESSIONS = (
    *("1 + 1", "total", "thing", "thing.items", "value", "count", "x", "", "1 /", "1 / 0", "(" * 50),
    *(
        "`bt",
        "`info threads",
        "-exec info breakpoints",
        "`nonsense",
        "`print total",
        "`",
        "`help",
        "`frame 2",
    ),
    *(
        "a",
        "a + 1",
        "$rip",
        "*(int*)0",
        "sizeof(int)",
        "print('x')",
        "é\u2028",
        "__import__('time').sleep(0.01)",
    ),
)
_SPECS = (
    *(
        "sample::helper",
        "PyNumber_Add",
        "py:work",
        "work",
        "throw",
        "raise:ValueError",
        "nonsense",
        "",
        "a b c",
    ),
    *(
        "*0x10",
        "preset:none",
        "sample::*",
        "helper.cpp:1",
        "signal:SIGUSR1",
        "sample::helper if a > 1",
        ":::",
    ),
)
_ODD = (
    *(None, True, False, 0, -1, 1 << 31, 1 << 63, -(1 << 70), 1.5, "", "x" * 3000, "\x00", "\ud7ff", "é"),
    *([], [None], {}, {"a": {"b": [1]}}, [[[[]]]], "0x", "-0x10", "0xffffffffffffffffff", "../../..", "/"),
)


class Fuzzer:
    """One random client. ``client`` is connected, and nothing has been said."""

    def __init__(self, client: Client, chance: random.Random, program: Path) -> None:
        self.client = client
        self.chance = chance
        self.program = program
        self.sent = 0
        self.thread = 1
        self.numbers: list[int] = [1, 2, 3]
        self.addresses: list[str] = ["0x1000"]
        self.ended = False
        self.slowest = 0.0  # seconds that a batch waited for its answers
        self.slow: list[str] = []  # batches that waited longer than _SLOW

    def run(self, messages: int) -> None:
        """Start a program, then ``messages`` random ones; at the end the program runs, or is gone."""
        self._begin()
        while self.sent < messages and not self.ended:
            self._batch(self.chance.choice((1, 1, 3, 8, 20)))
        if not self.ended:
            self._is_unharmed()

    # -- the beginning: in good order, or nearly ---------------------------------------------------

    def _begin(self) -> None:
        client = self.client
        if self.chance.random() < 0.3:
            self._batch(5)
        if self.ended:
            return
        self._ask("initialize", {"adapterID": "fuzz", "supportsProgressReporting": True})
        if self.chance.random() < 0.3:
            self._batch(5)
        if self.ended:
            return
        launched = client.send("launch", {"program": str(self.program), "justMyCode": False})
        if self._wait(lambda: self._has_event("initialized") or client.has_answer(launched)):
            self._ask("setFunctionBreakpoints", {"breakpoints": [{"name": "sample::helper"}]})
            source = {"path": str(self.program)}
            self._ask("setBreakpoints", {"source": source, "breakpoints": [{"line": 12}]})
            if self.chance.random() < 0.3:
                self._batch(5)
            self._ask("configurationDone", {})
            self._wait(lambda: client.has_answer(launched))

    def _has_event(self, name: str) -> bool:
        return bool(self.client.events(name))

    # -- random messages ---------------------------------------------------------------------------

    def _batch(self, count: int) -> None:
        """Send some at once, then wait for every answer."""
        waiting: dict[int, str] = {}
        for _ in range(count):
            self.sent += 1
            if self.chance.random() < 0.002:
                self.client.send_quietly(self.chance.choice(_NO_MESSAGES))
                self.ended = True
                assert self.client.wait(lambda: self.client.ended, SECONDS), self.client.tail()
                return
            if self.chance.random() < 0.05:
                self.client.send_quietly(self.chance.choice(_WRECKS))
                continue
            command, arguments = self._message()
            if command == "disconnect":
                self.ended = True
            number = self.client.send_quietly_request(command, arguments)
            waiting[number] = command
            if self.ended:
                break
        self._collect(waiting)

    def _collect(self, waiting: dict[int, str]) -> None:
        client = self.client

        starting = [seq for seq, command in waiting.items() if command in ("launch", "attach")]

        def answered() -> bool:
            # A launch of the batch's own is answered when the client has said configurationDone.
            if any(not client.has_answer(seq) for seq in starting) and self._has_event("initialized"):
                starting.clear()
                waiting[client.send_quietly_request("configurationDone", {})] = "configurationDone"
            return client.ended or all(map(client.has_answer, waiting))

        start = time.monotonic()
        done = client.wait(answered, SECONDS)
        seconds = time.monotonic() - start
        self.slowest = max(self.slowest, seconds)
        if seconds > _SLOW:
            self.slow.append(f"{seconds:.1f} s for {', '.join(waiting.values())}")
        if not done:
            missing = {seq: waiting[seq] for seq in waiting if not client.has_answer(seq)}
            raise AssertionError(f"no answer to {missing}\n{client.tail()}")
        self.ended = self.ended or client.ended
        for seq in waiting:
            message = client.take_answer(seq)
            if message is not None:
                assert "went wrong in dualdbg" not in str(message.get("message")), (message, client.tail())
                self._learn(message.get("body") or {})
        for event in client.drain_events():
            if event["event"] == "stopped":
                self.thread = event["body"]["threadId"]

    def _learn(self, body: Any) -> None:
        """Numbers and addresses that the adapter gave: the next messages use them."""
        if isinstance(body, dict):
            for name, value in body.items():
                if (
                    name in ("id", "variablesReference", "sourceReference")
                    and isinstance(value, int)
                    and value
                ):
                    self.numbers.append(value)
                elif "eference" in name and isinstance(value, str):
                    self.addresses.append(value)
                else:
                    self._learn(value)
            del self.numbers[:-40], self.addresses[:-10]
        elif isinstance(body, list):
            for row in body[:30]:
                self._learn(row)

    def _message(self) -> tuple[str, Any]:
        chance = self.chance
        command = chance.choice(sorted(REQUESTS))
        if command in _ENDING and chance.random() < 0.97:
            command = chance.choice(("threads", "stackTrace", "continue", "next", "stepIn"))
        if chance.random() < 0.02:
            command = chance.choice(("stepBack", "x" * 500, "", "restartFrame", "Threads"))
        arguments: Any = {name: self._value(name) for name in _NAMES.get(command, ())}
        if chance.random() < 0.25 and arguments:
            arguments[chance.choice(sorted(arguments))] = chance.choice(_ODD)
        if chance.random() < 0.05 and arguments:
            del arguments[chance.choice(sorted(arguments))]
        if chance.random() < 0.03:
            arguments = chance.choice(_ODD)
        if (
            command == "disconnect"
            and isinstance(arguments, dict)
            and arguments.get("terminateDebuggee") is False
        ):
            arguments["terminateDebuggee"] = True  # a program that is let go of runs on, and is nobody's then
        return command, arguments

    def _value(self, name: str) -> Any:
        chance = self.chance
        if name == "threadId":
            return self.thread if chance.random() < 0.8 else chance.choice(self.numbers)
        if name in ("frameId", "variablesReference", "sourceReference", "targetId", "requestId"):
            return chance.choice(self.numbers)
        if name == "memoryReference":
            return chance.choice(self.addresses)
        if name == "source":
            return {"path": chance.choice((str(self.program), "/nothing.py", "helper.cpp", ""))}
        if name in ("expression", "text", "value"):
            return chance.choice(_EXPRESSIONS)
        if name == "name":
            return chance.choice(("total", "value", "thing", "a", "rip", "nothing"))
        if name == "context":
            return chance.choice(("hover", "watch", "repl", "clipboard", "variables", "what"))
        if name == "granularity":
            return chance.choice(("statement", "line", "instruction", "x"))
        if name == "breakpoints":
            return [self._breakpoint() for _ in range(chance.randrange(3))]
        if name == "filters":
            return chance.sample(("raised", "uncaught", "userUnhandled", "cpp_throw", "what"), 2)
        if name == "program":
            return chance.choice((str(self.program), "/nothing.py"))
        return chance.choice((0, 1, 2, 5, 10, 50))

    def _breakpoint(self) -> Any:
        chance = self.chance
        row: dict[str, Any] = {
            "line": chance.choice((1, 11, 12, 15, 26, 27, 9999, -1)),
            "name": chance.choice(_SPECS),
            "instructionReference": chance.choice(self.addresses),
            "dataId": chance.choice(("0x1000:4", "nonsense", "0x10:99")),
        }
        if chance.random() < 0.3:
            row[chance.choice(("condition", "hitCondition", "logMessage"))] = chance.choice(
                ("1", "> 2", "x +", "{count}", "False", "{", "a > 1", 5)
            )
        return row if chance.random() < 0.9 else chance.choice(_ODD)

    # -- the end -----------------------------------------------------------------------------------

    def _ask(self, command: str, arguments: Any) -> dict[str, Any] | None:
        if self.ended:
            return None
        seq = self.client.send_quietly_request(command, arguments)
        if not self._wait(lambda: self.client.has_answer(seq)):
            return None
        answer = self.client.take_answer(seq)
        assert "went wrong in dualdbg" not in str((answer or {}).get("message")), (answer, self.client.tail())
        return answer

    def _wait(self, predicate: Any) -> bool:
        """False when the connection ended first."""
        done = self.client.wait(lambda: self.client.ended or predicate(), SECONDS)
        assert done, self.client.tail()
        self.ended = self.ended or self.client.ended
        return not self.client.ended or bool(predicate())

    def _is_unharmed(self) -> None:
        """Without breakpoints it runs: the number that it writes grows. Or it has ended, and says so."""
        for command, arguments in _clearing(self.program):
            self._ask(command, arguments)
        counter = self.program.with_suffix(".count")
        end = time.monotonic() + SECONDS
        before = _number(counter)
        while time.monotonic() < end and not self.ended:
            rows = (self._ask("threads", {}) or {}).get("body", {}).get("threads", ())
            thread = rows[0]["id"] if rows else self.thread  # the program may have been started anew
            answer = self._ask("continue", {"threadId": thread})
            self.client.wait(lambda: _number(counter) != before or self.client.ended, 2.0)
            if _number(counter) != before or self.ended:
                return
            text = str((answer or {}).get("message") or "")
            if "ended" in text or "launch or attach" in text or "initialize" in text:
                return
        if not self.ended:
            self._ask("pause", {"threadId": self.thread})
            self.client.wait(lambda: False, 3.0)
            for thread in (self._ask("threads", {}) or {}).get("body", {}).get("threads", ()):
                self._ask("stackTrace", {"threadId": thread["id"], "levels": 6})
            raise AssertionError(f"the program stands still\n{self.client.tail(8)}")


def _number(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _clearing(program: Path) -> Iterator[tuple[str, Any]]:
    for path in (str(program), "/nothing.py", "helper.cpp"):
        yield "setBreakpoints", {"source": {"path": path}, "breakpoints": []}
    for name in ("Function", "Instruction", "Data"):
        yield f"set{name}Breakpoints", {"breakpoints": []}
    yield "setExceptionBreakpoints", {"filters": []}
    yield "evaluate", {"expression": "`delete", "context": "repl"}


_NAMES = {
    "attach": ("processId",),
    "cancel": ("requestId",),
    "completions": ("frameId", "text", "column", "line"),
    "configurationDone": (),
    "continue": ("threadId",),
    "dataBreakpointInfo": ("variablesReference", "name", "frameId"),
    "disassemble": ("memoryReference", "offset", "instructionOffset", "instructionCount"),
    "disconnect": ("restart", "terminateDebuggee"),
    "evaluate": ("expression", "frameId", "context"),
    "exceptionInfo": ("threadId",),
    "goto": ("threadId", "targetId"),
    "gotoTargets": ("source", "line"),
    "initialize": ("adapterID",),
    "launch": ("program",),
    "modules": ("startModule", "moduleCount"),
    "next": ("threadId", "granularity"),
    "pause": ("threadId",),
    "readMemory": ("memoryReference", "offset", "count"),
    "scopes": ("frameId",),
    "setBreakpoints": ("source", "breakpoints"),
    "setDataBreakpoints": ("breakpoints",),
    "setExceptionBreakpoints": ("filters",),
    "setExpression": ("expression", "value", "frameId"),
    "setFunctionBreakpoints": ("breakpoints",),
    "setInstructionBreakpoints": ("breakpoints",),
    "setVariable": ("variablesReference", "name", "value"),
    "source": ("sourceReference", "source"),
    "stackTrace": ("threadId", "startFrame", "levels"),
    "stepIn": ("threadId", "granularity"),
    "stepInTargets": ("frameId",),
    "stepOut": ("threadId", "granularity"),
    "variables": ("variablesReference", "start", "count"),
    "writeMemory": ("memoryReference", "data"),
}
