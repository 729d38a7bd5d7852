"""Attaches to a running process: gdb at once, Python control as soon as its interpreter can run Python code."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from ..backends.debugpy import DebugpyEngine
from ..backends.events import NativeStopped, StopCause
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..errors import CommandError, EngineError, TargetGone
from ..model import Reason
from ..shared.proc_files import is_stopped
from ..shared.requests.codec import line_of
from ..shared.requests.process import Leave, LeaveOnSignals
from ..shared.requests.threads import ListThreads
from ..snapshot.linux.memory import open_memory
from ..snapshot.linux.repair import repair
from ..symbols.address_space import AddressSpace, root_of
from ..symbols.cache import cache_directory, index_folder
from ..symbols.gdb_feed.unpacked_debug_info import debug_folder
from ..symbols.torch.operators import OperatorTable
from ..system.afterwards import LIVES, began_at
from ..system.environment import own_module
from ..system.in_thread import in_thread
from ..system.patience import patient
from ..system.process_end import HeldProcess
from ..system.resources import resource_directory
from ..system.waiting import to_its_end
from ..target import ptrace
from ..target.guard import Guard
from ..target.scope import Lowering
from . import preloads
from .announcement import announce_start
from .as_launched import as_launched
from .assembly import furnish, keep_log
from .attach.python_control import ControlOptions, PythonControl
from .engine_reports import EngineReports
from .options import Options
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .start import find_gdb
from .stops.facts import NativeHold, Picture
from .transitions.beginning import attach_ready, attached, tell_attached

_TO_LEAVE = patient(10.0)  # seconds for gdb to let go of the process when we are gone

# What the guard does when dualdbg is gone. gdb stops every thread and lets go of the process: otherwise a thread that
# has just met a breakpoint would go on in the middle of an instruction. Where gdb is gone too, its breakpoints are
# taken out. The script reads two lines, the process and gdb; a third calls it off. gdb reads its standard output.
_REPAIR = (
    LIVES
    + """
