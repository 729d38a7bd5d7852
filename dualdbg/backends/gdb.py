"""The native engine: one gdb, spoken to over MI; its strings become numbers, paths and events here."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CommandError, EngineError, EngineLost, EngineTimeout, ProtocolError
from ..model import NativeFrame
from ..protocol import mi
from .events import EngineEnded, EngineEvent, NativeConsole, NativeExited, NativeLog, NativeStopped
from .pending import PendingRequests
from .wirelog import WireLog

OLDEST = 12  # the first gdb whose MI and Python do what the engine asks of them
DEADLINE = 30.0  # seconds; a request that takes longer says so itself
_CHUNK = 1 << 16
_WORDS = {1: "char", 2: "short", 4: "int", 8: "long"}  # by their bytes, LP64
_ANSWER_MARK = "dualdbg-answer:"  # begins the one line of JSON that gdb_scripts/engine.py prints
_LOG_MARK = "dualdbg-log:"  # what a log point prints, gdb_scripts/engine_breakpoints.py
_PR_SET_PDEATHSIG = 1

# No prompt, no download and no start-up file may ever hang a session; the symbols of libraries are given by
# name (see docs/ARCHITECTURE.md, "Symbols").
_SETTINGS = (
    "mi-async on",
    "pagination off",
    "confirm off",
    "width 0",
    "height 0",
    "auto-solib-add off",
    "auto-load off",
    "debuginfod enabled off",
    "startup-with-shell off",
    "print thread-events off",
    "libthread-db-search-path ",
    "breakpoint pending on",
    "style enabled off",
    "history save off",
    "print inferior-events off",
)

# Signals that programs use for themselves pass without a stop; what gdb would stop for and what ends a
# program still stops.
_PASSED_SIGNALS = (
    "SIGUSR1 SIGUSR2 SIGALRM SIGVTALRM SIGPROF SIGCHLD SIGWINCH SIGURG SIGIO SIGPIPE SIGTERM SIGHUP SIGCONT "
    "SIGTTIN SIGTTOU SIGTSTP SIG32 SIG33 SIG34"
)


@dataclass(frozen=True)
class GdbOptions:
    """How gdb is started: its path, the folder of our helpers, and where to log.

    ``dies_with_us``: gdb is ended by the kernel when this process dies, and lets go of the target wherever it is then.
    """

    executable: str
    scripts: Path
    log: WireLog
    dies_with_us: bool = True


class GdbEngine:
    """Owns the gdb process. Answers come as return values, everything else through ``on_event``."""

    name = "gdb"

    def __init__(self, options: GdbOptions, on_event: Callable[[EngineEvent], None]) -> None:
        self._options = options
        self._on_event = on_event
        self._log = options.log
        self._pending: PendingRequests[mi.Result] = PendingRequests(self.name)
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._console: list[str] | None = None
        self._console_lock = asyncio.Lock()
        self._threads: dict[int, int] = {}  # gdb's number of a thread -> OS thread id
        self._stderr_tail = b""
        self._closing = False
        self._exit_code: int | None = None
        self.running = False
        self.version: str | None = None

    # -- life ---------------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def input(self) -> int:
        """The descriptor that gdb reads commands from."""
        assert self._process is not None and self._process.stdin is not None
        return int(self._process.stdin.transport.get_extra_info("pipe").fileno())

    async def start(self) -> None:
        """Start gdb and set it up. Raises EngineError when there is no gdb that can be used."""
        parent = os.getpid()
        libc = ctypes.CDLL(None, use_errno=True)

        def in_child() -> None:  # between fork and exec
            os.setpgid(0, 0)  # Ctrl-C at the user's terminal is ours to translate, not gdb's
            if self._options.dies_with_us:
                libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)

        command = [self._options.executable, "-nx", "-nh", "-q", "--interpreter=mi3"]
        for setting in _SETTINGS:
            command += ["-iex", f"set {setting}"]
        for problem, answer in (
            ("internal-error", "yes"),
            ("internal-warning", "no"),
        ):  # no question, no core file of gdb's own
            command += ["-iex", f"maintenance set {problem} corefile no"]
            command += ["-iex", f"maintenance set {problem} quit {answer}"]
        command += ["-iex", f"source {self._options.scripts / 'engine.py'}"]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                preexec_fn=in_child,
                env={**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8", "PYTHONNOUSERSITE": "1"},
            )
        except OSError as error:
            raise EngineError(
                f"gdb could not be started: {self._options.executable}: {error.strerror}",
                "install it (apt-get install gdb), or name another with --gdb PATH",
            ) from error
        self._tasks = [
            asyncio.create_task(self._read_output(), name="gdb output"),
            asyncio.create_task(self._read_errors(), name="gdb stderr"),
        ]
        answer = await self.helper("version")
        self.version = _checked_version(self._options.executable, str(answer["version"]))
        await self.console(f"handle {_PASSED_SIGNALS} nostop noprint pass")

    async def close(self, grace: float = 2.0) -> None:
        """End gdb: ask it first, so that it detaches what it holds, then insist."""
        self._closing = True
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(OSError, EngineError, asyncio.TimeoutError):
                await asyncio.wait_for(self.command("-gdb-exit", deadline=grace), grace)
            try:
                await asyncio.wait_for(process.wait(), grace)
            except asyncio.TimeoutError:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    process.kill()
                await process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._log.close()

    # -- requests -----------------------------------------------------------------------------

    async def command(self, command: str, deadline: float = DEADLINE) -> dict[str, Any]:
        """Send one MI command and return the payload of its answer.

        Raises EngineError with gdb's own words when it refuses, EngineTimeout past ``deadline``
        seconds, EngineLost when gdb is gone.
        """
        token, future = self._pending.open()
        self._send(mi.command_line(token, command))
        try:
            result = await asyncio.wait_for(future, deadline)
        except asyncio.TimeoutError:
            self._pending.forget(token)
            raise EngineTimeout(f"gdb did not answer {command.split()[0]} within {deadline:g} s") from None
        if result.kind == "error":
            raise CommandError(f"gdb: {result.payload.get('msg', 'refused ' + command)}")
        return result.payload

    async def console(self, text: str, deadline: float = DEADLINE) -> str:
        """Run one command of gdb's own command line and return what it printed."""
        async with self._console_lock:
            self._console = []
            try:
                await self.command(f"-interpreter-exec console {mi.quote(text)}", deadline)
                return "".join(self._console)
            finally:
                self._console = None

    async def helper(self, name: str, *arguments: object, deadline: float = DEADLINE) -> Any:
        """Run one of our own commands inside gdb (gdb_scripts/engine.py); its answer is JSON."""
        words = json.dumps([name, *arguments], ensure_ascii=True)
        text = await self.console(f"dualdbg-engine {words}", deadline)
        _, mark, line = text.partition(_ANSWER_MARK)  # other text of gdb's may come in between
        try:
            answer = json.loads(line.partition("\n")[0] if mark else text)
        except ValueError as error:
            raise ProtocolError(f"the gdb helper {name} answered {text[:200]!r}") from error
        if "memory" in answer:  # a long one
            answer = json.loads(Path(answer["memory"]).read_bytes())
        elif "file" in answer:
            path = Path(answer["file"])
            answer = json.loads(path.read_bytes())
            path.unlink()
        if "error" in answer:
            raise CommandError(f"gdb: {answer['error']}")
        return answer["result"]

    def _send(self, line: str) -> None:
        if self._process is None or self._process.stdin is None or self._process.stdin.is_closing():
            raise EngineLost("gdb is gone")
        self._log.sent(line)
        self._process.stdin.write(line.encode("utf-8", "surrogateescape"))

    # -- what the session asks for ------------------------------------------------------------

    async def attach(self, pid: int) -> None:
        """Attach to the process. Returns once every thread of it is stopped (its stop is not an event).

        Raises CommandError with gdb's words when the kernel or gdb refuses.
        """
        self._attached = asyncio.get_running_loop().create_future()
        try:
            await self.command(f"-target-attach {pid}")
            await asyncio.wait_for(self._attached, DEADLINE)
        finally:
            self._attached = None

    _attached: asyncio.Future[None] | None = None

    async def resume(self) -> None:
        await self.command("-exec-continue")

    async def interrupt(self) -> None:
        """Ask for a stop of every thread; it arrives as an event."""
        await self.command("-exec-interrupt --all")

    async def execute(self, command: str, gdb_thread: int | None = None) -> None:
        """Start an execution command (``-exec-next``, ``-exec-finish``, ...) in a thread; the stop is an event."""
        words = command.split(" ", 1)
        if gdb_thread is not None:
            words.insert(1, f"--thread {gdb_thread}")
        await self.command(" ".join(words))

    async def insert_breakpoint(
        self, location: str, *, temporary: bool = False, gdb_thread: int | None = None, hardware: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        """Insert at ``*0x...`` or at a gdb linespec; returns gdb's number and the raw places it bound."""
        words = ["-break-insert"]
        if temporary:
            words.append("-t")
        if hardware:
            words.append("-h")
        if gdb_thread is not None:
            words.append(f"-p {gdb_thread}")
        words.append(mi.quote(location))
        answer = await self.command(" ".join(words))
        breakpoint_ = answer["bkpt"]
        places = breakpoint_.get("locations") or [breakpoint_]
        return int(breakpoint_["number"]), places

    async def watch(self, address: int, size: int, access: str) -> int:
        """Watch ``size`` bytes in hardware; ``access`` is write (a change), read or readWrite. Returns gdb's number."""
        option = {"write": "", "read": "-r ", "readWrite": "-a "}[access]
        words = f"unsigned {_WORDS[size]}" if size in _WORDS else f"unsigned char[{size}]"
        answer = await self.command(f"-break-watch {option}{mi.quote(f'*({words} *){address:#x}')}")
        watched: dict[str, Any] = next(answer[key] for key in _WATCHPOINTS if key in answer)
        return int(watched["number"])

    async def delete_breakpoint(self, number: int) -> None:
        await self.command(f"-break-delete {number}")

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        await self.command(f"-break-{'enable' if enabled else 'disable'} {number}")

    async def add_symbols(self, path: Path, bias: int) -> None:
        """Give gdb a symbol file for code that lies ``bias`` bytes above its link-time addresses."""
        await self.console(f'add-symbol-file "{path}" -o {bias:#x}')

    async def load_library(self, path: str) -> None:
        """Let gdb read the whole symbols of a library of the process."""
        await self.helper("load-library", path, deadline=600.0)

    async def frames(self, gdb_thread: int, limit: int = 500) -> list[NativeFrame]:
        """The frames of one thread, innermost first, as gdb unwinds them now."""
        rows = await self.helper("frames", gdb_thread, limit)
        return [
            NativeFrame(
                level=level,
                pc=row["pc"],
                function=row["function"],
                library=None,
                file=row["file"],
                line=row["line"],
                sp=row["sp"],
                inlined=row["inlined"],
            )
            for level, row in enumerate(rows)
        ]

    async def threads(self) -> dict[int, int]:
        """gdb's number of each thread -> its OS thread id, read afresh."""
        rows = await self.helper("threads")
        self._threads = {int(row["number"]): int(row["tid"]) for row in rows}
        return dict(self._threads)

    async def detach(self) -> None:
        await self.command("-target-detach")
        self.running = False

    # -- reading ------------------------------------------------------------------------------

    async def _read_output(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        stream = self._process.stdout
        partial = b""
        while data := await stream.read(_CHUNK):
            *lines, partial = (partial + data).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "surrogateescape")
                self._log.received(text)
                try:
                    self._handle(mi.parse_line(text))
                except ProtocolError as error:
                    self._on_event(NativeConsole(error.message + "\n"))
        code = await self._process.wait()
        self._exit_code = code
        detail = f"it was ended by signal {-code}" if code < 0 else f"it ended with status {code}"
        if self._stderr_tail and not self._closing:
            detail += f" ({self._stderr_tail[-300:].decode('utf-8', 'replace').strip()})"
        self._pending.fail_all(detail)
        if self._attached is not None and not self._attached.done():
            self._attached.set_exception(EngineLost(f"gdb is gone: {detail}"))
        if not self._closing:
            self._on_event(EngineEnded(self.name, detail))

    async def _read_errors(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while data := await self._process.stderr.read(_CHUNK):
            self._stderr_tail = (self._stderr_tail + data)[-4096:]
            self._log.received("stderr: " + data.decode("utf-8", "replace"))

    def _handle(self, record: mi.Record | None) -> None:
        if isinstance(record, mi.Result) and record.token is not None:
            if record.kind == "running":
                self.running = True
            self._pending.answer(record.token, record)
        elif isinstance(record, mi.Stream):
            if self._console is not None and record.channel == "console":
                self._console.append(record.text)
            elif record.channel == "log" and record.text.startswith(_LOG_MARK):
                number, text = json.loads(record.text.removeprefix(_LOG_MARK))
                self._on_event(NativeLog(number, text))
            elif record.channel == "target":
                self._on_event(NativeConsole(record.text))
        elif isinstance(record, mi.Async):
            handler = _ASYNC_HANDLERS.get(record.kind)
            if handler is not None:
                handler(self, record.payload)

    def _on_running(self, payload: dict[str, Any]) -> None:
        self.running = True

    def _on_thread_created(self, payload: dict[str, Any]) -> None:
        self._threads.pop(int(payload["id"]), None)

    def _on_stopped(self, payload: dict[str, Any]) -> None:
        self.running = False
        reason = payload.get("reason", "")
        if isinstance(reason, list):  # gdb repeats the field for some combined stops
            reason = reason[0]
        if reason.startswith("exited"):
            code = payload.get("exit-code")
            self._on_event(
                NativeExited(
                    code=int(code, 8) if code else (0 if reason == "exited-normally" else None),
                    signal=payload.get("signal-name"),
                )
            )
            return
        if self._attached is not None and not self._attached.done():
            self._attached.set_result(None)
            return
        self._on_event(_stop_of(payload, reason, self._threads))


_WATCHPOINTS = ("wpt", "hw-rwpt", "hw-awpt")  # where MI puts the number of a watchpoint that was triggered


def _checked_version(executable: str, text: str) -> str:
    """The number in gdb's VERSION, which distributions adorn. Raises EngineError for one that is too old."""
    match = re.search(r"\d+\.\d+(\.\d+)*", text)
    version = match[0] if match else text
    if match and int(version.partition(".")[0]) < OLDEST:
        raise EngineError(
            f"{executable} is gdb {version}, and dualdbg needs gdb {OLDEST} or later",
            "install a newer gdb, or name one with --gdb PATH",
        )
    return version


def _stop_of(payload: dict[str, Any], reason: str, threads: dict[int, int]) -> NativeStopped:
    number = payload.get("thread-id")
    gdb_thread = int(number) if number and number.isdigit() else None
    frame = payload.get("frame") or {}
    watched: Any = next((payload[key] for key in _WATCHPOINTS if key in payload), {})
    if isinstance(watched, list):
        watched = watched[-1]  # of several at once the last was set for what is under way now
    breakpoint_ = payload.get("bkptno") or watched.get("number")
    added = payload.get("added") or []
    return NativeStopped(
        reason=reason,
        thread=threads.get(gdb_thread) if gdb_thread is not None else None,
        gdb_thread=gdb_thread,
        pc=int(frame["addr"], 16) if "addr" in frame else None,
        gdb_breakpoint=int(breakpoint_) if breakpoint_ else None,
        temporary=payload.get("disp") == "del",
        signal=payload.get("signal-name"),
        signal_meaning=payload.get("signal-meaning"),
        libraries=tuple(_library_path(entry) for entry in added),
        return_value=payload.get("return-value"),
        watched=watched.get("exp"),
        payload=payload,
    )


def _library_path(entry: Any) -> str:
    """A row of the ``added`` list: a bare path in gdb 12 and 13, the fields of a library later."""
    if isinstance(entry, dict):
        inner = entry.get("library", entry)
        if isinstance(inner, dict):
            return str(inner.get("host-name") or inner.get("target-name") or inner.get("id"))
        return str(inner)
    return str(entry)


_ASYNC_HANDLERS: dict[str, Callable[[GdbEngine, dict[str, Any]], None]] = {
    "stopped": GdbEngine._on_stopped,
    "running": GdbEngine._on_running,
    "thread-created": GdbEngine._on_thread_created,
}


async def wait_until_stopped(engine: GdbEngine, deadline: float) -> None:
    """Wait until gdb reports a stop; used where the stop event itself goes to the session."""
    end = time.monotonic() + deadline
    while engine.running:
        if time.monotonic() > end:
            raise EngineTimeout(f"gdb did not stop the target within {deadline:g} s")
        await asyncio.sleep(0.001)
