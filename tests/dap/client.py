"""A debug adapter client for tests: requests, events, every message checked against the official schema."""

from __future__ import annotations

import functools
import json
import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import jsonschema

from dualdbg.errors import ProtocolError
from dualdbg.protocol import dap
from dualdbg.system.patience import patient
from tests import warm
from tests.support import ROOT, SHARED

SCHEMA = SHARED / "schemas" / "debugAdapterProtocol.json"
SECONDS = patient(180.0)

Message = dict[str, Any]


class Refused(Exception):
    """The adapter answered a request with an error."""

    def __init__(self, message: Message) -> None:
        super().__init__(message.get("message"))
        self.message = message


class Client:
    """Speaks to one adapter over two streams. Messages are kept in ``log``, in order, ours marked with ``>``."""

    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self._reading, self._writing = reading, writing
        self._seq = 0
        self._arrived: queue.Queue[Message | None] = queue.Queue()
        self._events: list[Message] = []
        self._responses: dict[int, Message] = {}
        self.reverse: dict[str, Callable[[Message], Message]] = {}
        self.supports: dict[str, bool] = {}  # more that it says of itself
        self.log: list[str] = []
        self.output = ""
        self.ended = False
        self._reads = threading.Event()
        self._reads.set()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    # -- sending --------------------------------------------------------------------------------

    def send(self, command: str, arguments: Any = None) -> int:
        """Send a request without waiting for its answer; returns its number."""
        self._seq += 1
        self.send_raw(dap.encode(dap.request(self._seq, command, arguments)))
        return self._seq

    def send_raw(self, data: bytes) -> None:
        self.log.append(f"> {data!r}")
        self._writing.write(data)
        self._writing.flush()

    def send_quietly(self, data: bytes) -> None:
        """The same to an adapter that may have closed the connection."""
        try:
            self.send_raw(data)
        except OSError:
            self.log.append("(the connection is closed)")

    def send_quietly_request(self, command: str, arguments: Any = None) -> int:
        self._seq += 1
        self.send_quietly(dap.encode(dap.request(self._seq, command, arguments)))
        return self._seq

    def has_answer(self, seq: int) -> bool:
        self._take_arrived()
        return seq in self._responses

    def take_answer(self, seq: int) -> Message | None:
        """The whole answer, whatever it says; None when there is none."""
        return self._responses.pop(seq, None)

    def drain_events(self) -> list[Message]:
        """Take every event so far."""
        self._take_arrived()
        events, self._events = self._events, []
        return events

    def wait(self, predicate: Callable[[], bool], seconds: float) -> bool:
        """Whether it came true in time; messages are taken meanwhile."""
        end = time.monotonic() + seconds
        while not predicate():
            if time.monotonic() > end:
                return False
            try:
                self._take(self._arrived.get(timeout=0.02))
            except queue.Empty:
                pass
        return True

    def tail(self, count: int = 40) -> str:
        return "\n".join(line[:400] for line in self.log[-count:])

    def request(self, command: str, arguments: Any = None, seconds: float = SECONDS) -> Message:
        """Send a request and return the body of its answer. Raises Refused."""
        return self.answer(self.send(command, arguments), seconds)

    def answer(self, seq: int, seconds: float = SECONDS) -> Message:
        self._until(lambda: seq in self._responses, seconds, f"the answer to request {seq}")
        message = self._responses.pop(seq)
        if not message["success"]:
            raise Refused(message)
        return message.get("body", {})

    def refused(self, command: str, arguments: Any = None) -> str:
        """Send a request that is to be refused; returns why it was."""
        try:
            body = self.request(command, arguments)
        except Refused as refusal:
            return str(refusal)
        raise AssertionError(f"{command} was not refused: {body}")

    # -- events ---------------------------------------------------------------------------------

    def event(self, name: str, seconds: float = SECONDS, **wanted: Any) -> Message:
        """Wait for an event and take it: the body of the first one of this name with these values."""

        def find() -> Message | None:
            for message in self._events:
                body = message.get("body", {})
                if message["event"] == name and all(body.get(key) == wanted[key] for key in wanted):
                    return message
            return None

        self._until(lambda: find() is not None, seconds, f"the event {name} {wanted or ''}")
        message = find()
        assert message is not None
        self._events.remove(message)
        return message.get("body", {})

    def next_event(self, *names: str, seconds: float = SECONDS) -> Message:
        """Wait for the next event of one of these names and take it, whole."""

        def find() -> Message | None:
            return next((message for message in self._events if message["event"] in names), None)

        self._until(lambda: find() is not None, seconds, f"one of the events {names}")
        message = find()
        assert message is not None
        self._events.remove(message)
        return message

    def events(self, name: str) -> list[Message]:
        """The bodies of the events of this name that arrived and were not taken."""
        self._take_arrived()
        return [message.get("body", {}) for message in self._events if message["event"] == name]

    def wait_output(self, pattern: str, seconds: float = SECONDS) -> re.Match[str]:
        """Wait until the output so far matches."""
        self._until(lambda: re.search(pattern, self.output) is not None, seconds, f"the output {pattern!r}")
        match = re.search(pattern, self.output)
        assert match is not None
        return match

    def wait_end(self, seconds: float = SECONDS) -> None:
        """Wait until the adapter has closed the connection."""
        self._until(lambda: self.ended, seconds, "the end of the connection")

    # -- reading --------------------------------------------------------------------------------

    def _read(self) -> None:
        decoder = dap.Decoder()
        try:
            while self._reads.wait() and (data := os.read(self._reading.fileno(), 1 << 16)):
                for message in decoder.feed(data):
                    self._arrived.put(message)
        except ProtocolError as error:  # what speaks HTTP is answered in HTTP, and that is the end
            self.log.append(f"< {error}")
        except (OSError, ValueError):
            pass
        self._arrived.put(None)

    def pause_reading(self, seconds: float) -> None:
        """Take nothing for a while, as a busy editor does."""
        self._reads.clear()
        time.sleep(seconds)
        self._reads.set()

    def _until(self, predicate: Callable[[], bool], seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        self._take_arrived()
        while not predicate():
            try:
                self._take(self._arrived.get(timeout=max(end - time.monotonic(), 0.001)))
            except queue.Empty:
                tail = "\n".join(line[:400] for line in self.log[-25:])
                raise AssertionError(f"not within {seconds} s: {what}\n{tail}") from None
            if self.ended and not predicate():
                tail = "\n".join(line[:400] for line in self.log[-25:])
                raise AssertionError(f"the connection ended before {what}\n{tail}")

    def _take_arrived(self) -> None:
        while not self._arrived.empty():
            self._take(self._arrived.get())

    def _take(self, message: Message | None) -> None:
        if message is None:
            self.ended = True
            return
        self.log.append(f"< {json.dumps(message)}")
        check(message)
        if message["type"] == "response":
            self._responses[message["request_seq"]] = message
        elif message["type"] == "event":
            if message["event"] == "output":
                self.output += message["body"]["output"]
            self._events.append(message)
        else:
            answer = {"type": "response", "request_seq": message["seq"]}
            try:
                answer["body"] = self.reverse[message["command"]](message.get("arguments", {}))
                answer["success"] = True
            except ValueError as error:
                answer |= {"success": False, "message": str(error)}
            self._seq += 1
            self.send_raw(dap.encode({**answer, "seq": self._seq, "command": message["command"]}))

    # -- what most tests do -----------------------------------------------------------------------

    def initialize(self, **more: Any) -> Message:
        arguments = {
            "clientID": "test",
            "adapterID": "dualdbg",
            "pathFormat": "path",
            "linesStartAt1": True,
            "columnsStartAt1": True,
            "supportsVariableType": True,
            "supportsRunInTerminalRequest": True,
            "supportsProgressReporting": True,
            **self.supports,
            **more,
        }
        return self.request("initialize", arguments)

    def start(
        self,
        arguments: Message,
        *,
        lines: dict[str | Path, list[int | Message]] | None = None,
        functions: list[str | Message] | None = None,
        exceptions: list[str] | None = None,
        command: str = "launch",
    ) -> Message:
        """initialize, launch, breakpoints, configurationDone; returns the answers to the breakpoint requests."""
        self.initialize()
        launched = self.send(command, arguments)
        self.initialized(launched)
        answers: Message = {}
        for path, rows in (lines or {}).items():
            answers[str(path)] = self.set_lines(path, rows)
        if functions is not None:
            answers["functions"] = self.set_functions(functions)
        self.request("setExceptionBreakpoints", {"filters": exceptions or []})
        self.request("configurationDone")
        self.answer(launched)
        return answers

    def initialized(self, launched: int) -> None:
        """Wait for the event; a refused launch is raised at once."""
        self._until(
            lambda: launched in self._responses or any(m["event"] == "initialized" for m in self._events),
            SECONDS,
            "initialized",
        )
        if launched in self._responses:
            self.answer(launched)
        self.event("initialized")

    def set_lines(self, path: str | Path, rows: list[int | Message]) -> list[Message]:
        wanted = [{"line": row} if isinstance(row, int) else row for row in rows]
        source = {"path": str(path), "name": Path(path).name}
        return self.request("setBreakpoints", {"source": source, "breakpoints": wanted})["breakpoints"]

    def set_functions(self, rows: list[str | Message]) -> list[Message]:
        wanted = [{"name": row} if isinstance(row, str) else row for row in rows]
        return self.request("setFunctionBreakpoints", {"breakpoints": wanted})["breakpoints"]

    def stopped(self, seconds: float = SECONDS, **wanted: Any) -> Message:
        """Wait for the next stop, which is to have these values."""
        body = self.event("stopped", seconds)
        for key, value in wanted.items():
            assert body.get(key) == value, body
        return body

    def stack(self, thread: int, **more: Any) -> list[Message]:
        return self.request("stackTrace", {"threadId": thread, **more})["stackFrames"]

    def scope(self, frame: Message, name: str = "Locals") -> dict[str, Message]:
        """The variables of a scope of a frame, by name."""
        scopes = self.request("scopes", {"frameId": frame["id"]})["scopes"]
        chosen = next(scope for scope in scopes if scope["name"].startswith(name))
        return self.children(chosen)

    def children(self, row: Message, **more: Any) -> dict[str, Message]:
        asked = {"variablesReference": row["variablesReference"], **more}
        return {child["name"]: child for child in self.request("variables", asked)["variables"]}

    def evaluate(self, expression: str, frame: Message | None = None, context: str = "repl") -> Message:
        where = {} if frame is None else {"frameId": frame["id"]}
        return self.request("evaluate", {"expression": expression, "context": context, **where})

    def go(self, command: str, thread: int, **more: Any) -> Message:
        return self.request(command, {"threadId": thread, **more})


class StdioAdapter:
    """``dualdbg dap`` as an editor starts it, with the client that speaks to it."""

    def __init__(self, *options: str, cwd: str | Path = ROOT) -> None:
        self.process = warm.Popen(
            [sys.executable, "-m", "dualdbg", "dap", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self.process.stdin and self.process.stdout
        self.client = Client(self.process.stdout, self.process.stdin)  # type: ignore[arg-type]
        self._stderr = b""
        self._drain = threading.Thread(target=self._read_stderr, daemon=True)
        self._drain.start()

    def _read_stderr(self) -> None:
        assert self.process.stderr
        self._stderr = self.process.stderr.read()

    def close(self) -> str:
        """End it as an editor does that closes the pipe; returns what it wrote to stderr."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(patient(60))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the adapter did not end when its input was closed") from None
        self._drain.join(patient(5))
        self.process.stdout.close()
        return self._stderr.decode("utf-8", "replace")


def connect(port: int) -> Client:
    """A client of a listening adapter."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=patient(120))
    connection.settimeout(None)
    reading, writing = connection.makefile("rb", 0), connection.makefile("wb", 0)
    client = Client(reading, writing)  # type: ignore[arg-type]
    client.close = lambda: (connection.shutdown(socket.SHUT_RDWR), connection.close())  # type: ignore[attr-defined]
    return client


# -- the official schema --------------------------------------------------------------------------


@functools.cache
def _validators() -> dict[tuple[str, str], Any]:
    """(type, event or command) -> what such a message must look like; empty where the schema is not there."""
    if not SCHEMA.exists():
        return {}
    schema = json.loads(SCHEMA.read_text())
    found: dict[tuple[str, str], Any] = {}
    for name, definition in schema["definitions"].items():
        for kind, key in (("event", "Event"), ("request", "Request")):
            for words in _words_of(definition, "event" if kind == "event" else "command"):
                if name.endswith(key):
                    found[kind, words] = _validator(schema, name)
        if name.endswith("Response") and name not in ("Response", "ErrorResponse"):
            command = name.removesuffix("Response")
            found["response", command[0].lower() + command[1:]] = _validator(schema, name)
    found["response", ""] = _validator(schema, "ErrorResponse")
    return found


def _words_of(definition: Message, key: str) -> Iterator[str]:
    for part in definition.get("allOf", ()):
        yield from part.get("properties", {}).get(key, {}).get("enum", ())


def _validator(schema: Message, name: str) -> Any:
    return jsonschema.Draft4Validator({"$ref": f"#/definitions/{name}", "definitions": schema["definitions"]})


# Requests of debugpy's that the protocol does not have, and nothing announces.
BEYOND_DAP = {"debugpySystemInfo", "setDebuggerProperty", "setPydevdSourceMap"}


def check(message: Message) -> None:
    """Fails for a message that the official schema does not allow."""
    validators = _validators()
    if not validators:
        return
    kind = message["type"]
    word = message.get("event") or message.get("command") or ""
    if kind == "response" and not message["success"]:
        word = ""
    if word in BEYOND_DAP:
        return
    validator = validators.get((kind, word))
    assert validator is not None, f"the protocol has no {kind} {word!r}: {message}"
    problems = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in validator.iter_errors(message)]
    assert not problems, f"{kind} {word}: {problems}\n{json.dumps(message)[:2000]}"
