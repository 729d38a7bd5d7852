"""Launches a program and makes its session. Concrete engines, readers and tables are put together here alone."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ..backends.debugpy import DebugpyEngine, DebugpyOptions
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..errors import (
    CommandError,
    DualdbgError,
    EngineError,
    EngineTimeout,
    EngineUnusable,
    PermissionRefused,
    TargetError,
    UsageError,
)
from ..folders import here
from ..in_thread import in_thread
from ..log_names import LogFolder
from ..model import BreakpointKind, BreakpointSpec, Exit, GdbCommand, Layer, Notice, State
from ..patience import patient
from ..process_end import end_of, has_ended
from ..resources import resource_directory
from ..symbols.address_space import AddressSpace
from ..symbols.cache import cache_directory, index_folder
from ..symbols.locspec.presets import Preset, expand, only_in_debug_builds, shipped
from ..symbols.nearest_names import nearest_names
from ..symbols.torch.operator_functions import behind_binding, signature_at
from ..symbols.torch.operators import OperatorTable
from ..target.calls import MeetingPoint
from ..target.launcher import BOOTSTRAP, Launch, Meeting, debugpy_package, spawn
from ..target.terminal import Terminal
from ..target.wrapped import WrappedTarget, program_of
from ..waiting import to_its_end
from . import host_python, preloads
from .announcement import announce_start
from .breakpoints.native import Candidates, NativeBreakpoints
from .breakpoints.python import PythonBreakpoints
from .breakpoints.python_names import PythonNames
from .breakpoints.spec_reader import SpecReader
from .breakpoints.table import BreakpointTable
from .breakpoints.throw_origins import ThrowOrigins
from .engine_reports import EngineReports
from .inspect.inspector import Inspector
from .inspect.left_out import LeftOut
from .inspect.stack_reader import StackReader
from .inspect.symbol_policy import SymbolPolicy
from .new_program import NewProgram
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .stepping.code_of_interest import CodeOfInterest
from .stepping.departure import NativeDeparture, PythonDeparture
from .stepping.foresight import Foresight
from .stepping.freezing import Freezer
from .stepping.ground import GroundReader
from .stepping.handlers import HandlerFinder
from .stepping.line_watch import LineWatch
from .stepping.momentary_breakpoints import MomentaryBreakpoints
from .stepping.probe import Probe
from .stepping.step_ends import ArrivalReader, StepEnds
from .stepping.stepper import Stepper
from .stops.crash_core import keep_core
from .stops.native_hits import NativeHits
from .stops.native_stops import NativeStops
from .stops.python_hits import PythonHits
from .stops.python_stops import PythonStops
from .stops.scene import Scene
from .transitions.beginning import begin, expect_entry
from .transitions.ending import exited

SHORT_GRACE = patient(0.5)  # seconds for a gdb that is given up
CONNECT_DEADLINE = patient(60.0)  # seconds from the start of the interpreter until debugpy calls
# Seconds from the first sign of the end of a process, which breaks what is under way, to its end.
END_GRACE = patient(3.0)
END_LOOK = 0.02  # seconds between two looks whether a process has ended
# Seconds for a process that has ended to be reported by its parent, once gdb has let go of it.
END_DEADLINE = patient(5.0)


class StartedTarget(Protocol):
    """A process that was started for the session."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def left(self) -> int:
        """How many processes outlived this one and were ended by :meth:`kill`."""

    async def wait(self) -> Exit:
        """How it ended, when it has."""

    def kill(self) -> None:
        """End it, without waiting for that."""

    async def cleared(self) -> None:
        """Wait until everything has ended that :meth:`kill` ends."""

    def detach(self) -> None:
        """Let it live on when dualdbg ends."""


class StartTarget(Protocol):
    """Starts the process of a session; :func:`dualdbg.target.launcher.spawn` is the usual one."""

    async def __call__(
        self, launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = ...
    ) -> StartedTarget: ...


@dataclass(frozen=True)
class Options:
    """What a user may choose about a session, besides what is run."""

    gdb: str | None = None
    log_dir: LogFolder | None = None
    just_my_code: bool = True
    stop_on_entry: bool = False
    breakpoints: tuple[str, ...] = ()
    symbols: SymbolPolicy = field(default_factory=SymbolPolicy)
    presets: Mapping[str, Preset] = field(default_factory=shipped)
    terminal: Terminal | None = None  # lent to the target while it runs
    debugpy: Mapping[str, Any] = field(default_factory=dict)  # further arguments for debugpy
    source_maps: tuple[tuple[str, str], ...] = ()  # a path in debug info, and where the sources are
    gdb_commands: tuple[GdbCommand, ...] = ()  # of the user, run once gdb holds the target
    gdb_arguments: tuple[str, ...] = ()  # words of gdb's own command line
    step_into: Layer = Layer.BINDING  # of an operator of PyTorch
    core_folder: Path | None = None  # where the core of a crash is kept
    table: Callable[..., BreakpointTable] = BreakpointTable
    before_run: Callable[[Session], Awaitable[None]] | None = None  # awaited when breakpoints are set
    notices: tuple[Notice, ...] = ()  # about how these options were found

    def tell(self, session: Session) -> None:
        """Tell the front end the notices, before anything else happens in the session."""
        for notice in self.notices:
            session.emit(notice)


