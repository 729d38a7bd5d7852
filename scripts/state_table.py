#!/usr/bin/env python3
"""Print docs/design/states.md, the table of the session's states and transitions: state_table.py > FILE."""

import inspect
import re

from dualdbg.session import transitions
from dualdbg.session.transition_table import ROWS, Row
from dualdbg.session.transitions import beginning, ending, going_on, halts, native, python

MODULES = (beginning, native, halts, python, going_on, ending)
HEAD = """\
# States and transitions

The session's state has a phase (ARCHITECTURE.md has the figure) and a grip: what gdb does with the target.

| grip | gdb | debugpy |
|---|---|---|
| `FREE` | lets the target run | answers |
| `JUDGING` | holds it, while facts of the stop are read | answers when the target runs again, in a moment |
| `HALTED` | holds it for work of the session | answers when the target runs again, in a moment |
| `SHOWN` | holds it for the user | mute: nothing may be asked of it |

A transition that is called elsewhere than it begins is stale: it changes neither. `*` is any, `=` the one before. The
loop refuses every other change. `scripts/state_table.py` makes this page of the rows in `session/transitions/`.
"""


def text() -> str:
    """The whole page."""
    parts = [HEAD]
    for module in MODULES:
        doc = inspect.getdoc(module) or ""
        names = [
            name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__
        ]
        rows = [ROWS[name] for name in names if name in ROWS]
        parts.append(f"\n## `{module.__name__.removeprefix(transitions.__name__ + '.')}.py`\n\n{doc}\n\n")
        parts.append("| transition | from | to | |\n|---|---|---|---|\n")
        parts += [
            f"| `{row.name}` | {places(row.from_)} | {places(row.to)} | {plain(row.what)} |\n" for row in rows
        ]
    return "".join(parts)


def places(pattern: str) -> str:
    """A pattern of a row as a reader has it."""
    if pattern in (Row.ANYWHERE, Row.NOWHERE):
        return {Row.ANYWHERE: "any", Row.NOWHERE: "the same"}[pattern]
    return "; ".join(one.replace("|", "/").replace(" ", ", ") for one in pattern.split(", "))


def plain(text: str) -> str:
    """A docstring's line as Markdown."""
    return re.sub(r":func:(`\w+`)", r"\1", text).replace("``", "`")


if __name__ == "__main__":
    print(text(), end="")