trap '' PIPE
read -r pid && read -r gdb began || exit 0
read -r released && exit 0
kill -s CONT "$gdb"
echo 'dualdbg-engine {leave}'
tries=0
while lives "$gdb" "$began" && [ $tries -lt {tries} ]; do sleep 0.1; tries=$((tries + 1)); done
if lives "$gdb" "$began"; then kill -s KILL -- "-$gdb"; fi
{repair} "$pid" {state} {memory}
"""
)


async def attach(
    pid: int,
    options: Options,
    operators: OperatorTable | None = None,
    started: float | None = None,
    subscribe: Callable[[Session], None] | None = None,
    configure: Callable[[Session, PythonControl], Awaitable[None]] | None = None,
    lowering: Lowering | None = None,
    with_python: bool = True,
) -> Session:
    """A session on process ``pid``, which gdb has stopped. The process runs on when the session is left.

    ``subscribe`` is called with the session before anything happens in it. ``configure`` is awaited while gdb holds
    the process and before the stop is told; where it lets the process run, the stop is not told. ``lowering`` lowers
    ptrace_scope until gdb has the process, and is closed then. ``with_python``: debugpy is brought into it. Raises
    PermissionRefused, TargetGone, TargetError or EngineError; the process runs on then.
    """
    started = time.monotonic() if started is None else started
    gdb = find_gdb(options.gdb)
    if lowering is None:
        ptrace.check(pid)
    reports = EngineReports()
    native = GdbEngine(
        GdbOptions(
            gdb,
            resource_directory("gdb_scripts"),
            WireLog(options.log_dir, "gdb", started),
            dies_with_us=False,
            environment=await in_thread(preloads.for_gdb),
            arguments=options.gdb_arguments,
        ),
        reports.report,
        reports.congested,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), reports.report)
    session = Session(pid, native, python, started)
    reports.go_to(session)
    keep_log(session, options)
    furnish(session, python, options, operators, as_launched(pid))
    if subscribe is not None:
        subscribe(session)
    options.tell(session)
    was_stopped = is_stopped(pid)
    control = PythonControl(
        session.loop,
        native,
        python,
        session.breakpoints,
        session.inspector,
        session.inspector.thread_list,
        session.halts,
        ControlOptions(options.just_my_code, str(cache_directory() / "pycache"), dict(options.debugpy)),
    )
    if with_python:
        session.before_detach.append(control.undo)
        session.new_program.at_end_of_program.append(control.program_replaced)
    session.new_program.begin()
    try:
        _watch_end(session)
        try:
            await native.start()
        except (EngineError, CommandError) as error:
            raise gdb_unusable(gdb, error) from error
        await native.ask(LeaveOnSignals())
        if lowering is None:
            await _guarded_attach(session, native, was_stopped)
        else:
            await _attach_lowered(session, native, was_stopped, lowering)
        await _begin(session, native)
        if with_python:
            await control.begin()
        await native.stop_at_program_changes()
        await native.set_up(options.source_maps, options.gdb_commands)
        for text in options.breakpoints:
            await session.breakpoints.add(text)
        await _first_stop(session)
        epoch = session.epoch
        if configure is not None:
            await configure(session, control)
        await session.loop.ask(tell_attached, epoch)
    except BaseException:
        control.close()
        await to_its_end(session.close())
        raise
    finally:
        if lowering is not None:
            lowering.close()
    return session


def _watch_end(session: Session) -> None:
    """The kernel tells when the process ends: gdb may miss it. Raises TargetGone when it has."""
    try:
        process = HeldProcess(session.pid)
    except ProcessLookupError as error:
        raise TargetGone(f"process {session.pid} has ended") from error
    except OSError:  # the kernel is too old or a sandbox refuses: gdb's word has to do
        return
    session.wait_for_exit = process.wait
    session.end_attached = partial(process.send, signal.SIGKILL)
    session.at_close.append(process.close)


async def _attach_lowered(session: Session, native: GdbEngine, was_stopped: bool, lowering: Lowering) -> None:
    """gdb stops the process while ptrace_scope is lowered, and we open its memory, which we may read later on."""
    await in_thread(lowering.lower)
    try:
        ptrace.check(session.pid)
        image = session.breakpoints.image
        image.memory_file = open_memory(session.pid)
        session.at_close.append(partial(_forget_memory, image))
        await _guarded_attach(session, native, was_stopped)
    finally:
        lowering.put_back()


def _forget_memory(image: AddressSpace) -> None:
    if image.memory_file is not None:
        os.close(image.memory_file)
        image.memory_file = None


async def _guarded_attach(session: Session, native: GdbEngine, was_stopped: bool) -> None:
    """gdb stops the process; should gdb die, with us or without, its breakpoints are taken out."""
    file = session.breakpoints.image.memory_file
    session.repair = partial(repair, session.pid, was_stopped, file)
    session.at_close.append(_guard(session.pid, native, was_stopped, file).release)
    try:
        debug_files = await in_thread(debug_folder)
        await native.attach(session.pid, index_folder(), root_of(session.pid), debug_files)
    except (EngineError, CommandError) as error:
        raise attach_refused(session.pid, error) from error


def _guard(pid: int, native: GdbEngine, was_stopped: bool, memory_file: int | None) -> Guard:
    """Takes care of the process when dualdbg is gone, whatever ended dualdbg."""
    values = {
        "repair": shlex.join(own_module("dualdbg.snapshot.linux.repair")),
        "state": "stopped" if was_stopped else "running",
        "memory": "" if memory_file is None else str(memory_file),
        "leave": line_of(Leave()),
        "tries": str(round(_TO_LEAVE / 0.1)),
    }
    script = _REPAIR
    for name, value in values.items():  # the script has braces of its own
        script = script.replace(f"{{{name}}}", value)
    guard = Guard(script, native.input, () if memory_file is None else (memory_file,))
    assert native.pid is not None
    os.write(guard.pipe, f"{pid}\n{native.pid} {began_at(native.pid)}\n".encode())
    return guard


async def _begin(session: Session, native: GdbEngine) -> None:
    """gdb has stopped the process."""
    if not Path(f"/proc/{session.pid}").exists():
        raise TargetGone(f"process {session.pid} has ended")
    threads = await native.ask(ListThreads())
    number = next((number for number, tid in threads.items() if tid == session.pid), 1)
    session.run()
    hold = NativeHold(NativeStopped(StopCause.UNSAID, session.pid, number), session.pid, number)
    await session.loop.ask(attached, hold)
    announce_start(session.loop, None, native.version)
    await session.breakpoints.libraries_changed()


async def _first_stop(session: Session) -> None:
    """Attaching is the first stop: everything is ready for the commands of the user."""
    thread = await session.inspector.thread(session.pid)
    visible = await session.inspector.visible_frames(session.pid)
    picture = Picture(thread, visible[0] if visible else None)
    await session.loop.ask(attach_ready, picture, Reason.PAUSE, "attached")