def find_gdb(chosen: str | None) -> str:
    """The gdb to use. Raises EngineError when there is none."""
    name = chosen or "gdb"
    found = shutil.which(name)
    if found is None:
        raise EngineError(
            f"there is no gdb: {name} was not found",
            "apt-get install gdb (or dnf install gdb), or name one with --gdb PATH",
        )
    return found


async def launch(
    what: Launch,
    options: Options,
    operators: OperatorTable | None,
    started: float | None = None,
    subscribe: Callable[[Session], None] | None = None,
    configure: Callable[[Session], Awaitable[None]] | None = None,
    start_target: StartTarget | None = None,
    let_go: Callable[[], Awaitable[None]] | None = None,
    user: int | None = None,
) -> Session:
    """Start a program with both engines in it, all breakpoints set, and let it run to its first stop.

    ``subscribe`` is called with the session before anything happens in it. ``configure`` is awaited when both engines
    are ready and before the first line of the program runs. ``start_target`` may start the process elsewhere, in a
    terminal that someone else owns. A program that is not Python waits before its main; ``let_go`` is awaited once
    gdb has it. Of a ``what.is_wrapped`` the target is the process that its wrapper starts. A ``what.native`` waits
    before its first instruction, and Python joins when it starts there. ``user`` is the user of the process, where that
    is another one. The interpreter and gdb start side by side.

    Raises TargetError or EngineError; whatever was started is ended then. When the process ends while it starts, that
    is the end of the session, as later: it is told, and the session is returned.
    """
    started = time.monotonic() if started is None else started
    gdb = find_gdb(options.gdb)
    reports = EngineReports()
    native = GdbEngine(
        GdbOptions(
            gdb,
            resource_directory("gdb_scripts"),
            WireLog(options.log_dir, "gdb", started),
            environment=await in_thread(preloads.for_gdb),
            arguments=options.gdb_arguments,
        ),
        reports.report,
        reports.congested,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), reports.report)
    point = MeetingPoint(python.serve)
    meeting = await point.open(user=user)
    gdb_ready = asyncio.ensure_future(native.start())
    session: Session | None = None
    try:
        start_target = start_target or partial(spawn, cache=cache_directory() / "pycache")
        target = await start_target(what, meeting, terminal=options.terminal)
        if what.is_wrapped:
            target = await program_of(target, what, point)
        session = Session(target.pid, native, python, started)
        reports.go_to(session)
        if isinstance(target, WrappedTarget):
            session.at_close.append(target.close)
        session.wait_for_exit = target.wait
        session.end_target = target.kill
        session.target = target
        keep_log(session, options)
        session.log(
            f"(the target's Python calls at {meeting.address}{point.why_a_port and ': '}{point.why_a_port})"
        )
        session.at_close.append(point.close)
        furnish(session, options, operators, what)
        if subscribe is not None:
            subscribe(session)
        options.tell(session)
        await _start_gdb(session, native, gdb_ready, options)
        if let_go is not None:
            await _run_natively(session, native, options, configure, let_go)
        elif what.native is not None:
            await _run_host(session, native, python, meeting, point, options, configure)
        else:
            await _start_python(session, native, python, meeting, point, options, configure)
    except BaseException as error:
        if session is not None and isinstance(error, DualdbgError) and await _ended(session, native, error):
            return session
        point.close()
        await to_its_end(_undo(native, python, gdb_ready, session))
        raise
    return session


async def _undo(
    native: GdbEngine, python: DebugpyEngine, gdb_ready: asyncio.Future[None], session: Session | None
) -> None:
    """The session could not be started, or is not wanted any more: whatever was started is ended."""
    gdb_ready.cancel()
    await asyncio.gather(gdb_ready, return_exceptions=True)
    if session is not None:
        session.target.kill()
    await native.close(grace=SHORT_GRACE)
    await python.close()
    if session is not None:
        await session.target.cleared()
        await session.end_tasks()


