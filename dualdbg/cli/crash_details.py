"""What is added to a crash while the process still stands there: its core, and values of native frames by gdb.

gdb reads a core, in a process of its own: whoever traces a process is its only tracer. Run as a module it is that
process: ``CORE THREAD``, and on standard input the frames that are wanted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .. import session_folders
from ..environment import for_imports, own_module
from ..model import Frame, NativeFrame, Role
from ..patience import patient
from ..snapshot.facts import Failure, ThreadReport
from ..watch.core_writer import keep_core
from ..watch.incident import Incident
from ..watch.tracer import Dying, Tracer

_LARGEST = 1 << 30  # bytes of a core that is written for this alone
_DEADLINE = patient(30.0)  # seconds
_MOST_FRAMES = 20


def with_details(incident: Incident, tracer: Tracer, dying: Dying, folder: Path | None) -> Incident:
    """Keep a core in ``folder``, if any, and add the variables of native frames that have debug info.

    What could not be done is one of the incident's failures.
    """
    wants_values = any(_has_lines(frame) for thread in _crashed(incident) for frame in thread.stack.frames)
    if folder is not None:
        try:
            core = keep_core(folder, dying, tracer.threads(dying.pid))
        except OSError as error:
            return _failed(incident, f"no core could be kept in {folder}: {error.strerror}")
        incident = replace(incident, core=str(core))
        return _with_values(incident, core) if wants_values else incident
    if not wants_values:
        return incident
    try:
        with session_folders.temporary() as place:
            core = keep_core(place, dying, tracer.threads(dying.pid), limit=_LARGEST)
            return _with_values(incident, core)
    except OSError as error:
        return _failed(incident, f"variables of native frames were not read: {error.strerror}")


def _with_values(incident: Incident, core: Path) -> Incident:
    (thread,) = _crashed(incident)
    frames = _numbered(thread.stack.frames)
    wanted = [(*key, at) for key, at, frame in frames if _has_lines(frame)][:_MOST_FRAMES]
    command = [*own_module("dualdbg.cli.crash_details"), str(core), str(incident.tid)]
    try:
        answer = subprocess.run(
            command,
            env=for_imports(os.environ),
            input=json.dumps(wanted).encode(),
            capture_output=True,
            timeout=_DEADLINE,
            check=True,
        ).stdout
        rows = {at: tuple((name, value) for name, value in row) for at, row in json.loads(answer)}
    except subprocess.TimeoutExpired:
        return _failed(incident, f"variables of native frames were not read within {_DEADLINE:g} s")
    except (subprocess.CalledProcessError, ValueError) as error:
        said = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip().splitlines()
        return _failed(incident, f"variables of native frames were not read: {said[-1] if said else error}")
    if wanted and not rows:
        return _failed(
            incident, "variables of native frames were not read: gdb finds none of them in the core"
        )
    complete = replace(thread, locals={**thread.locals, **rows})
    processes = tuple(
        replace(report, threads=tuple(complete if one is thread else one for one in report.threads))
        for report in incident.processes
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


async def _read(core: str, tid: int, wanted: list[tuple[int, int, int]]) -> list[tuple[int, list[list[str]]]]:
    """The variables of the wanted frames, by position. ``wanted``: code address, which one of these, position."""
    from ..session.options import Options
    from ..session.post_mortem import open_core

    session = await open_core(core, Options())
    try:
        there = {key: frame for key, _, frame in _numbered((await session.inspector.stack(tid)).frames)}
        rows = []
        for pc, number, at in wanted:
            if (frame := there.get((pc, number))) is not None:
                values = await session.inspector.variables(tid, frame)
                rows.append((at, [[value.name, value.value] for value in values]))
        return rows
    finally:
        await session.close()


def main() -> None:
    """Write the variables as JSON; where they cannot be read, the reason as the last line of standard error."""
    from ..errors import DualdbgError
    from .event_loop import run

    try:
        sys.stdout.write(json.dumps(run(_read(sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)))))
    except DualdbgError as error:
        sys.exit(error.message)


if __name__ == "__main__":
    main()
