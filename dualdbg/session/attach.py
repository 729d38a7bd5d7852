"""Attaches to a running process: gdb at once, Python control as soon as its interpreter can run Python code."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from ..backends.debugpy import DebugpyEngine
from ..backends.events import NativeStopped
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..errors import CommandError, EngineError, TargetGone
from ..model import Language, Reason, SessionStarted, State, Stop
from ..resources import resource_directory
from ..snapshot.procfs import is_stopped
from ..snapshot.repair import repair
from ..symbols.cache import cache_directory
from ..symbols.operators import OperatorTable
from ..target import ptrace
from ..target.guard import Guard
from ..target.launcher import Launch, Meeting
from .holds import NativeHold
from .injection import file_prefix
from .python_control import ControlOptions, PythonControl
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .start import Options, find_gdb, furnish

_PACKAGE = Path(__file__).parents[1]

# When dualdbg is gone: gdb lets go of the process in good order, with every thread stopped, or a thread that has just
# met a breakpoint would go on in the middle of an instruction. Where gdb is gone too, its breakpoints are taken out.
# Standard output is what gdb reads. A third line calls it off.
_REPAIR = (
    "trap '' PIPE; read pid || exit 0; read gdb || exit 0; read released && exit 0; "
    "echo 'dualdbg-engine [\"leave\"]'; tries=0; "
    'while [ -e "/proc/$gdb/exe" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done; '
    'kill -9 "$gdb"; PYTHONPATH={path} {python} -m dualdbg.snapshot.repair "$pid" {state}; rm -rf {files}'
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
        GdbOptions(gdb, resource_directory("gdb_scripts"), WireLog(options.log_dir, "gdb", started), False),
        session.report,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), session.report)
    host, port = await python.listen()
    session.native, session.python = native, python
    session.log = WireLog(options.log_dir, "session", started).received
    furnish(session, options, operators, _as_launched(pid))
    if subscribe is not None:
        subscribe(session)
    was_stopped = is_stopped(pid)
    session.repair = partial(repair, pid, was_stopped)
    meeting = Meeting(port, host)
    control = PythonControl(
        session,
        python,
        meeting,
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
        await native.console("catch load")
        await native.console("catch unload")
        await native.console("catch exec")
        for command in options.gdb_commands:
            await native.console(command)
        for text in options.breakpoints:
            await session.breakpoints.add(text)
        stop = await _first_stop(session)
        session.state, session.stop = State.NATIVE_STOPPED, stop
        if configure is not None:
            await configure(session)
        if session.state is State.NATIVE_STOPPED:
            session.enter(State.NATIVE_STOPPED, stop)
    except BaseException:
        control.close()
        await session.close()
        raise
    return session


def _guard(pid: int, native: GdbEngine, was_stopped: bool) -> Guard:
    """Sees to the process when we are gone, however we went."""
    script = _REPAIR.format(
        python=shlex.quote(sys.executable),
        path=shlex.quote(str(_PACKAGE.parent)),
        state="stopped" if was_stopped else "running",
        files=shlex.quote(file_prefix()) + "*",
    )
    guard = Guard(script, native.input)
    os.write(guard.pipe, f"{pid}\n{native.pid}\n".encode())
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
    session.native_hold = NativeHold(NativeStopped("", session.pid, number), session.pid, number)
    session.native_held.set()
    session.epoch += 1
    session.run()
    session.emit(SessionStarted(session.pid, None, native.version))
    await session.breakpoints.libraries_changed()


async def _first_stop(session: Session) -> Stop:
    """The stop that attaching is: everything is ready for the user's commands."""
    thread = await session.inspector.thread(session.pid)
    frame = await session.inspector.top_frame(session.pid)
    return Stop(
        session.epoch, Language.NATIVE, Reason.PAUSE, thread, frame, (), "attached", session.seconds()
    )


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
