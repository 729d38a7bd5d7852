"""The table of the prompt's commands: names, short names, help; and from a typed line to one of them."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import CommandError

if TYPE_CHECKING:
    from ..console import Console

Handler = Callable[["Console", str], Awaitable[None]]


@dataclass(frozen=True)
class Command:
    """One command.

    ``names``: the first is the full one. ``usage`` shows its arguments, ``summary`` is one line, ``details`` more.
    ``repeats``: an empty line does it again. ``completes``: its argument: some of spec, expression, breakpoint,
    path, command, info, option and setting. ``knows`` says whether an argument has a meaning here; gdb's command of
    the same name may have more.
    """

    names: tuple[str, ...]
    usage: str
    summary: str
    run: Handler
    details: str = ""
    repeats: bool = False
    completes: str = ""
    area: str = ""
    knows: Callable[[str], bool] = lambda argument: True

    @property
    def name(self) -> str:
        """The full name."""
        return self.names[0]

    @property
    def forms(self) -> tuple[tuple[str, bool], ...]:
        """The words of its own that may begin its arguments, as in ``info threads``, and whether more must follow."""
        begin, _, rest = self.usage[1:].partition("]") if self.usage.startswith("[") else (self.usage, "", "")
        parts = [*begin.split(" | "), *rest.split(" | ")[1:]]
        found = [match for match in map(_FORM.match, parts) if match is not None]
        follows = bool(rest) and not rest.startswith(" | ")
        return tuple((match["word"], follows or match["more"] is not None) for match in found)


_FORM = re.compile(r"(?P<word>[a-z][\w-]*)(?![\w:.])(?P<more> [^\[\]\s])?")

_NEW_SESSION = "quit, then dualdbg run PROGRAM: a session has one process"
# What gdb, lldb and pdb have and the prompt does not: what to type instead.
ELSEWHERE = {
    "run": _NEW_SESSION, "start": _NEW_SESSION, "restart": _NEW_SESSION, "starti": _NEW_SESSION,
    "attach": "quit, then dualdbg attach PID", "catch": "break throw, break catch, break raise:ValueError",
    "layout": "dualdbg run --tui", "tui": "dualdbg run --tui",
}  # fmt: skip

_AREAS = (
    "run_control",
    "stacks",
    "sources",
    "values",
    "torch",
    "breakpoints",
    "tracing",
    "at_stops",
    "threads",
    "processes",
    "gdb_commands",
    "information",
    "general",
)
_BY_NAME: dict[str, Command] = {}


def command(
    names: str,
    usage: str,
    summary: str,
    *,
    details: str = "",
    repeats: bool = False,
    completes: str = "",
    knows: Callable[[str], bool] = lambda argument: True,
) -> Callable[[Handler], Handler]:
    """Register a handler under ``names`` (separated by spaces, the full name first)."""

    def register(handler: Handler) -> Handler:
        area = handler.__module__.rpartition(".")[2]
        row = Command(tuple(names.split()), usage, summary, handler, details, repeats, completes, area, knows)
        for name in row.names:
            assert name not in _BY_NAME, name
            _BY_NAME[name] = row
        return handler

    return register


def all_commands() -> list[Command]:
    """Every command once, in the order of registration."""
    _load()
    return list({id(row): row for row in _BY_NAME.values()}.values())


def find_command(name: str) -> Command:
    """The command of this name, or the only one that begins so; ``ste`` is ``step``, with which ``stepi`` begins.

    Raises CommandError with the nearest names.
    """
    _load()
    if name in _BY_NAME:
        return _BY_NAME[name]
    beginning = list(dict.fromkeys(row.name for key, row in _BY_NAME.items() if key.startswith(name)))
    shortest = min(beginning, key=len, default="")
    if beginning and all(one.startswith(shortest) for one in beginning):
        return _BY_NAME[shortest]
    if beginning:
        raise CommandError(f"{name!r} could be {', '.join(sorted(beginning))}", "type more of it")
    if name in ELSEWHERE:
        raise CommandError(f"there is no command {name!r}", ELSEWHERE[name])
    near = difflib.get_close_matches(name, _BY_NAME, 3, 0.6)
    hint = f"nearest: {', '.join(near)}; " if near else ""
    raise CommandError(
        f"there is no command {name!r}",
        f"{hint}help lists the commands, gdb {name} asks gdb, py {name} Python",
    )


def is_ours(line: str) -> bool:
    """Whether a typed line is a command of the prompt; else gdb may have one of that name."""
    try:
        name, argument = split_line(line)
        return find_command(name).knows(argument)
    except CommandError:
        return False


def split_line(line: str) -> tuple[str, str]:
    """The command's name and the rest: ``p/x n`` is ``p`` with ``/x n``, ``!x = 1`` is ``py`` with ``x = 1``."""
    text = line.strip()
    if text.startswith("!"):
        return "py", text[1:].strip()
    match = re.match(r"[\w?-]+", text)
    if match is None:
        raise CommandError(f"{text.split()[0]!r} is no command", "help lists the commands")
    return match.group(), text[match.end() :].strip()


def no_argument(name: str, argument: str) -> None:
    """Raises CommandError when a command that takes no argument was given one."""
    if argument:
        raise CommandError(f"{name} takes no argument, but was given {argument!r}", f"help {name}")


def positive_number(name: str, argument: str, default: int) -> int:
    """The count that a command was given. Raises CommandError when it is not a positive number."""
    if not argument:
        return default
    if not argument.isdecimal() or int(argument) < 1:
        raise CommandError(f"{name} wants a number, but was given {argument!r}", f"help {name}")
    return int(argument)


def _load() -> None:
    for area in _AREAS:
        importlib.import_module(f"{__package__}.{area}")
