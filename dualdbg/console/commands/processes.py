"""Commands for runs of several processes: list them, choose one, let them stop together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..reports import ProcessesReport, ProcessRow, TextReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console, View

_DETAILS = (
    "dualdbg run --follow has children join. Breakpoints are those of all processes. A stop of one leaves the others "
    "running; process together on stops them with it, process together off does not. continue lets the current one run "
    "on, and those that were stopped along with it or by Ctrl-C."
)


@command(
    "process proc",
    "[NUMBER | together on|off]",
    "list the processes, or make one the current one",
    details=_DETAILS,
)
async def process(console: Console, argument: str) -> None:
    words = argument.split()
    if not words:
        rows = sorted(map(_row, console.views), key=lambda row: row.number)  # they join in any order
        console.show(ProcessesReport(tuple(rows), console.current.process.number))
    elif words[0] == "together":
        _together(console, words[1:])
    else:
        await _choose(console, argument)


def _row(view: View) -> ProcessRow:
    process = view.process
    return ProcessRow(process.number, process.session.pid, process.title, process.session.state)


def _together(console: Console, words: list[str]) -> None:
    if words not in (["on"], ["off"]):
        raise CommandError("process together takes on or off", "help process")
    console.stops_together = words == ["on"]
    console.show(
        TextReport(f"When a process stops, the others {'stop too' if words == ['on'] else 'run on'}.\n")
    )


async def _choose(console: Console, argument: str) -> None:
    from .stacks import select

    matching = [
        view for view in console.views if argument in (str(view.process.number), str(view.session.pid))
    ]
    if not matching:
        raise CommandError(f"there is no process {argument!r}", "process lists them: use the number")
    [view] = matching[:1]
    console.turn_to(view)
    if view.stopped:
        await select(console, view.selection.number if view.selection is not None else 0)
    else:
        console.show(ProcessesReport((_row(view),), view.process.number))
