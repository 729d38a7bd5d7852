"""The one place where concrete engines, readers and tables are put together: launch a program, get a session."""

from __future__ import annotations

import asyncio
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
from ..errors import CommandError, EngineError, EngineTimeout, TargetError
from ..model import BreakpointKind, BreakpointSpec, Exit, Layer, SessionStarted, State
from ..resources import resource_directory
from ..symbols.cache import cache_directory
from ..symbols.image import ProcessImage
from ..symbols.nearest import nearest_names
from ..symbols.operator_places import behind_binding
from ..symbols.operators import OperatorTable
from ..symbols.presets import Preset, expand, only_in_debug_builds, shipped
from ..target.launcher import BOOTSTRAP, Launch, Meeting, debugpy_package, spawn
from ..target.terminal import Terminal
from .breakpoint_table import BreakpointTable, SpecReader
from .crash_core import keep_core
from .inspector import Inspector
from .judge import Judge
from .native_breakpoints import Candidates, NativeBreakpoints
from .python_breakpoints import PythonBreakpoints
from .python_names import PythonNames
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .stack_reader import StackReader
from .symbol_policy import SymbolPolicy

CONNECT_DEADLINE = 60.0  # seconds from the start of the interpreter to debugpy's call


class StartedTarget(Protocol):
    """A process that was started for the session."""

    @property
    def pid(self) -> int: ...

    async def wait(self) -> Exit: ...

    def kill(self) -> None: ...

    def detach(self) -> None: ...


class StartTarget(Protocol):
    """Starts the process of a session; :func:`dualdbg.target.launcher.spawn` is the usual one."""

    async def __call__(
        self, launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = ...
    ) -> StartedTarget: ...


@dataclass(frozen=True)
class Options:
    """What a user may choose about a session, apart from what is run."""

    gdb: str | None = None
    log_dir: Path | None = None
    just_my_code: bool = True
    stop_on_entry: bool = False
    breakpoints: tuple[str, ...] = ()
    symbols: SymbolPolicy = field(default_factory=SymbolPolicy)
    presets: Mapping[str, Preset] = field(default_factory=shipped)
    terminal: Terminal | None = None  # lent to the target while it runs
    debugpy: Mapping[str, Any] = field(default_factory=dict)  # more of debugpy's own arguments
    gdb_commands: tuple[str, ...] = ()  # the user's own, run once gdb holds the target
    step_into: Layer = Layer.BINDING  # of an operator of PyTorch
    core_folder: Path | None = None  # where the core of a crash is kept
    table: Callable[..., BreakpointTable] = BreakpointTable
    before_run: Callable[[Session], Awaitable[None]] | None = None  # gdb holds it, breakpoints are set


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
) -> Session:
    """Start a program with both engines in it, all breakpoints set, and let it run to its first stop.

    ``subscribe`` is called with the session before anything happens in it, ``configure`` is awaited when both
    engines are ready and before the first line of the program runs. ``start_target`` may start the process
    elsewhere, in a terminal that someone else owns. A program that is no Python waits, before its main, for ``let_go``,
    which is awaited once gdb has it. The interpreter and gdb start side by side. Raises TargetError
    or EngineError; whatever was started is ended then.
    """
    started = time.monotonic() if started is None else started
    gdb = find_gdb(options.gdb)
    session = Session(0, None, None, started)  # type: ignore[arg-type]  # engines follow at once
    native = GdbEngine(
        GdbOptions(gdb, resource_directory("gdb_scripts"), WireLog(options.log_dir, "gdb", started)),
        session.report,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), session.report)
    host, port = await python.listen()
    meeting = Meeting(port, host)
    gdb_ready = asyncio.ensure_future(native.start())
    target: StartedTarget | None = None
    try:
        start_target = start_target or partial(spawn, cache=cache_directory() / "pycache")
        target = await start_target(what, meeting, terminal=options.terminal)
        session.pid, session.native, session.python = target.pid, native, python
        session.wait_for_exit = target.wait
        session.end_target = target.kill
        session.target = target
        session.log = WireLog(options.log_dir, "session", started).received
        furnish(session, options, operators, what)
        if subscribe is not None:
            subscribe(session)
        await _start_gdb(session, native, gdb_ready, options)
        if let_go is not None:
            await _run_natively(session, native, options, configure, let_go)
        else:
            await _start_python(session, native, python, meeting, options, configure)
    except BaseException:
        gdb_ready.cancel()
        if target is not None:
            target.kill()
        await native.close(grace=0.5)
        await python.close()
        await session.end_tasks()
        raise
    return session


