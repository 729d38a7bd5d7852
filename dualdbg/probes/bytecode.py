"""The small language between a condition and machine code: agent expressions, as in gdb's manual."""

from __future__ import annotations

import re
from dataclasses import dataclass


class CannotCompile(Exception):
    """A condition that is not evaluated in the process; the text says why."""


@dataclass(frozen=True)
class Operation:
    """One operation of the stack machine. ``label`` is its place, which jumps name; ``operand`` what it is given."""

    label: int
    name: str
    operand: int | None = None


# Operation: how many values it takes, and how many it leaves.
STACK_EFFECT = {
    "add": (2, 1), "sub": (2, 1), "mul": (2, 1), "div_signed": (2, 1), "div_unsigned": (2, 1),
    "rem_signed": (2, 1), "rem_unsigned": (2, 1), "lsh": (2, 1), "rsh_signed": (2, 1), "rsh_unsigned": (2, 1),
    "bit_and": (2, 1), "bit_or": (2, 1), "bit_xor": (2, 1), "equal": (2, 1), "less_signed": (2, 1),
    "less_unsigned": (2, 1), "log_not": (1, 1), "bit_not": (1, 1), "ext": (1, 1), "zero_ext": (1, 1),
    "ref8": (1, 1), "ref16": (1, 1), "ref32": (1, 1), "ref64": (1, 1), "const8": (0, 1), "const16": (0, 1),
    "const32": (0, 1), "const64": (0, 1), "reg": (0, 1), "dup": (1, 2), "pop": (1, 0), "swap": (2, 2),
    "if_goto": (1, 0), "goto": (0, 0), "end": (1, 1),
}  # fmt: skip

_LINE = re.compile(r" *(\d+)  (\w+)(?: (-?\d+))?")
_SCOPE = re.compile(r"Scope: (0x[0-9a-f]+)")


def listings(text: str) -> dict[int, list[Operation]]:
    """What gdb's ``maint agent-eval`` has printed: for each place of the expression, an address, its operations."""
    found: dict[int, list[Operation]] = {}
    now: list[Operation] = []
    for line in text.splitlines():
        scope = _SCOPE.match(line)
        if scope is not None:
            now = found[int(scope[1], 16)] = []
            continue
        row = _LINE.fullmatch(line.rstrip())
        if row is not None:
            now.append(Operation(int(row[1]), row[2], int(row[3]) if row[3] is not None else None))
    return found
