"""help, quit and the way through to gdb."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...known.gdb_commands import innermost, moves_target, verb_of
from ...session.inspect.torch_commands import HelperWords
from ..reports import TextReport
from .registry import ELSEWHERE, Command, all_commands, command, find_command

if TYPE_CHECKING:
    from ..console import Console

_COLUMNS = 80

# What to type instead of gdb's commands that would change the target, or what others have set, unseen.
_INSTEAD = {
    "continue": "continue", "c": "continue", "fg": "continue", "next": "next", "n": "next", "step": "step",
    "s": "step", "finish": "finish", "fin": "finish", "until": "until", "u": "until", "advance": "until",
    "jump": "jump", "j": "jump", "kill": "kill", "k": "kill", "detach": "detach", "quit": "quit", "q": "quit",
    "exit": "quit", "break": "break", "b": "break", "tbreak": "tbreak", "delete": "delete", "file": "",
    "interrupt": "pause",
}  # fmt: skip

# Commands that read on until a line says end, unless one line has all: name, least length, whether one line may do.
_MULTILINE = (
    ("python", 2, True), ("python-interactive", 7, True), ("pi", 2, True), ("guile", 2, True), ("gu", 2, True),
    ("guile-repl", 6, False), ("gr", 2, False), ("define", 3, False), ("document", 3, False),
    ("commands", 4, False), ("while", 5, False), ("if", 2, False),
)  # fmt: skip


@command("help h ?", "[COMMAND | GROUP]", "list the commands, or explain one", completes="command")
async def help_(console: Console, argument: str) -> None:
    console.show(TextReport(_explained(argument) if argument else _overview(_TITLES)))


@command("quit q exit", "", "end the session, and the target with it unless it was attached")
async def quit_(console: Console, argument: str) -> None:
    from ..console import Quit

    raise Quit


@command(
    "gdb",
    "COMMAND",
    "pass a command to gdb, in the selected thread and frame",
    details="A running target is halted for it. What would let the target run is refused: use our own command.",
)
async def gdb(console: Console, argument: str) -> None:
    if not argument:
        raise CommandError("gdb wants a command", "for example: gdb info registers")
    inner = innermost(argument)
    verb = verb_of(inner)
    unseen = verb in _INSTEAD or moves_target(verb)
    if unseen and not _deletes_gdbs_own(console, verb, inner):
        instead = f"type {_INSTEAD[verb]}" if _INSTEAD.get(verb) else ELSEWHERE.get(verb)
        raise CommandError(
            f"gdb's {verb} is not available: dualdbg itself runs the program",
            instead or "help lists our own commands",
        )
    if _asks_for_more(inner):
        raise CommandError(
            f"gdb's {verb} wants more lines, which cannot be given here", "gdb source FILE reads them"
        )
    await HelperWords(console.session).load()
    console.show(TextReport(await console.ask_gdb(argument)))


def _deletes_gdbs_own(console: Console, verb: str, argument: str) -> bool:
    """Whether these are breakpoints that gdb was asked to set by this command."""
    numbers = argument.split()[1:]
    own = console.session.hits.of_gdb
    return verb == "delete" and bool(numbers) and all(one.isdecimal() and int(one) in own for one in numbers)


def _asks_for_more(argument: str) -> bool:
    """Whether gdb would read on after this line, for ever. Its commands may be cut short (gdb, "Command Syntax")."""
    verb, _, rest = argument.partition(" ")
    for name, shortest, takes_a_line in _MULTILINE:
        if name.startswith(verb) and len(verb) >= shortest:
            return not (takes_a_line and rest.strip())
    return False


def _explained(word: str) -> str:
    """What a command does; else the commands of a group, by the beginning of its title."""
    try:
        return _explain(find_command(word))
    except CommandError:
        groups = {area: title for area, title in _TITLES.items() if title.lower().startswith(word.lower())}
        if not groups:
            raise
    return _overview(groups)


def _overview(groups: dict[str, str]) -> str:
    lines = []
    for area, title in groups.items():
        lines.append(f"{title}:")
        rows = [row for row in all_commands() if row.area == area]
        lines += [_wrapped(f"  {_names(row):<21} ", row.summary) for row in rows]
    lines.append("An empty line repeats a step or goes on with list. help COMMAND tells more.")
    return "".join(f"{line}\n" for line in lines)


def _explain(row: Command) -> str:
    lines = [_wrapped("", f"{row.name} {row.usage}".rstrip(), 4), _wrapped("  ", row.summary)]
    if len(row.names) > 1:
        lines.append(f"  short: {', '.join(row.names[1:])}")
    if row.details:
        lines.append(_wrapped("  ", row.details))
    return "".join(f"{line}\n" for line in lines)


def _wrapped(begin: str, text: str, indent: int | None = None) -> str:
    """The text behind its beginning, in lines of a usual terminal."""
    further = " " * (len(begin) if indent is None else indent)
    return textwrap.fill(
        text, _COLUMNS, initial_indent=begin, subsequent_indent=further, break_on_hyphens=False
    )


def _names(row: Command) -> str:
    return ", ".join(row.names[:3])


_TITLES = {
    "run_control": "Running",
    "stacks": "The stack",
    "sources": "Source",
    "values": "Values",
    "torch": "PyTorch and Python objects, from memory",
    "breakpoints": "Breakpoints",
    "tracing": "Who calls, how often, with what",
    "at_stops": "What is done at stops",
    "threads": "Threads",
    "processes": "Processes, with --follow",
    "gdb_commands": "gdb's own, with native expressions",
    "information": "About the session",
    "general": "Other",
}
