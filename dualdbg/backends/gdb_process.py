"""gdb as a process: its start and end, its pipes, and requests over MI with their answers."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import AnswerOwed, CommandError, EngineError, EngineLost, EngineTimeout, ProtocolError
from ..protocol import mi
from ..protocol.mi_lines import LineSplitter, LineTooLong
from ..shared.pidfds import pidfd_open
from ..system import afterwards, session_folders, waking
from ..system.environment import for_gdb
from ..system.folders import here
from ..system.patience import patient
from ..system.shortage import shortage
from ..system.waiting import settled, to_its_end
from .pending import PendingRequests
from .wirelog import WireLog

DEADLINE = patient(30.0)  # seconds; a request that may take longer gives its own deadline
_CHUNK = 1 << 16
_CONGESTION_LOOK = 0.01  # seconds
_MOST_NAMED = 60  # characters of a command in a message about it
MOST_PRINTED = 64 << 20  # characters that one command may print
_KILL_DEADLINE = patient(5.0)  # seconds for the kernel to end gdb, and for its pipes to close
_REST_DEADLINE = patient(2.0)  # seconds to read what gdb has printed, when it has ended
_PR_SET_PDEATHSIG = 1

Late = Callable[[mi.Result], None]
"""Gets an answer that comes when nobody waits for it any more."""

# No prompt, no download and no start-up file may ever hang a session; the symbols of libraries are given by
# name (see docs/design/symbols-and-stacks.md).
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


@dataclass(frozen=True)
class GdbOptions:
    """How gdb is started: its path, the folder of our helpers, and where to log.

    ``dies_with_us``: when this process dies the kernel asks gdb to end, and gdb lets go of the target at that moment;
    a gdb that cannot is killed some seconds later.
    ``environment``: variables that gdb gets in addition to ours. ``arguments``: further words of its command line.
    """

    executable: str
    scripts: Path
    log: WireLog
    dies_with_us: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


class GdbProcess:
    """One gdb. ``on_record`` gets every record before its request is answered, ``on_end`` how gdb ended.

    ``on_trouble`` gets what is not MI. Events of the kinds ``wanted`` are read, others come without their fields.
    While ``congested`` is true and no request waits for its answer, nothing more is read, and gdb waits.
    """

    name = "gdb"

    def __init__(
        self,
        options: GdbOptions,
        on_record: Callable[[mi.Record], None],
        on_trouble: Callable[[ProtocolError], None],
        on_end: Callable[[str], None],
        wanted: Container[str],
        congested: Callable[[], bool],
    ) -> None:
        self._options = options
        self._on_record = on_record
        self._on_trouble = on_trouble
        self._on_end = on_end
        self._wanted = wanted
        self._congested = congested
        self._log = options.log
        self._pending: PendingRequests[mi.Result] = PendingRequests(self.name)
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._console: list[str] | None = None
        self._printed = 0  # characters of the command's text so far
        self._console_lock = asyncio.Lock()
        # Commands like it that nobody waits for any more, and that gdb is still to answer: it prints their text first.
        self._given_up: set[int] = set()
        self._late: dict[int, Late] = {}  # by the request whose answer is owed
        self._stderr_tail = b""
        self._insistence: afterwards.Duty | None = None
        self._folder: Path | None = None  # gdb's temporary files, and those of compilers that it starts
        self.closing = False

    @property
    def executable(self) -> str:
        """The path of gdb, or the name by which it was found."""
        return self._options.executable

    @property
    def pid(self) -> int | None:
        """The process id of gdb; None before it has started."""
        return self._process.pid if self._process else None

    @property
    def input(self) -> int:
        """The descriptor that gdb reads commands from."""
        assert self._process is not None and self._process.stdin is not None
        return int(self._process.stdin.transport.get_extra_info("pipe").fileno())

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start gdb. Raises EngineError when there is no gdb that can be started."""
        parent = os.getpid()
        libc = ctypes.CDLL(None, use_errno=True)

        def in_child() -> None:  # between fork and exec
            os.setpgid(0, 0)  # dualdbg handles Ctrl-C at the user's terminal, gdb does not
            signal.pthread_sigmask(signal.SIG_SETMASK, [])  # a gdb that blocks SIGCHLD waits for ever
            if self._options.dies_with_us:
                libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)

        command = [self._options.executable, "-nx", "-nh", "-q", "--interpreter=mi3"]
        for setting in _SETTINGS:
            command += ["-iex", f"set {setting}"]
        # No question, and no core file of gdb itself.
        for problem, answer in (("internal-error", "yes"), ("internal-warning", "no")):
            command += ["-iex", f"maintenance set {problem} corefile no"]
            command += ["-iex", f"maintenance set {problem} quit {answer}"]
        command += ["-iex", f"source {self._options.scripts / 'dualdbg_session.py'}"]
        command += self._options.arguments
        environment = {**for_gdb(os.environ), **self._options.environment}
        with contextlib.suppress(OSError):  # without it gdb can do almost everything
            self._folder = session_folders.make()
            environment["TMPDIR"] = str(self._folder)
        try:
            # To its end: asyncio leaves a process behind whose start is cancelled twice.
            await to_its_end(self._create(command, in_child, environment))
        except asyncio.CancelledError:  # it is not wanted any more; what was begun is ended by close()
            if self._process is None:
                self._remove_folder()
            raise
        except OSError as error:
            self._remove_folder()
            known = shortage(error)
            why = known.message if known else f"{self._options.executable}: {error.strerror}"
            raise EngineError(
                f"gdb could not be started: {why}",
                known.hint if known else "install it (apt-get install gdb), or name another with --gdb PATH",
            ) from error
        output = asyncio.create_task(self._read_output(), name="gdb output")
        self._tasks = [
            output,
            asyncio.create_task(self._read_errors(), name="gdb stderr"),
            asyncio.create_task(self._watch_end(output), name="gdb's end"),
        ]

    async def _create(
        self, command: list[str], in_child: Callable[[], None], environment: dict[str, str]
    ) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=in_child,
            env=environment,
            cwd=None if here().is_dir() else "/",  # gdb 13 crashes in a folder that was removed
        )
        if self._options.dies_with_us:
            self._insistence = afterwards.end(self._process.pid)

    @property
    def gone(self) -> bool:
        """Whether gdb has ended, and every request has failed."""
        return self._pending.lost

    def wake(self) -> None:
        """A gdb that somebody has stopped (SIGSTOP) goes on, so that it can let go of what it holds."""
        if self._process is not None:
            waking.wake(self._process)

    async def close(self, grace: float) -> bool:
        """End gdb: ask it first, so that it detaches what it holds, then insist. ``grace``: seconds for each.

        Returns within twice ``grace`` and some seconds, whatever gdb does: whether it ended because it was asked to.
        """
        self.closing = True
        process = self._process
        if process is None:
            self._remove_folder()
            return True
        asked = process.returncode is None
        if process.returncode is None:
            self.wake()
            with contextlib.suppress(OSError, CommandError, EngineError, asyncio.TimeoutError):
                await asyncio.wait_for(self.command("-gdb-exit", deadline=grace), grace)
            if not await _within(grace, process.wait()):
                with contextlib.suppress(ProcessLookupError):  # gdb has just ended
                    os.killpg(process.pid, signal.SIGKILL)  # also a compiler that it waits for
                await _within(_KILL_DEADLINE, process.wait())
        # A process that gdb started may hold the other ends of the pipes.
        await _within(_KILL_DEADLINE, asyncio.gather(*self._tasks, return_exceptions=True))
        process._transport.close()  # type: ignore[attr-defined]  # there is no other way to close such pipes
        if self._insistence is not None and process.returncode is not None:
            self._insistence.drop()
        self._remove_folder()
        self._pending.fail_all("the session is over")
        self._log.close()
        return asked and process.returncode == 0

    def _remove_folder(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            session_folders.remove(folder)

    # -- requests -----------------------------------------------------------------------------

    async def command(self, command: str, deadline: float = DEADLINE, late: Late | None = None) -> mi.Results:
        """Send one MI command and return the payload of its answer.

        Raises CommandError with gdb's own words when it refuses, EngineTimeout past ``deadline``
        seconds, EngineLost when gdb is gone, ProtocolError for an answer that cannot be read. With ``late`` it raises
        AnswerOwed past the deadline, and ``late`` gets the answer when it comes.
        """
        token, future = self._pending.open()
        self._send(mi.command_line(token, command))
        return await self._answer(token, future, command.split()[0], deadline, late)

    async def _answer(
        self,
        token: int,
        future: asyncio.Future[mi.Result],
        command: str,
        deadline: float,
        late: Late | None = None,
    ) -> mi.Results:
        try:
            result = await settled(future, deadline)
        except asyncio.TimeoutError:
            self._pending.forget(token)
            text = f"gdb did not answer {command} within {deadline:g} s"
            if late is None:
                raise EngineTimeout(text) from None
            self._late[token] = late
            raise AnswerOwed(text) from None
        if result.kind == "error":
            raise CommandError(f"gdb: {result.payload.text('msg') or 'refused ' + command}")
        return result.payload

    def post(self, command: str) -> None:
        """Send one MI command whose answer nobody waits for. Raises EngineLost when gdb is gone."""
        token, _ = self._pending.open()
        self._send(mi.command_line(token, command))

    async def console(self, text: str, deadline: float = DEADLINE, late: Late | None = None) -> str:
        """Run one command of gdb's own command line and return what it printed. ``late``: as :meth:`command` has it."""
        async with self._console_lock:
            command = f"-interpreter-exec console {mi.quote(text)}"
            token, future = self._pending.open()
            self._send(mi.command_line(token, command))
            self._console, self._printed = [], 0
            try:
                await self._answer(token, future, text[:_MOST_NAMED], deadline, late)
                if self._printed > MOST_PRINTED:
                    raise CommandError(
                        f"gdb printed {self._printed} characters, more than {MOST_PRINTED}",
                        "ask for less, or let gdb write it to a file: gdb set logging file NAME",
                    )
                return "".join(self._console)
            except EngineTimeout:
                if late is None:
                    self._interrupt()
                raise
            finally:
                self._console = None
                if not future.done() or future.cancelled():
                    self._given_up.add(token)

    def _interrupt(self) -> None:
        """Let gdb end what it does, as by Ctrl-C, so that it takes the next request."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def _send(self, line: str) -> None:
        if self._process is None or self._process.stdin is None or self._process.stdin.is_closing():
            raise EngineLost("gdb is gone")
        self._log.sent(line)
        self._process.stdin.write(line.encode("utf-8", "surrogateescape"))

    async def _watch_end(self, output: asyncio.Task[None]) -> None:
        """When gdb has ended, what it has started ends too, and nobody waits for more output.

        gdb tries ptrace out with processes of its own (linux_check_ptrace_features in gdb/nat/linux-ptrace.c).
        When it is killed meanwhile they stay stopped for ever, and keep the pipes open.
        """
        assert self._process is not None and self._process.stdout is not None
        await _ended(self._process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        done, _ = await asyncio.wait([output], timeout=_REST_DEADLINE)
        if not done:  # a process that has left the group holds the pipe
            self._process.stdout.feed_eof()

    # -- reading ------------------------------------------------------------------------------

    async def _read_output(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        lines = LineSplitter()
        while data := await self._process.stdout.read(_CHUNK):
            for line in lines.feed(data):
                if isinstance(line, LineTooLong):
                    self._refuse(line.start.decode("utf-8", "surrogateescape"), line)
                else:
                    self._take(line.decode("utf-8", "surrogateescape"))
            await asyncio.sleep(0)  # a gdb that prints without end must not block the loop
            while self._congested() and not self._pending:
                await asyncio.sleep(_CONGESTION_LOOK)
        code = await self._process.wait()
        detail = f"it was ended by signal {-code}" if code < 0 else f"it ended with status {code}"
        if self._stderr_tail and not self.closing:
            detail += f" ({self._stderr_tail[-300:].decode('utf-8', 'replace').strip()})"
        self._pending.fail_all(detail)
        self._on_end(detail)

    def _take(self, line: str) -> None:
        """Take one line from gdb. A line that cannot be read is reported, and fails the request that it answers."""
        self._log.received(line)
        try:
            record = mi.parse_line(line, self._wanted)
            if isinstance(record, mi.Result) and record.token is None and self._console is not None:
                # The answer to a command of MI inside the console's command, which gdb up to 17 prints as text.
                record = mi.Stream("console", f"{line}\n")
            if record is not None:
                self._handle(record)
        except ProtocolError as error:
            self._refuse(line, error)

    def _refuse(self, line: str, error: ProtocolError) -> None:
        token = mi.request_of(line)
        self._given_up.discard(token or 0)
        if token is None or not self._pending.fail(token, error):
            self._on_trouble(error)

    async def _read_errors(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while data := await self._process.stderr.read(_CHUNK):
            self._stderr_tail = (self._stderr_tail + data)[-4096:]
            self._log.received("stderr: " + data.decode("utf-8", "replace"))

    def _handle(self, record: mi.Record) -> None:
        is_text = isinstance(record, mi.Stream) and record.channel == "console"
        if is_text and self._given_up:
            return
        if self._console is not None and isinstance(record, mi.Stream) and is_text:
            self._printed += len(record.text)
            if self._printed <= MOST_PRINTED:
                self._console.append(record.text)
            return
        self._on_record(record)
        if isinstance(record, mi.Result) and record.token is not None:
            self._given_up.discard(record.token)
            if not self._pending.answer(record.token, record) and record.token in self._late:
                self._late.pop(record.token)(record)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Returns when the process has ended; in some versions of Python its ``wait`` waits for the pipes as well."""
    try:
        descriptor = pidfd_open(process.pid)
    except OSError:  # it has ended, the kernel is older than 5.3, or a sandbox does not let us
        await process.wait()
        return
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, end.set)
        await end.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _within(seconds: float, work: Awaitable[object]) -> bool:
    """Wait for ``work``, and cancel it after so many seconds; returns whether it was done."""
    try:
        await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        return False
    return True