async def _ended(session: Session, native: GdbEngine, trouble: DualdbgError) -> bool:
    """Whether ``trouble`` with the start is that the process has ended; then the session is over, and its end told.

    Where gdb was lost, that has been told, and the process ends because of it. Where gdb was lost before the session
    took entries, one look is enough: it was gdb's end that broke the start.
    """
    if session.state is State.LOST:
        await session.ended.wait()
        return True
    if isinstance(trouble, (UsageError, PermissionRefused, EngineUnusable)):
        return False
    reported = asyncio.ensure_future(session.target.wait())
    try:
        end = time.monotonic() + END_GRACE
        while not (reported.done() or has_ended(session.pid)):
            if native.gone or time.monotonic() > end:
                return False
            await asyncio.sleep(END_LOOK)
        if not reported.done():
            await native.close(grace=SHORT_GRACE)  # it hears of the end first, and may not pass it on
            await asyncio.wait({reported}, timeout=END_DEADLINE)
        exit = reported.result() if reported.done() else end_of(session.pid) or Exit()
    finally:
        reported.cancel()
    session.log(f"it ended while it started: {trouble.message}")
    session.loop.open()
    session.loop.put(exited, exit)
    await session.ended.wait()
    return True


def keep_log(session: Session, options: Options) -> None:
    """With a folder for logs, keep a log of all decisions of the session, and of its remarks."""
    if options.log_dir is not None:
        log = WireLog(options.log_dir, "session", session.started)
        session.log = session.loop.log = log.received
        session.close_log = log.close


def furnish(
    session: Session,
    options: Options,
    operators: OperatorTable | None,
    what: Launch,
    image: AddressSpace | None = None,
    inspect: Callable[..., Inspector] = Inspector,
) -> None:
    """Give a session that has its engines all other parts.

    ``inspect`` makes its inspector, ``image`` is the map of the target's files where that is not read from a process.
    """
    image = AddressSpace(session.pid) if image is None else image
    loop, engine, debugpy = session.loop, session.native, session.python
    assert debugpy is not None
    policy = options.symbols
    ours = (debugpy_package(), BOOTSTRAP)
    # The names that Python has for its files, and those that the kernel has.
    hidden = (*map(str, ours), *map(os.path.realpath, ours))
    reader = StackReader(engine, image, policy, hidden)
    reader.emit = session.emit
    inspector = session.inspector = inspect(loop, engine, debugpy, session, reader)
    inspector.left_out = LeftOut.of(options.debugpy, options.just_my_code)
    names = PythonNames(what)
    specs = SpecReader(
        operators.is_operator if operators else None,
        partial(expand, presets=options.presets),
        only_in_debug_builds(options.presets),
        _nearest_in(image, operators),
        names.resolve,
    )
    native = NativeBreakpoints(engine, image, reader, policy, _candidates_in(operators))
    folders, mine = _source_folders(what), options.just_my_code
    python = PythonBreakpoints(debugpy, folders, session.native_held, names.find, mine)
    origins = ThrowOrigins(loop, engine, inspector, native)
    breakpoints = session.breakpoints = options.table(loop, specs, native, python, origins)
    freezer = session.freezer = Freezer(loop, engine, session, inspector, image)
    inspector.thread_list.frozen = freezer.frozen
    steps = _stepping(session, image)
    session.step_into = options.step_into
    inspector.values.signature_at = partial(signature_at, image, operators)
    if operators is not None:
        session.code.behind_binding = partial(behind_binding, image, operators)
    hits = session.hits = NativeHits(engine, breakpoints, inspector, session.pid)
    scene = Scene(engine, inspector, freezer)
    session.native_stops = NativeStops(loop, scene, breakpoints, hits, steps)
    python_hits = PythonHits(loop, inspector, breakpoints, origins)
    session.python_stops = PythonStops(loop, breakpoints, inspector, python_hits, steps)
    if isinstance(debugpy, DebugpyEngine):  # a core has none
        asked = _asked_of_debugpy(options)
        taking = NewProgram(loop, engine, debugpy, breakpoints, inspector, names, what, asked)
        session.new_program, session.native_stops.new_program = taking, taking.take
        session.at_close.append(taking.close)
    if options.core_folder is not None:
        session.native_stops.before_shown.append(partial(keep_core, loop, engine, options.core_folder))


def _stepping(session: Session, image: AddressSpace) -> StepEnds:
    """The parts that steps need: some leave a stop, the returned one looks at the next stop."""
    loop, engine, inspector, table = session.loop, session.native, session.inspector, session.breakpoints
    code = session.code = CodeOfInterest(image, inspector.reader)
    probe = session.probe = Probe(engine, inspector, image)
    watch = LineWatch(loop, engine, inspector, code, probe.learn_mailbox)
    handlers = HandlerFinder(engine, image, code)
    momentary = MomentaryBreakpoints(engine, session, inspector.reader, code, handlers)
    ground = GroundReader(engine, inspector, watch, code, table, handlers)
    session.after_stop.append(Foresight(loop, code, watch, momentary, probe, session.has_command).look)
    natively = NativeDeparture(loop, engine, session.freezer, momentary, watch, probe)
    in_python = PythonDeparture(loop, momentary, watch)
    session.stepper = Stepper(loop, ground, natively, in_python, table)
    reader = ArrivalReader(engine, inspector, watch, code, table, session)
    return StepEnds(loop, reader, momentary, watch, probe)


