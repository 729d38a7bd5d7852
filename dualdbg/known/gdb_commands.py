"""gdb's commands that let the target run, change or end it, or end gdb: nobody may run them behind a session's back."""

from __future__ import annotations

_MOVING = (
    "run", "start", "starti", "continue", "fg", "next", "nexti", "step", "stepi", "finish", "until", "advance", "jump",
    "signal", "kill", "detach", "attach", "target", "inferior", "quit", "exit",
)  # fmt: skip
_SHORT = frozenset(("r", "c", "n", "ni", "s", "si", "fin", "u", "j", "k", "q"))  # gdb's own aliases of them
_OTHERS = frozenset({"inf"})  # gdb's alias of info


def moves_target(verb: str) -> bool:
    """Whether a word is such a command, perhaps cut short (gdb, "Command Syntax").

    Two letters that gdb would call ambiguous count as well.
    """
    if verb in _SHORT:
        return True
    return len(verb) > 1 and verb not in _OTHERS and any(name.startswith(verb) for name in _MOVING)
