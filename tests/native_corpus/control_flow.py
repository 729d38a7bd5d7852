"""Whether a place is on every way through a function, by objdump's text: it shares no code with what it judges."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_HEAD = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_ROW = re.compile(r"^\s+([0-9a-f]+):\t(\S.*)$")
_TARGET = re.compile(r"^(?:bnd |notrack )?(j\w+|b\.\w+|b|cbn?z|tbn?z)\s.*?\b([0-9a-f]+) <")
_LEAVES = re.compile(r"^(?:rep |bnd |repz )?(?:ret|br\b)|^(?:notrack )?jmp\s+\*")
_STATEMENT = re.compile(r"^(\S+) +(\d+) +0x([0-9a-f]+)(?: +\d+)? +x", re.MULTILINE)
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
    return next((address for address, leaves in _reached(function, {place}) if leaves), None)


def is_behind(function: Function, address: int, places: set[int]) -> bool:
    """Whether each way from the entry to an instruction leads over one of ``places``, which it may come to again."""
    return address not in places and all(one != address for one, _ in _reached(function, places))


def is_reached(function: Function, address: int, start: int, without: set[int]) -> bool:
    """Whether a way leads from ``start`` to an instruction that passes none of ``without``."""
    return any(one == address for one, _ in _reached(function, without - {address}, start))


def _reached(function: Function, without: set[int], start: int | None = None) -> Iterator[tuple[int, bool]]:
    """The instructions that are reached without those; whether each leaves the function."""
    order = sorted(function.rows)
    following = dict(itertools.pairwise(order))
    waiting, seen = [function.start if start is None else start], set(without)
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        text = function.rows.get(address)
        jump = _TARGET.match(text) if text is not None else None
        target = int(jump[2], 16) if jump else None
        goes_on = jump is None or jump[1] not in ("jmp", "b")
        leaves = text is None or bool(_LEAVES.match(text)) or (not goes_on and target not in function.rows)
        yield address, leaves
        if leaves or text is None or _ENDS.match(text):
            continue
        if target in function.rows:
            waiting.append(target)
        if goes_on and address in following:
            waiting.append(following[address])


@lru_cache(maxsize=4)
def statements(library: Path, file: str) -> dict[int, set[int]]:
    """Where statements of each line of a file begin, by its line table as binutils read it."""
    command = ["objdump", "--dwarf=decodedline", str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[int, set[int]] = {}
    for name, line, address in _STATEMENT.findall(text):
        if Path(name).name == file:
            found.setdefault(int(line), set()).add(int(address, 16))
    return found


def is_stub(functions: dict[int, Function], address: int) -> bool:
    """Whether the linker made the code at this address, to call a function of another library."""
    return address in functions and "@plt" in functions[address].name


def is_cold(functions: dict[int, Function], address: int) -> bool:
    """Whether the address is in a part of a function that is seldom run, which compilers put elsewhere."""
    return any(".cold" in one.name and address in one.rows for one in functions.values())
