"""What a user has set for gdb, in the words of gdb's command line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import CommandError, UsageError
from ..known.gdb_commands import innermost, moves_target, verb_of
from ..model import GdbCommand
from ..protocol import mi

_SET = "-gdb-set "
# What lets the target run, ends it, or takes away what others have set (gdb, "GDB/MI Program Execution").
_MOVING = ("-exec-", "-target-", "-file-exec", "-gdb-exit", "-break-delete")


def source_map_commands(source_maps: Iterable[tuple[str, str]]) -> Iterator[str]:
    """gdb's commands for pairs of a path in debug info and where the sources are.

    gdb splits words as libiberty does (buildargv).
    """
    for built, here in source_maps:
        yield f"set substitute-path {_quoted(built)} {_quoted(here)}"


def in_gdbs_words(command: str) -> str:
    """A command of the user, which may be of MI too, as cppdbg has them; empty where there is nothing to do."""
    if command == "-enable-pretty-printing":
        return ""  # the printers are always on
    if command.startswith(_SET):
        return "set " + command.removeprefix(_SET)
    return f"interpreter-exec mi {_quoted(command)}" if command.startswith("-") else command


def refused_by_mi(command: str, printed: str) -> str | None:
    """gdb's words where it refused a command of MI; None where it did not.

    ``interpreter-exec`` succeeds in any case: what MI answers is among the lines that it ``printed``.
    """
    if not command.startswith("-"):
        return None
    for line in printed.splitlines():
        record = mi.parse_line(line) if line.startswith("^error") else None
        if isinstance(record, mi.Result):
            return record.payload.text("msg") or "it failed"
    return None


def check_command(text: str) -> None:
    """Raises CommandError for a command of MI that would change the target behind the session's back."""
    if text.startswith(_MOVING):
        raise CommandError(
            f"gdb's {text.split()[0]} is not available: dualdbg itself runs the program",
            "help lists our own commands",
        )


def check_set_up(text: str) -> None:
    """The same for a command that is run before the program begins, of MI or not."""
    check_command(text)
    verb = verb_of(innermost(text))
    if moves_target(verb):
        raise CommandError(f"gdb's {verb} is not available: dualdbg itself runs the program")


def refusal(command: GdbCommand, why: str) -> UsageError:
    """What the user is told of a command that gdb refuses, in gdb's words ``why``."""
    purpose = f" ({command.purpose})" if command.purpose else ""
    return UsageError(
        f"setupCommands: {command.text!r}{purpose} failed: {why}",
        'correct it, or let the program start all the same: "ignoreFailures": true beside its text',
    )


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
