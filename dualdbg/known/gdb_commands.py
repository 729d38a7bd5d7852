"""gdb's commands that let the target run, change or end it, or end gdb: nobody may run them behind a session's back."""

from __future__ import annotations

import re

_MOVING = (
    "run", "start", "starti", "continue", "fg", "next", "nexti", "step", "stepi", "finish", "until", "advance", "jump",
    "signal", "kill", "detach", "attach", "target", "inferior", "quit", "exit", "return", "checkpoint", "restart",
    "record", "reverse-continue", "reverse-next", "reverse-step", "reverse-finish", "core-file",
    "interpreter-exec",
)  # fmt: skip
# gdb's own aliases of them.
_SHORT = frozenset(
    ("r", "c", "n", "ni", "s", "si", "fin", "u", "j", "k", "q", "rc", "rn", "rs", "rni", "rsi")
)
_OTHERS = frozenset({"inf"})  # gdb's alias of info
# What stands before another command: gdb, "Threads", "Frame Apply", "Command Settings", "Shell Commands".
_BEFORE = re.compile(
    r"(?:t|th\w*|f\w*)\s+ap?\w*\s+(?:level\s+)?(?:(?:all|-?[\d.$]\S*|-\w+)\s+)*|t?faas\s+|taas\s+"
    r"|w(?:ith)?\s.*?--\s*|(?:pipe|\|)\s*(?:-d\s+\S+\s+)?"
)


def moves_target(verb: str) -> bool:
    """Whether a word is such a command, perhaps cut short (gdb, "Command Syntax").

    Two letters that gdb would call ambiguous count as well.
    """
    if verb in _SHORT:
        return True
    return len(verb) > 1 and verb not in _OTHERS and any(name.startswith(verb) for name in _MOVING)


def innermost(line: str) -> str:
    """The command that a line runs behind ``thread apply all`` and the like.

    What a script of gdb's does (``source``, ``python``) is not seen.
    """
    line = line.strip()
    while before := _BEFORE.match(line):
        line = line[before.end() :].lstrip()
    return line


def verb_of(command: str) -> str:
    """The first word of a command, without a format: ``x`` of ``x/4i $pc``."""
    return command.split()[0].partition("/")[0] if command.strip() else ""
