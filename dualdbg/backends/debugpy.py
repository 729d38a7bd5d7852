"""The Python engine: the debugpy server (pydevd) in the target, over DAP and without an adapter in between.

The target's pydevd connects to us (``target/calls.py``), so nothing listens in the target. The first messages
come in the order of debugpy's own adapter (debugpy/adapter/servers.py and clients.py): pydevdAuthorize,
pydevdSystemInfo, initialize, attach, then breakpoints, then configurationDone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import CommandError, EngineLost, EngineTimeout, ProtocolError
from ..protocol import dap
from ..system.patience import patient
from ..system.waiting import settled
from .events import (
    EngineEnded,
    EngineEvent,
    PythonBreakpoint,
    PythonCause,
    PythonContinued,
    PythonEnded,
    PythonFileLoaded,
    PythonLogFailed,
    PythonOutput,
    PythonStopped,
)
from .pending import PendingRequests
from .python import OURS, Answer, PythonRequest, breakpoint_answer
from .wirelog import WireLog

DEADLINE = patient(20.0)
CODE_LIMIT = patient(5.0)  # seconds for code of the program that is run on request: a __repr__, a property
_CHUNK = 1 << 16

# The requests that pydevd understands (its on_*_request methods). It never answers others, so they are never sent.
KNOWN_REQUESTS = frozenset(
    {
        "attach",
        "completions",
        "configurationDone",
        "continue",
        "disconnect",
        "evaluate",
        "exceptionInfo",
        "goto",
        "gotoTargets",
        "initialize",
        "launch",
        "modules",
        "next",
        "pause",
        "pydevdAuthorize",
        "pydevdSystemInfo",
        "scopes",
        "setBreakpoints",
        "setDebuggerProperty",
        "setExceptionBreakpoints",
        "setExpression",
        "setFunctionBreakpoints",
        "setPydevdSourceMap",
        "setVariable",
        "source",
        "stackTrace",
        "stepIn",
        "stepInTargets",
        "stepOut",
        "terminate",
        "threads",
        "variables",
    }
)


@dataclass(frozen=True)
class DebugpyOptions:
    """What debugpy is told when it connects.

    It never stops in ``hidden_files``, whatever ``rules`` the user adds by ``extra``: a rule that names a file comes
    before those with a pattern in it (pydevd's _convert_rules_to_exclude_filters).
    """

    launched: bool = True
    just_my_code: bool = True
    stop_on_entry: bool = False
    hidden_files: tuple[str, ...] = ()
    path_mappings: tuple[tuple[str, str], ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """The arguments of DAP's ``attach`` as debugpy documents them."""
        return {
            "justMyCode": self.just_my_code,
            "stopOnEntry": self.stop_on_entry,
            "showReturnValue": True,
            "redirectOutput": False,
            # The user sees the streams of what was launched: what an expression prints is not sent besides.
            "isOutputRedirected": self.launched,
            "subProcess": False,
            "dualdbgLimit": CODE_LIMIT,
            "pathMappings": [
                {"localRoot": local, "remoteRoot": remote} for local, remote in self.path_mappings
            ],
            **self.extra,
            "rules": [
                *({"path": path, "include": False} for path in self.hidden_files),
                *self.extra.get("rules", ()),
            ],
        }


class DebugpyEngine:
    """Owns the connection to debugpy. Answers come as return values, everything else through ``on_event``."""

    name = "debugpy"

    def __init__(self, log: WireLog, on_event: Callable[[EngineEvent], None]) -> None:
        self._log = log
        self._on_event = on_event
        self._pending: PendingRequests[dap.Message] = PendingRequests(self.name)
        self._writer: asyncio.StreamWriter | None = None
        self._initialized = asyncio.Event()
        self._hung_up = asyncio.Event()
        self._closing = False
        self.process_id: int | None = None
        self.python_version: str | None = None
        self.configured = False

    # -- life ---------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self._writer is not None and not self._writer.is_closing()

    def renew(self) -> None:
        """The program has replaced itself with another: what was connected was the earlier one's, and is gone.

        Nothing is told of that. The debugpy of the new program may connect.
        """
        self._pending.fail_all("the program replaced itself with another")
        self._pending = PendingRequests(self.name)
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        self._initialized.clear()
        self._hung_up = asyncio.Event()
        self.process_id = self.python_version = None
        self.configured = False

    async def initialize(
        self, options: DebugpyOptions, session_token: str, target_token: str, deadline: float = DEADLINE
    ) -> None:
        """Everything before the breakpoints: shows ``session_token`` and expects ``target_token`` back.

        ``deadline`` is in seconds for each answer. It has to be long where the user may let gdb hold the target.

        Raises ProtocolError when the caller is not our target.
        """
        answer = await self._ask("pydevdAuthorize", {"debugServerAccessToken": session_token}, deadline)
        if not secrets.compare_digest(str(answer.get("clientAccessToken")), target_token):
            raise ProtocolError("another process connected to the debug port; it was turned away")
        information = await self._ask("pydevdSystemInfo", None, deadline)
        self.process_id = int(information["process"]["pid"])
        self.python_version = _plain_version(str(information["python"]["version"]))
        await self._ask(
            "initialize",
            {
                "adapterID": "debugpy",
                "clientID": "dualdbg",
                "linesStartAt1": True,
                "columnsStartAt1": True,
                "pathFormat": "path",
                "supportsVariableType": True,
                "supportsVariablePaging": True,
            },
            deadline,
        )
        await self._ask("launch" if options.launched else "attach", options.arguments(), deadline)
        await settled(self._initialized.wait(), deadline)
        # A condition that cannot be evaluated stops, and the session tells the user.
        await self._ask(
            "setDebuggerProperty",
            {"skipSuspendOnBreakpointException": [], "skipPrintBreakpointException": ["BaseException"]},
            deadline,
        )

    async def configuration_done(self, deadline: float | None = None) -> None:
        """Let the program run. The answer is awaited if there is a deadline, in seconds.

        It may come only after the program's first native stop.
        """
        self.configured = True
        if deadline is None:
            self.post(PythonRequest("configurationDone", None, lambda body: None))
        else:
            await self._ask("configurationDone", None, deadline)

    async def hang_up(self, deadline: float) -> bool:
        """Close our side. Returns whether the target has cleaned up and closed its side within ``deadline`` seconds.

        A target that is held up in native code does so only when it runs Python again.
        """
        if self._writer is None or self._writer.is_closing():
            return True
        self._closing = True
        with contextlib.suppress(OSError):  # the connection is gone already
            self._writer.write_eof()
        try:
            await asyncio.wait_for(self._hung_up.wait(), deadline)
        except asyncio.TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Close the connection at once. Requests without an answer fail."""
        self._closing = True
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()
        self._pending.fail_all("the session is over")
        self._log.close()

    # -- requests -----------------------------------------------------------------------------

    async def request(self, request: PythonRequest[Answer], deadline: float = DEADLINE) -> Answer:
        """Send a request and return its answer.

        Raises CommandError with debugpy's own words when it refuses, EngineTimeout past ``deadline`` seconds,
        EngineLost when the connection is gone, ProtocolError for an answer that cannot be read. Never to be called
        while gdb holds the target: debugpy is mute then.
        """
        return request.read(await self._ask(request.command, request.arguments, deadline))

    async def _ask(
        self, command: str, arguments: dict[str, Any] | None, deadline: float = DEADLINE
    ) -> dict[str, Any]:
        token, future = self._open(command, arguments)
        try:
            answer = await settled(future, deadline)
        except asyncio.TimeoutError:
            raise EngineTimeout(f"debugpy did not answer {command} within {deadline:g} s") from None
        finally:
            self._pending.forget(token)
        return _body(command, answer)

    def post(
        self,
        request: PythonRequest[Answer],
        on_refused: Callable[[CommandError], None] | None = None,
        on_answer: Callable[[Answer], None] | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        """Send a request. Its answer may come at any later time, and goes to one of the callbacks."""
        _, future = self._open(request.command, request.arguments)

        def answered(done: asyncio.Future[dap.Message]) -> None:
            if done.cancelled() or done.exception() is not None:
                if on_lost is not None:
                    on_lost()
                return
            try:
                answer = request.read(_body(request.command, done.result()))
            except (CommandError, ProtocolError) as error:
                if on_refused is not None:
                    on_refused(CommandError(error.message, error.hint))
                return
            if on_answer is not None:
                on_answer(answer)

        future.add_done_callback(answered)

    def _open(
        self, command: str, arguments: dict[str, Any] | None
    ) -> tuple[int, asyncio.Future[dap.Message]]:
        if command not in KNOWN_REQUESTS:
            raise ProtocolError(f"debugpy has no request {command}; sending it would wedge the connection")
        if self._writer is None or self._writer.is_closing() or self._closing:
            raise EngineLost("debugpy is not connected")
        token, future = self._pending.open()
        message = dap.request(token, command, arguments)
        self._log.sent(json.dumps(message))
        self._writer.write(dap.encode(message))
        return token, future

    # -- reading ------------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read what the target says, until one side hangs up. The target has proved before who it is."""
        self._writer = writer
        pending, hung_up = self._pending, self._hung_up
        decoder = dap.Decoder()
        detail = "it closed the connection"
        try:
            while data := await reader.read(_CHUNK):
                for message in decoder.feed(data):
                    self._log.received(json.dumps(message))
                    if self._writer is writer:  # else it is of the program that was there before
                        self._handle(message)
        except OSError as error:
            detail = f"the connection broke: {error.strerror}"
        except ProtocolError as error:
            detail = error.message
        finally:
            hung_up.set()
            writer.close()
            pending.fail_all(detail)
            if not self._closing and self._writer is writer:
                self._on_event(EngineEnded(self.name, detail))

    def _handle(self, message: dap.Message) -> None:
        if message["type"] == "response":
            self._pending.answer(int(message["request_seq"]), message)
        elif message["type"] == "event":
            handler = _EVENTS.get(message["event"])
            if handler is not None:
                handler(self, message.get("body") or {})

    def _on_initialized(self, body: dict[str, Any]) -> None:
        self._initialized.set()

    def _on_stopped(self, body: dict[str, Any]) -> None:
        self._on_event(
            PythonStopped(
                cause=_CAUSES.get(str(body.get("reason")), PythonCause.OTHER),
                debugpy_thread=int(body["threadId"]),
                description=body.get("description"),
                text=body.get("text"),
                breakpoints=tuple(body.get("hitBreakpointIds") or ()),
            )
        )

    def _on_continued(self, body: dict[str, Any]) -> None:
        thread = None if body.get("allThreadsContinued") else body.get("threadId")
        self._on_event(PythonContinued(thread))

    def _on_output(self, body: dict[str, Any]) -> None:
        if body.get("category") != "telemetry":
            self._on_event(PythonOutput(str(body.get("category", "console")), str(body.get("output", ""))))
        ours = body.get(OURS) or {}
        for expression, why in ours.get("failed") or ():
            self._on_event(PythonLogFailed(int(ours["log"]), str(expression), str(why)))
        if "loaded" in ours:
            self._on_event(PythonFileLoaded(*ours["loaded"]))

    def _on_breakpoint(self, body: dict[str, Any]) -> None:
        changed = body.get("breakpoint") or {}
        if "id" in changed:
            self._on_event(PythonBreakpoint(int(changed["id"]), breakpoint_answer(changed)))

    def _on_exited(self, body: dict[str, Any]) -> None:
        self._on_event(PythonEnded(body.get("exitCode")))

    def _on_terminated(self, body: dict[str, Any]) -> None:
        self._on_event(PythonEnded(None))


_CAUSES = {  # the protocol's words, of which pydevd says these
    "breakpoint": PythonCause.BREAKPOINT,
    "function breakpoint": PythonCause.FUNCTION,
    "step": PythonCause.STEPPED,
    "goto": PythonCause.MOVED,
    "pause": PythonCause.PAUSED,
    "exception": PythonCause.EXCEPTION,
    "entry": PythonCause.ENTRY,
}

_EVENTS: dict[str, Callable[[DebugpyEngine, dict[str, Any]], None]] = {
    "initialized": DebugpyEngine._on_initialized,
    "stopped": DebugpyEngine._on_stopped,
    "continued": DebugpyEngine._on_continued,
    "output": DebugpyEngine._on_output,
    "breakpoint": DebugpyEngine._on_breakpoint,
    "exited": DebugpyEngine._on_exited,
    "terminated": DebugpyEngine._on_terminated,
}


def _body(command: str, answer: dap.Message) -> dict[str, Any]:
    if not answer.get("success", False):
        text = str(answer.get("message") or f"debugpy refused {command}")
        if "Traceback" not in text:
            raise CommandError(text)
        error = CommandError(_last_line(text))
        error.traceback = text.rstrip()
        raise error
    body = answer.get("body")
    return body if isinstance(body, dict) else {}


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else text


_RELEASE_LEVELS = {"alpha": "a", "beta": "b", "candidate": "rc"}


def _plain_version(text: str) -> str:
    """pydevd's ``3.11.7final0`` and ``3.14.0candidate2`` in the usual form."""
    match = re.fullmatch(r"(\d+(?:\.\d+)*)(alpha|beta|candidate|final)(\d+)", text)
    if match is None:
        return text
    number, level, serial = match.groups()
    return number if level == "final" else f"{number}{_RELEASE_LEVELS[level]}{serial}"
