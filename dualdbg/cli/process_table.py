"""The Python processes as a table, as JSON, and as a list to choose from. Pure but for :func:`choose`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..console.style import Style
from ..errors import TargetError, UsageError
from ..snapshot.linux.processes import PythonProcess
from ..system.terminal_text import cleaned

_HEADINGS = ("PID", "PARENT", "PYTHON", "TORCH", "THREADS", "CPU", "AGE", "CAN", "COMMAND")


def table(processes: Sequence[PythonProcess], style: Style) -> str:
    """A row for each process; what dualdbg may not do is explained below."""
    if not processes:
        return "There is no Python process of yours.\n"
    processes = cleaned(list(processes))
    rows = [_HEADINGS, *(_row(process) for process in processes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    lines = []
    for index, row in enumerate(rows):
        cells = [
            cell.rjust(width) if column != 7 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        line = "  ".join([*cells, row[-1]])
        if style.width is not None:
            line = line[: style.width]
        lines.append(style.paint("stop", line) if index == 0 else line)
    refused = {process.refusal for process in processes if process.refusal}
    for why in sorted(refused):
        pids = ", ".join(str(process.pid) for process in processes if process.refusal == why)
        lines.append(f"{pids}: {why}")
    return "".join(f"{line}\n" for line in lines)


def _row(process: PythonProcess) -> tuple[str, ...]:
    return (
        str(process.pid),
        str(process.parent),
        process.version or "?",
        "yes" if process.has_torch else "-",
        str(process.threads),
        f"{process.cpu:.0%}",
        _age(process.seconds),
        "nothing" if process.refusal else "stacks, attach",
        process.command,
    )


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def to_json(process: PythonProcess) -> dict[str, Any]:
    """The published form; fields may be added, never renamed."""
    return {
        "event": "python-process",
        "pid": process.pid,
        "parent": process.parent,
        "uid": process.owner,
        "command": process.command,
        "python": process.version,
        "torch": process.has_torch,
        "threads": process.threads,
        "cpu": round(process.cpu, 4),
        "seconds": round(process.seconds, 1),
        "state": process.state,
        "can": [] if process.refusal else ["stacks", "attach"],
        "refusal": process.refusal,
    }


def choose(processes: Sequence[PythonProcess], command: str) -> int:
    """Ask the user, who sits at a terminal, for one of the processes. Raises TargetError or UsageError."""
    if not sys.stdin.isatty():
        raise UsageError(f"{command}: of which process?", "give a PID; dualdbg ps lists the Python processes")
    if not processes:
        raise TargetError(
            "there is no Python process of yours", "dualdbg ps --everybody lists those of others"
        )
    sys.stderr.write(table(processes, Style.of(sys.stderr)))
    sys.stderr.write("PID: ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    if not answer.isdigit():
        raise UsageError(f"{answer!r} is no PID")
    return int(answer)
