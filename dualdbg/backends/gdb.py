"""The native engine: one gdb. Each method asks it for one thing; its reports become events."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..errors import CommandError, EngineError, EngineLost, EngineTimeout, ProtocolError, TargetGone
from ..model import GdbCommand
from ..protocol import mi
from ..shared.requests.base import Request
from ..shared.requests.breakpoints import DeleteBreakpoints, RequireThread, SetBreakpoint, SetCondition
from ..shared.requests.process import ForgetProgram, InterruptBy, LetGo, MayLetGo, RunPython, TakePending
from ..shared.requests.threads import IsInFront, ListThreads, ReadGdbVersion, SelectFrame
from ..system.gdb_versions import OLDEST
from ..system.patience import patient
from ..system.process_end import has_ended
from ..system.waiting import settled
from .events import (
    EngineEnded,
    EngineEvent,
    NativeConsole,
    NativeExited,
    NativeRefused,
    NativeStopped,
    NativeWentOn,
    StopCause,
)
from .gdb_client import GdbClient
from .gdb_events import stop_event, text_event
from .gdb_probes import GdbProbes
from .gdb_process import DEADLINE, GdbOptions, GdbProcess
from .gdb_settings import (
    check_command,
    check_set_up,
    in_gdbs_words,
    refusal,
    refused_by_mi,
    source_map_commands,
)
from .gdb_signals import GdbSignals
from .native import Move

__all__ = ["GdbEngine", "GdbOptions"]

Answer = TypeVar("Answer")

_MOST_TROUBLES = 20  # are told
_MOST_SAID = 8  # messages of gdb are kept, in case it then refuses what it had begun
_GRACE = patient(2.0)  # seconds for gdb to end by itself
_FILE_DEADLINE = patient(600.0)  # seconds; a core or a program may be as large as the machine's memory
_MOST_RUNS = (
    10  # so often a target may run for its threads to take pending stops; another event may end each run
)
_END_LOOK = 0.05  # seconds between two looks whether the process that gdb attaches to has ended
# Signals that programs use for themselves pass without a stop. Other signals stop where gdb would stop.
_PASSED_SIGNALS = (
    "SIGUSR1 SIGUSR2 SIGALRM SIGVTALRM SIGPROF SIGCHLD SIGWINCH SIGURG SIGIO SIGPIPE SIGTERM SIGHUP SIGCONT "
    "SIGTTIN SIGTTOU SIGTSTP SIG32 SIG33 SIG34"
)

_MOVES = {
    Move.CONTINUE: "-exec-continue",
    Move.NEXT: "-exec-next",
    Move.STEP: "-exec-step",
    # gdb hears nothing, not even a request to stop, while -exec-until runs.
    Move.UNTIL: '-interpreter-exec console "until &"',
    Move.FINISH: "-exec-finish",
    Move.STEP_INSTRUCTION: "-exec-step-instruction",
    Move.NEXT_INSTRUCTION: "-exec-next-instruction",
    Move.JUMP: "-exec-jump",
}
_ADDRESS = re.compile(r"0x[0-9a-f]+")
# A command whose arguments are expressions reads them in no frame's language.
_AS_OURS = "with language c++ -- "


class GdbEngine(GdbClient):
    """Owns gdb. Answers come as return values, everything else through ``on_event``.

    Threads and breakpoints are given by gdb's numbers. Each method raises CommandError with gdb's words when gdb
    refuses.
    """

    name = "gdb"

    def __init__(
        self,
        options: GdbOptions,
        on_event: Callable[[EngineEvent], None],
        congested: Callable[[], bool] = lambda: False,
    ) -> None:
        reactions = self._on_record, self._on_trouble, self._on_end
        super().__init__(GdbProcess(options, *reactions, _ASYNC_HANDLERS, congested))
        self._on_event = on_event
        self.probes = GdbProbes(self)
        self.signals = GdbSignals(self, self._process, self.probes)
        self._letting_run = asyncio.Lock()  # held until gdb has been told to let the target run
        self._taker: int | None = None  # gdb's number of the thread that was stopped by a signal
        self._interrupted_by: str | None = None  # the signal of an interrupt that no stop has followed yet
        self._threads: dict[int, int] = {}  # gdb's number of a thread -> OS thread id
        self._attached: asyncio.Future[None] | None = None
        self._troubles = 0  # lines from gdb that could not be read
        self._undoing = 0  # evaluations that are not to be disturbed by stops
        self.running = False
        self._moved_by: int | None = None  # the last command that gdb answered with `running`
        self.exits = 0  # of threads since then
        self._said: deque[str] = deque(maxlen=_MOST_SAID)  # gdb's messages since then
        self.version: str | None = None

    # -- life ---------------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """The process id of gdb itself."""
        return self._process.pid

    @property
    def input(self) -> int:
        """The descriptor that gdb reads commands from."""
        return self._process.input

    async def start(self) -> None:
        """Start gdb and set it up. Raises EngineError when there is no gdb that can be used."""
        await self._process.start()
        self.version = _checked_version(self._process.executable, await self.ask(ReadGdbVersion()))
        await self._process.console(f"handle {_PASSED_SIGNALS} nostop noprint pass")

    @property
    def gone(self) -> bool:
        """Whether gdb itself has ended."""
        return self._process.gone

    def wake(self) -> None:
        """Let gdb itself go on when somebody has stopped it."""
        self._process.wake()

    async def close(self, grace: float = _GRACE) -> bool:
        """End gdb: ask it first, so that it detaches what it holds, then insist. Whether it did what it was asked."""
        return await self._process.close(grace)

    async def set_up(self, source_maps: Iterable[tuple[str, str]], commands: Iterable[GdbCommand]) -> None:
        """Tell gdb what the user has set: where the sources of a path in debug info are, then commands.

        Raises UsageError for the first command that gdb refuses and that may not fail.
        """
        for text in source_map_commands(source_maps):
            await self._process.console(text)
        for command in commands:
            try:
                check_set_up(command.text)
                await self._run(command.text)
            except CommandError as error:
                if not command.may_fail:
                    raise refusal(command, error.message) from error

    async def user_command(self, text: str) -> str:
        """Run a command that the user typed for gdb itself, of MI too, and return what gdb printed.

        Raises CommandError also for a command of MI that would let the target run without our notice.
        """
        check_command(text)
        return await self._run(text)

    async def _run(self, text: str) -> str:
        printed = await self._process.console(in_gdbs_words(text))
        why = refused_by_mi(text, printed)
        if why is not None:
            raise CommandError(f"gdb: {why}")
        return printed

    async def select(self, gdb_thread: int, level: int | None) -> None:
        """Select the thread, and the frame if given, for the user's commands."""
        if level is None:
            await self._process.console(f"thread {gdb_thread}")
        else:  # not by gdb's own level: gdb may count functions that were inlined at the place of the stop
            await self.ask(SelectFrame(gdb_thread, level))

    async def printed(self, expression: str, style: str) -> str:
        """A value in the selected frame as gdb prints it; ``style`` is one of its formats (``x``, ``4xb``)."""
        return await self._process.console(f"output/{style} {expression}")

    async def examined(self, address: str, style: str) -> str:
        """What lies at the value of an expression, in the same way (``i`` for instructions)."""
        return await self._process.console(f"x/{style} {address}")

    async def address(self, expression: str) -> int:
        """The value of an expression as an address. Raises CommandError where it is none."""
        text = (await self.printed(f"(unsigned long)({expression})", "x")).strip()
        if not _ADDRESS.fullmatch(text):
            raise CommandError(f"{expression} is no address: {text}")
        return int(text, 16)

    async def code_of_line(self, location: str) -> str:
        """gdb's words for where the code of a line or function is, or which line an address belongs to."""
        return await self._process.console(f"info line {location}")

    # -- taking hold and letting go -----------------------------------------------------------

    async def attach(
        self, pid: int, index: Path | None, root: str = "", debug_files: Path | None = None
    ) -> None:
        """Attach to the process. Returns once every thread of it is stopped (its stop is not an event).

        gdb reads the debug info of the program and of the C library now, whatever ``auto-solib-add`` says: it knows
        threads by it. What it finds there it keeps in the folder ``index``, and need not look again the next time.
        ``root`` is where the files of the process are found, where it has another root than we have: gdb itself would
        enter the namespace of the process for them, which only root may. In ``debug_files`` gdb looks first for files
        of debug info, by build-id. Raises TargetGone when the process ends meanwhile.
        """
        self._attached = attached = asyncio.get_running_loop().create_future()
        # When gdb ends, the command fails too, and its failure is raised: nobody may ask for this one.
        attached.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.signals.target = pid
        await self.keep_index(index)
        if debug_files is not None:
            usual = (await self._process.command("-gdb-show debug-file-directory")).text("value")
            await self._process.console(f"set debug-file-directory {debug_files}:{usual or ''}")
        if root:
            await self._process.console(f"set sysroot {root}")
            # After chroot(2) gdb does not find the program's file by itself.
            await self._process.console(f'file "/proc/{pid}/exe"', _FILE_DEADLINE)
        try:
            await self._process.command(f"-target-attach {pid}")
            await settled(_unless_ended(attached, pid), DEADLINE)
        except asyncio.TimeoutError:
            raise EngineTimeout(f"gdb did not stop process {pid} within {DEADLINE:g} s") from None
        finally:
            self._attached = None
        await self.keep_index(None)

    async def stop_at_program_changes(self) -> None:
        """From now on stop when a library is loaded or unloaded, and when the program replaces itself."""
        for event in ("load", "unload", "exec"):
            await self._process.console(f"catch {event}")

    async def open_core(self, core: Path, program: str | None) -> None:
        """Look at a core file instead of a process; ``program`` is the file that it ran."""
        if program is not None:
            await self._process.console(f'file "{program}"', _FILE_DEADLINE)
        # gdb 16 and later take the arguments from the core, and refuse one with a blank if no shell would be told it.
        await self._process.console("set startup-with-shell on")
        await self._process.console(f"core-file {core}", _FILE_DEADLINE)

    async def detach(self) -> None:
        """Let go of the target: it runs on."""
        if self.probes.signal is not None:
            await self._process.console(f"handle {self.probes.signal} nostop noprint pass")
        for _ in range(_MOST_RUNS):
            if await self.ask(MayLetGo()):
                break
            self.tell(TakePending())
        await self.ask(LetGo())
        self.running = False

    async def kill(self) -> None:
        """End the target, or take note of its end, while it is stopped. That is reported: gdb does not do it itself."""
        await self._process.console("kill")
        self._on_event(NativeExited(signal="SIGKILL"))

    # -- running ------------------------------------------------------------------------------

    async def resume(self) -> None:
        """Let every thread run."""
        await self.move(Move.CONTINUE)

    async def move(
        self, move: Move, gdb_thread: int | None = None, level: int = 0, address: int | None = None
    ) -> None:
        """Let the target run on, or begin a step of ``gdb_thread``; the stop is an event.

        ``FINISH`` leaves the frame at this level, counted from the innermost, 0. ``JUMP`` goes on at the address.
        """
        async with self._letting_run:
            await self._move(move, gdb_thread, level, address)

    async def _move(self, move: Move, gdb_thread: int | None, level: int, address: int | None) -> None:
        if move is Move.CONTINUE and gdb_thread is None:
            await self.probes.arm()
        elif gdb_thread is not None:
            await self.probes.pass_hits(gdb_thread)
        if move is Move.UNTIL and gdb_thread is not None and await self.ask(IsInFront(gdb_thread)):
            move = Move.NEXT  # gdb aborts: its until begins at the entry
        words = _MOVES[move].split(" ", 1)
        if move is Move.FINISH and gdb_thread is not None:
            await self.ask(SelectFrame(gdb_thread, level))
        if gdb_thread is not None:
            words.insert(1, f"--thread {gdb_thread}")
        if address is not None:
            words.append(f"*{address:#x}")
        await self._process.command(" ".join(words), late=self._answered_late)

    async def resume_with_signal(self, name: str) -> None:
        """Let every thread run, with the signal that the target was stopped for."""
        async with self._letting_run:
            await self.probes.arm()
            taker = self._taker
            if taker is not None:
                receiver = await self.signals.receiver(taker, signal.Signals[name])
                await self._process.console(f"thread {receiver}")
            # Without & gdb takes no command, such as an interrupt, before the next stop.
            await self._process.console(f"signal {name} &", late=self._answered_late)

    async def interrupt(self) -> None:
        """Ask for a stop of every thread; it arrives as an event. Not by -exec-interrupt: see quiet_signal.py.

        Where the target is being let run, it is asked for behind that: one of a target that stands would be lost.
        """
        async with self._letting_run:
            name = self._interrupted_by = self.signals.to_interrupt()
            await self.order(InterruptBy(name))

    def _answered_late(self, answer: mi.Result) -> None:
        refused = answer.kind == "error"
        self._on_event(NativeRefused(answer.payload.text("msg") or "") if refused else NativeWentOn())

    # -- breakpoints --------------------------------------------------------------------------

    async def delete_breakpoint(self, number: int) -> None:
        """Delete a breakpoint, watchpoint or trace; an internal one of gdb's has a number below zero."""
        if self.probes.remove_trace(number):
            return
        if number < 0:
            self.tell(DeleteBreakpoints([number]))
            return
        await self._process.command(f"-break-delete {number}")

    async def enable_breakpoint(self, number: int, enabled: bool) -> None:
        """Let a breakpoint stop again, or stop no more; it keeps its number.

        Raises CommandError for one that is to stop again where gdb has none of the number: MI would say nothing.
        """
        if number < 0 or enabled:
            await self.ask(SetBreakpoint(number, "enabled", enabled))
            return
        await self._process.command(f"-break-disable {number}")

    async def set_condition(self, number: int, condition: str | None, gdb_thread: int | None = None) -> None:
        """Stop only where ``condition`` is true, an expression in the language of the place, and only in a thread.

        With neither of them: everywhere again.
        """
        if gdb_thread is not None:
            await self.ask(RequireThread(number, gdb_thread))
        if condition is not None or gdb_thread is None:
            await self.ask(SetCondition(number, condition))

    # -- symbols ------------------------------------------------------------------------------

    async def add_symbols(self, path: Path, bias: int) -> None:
        """Give gdb a symbol file for code that lies ``bias`` bytes above its link-time addresses."""
        await self._process.console(f'{_AS_OURS}add-symbol-file "{path}" -o {bias:#x}')

    async def remove_symbols(self, address: int) -> None:
        """Take back the symbol file that was given for the code at ``address``."""
        await self._process.console(f"{_AS_OURS}remove-symbol-file -a {address:#x}")

    async def keep_index(self, folder: Path | None) -> None:
        """Where gdb keeps its index of the debug info that it reads from now on; None for nowhere."""
        if folder is not None:
            await self._process.console(f"set index-cache directory {folder}")
        await self._process.console(f"set index-cache enabled {'off' if folder is None else 'on'}")

    async def write_core(self, path: Path) -> None:
        """Write a core file of the stopped target."""
        await self._process.console(f"generate-core-file {path}", _FILE_DEADLINE)

    # -- asking -------------------------------------------------------------------------------

    async def ask(self, request: Request[Answer], deadline: float | None = None) -> Answer:
        """As :meth:`GdbClient.ask`."""
        try:
            with self._undone() if request.undone else contextlib.nullcontext():
                answer = await super().ask(request, deadline)
        finally:
            if isinstance(request, RunPython):
                # gdb reports that threads run during such a call, but not that they stop again.
                self.running = False
        if (learn := _LEARN.get(type(request))) is not None:
            learn(self, answer)
        return answer

    def _forget_program(self) -> None:
        self.probes.forget()
        self.forget_constants()

    def _number_threads(self, threads: dict[int, int]) -> None:
        self._threads = dict(threads)

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        """A stop that gdb reports meanwhile is within a call that gdb has undone by then."""
        self._undoing += 1
        try:
            yield
        finally:
            self._undoing -= 1

    # -- what gdb reports ---------------------------------------------------------------------

    def _on_record(self, record: mi.Record) -> None:
        if isinstance(record, mi.Result) and record.kind == "running":
            self.running = True
            self._moved_by, self.exits = record.token, 0
            self._said.clear()
        elif isinstance(record, mi.Result) and record.kind == "error" and record.token == self._moved_by:
            self.running = False
            self._moved_by = None
            if self._process.closing:  # its target is killed while it goes
                return
            # The reason is in messages that come before the answer, which says only that gdb gave up.
            self._on_event(NativeRefused(" ".join([*self._said, record.payload.text("msg") or ""]).strip()))
        elif isinstance(record, mi.Stream):
            event = text_event(record)
            if event is not None:
                self._on_event(event)
            elif record.channel == "log" and (text := record.text.strip()):
                self._said.append(text)
        elif isinstance(record, mi.Async):
            handler = _ASYNC_HANDLERS.get(record.kind)
            if handler is not None:
                handler(self, record.payload)

    def _on_trouble(self, error: ProtocolError) -> None:
        self._troubles += 1
        if self._troubles <= _MOST_TROUBLES:
            rest = "\nmore of this is not shown" if self._troubles == _MOST_TROUBLES else ""
            self._on_event(NativeConsole(f"{error}{rest}\n"))

    def _on_end(self, detail: str) -> None:
        if self._attached is not None and not self._attached.done():
            self._attached.set_exception(EngineLost(f"gdb is gone: {detail}"))
        if not self._process.closing:
            self._on_event(EngineEnded(self.name, detail))

    def _on_running(self, payload: mi.Results) -> None:
        self.running = True

    def _on_thread_created(self, payload: mi.Results) -> None:
        self._threads.pop(payload.number("id") or 0, None)

    def _on_thread_exited(self, payload: mi.Results) -> None:
        self.exits += 1

    def _on_stopped(self, payload: mi.Results) -> None:
        self.running = False
        event: NativeStopped | NativeExited
        try:
            event = stop_event(payload, self._threads, self._interrupted_by)
        except ProtocolError as error:  # it is certain all the same that the target has stopped
            self._on_trouble(error)
            event = NativeStopped(StopCause.OTHER, None, None, words="gdb's words cannot be read")
        if isinstance(event, NativeStopped):
            event = self.probes.as_of_function(event)
        self._interrupted_by = None
        if self._undoing and isinstance(event, NativeStopped):
            return
        if isinstance(event, NativeStopped) and event.cause is StopCause.SIGNAL:
            self._taker = event.gdb_thread
        if self._attached is None or self._attached.done():
            self._on_event(event)
        elif isinstance(event, NativeExited):
            self._attached.set_exception(TargetGone("the process ended while gdb attached to it"))
        else:
            self._attached.set_result(None)


_ASYNC_HANDLERS: dict[str, Callable[[GdbEngine, mi.Results], None]] = {
    "stopped": GdbEngine._on_stopped,
    "running": GdbEngine._on_running,
    "thread-created": GdbEngine._on_thread_created,
    "thread-exited": GdbEngine._on_thread_exited,
}


# What the engine takes from answers for itself.
_LEARN: dict[type[Request[Any]], Callable[[GdbEngine, Any], None]] = {
    ForgetProgram: lambda engine, _: engine._forget_program(),
    ListThreads: GdbEngine._number_threads,
}


async def _unless_ended(attached: asyncio.Future[None], pid: int) -> None:
    """Wait for the stop of a process to which gdb attaches.

    Raises TargetGone when the process is killed meanwhile: gdb may report neither a stop nor an end then.
    """
    while not (await asyncio.wait([attached], timeout=_END_LOOK))[0]:
        if has_ended(pid):
            raise TargetGone(f"process {pid} ended while gdb attached to it")
    attached.result()


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
