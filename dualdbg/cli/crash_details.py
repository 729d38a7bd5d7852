"""What is added to a crash or a hang while the process stands there: its core, and values of native frames by gdb.

gdb reads a core, in a process of its own: whoever traces a process is its only tracer. Run as a module it is that
process: ``CORE``, and on standard input the frames that are wanted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import TargetGone
from ..model import Frame, NativeFrame, Role
from ..snapshot.facts import Failure, ThreadReport
from ..system import session_folders
from ..system.environment import for_tools, own_module
from ..system.patience import patient
from ..watch.core_writer import keep_core
from ..watch.hang import Look, look_at
from ..watch.incident import Incident
from ..watch.tracer import SIGINFO_SIZE, Dying, SignalInfo, Tracer

_LARGEST = 1 << 30  # bytes of a core that is written for this alone
_DEADLINE = patient(30.0)  # seconds
_MOST_FRAMES = 20
_MOST_THREADS = 8


def with_details(incident: Incident, tracer: Tracer, dying: Dying, folder: Path | None) -> Incident:
    """Keep a core in ``folder``, if any, and add the variables of native frames that have debug info.

    What could not be done is one of the incident's failures.
    """
    wants_values = any(map(_has_values, _crashed(incident)))
    if folder is not None:
        try:
            core = keep_core(folder, dying, tracer.threads(dying.pid))
        except OSError as error:
            return _failed(incident, f"no core could be kept in {folder}: {error.strerror}")
        incident = replace(incident, core=str(core))
        return _with_values(incident, core, _crashed(incident)) if wants_values else incident
    if not wants_values:
        return incident
    try:
        with session_folders.temporary() as place:
            core = keep_core(place, dying, tracer.threads(dying.pid), limit=_LARGEST)
            return _with_values(incident, core, _crashed(incident))
    except OSError as error:
        return _failed(incident, f"variables of native frames were not read: {error.strerror}")


def of_hang(tracer: Tracer, look: Look, earlier: Look | None, seconds: float) -> Incident:
    """What is to be told of a process that has not ended after ``seconds``, with variables of native frames too.

    These are read from a core, of a moment at which the process is looked at once more.
    """
    incident = look.incident(seconds, earlier)
    pid = look.pid
    if not tracer.traces(pid) or not any(map(_has_values, _threads_of(incident, pid))):
        return incident
    try:
        with session_folders.temporary() as place:
            core: list[Path] = []

            def keep() -> None:
                unhurt = Dying(pid, pid, SignalInfo(0), bytes(SIGINFO_SIZE))
                core.append(keep_core(place, unhurt, tracer.threads(pid), limit=_LARGEST))

            again = look_at(tracer, pid, while_held=keep)
            if not core:  # it could not be held any more
                return incident
            incident = again.incident(seconds, earlier)
            threads = [thread for thread in _threads_of(incident, pid) if _has_values(thread)]
            return _with_values(incident, core[0], threads[:_MOST_THREADS])
    except TargetGone:  # its end came first
        return incident
    except OSError as error:
        return _failed(incident, f"variables of native frames were not read: {error.strerror}")


def _threads_of(incident: Incident, pid: int) -> list[ThreadReport]:
    return [thread for report in incident.processes if report.pid == pid for thread in report.threads]


def _has_values(thread: ThreadReport) -> bool:
    return any(map(_has_lines, thread.stack.frames))


def _with_values(incident: Incident, core: Path, threads: Sequence[ThreadReport]) -> Incident:
    """The variables of these threads' frames, by a gdb that reads the core."""
    wanted = []
    for thread in threads:
        frames = [(*key, at) for key, at, frame in _numbered(thread.stack.frames) if _has_lines(frame)]
        wanted += [(thread.thread.tid, *row) for row in frames[:_MOST_FRAMES]]
    command = [*own_module("dualdbg.cli.crash_details"), str(core)]
    try:
        answer = subprocess.run(
            command,
            env=for_tools(os.environ),
            input=json.dumps(wanted).encode(),
            capture_output=True,
            timeout=_DEADLINE,
            check=True,
        ).stdout
        found: dict[int, dict[int, tuple[tuple[str, str], ...]]] = {}
        for tid, at, row in json.loads(answer):
            found.setdefault(tid, {})[at] = tuple((name, value) for name, value in row)
    except subprocess.TimeoutExpired:
        return _failed(incident, f"variables of native frames were not read within {_DEADLINE:g} s")
    except (subprocess.CalledProcessError, ValueError) as error:
        said = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip().splitlines()
        return _failed(incident, f"variables of native frames were not read: {said[-1] if said else error}")
    if wanted and not found:
        return _failed(
            incident, "variables of native frames were not read: gdb finds none of them in the core"
        )

    def complete(thread: ThreadReport) -> ThreadReport:
        return replace(thread, locals={**thread.locals, **found.get(thread.thread.tid, {})})

    processes = tuple(
        replace(report, threads=tuple(map(complete, report.threads))) for report in incident.processes
    )
    return replace(incident, processes=processes)


def _numbered(frames: Iterable[Frame]) -> list[tuple[tuple[int, int], int, Frame]]:
    """Native frames, each with a name that a snapshot and gdb agree on, and its position in the stack.

    The name is its code address, and which one it is of those with this address, counted from the innermost.
    """
    seen: dict[int, int] = {}
    found: list[tuple[tuple[int, int], int, Frame]] = []
    for at, frame in enumerate(frames):
        if isinstance(frame, NativeFrame):
            seen[frame.pc] = seen.get(frame.pc, 0) + 1
            found.append(((frame.pc, seen[frame.pc]), at, frame))
    return found


def _failed(incident: Incident, why: str) -> Incident:
    return replace(incident, failures=(*incident.failures, Failure(incident.pid, why, "")))


def _crashed(incident: Incident) -> list[ThreadReport]:
    threads = (thread for report in incident.processes for thread in report.threads)
    return [thread for thread in threads if thread.thread.tid == incident.tid]


def _has_lines(frame: Frame) -> bool:
    return isinstance(frame, NativeFrame) and frame.role is Role.USER and frame.line is not None


# -- in the process that reads the core ------------------------------------------------------------


async def _read(core: str, wanted: list[tuple[int, int, int, int]]) -> list[tuple[int, int, list[list[str]]]]:
    """The variables of the wanted frames, by thread and position. ``wanted``: thread, code address, which one of these,
    position."""
    from ..session.options import Options
    from ..session.post_mortem import open_core

    session = await open_core(core, Options())
    rows = []
    try:
        for tid in dict.fromkeys(row[0] for row in wanted):
            stack = await session.inspector.stack(tid)
            there = {key: frame for key, _, frame in _numbered(stack.frames)}
            for thread, pc, number, at in wanted:
                if thread == tid and (frame := there.get((pc, number))) is not None:
                    values = await session.inspector.variables(tid, frame)
                    rows.append((tid, at, [[value.name, value.value] for value in values]))
    finally:
        await session.close()
    return rows


def main() -> None:
    """Write the variables as JSON; where they cannot be read, the reason as the last line of standard error."""
    from ..errors import DualdbgError
    from .event_loop import run

    try:
        sys.stdout.write(json.dumps(run(_read(sys.argv[1], json.load(sys.stdin)))))
    except DualdbgError as error:
        sys.exit(error.message)


if __name__ == "__main__":
    main()
