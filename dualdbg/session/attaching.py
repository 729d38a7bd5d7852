"""Attaches to a running process: gdb at once, Python control as soon as its interpreter can run Python code."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from ..afterwards import LIVES, began_at
from ..backends.debugpy import DebugpyEngine
from ..backends.events import NativeStopped, StopCause
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..environment import own_module
from ..errors import CommandError, EngineError, TargetGone
from ..model import Reason
from ..resources import resource_directory
from ..snapshot.linux.procfs import is_stopped
from ..snapshot.linux.repair import repair
from ..symbols.cache import cache_directory
from ..symbols.torch.operators import OperatorTable
from ..target import ptrace
from ..target.guard import Guard
from ..target.launcher import Launch
from . import preloads
from .announcement import announce_start
from .attach.python_control import ControlOptions, PythonControl
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .start import Options, find_gdb, furnish, keep_log
from .state import TargetState
from .stops.facts import NativeHold, Picture

# When dualdbg is gone: gdb lets go of the process in good order, with every thread stopped, or a thread that has just
# met a breakpoint would go on in the middle of an instruction. Where gdb is gone too, its breakpoints are taken out.
# Standard output is what gdb reads. A third line calls it off.
_REPAIR = (
    LIVES
    + """
trap '' PIPE
read -r pid && read -r gdb began || exit 0
read -r released && exit 0
kill -s CONT "$gdb"
echo 'dualdbg-engine ["leave"]'
tries=0
while lives "$gdb" "$began" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
if lives "$gdb" "$began"; then kill -s KILL "$gdb"; fi
{repair} "$pid" {state}
"""
)


async def attach(
    pid: int,
    options: Options,
    operators: OperatorTable | None = None,
    started: float | None = None,
    subscribe: Callable[[Session], None] | None = None,
    configure: Callable[[Session], Awaitable[None]] | None = None,
) -> Session:
    """A session on process ``pid``, which gdb has stopped; it runs on when the session is left.

    ``subscribe`` is called with the session before anything happens in it, ``configure`` is awaited while gdb holds
    the process and before the stop is told. Raises PermissionRefused, TargetGone, TargetError or EngineError; the
    process runs on then.
    """
    started = time.monotonic() if started is None else started
    gdb = find_gdb(options.gdb)
    ptrace.check(pid)
    session = Session(pid, None, None, started)  # type: ignore[arg-type]  # engines follow at once
    native = GdbEngine(
        GdbOptions(
            gdb,
            resource_directory("gdb_scripts"),
            WireLog(options.log_dir, "gdb", started),
            dies_with_us=False,
            environment=await asyncio.to_thread(preloads.for_gdb),
        ),
        session.report,
        session.congested,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), session.report)
    session.native, session.python = native, python
    keep_log(session, options)
    furnish(session, options, operators, _as_launched(pid))
    if subscribe is not None:
        subscribe(session)
    options.tell(session)
    was_stopped = is_stopped(pid)
    session.repair = partial(repair, pid, was_stopped)
    control = PythonControl(
        session,
        python,
        ControlOptions(options.just_my_code, str(cache_directory() / "pycache"), dict(options.debugpy)),
    )
    try:
        try:
            await native.start()
        except (EngineError, CommandError) as error:
            raise gdb_unusable(gdb, error) from error
        session.at_close.append(_guard(pid, native, was_stopped).release)
        await _hold(session, native)
        await control.begin()
        await native.stop_at_program_changes()
        for command in options.gdb_commands:
            await native.user_command(command)
        for text in options.breakpoints:
            await session.breakpoints.add(text)
        await _first_stop(session)
        if configure is not None:
            await configure(session)
        await session.loop.ask(TargetState.tell_attached)
    except BaseException:
        control.close()
        await session.close()
        raise
    return session


def _guard(pid: int, native: GdbEngine, was_stopped: bool) -> Guard:
    """Sees to the process when we are gone, however we went."""
    repairing = shlex.join(own_module("dualdbg.snapshot.linux.repair"))
    script = _REPAIR.replace("{repair}", repairing)
    script = script.replace("{state}", "stopped" if was_stopped else "running")
    guard = Guard(script, native.input)
    assert native.pid is not None
    os.write(guard.pipe, f"{pid}\n{native.pid} {began_at(native.pid)}\n".encode())
    return guard


async def _hold(session: Session, native: GdbEngine) -> None:
    """gdb stops the process."""
    try:
        await native.attach(session.pid)
    except (EngineError, CommandError) as error:
        raise attach_refused(session.pid, error) from error
    if not Path(f"/proc/{session.pid}").exists():
        raise TargetGone(f"process {session.pid} has ended")
    threads = await native.threads()
    number = next((number for number, tid in threads.items() if tid == session.pid), 1)
    session.run()
    hold = NativeHold(NativeStopped(StopCause.UNSAID, session.pid, number), session.pid, number)
    await session.loop.ask(TargetState.attached, hold)
    announce_start(session.loop, None, native.version)
    await session.breakpoints.libraries_changed()


async def _first_stop(session: Session) -> None:
    """The stop that attaching is: everything is ready for the user's commands."""
    thread = await session.inspector.thread(session.pid)
    frame = await session.inspector.top_frame(session.pid)
    picture = Picture(thread, frame)
    await session.loop.ask(TargetState.attach_ready, picture, Reason.PAUSE, "attached")


def _as_launched(pid: int) -> Launch:
    """What is known of how the process was started: where its files are looked for."""
    try:
        cwd = str(Path(f"/proc/{pid}/cwd").readlink())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")
        python = _executable(pid, words[0], cwd)
    except OSError:
        cwd, words, python = ".", [], f"/proc/{pid}/exe"
    script = next((word for word in words[1:] if word.endswith(".py")), None)
    return Launch(python=python, script=script, cwd=cwd)


def _executable(pid: int, name: str, cwd: str) -> str:
    """The absolute path of the interpreter as it was called: a virtual environment is known by that."""
    if "/" in name:
        path = str(Path(cwd) / name)
    else:
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "surrogateescape").split("\0")
        folders = next((row[5:] for row in environment if row.startswith("PATH=")), os.defpath)
        path = shutil.which(name, path=folders) or ""
    return path if os.access(path, os.X_OK) else f"/proc/{pid}/exe"