def _candidates_in(operators: OperatorTable | None) -> Candidates:
    return operators.symbols_for_spec if operators is not None else lambda spec: []


def _nearest_in(
    image: AddressSpace, operators: OperatorTable | None
) -> Callable[[BreakpointSpec], list[str]]:
    """Finds the names that a user who mistyped one may have meant: operators, and functions of what is loaded."""

    def nearest(spec: BreakpointSpec) -> list[str]:
        names = operators.nearest(spec.subject) if operators is not None else []
        if spec.kind is BreakpointKind.FUNCTION:
            libraries = [module.library for module in image.modules if module.library is not None]
            names += [name for name in nearest_names(spec.subject, libraries) if name not in names]
        return names[:5]

    return nearest


def _source_folders(what: Launch) -> tuple[Path, ...]:
    """Where a bare file name of a breakpoint is looked for.

    These are the program's folder, our own, and that of the script.
    """
    start = here() / (what.cwd or "")
    folders = [start, here()]
    if what.script is not None:
        folders.append((start / what.script).parent)
    return tuple(dict.fromkeys(folders))


async def _start_gdb(
    session: Session, native: GdbEngine, gdb_ready: asyncio.Future[None], options: Options
) -> None:
    try:
        await gdb_ready
    except (EngineError, CommandError) as error:
        raise gdb_unusable(find_gdb(options.gdb), error) from error
    try:
        await native.attach(session.pid, index_folder())
    except (EngineError, CommandError) as error:
        raise attach_refused(session.pid, error, launched=True) from error
    await native.stop_at_program_changes()
    await native.set_up(options.source_maps, options.gdb_commands)


async def _set_breakpoints(session: Session, options: Options) -> None:
    await session.breakpoints.libraries_changed()
    for text in options.breakpoints:
        await session.breakpoints.add(text)
    if options.before_run is not None:
        await options.before_run(session)
    session.run()
    await session.loop.ask(begin)


async def _run_natively(
    session: Session,
    native: GdbEngine,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
    let_go: Callable[[], Awaitable[None]],
) -> None:
    await _set_breakpoints(session, options)
    announce_start(session.loop, None, native.version)
    if configure is not None:
        await configure(session)
    session.new_program.begin()
    await let_go()
    await native.resume()


async def _run_host(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    session.breakpoints.python_comes_later()
    asked = _asked_of_debugpy(options)
    replaced = asyncio.Event()
    session.new_program.at_end_of_program.append(replaced.set)
    joining = host_python.join(
        *(session.loop, python, session.breakpoints, asked, meeting),
        *(point.failure, native.version, point.caller, replaced),
    )
    session.background(joining)
    await _run_natively(session, native, options, configure, partial(in_thread, session.target.let_go))


async def _start_python(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    session.breakpoints.hold_back()
    await _set_breakpoints(session, options)
    await native.resume()
    await _connect(session, python, meeting, point, options)
    session.new_program.begin()
    announce_start(session.loop, python.python_version, native.version)
    await session.breakpoints.python_connected()
    if configure is not None:
        await configure(session)
    session.inspector.thread_list.program_begins()
    await session.breakpoints.release()
    if options.stop_on_entry:
        await session.loop.ask(expect_entry)
    await python.configuration_done()


async def _connect(
    session: Session,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
) -> None:
    waits: set[asyncio.Future[Any]] = {
        asyncio.ensure_future(asyncio.shield(point.caller)),
        asyncio.ensure_future(session.ended.wait()),
        asyncio.ensure_future(asyncio.shield(point.failure)),
    }
    try:
        while not (await asyncio.wait(waits, timeout=CONNECT_DEADLINE, return_when=asyncio.FIRST_COMPLETED))[
            0
        ]:
            if session.state is not State.NATIVE_STOPPED:  # a user who paused it may take their time
                raise EngineTimeout(f"debugpy did not start in the target within {CONNECT_DEADLINE:g} s")
    finally:
        for wait in waits:
            wait.cancel()
    if point.failure.done():
        why = point.failure.result()
        session.log(why)
        raise TargetError(f"debugpy cannot be started in it: {why.splitlines()[-1]}")
    if not python.connected:
        raise TargetError("the interpreter ended before the program began")
    await python.initialize(_asked_of_debugpy(options), meeting.session_token, meeting.target_token)


def _asked_of_debugpy(options: Options) -> DebugpyOptions:
    return DebugpyOptions(
        launched=True,
        just_my_code=options.just_my_code,
        stop_on_entry=options.stop_on_entry,
        hidden_files=(str(BOOTSTRAP),),
        extra=dict(options.debugpy),
    )