def furnish(
    session: Session,
    options: Options,
    operators: OperatorTable | None,
    what: Launch,
    image: ProcessImage | None = None,
) -> None:
    """Give a session that has its engines all that it reads and remembers with."""
    image = ProcessImage(session.pid) if image is None else image
    policy = options.symbols
    hidden = (str(debugpy_package()), str(BOOTSTRAP))
    reader = StackReader(session.pid, session.native, image, policy, hidden)
    reader.emit = session.emit
    native = NativeBreakpoints(session.native, image, reader, policy, _candidates_in(operators))
    assert session.python is not None
    names = PythonNames(what)
    folders = _source_folders(what)
    mine = options.just_my_code
    python = PythonBreakpoints(session.python, folders, session.native_held, names.find, mine)
    specs = SpecReader(
        operators.is_operator if operators else None,
        partial(expand, presets=options.presets),
        only_in_debug_builds(options.presets),
    )
    session.breakpoints = options.table(
        session, specs, native, python, image, _nearest_in(image, operators), names.resolve
    )
    session.inspector = Inspector(session, reader)
    session.stepper.step_into = options.step_into
    if operators is not None:
        session.stepper.behind_binding = partial(behind_binding, image, operators)
    if options.core_folder is not None:
        session.before_native_stop.append(partial(keep_core, session, options.core_folder))
    session.judge = Judge(session)


def _candidates_in(operators: OperatorTable | None) -> Candidates:
    return operators.symbols_for_spec if operators is not None else lambda spec: []


def _nearest_in(
    image: ProcessImage, operators: OperatorTable | None
) -> Callable[[BreakpointSpec], list[str]]:
    """Names for a user who mistyped one: operators, and functions of what was loaded."""

    def nearest(spec: BreakpointSpec) -> list[str]:
        names = operators.nearest(spec.subject) if operators is not None else []
        if spec.kind is BreakpointKind.FUNCTION:
            libraries = [module.library for module in image.modules if module.library is not None]
            names += [name for name in nearest_names(spec.subject, libraries) if name not in names]
        return names[:5]

    return nearest


def _source_folders(what: Launch) -> tuple[Path, ...]:
    """Where a bare file name of a breakpoint is looked for: the program's folder, then ours, then the script's."""
    start = Path(what.cwd or ".").absolute()
    folders = [start, Path.cwd()]
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
        await native.attach(session.pid)
    except (EngineError, CommandError) as error:
        raise attach_refused(session.pid, error) from error
    await native.console("catch load")
    await native.console("catch unload")
    await native.console("catch exec")
    for command in options.gdb_commands:
        await native.console(command)


async def _set_breakpoints(session: Session, options: Options) -> None:
    await session.breakpoints.libraries_changed()
    for text in options.breakpoints:
        await session.breakpoints.add(text)
    if options.before_run is not None:
        await options.before_run(session)
    session.state = State.RUNNING
    session.run()


async def _run_natively(
    session: Session,
    native: GdbEngine,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
    let_go: Callable[[], Awaitable[None]],
) -> None:
    await _set_breakpoints(session, options)
    session.emit(SessionStarted(session.pid, None, native.version))
    if configure is not None:
        await configure(session)
    await let_go()
    await native.resume()


async def _start_python(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    session.breakpoints.hold_back()
    await _set_breakpoints(session, options)
    await native.resume()
    await _connect(session, python, meeting, options)
    session.emit(SessionStarted(session.pid, python.python_version, native.version))
    await session.breakpoints.python_connected()
    if configure is not None:
        await configure(session)
    await session.breakpoints.release()
    session.entry_expected = options.stop_on_entry
    session.inspector.thread_list.program_begins()
    await python.configuration_done()


async def _connect(session: Session, python: DebugpyEngine, meeting: Meeting, options: Options) -> None:
    waits: set[asyncio.Task[object]] = {
        asyncio.create_task(python.wait_connected()),
        asyncio.create_task(session.ended.wait()),
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
    if not python.connected:
        raise TargetError("the interpreter ended before the program began")
    await python.initialize(
        DebugpyOptions(
            launched=True,
            just_my_code=options.just_my_code,
            stop_on_entry=options.stop_on_entry,
            hidden_files=(str(BOOTSTRAP),),
            extra=dict(options.debugpy),
        ),
        meeting.session_token,
        meeting.target_token,
    )
