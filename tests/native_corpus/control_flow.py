"""Whether a place is on every way through a function, by objdump's text: it shares no code with what it judges."""

from __future__ import annotations

import itertools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_HEAD = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_ROW = re.compile(r"^\s+([0-9a-f]+):\t(\S.*)$")
_TARGET = re.compile(r"^(?:bnd |notrack )?(j\w+|b\.\w+|b|cbn?z|tbn?z)\s.*?\b([0-9a-f]+) <")
_LEAVES = re.compile(r"^(?:rep |bnd |repz )?(?:ret|br\b)|^(?:notrack )?jmp\s+\*")
_ENDS = re.compile(r"^(?:hlt|ud2|brk|udf)")


@dataclass
class Function:
    """The instructions of a function: address -> text."""

    start: int
    name: str
    rows: dict[int, str] = field(default_factory=dict)


def functions_of(library: Path) -> dict[int, Function]:
    """The functions of a library by where they begin."""
    command = ["objdump", "-d", "--no-show-raw-insn", "-w", str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[int, Function] = {}
    current: Function | None = None
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            current = found.setdefault(int(head[1], 16), Function(int(head[1], 16), head[2]))
            continue
        row = _ROW.match(line)
        if row and current is not None:
            current.rows[int(row[1], 16)] = row[2]
    return found


def way_around(function: Function, place: int) -> int | None:
    """An instruction that leaves the function and is reached without ``place``; None where there is no such way."""
    order = sorted(function.rows)
    following = dict(itertools.pairwise(order))
    waiting, seen = [function.start], set()
    while waiting:
        address = waiting.pop()
        if address == place or address in seen:
            continue
        seen.add(address)
        text = function.rows.get(address)
        if text is None or _LEAVES.match(text):
            return address
        if _ENDS.match(text):
            continue
        jump = _TARGET.match(text)
        if jump:
            target = int(jump[2], 16)
            if target not in function.rows and jump[1] in ("jmp", "b"):
                return address  # a tail call
            if target in function.rows:
                waiting.append(target)
            if jump[1] in ("jmp", "b"):
                continue
        if address in following:
            waiting.append(following[address])
    return None


def is_stub(functions: dict[int, Function], address: int) -> bool:
    """Whether the linker made the code at this address, to call a function of another library."""
    return address in functions and "@plt" in functions[address].name


def is_cold(functions: dict[int, Function], address: int) -> bool:
    """Whether the address is in a part of a function that is seldom run, which compilers put elsewhere."""
    return any(".cold" in one.name and address in one.rows for one in functions.values())
