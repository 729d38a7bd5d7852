"""Commands about what is done at stops, and about files with commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import CommandError, DualdbgError
from ...model import Language, Value
from ...shared.regular_files import open_regular
from ...system.folders import expanded
from ...system.private_files import new_file
from ..at_stops import AtStops
from ..reports import TextReport, VariablesReport
from .breakpoints import breakpoint_of
from .registry import command, no_argument, split_line
from .values import formatted, split_format

if TYPE_CHECKING:
    from ..console import Console

_AT_ADDRESS = ("i", "s")  # formats of what lies at an address
_LONGEST = 1 << 20  # bytes of a file of commands


@command(
    "commands",
    "[NUMBER]",
    "what is done when a breakpoint stops: the lines that follow, up to end",
    completes="breakpoint",
    details="Commands of the prompt; without NUMBER: for the last breakpoint. silent as the first line: nothing is "
    "told of the stop. Nothing after a line that lets the program run on is done. No lines: nothing is done any more.",
)
async def commands(console: Console, argument: str) -> None:
    _of(console, "commands").begin(breakpoint_of(console, argument or "$bpnum").id)


@command(
    "display disp",
    "[/FORMAT] [EXPRESSION]",
    "show a value at every stop; without EXPRESSION: show all of them now",
    completes="expression",
    details="FORMAT as for print; of native values i and s too, which show the instruction or the text there: "
    "display/i $pc.",
)
async def display(console: Console, argument: str) -> None:
    """Show an expression at every stop from now on; without one, show all that are shown there."""
    at_stops = _of(console, "display")
    if argument:
        await _show(console, at_stops, [at_stops.display(argument)])
    else:
        await _show(console, at_stops, list(at_stops.displays))


@command("undisplay und", "[NUMBER…]", "show these no more at stops; without NUMBER: none")
async def undisplay(console: Console, argument: str) -> None:
    _of(console, "undisplay").undisplay(argument)


@command("sticky", "", "show the source around the line at every stop; again: no more")
async def sticky(console: Console, argument: str) -> None:
    """Show the source at every stop, or no more. Raises CommandError for an argument."""
    no_argument("sticky", argument)
    at_stops = _of(console, "sticky")
    at_stops.sticky = not at_stops.sticky
    told = "on: the source around the line is shown at every stop" if at_stops.sticky else "off"
    console.show(TextReport(f"sticky is {told}\n"))


async def _show(console: Console, at_stops: AtStops, numbers: list[int]) -> None:
    rows = [await _row(console, number, at_stops.displays[number]) for number in numbers]
    console.show(VariablesReport("display", tuple(rows), "Nothing is displayed at stops."))


async def _row(console: Console, number: int, expression: str) -> Value:
    """The value of an expression in the selected frame, or why there is none there."""
    name = f"{number}: {expression}"
    format_, plain = split_format(expression)
    try:
        frame = await console.frame()
        tid = console.selected().tid
        if format_ and frame.language is Language.NATIVE:
            text = await console.in_gdb(
                lambda gdb: (gdb.examined if format_[-1] in _AT_ADDRESS else gdb.printed)(plain, format_)
            )
            return Value(name, "", text.strip().removeprefix("=> "), Language.NATIVE)
        wanted = formatted(plain, format_)
        value = await console.session.inspector.evaluate(wanted, tid, frame, frame.language)
    except DualdbgError as error:
        # Hints are left out: what has no value here may have one in another frame.
        return Value(name, "", f"<{error.message}>", Language.NATIVE)
    return Value(name, "", value.value, frame.language)


@command(
    "save",
    "breakpoints FILE",
    "write the breakpoints, and their commands, to a new file that source reads",
    completes="path",
)
async def save(console: Console, argument: str) -> None:
    what, _, name = argument.partition(" ")
    if not what or not "breakpoints".startswith(what) or not name.strip():
        raise CommandError("save wants to know what, and where", "save breakpoints FILE")
    path = expanded(name.strip())
    try:
        with os.fdopen(new_file(path), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{line}\n" for line in breakpoint_lines(console))
    except FileExistsError:
        raise CommandError(f"{path} is there already", "name a new file") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}", "name another file") from None
    console.show(TextReport(f"Saved to {path}\n"))


def breakpoint_lines(console: Console) -> list[str]:
    """The commands that set the breakpoints again."""
    table = console.session.breakpoints
    actions = console.at_stops.actions if console.at_stops is not None else {}
    lines = []
    for row in table.all():
        lines.append(f"break {table.text(row.id)}")
        if row.id in actions:
            lines += ["commands", *(f"  {line}" for line in actions[row.id]), "end"]
        if not row.enabled:
            lines.append("disable $bpnum")
    return lines


@command(
    "source",
    "FILE",
    "run the commands of a file, one a line, as if they were typed",
    completes="path",
    details="Lines that begin with # are passed over. A file of gdb's own commands: gdb source FILE.",
)
async def source(console: Console, argument: str) -> None:
    at_stops = _of(console, "source")
    if not argument:
        raise CommandError("source wants a file", "help source")
    path = expanded(argument)
    try:
        file, text = _content(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}", "help source") from None
    if len(text) > _LONGEST:
        raise CommandError(f"{path} has more than {_LONGEST:,} bytes", "it is no file of commands")
    if at_stops.is_being_read(file):
        raise CommandError(f"{path} is being read already: it would read itself for ever", "help source")
    rows = text.decode("utf-8", "surrogateescape").split("\n")
    lines = [line.strip() for line in rows if line.strip() and not line.lstrip().startswith("#")]
    for line in lines:
        split_line(line)
    at_stops.source(file, lines)


def _content(path: Path) -> tuple[tuple[int, int], bytes]:
    """What the system knows a file by, and its first bytes. Raises CommandError for a pipe or the like, or OSError."""
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        return (status.st_dev, status.st_ino), file.read(_LONGEST + 1)


def _of(console: Console, name: str) -> AtStops:
    if console.at_stops is None:
        raise CommandError(
            f"{name} is for the prompt and the dashboard", "an editor has watches and log points"
        )
    return console.at_stops
