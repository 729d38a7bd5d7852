"""Instructions of the inferior, and the functions that they call. Calls are read on x86-64 only."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import memory
from .threads import WORD, find_thread

_CALL = re.compile(r"(?:bnd |notrack )*callq?\s+(.*)")
_JUMP = re.compile(r"(?:bnd |notrack )*jmpq?\s+\*.*#\s*(0x[0-9a-f]+)")
_DIRECT = re.compile(r"(0x[0-9a-f]+)")
_RELATIVE = re.compile(r"\*.*\(%rip\).*#\s*(0x[0-9a-f]+)")
_REGISTER = re.compile(r"\*%(\w+)$")
_MEMORY = re.compile(r"\*(-?0x[0-9a-f]+)?\((?:%(\w+))?(?:,%(\w+),(\d))?\)$")
_STUB = 3  # instructions of an entry of the procedure linkage table that are looked at


def disassemble(start: int, count: int) -> list[dict[str, Any]]:
    """``count`` instructions from ``start`` on, fewer where memory ends, each with its source line if known."""
    architecture = gdb.selected_inferior().architecture()
    rows: list[dict[str, Any]] = []
    address = start
    while len(rows) < count:
        try:
            found = architecture.disassemble(address, count=min(count - len(rows), 64))
        except gdb.error:
            found = []
        if not found:
            break
        rows += [_instruction(row) for row in found]
        address = found[-1]["addr"] + found[-1]["length"]
    return rows


def disassemble_until(start: int, end: int) -> list[dict[str, Any]]:
    """The instructions that begin in [``start``, ``end``)."""
    try:
        found = gdb.selected_inferior().architecture().disassemble(start, end_pc=end - 1)
    except gdb.error:
        return []
    return [_instruction(row) for row in found]


def _instruction(row: Any) -> dict[str, Any]:
    position = gdb.find_pc_line(row["addr"])
    table = position.symtab
    return {
        "address": row["addr"],
        "text": row["asm"],
        "bytes": memory.read_memory(row["addr"], row["length"]),
        "file": table.fullname() if table is not None else None,
        "line": position.line if table is not None and position.line else None,
    }


def calls(start: int, end: int) -> list[dict[str, Any]]:
    """The call instructions in [start, end): the address of each, and of what it calls (null: in a register)."""
    architecture = gdb.selected_inferior().architecture()
    if not architecture.name().startswith("i386:x86-64"):
        return []
    rows = []
    for row in architecture.disassemble(start, end - 1):
        match = _CALL.match(row["asm"].strip())
        if match:
            rows.append({"site": row["addr"], "target": _fixed_target(architecture, match.group(1))})
    return rows


def call_target(number: int) -> int | None:
    """The address that the call instruction calls at which thread ``number`` stands; null at any other instruction."""
    find_thread(number).switch()
    frame = gdb.newest_frame()
    architecture = frame.architecture()
    match = _CALL.match(architecture.disassemble(frame.pc())[0]["asm"].strip())
    if match is None:
        return None
    operand = match.group(1)
    fixed = _fixed_target(architecture, operand)
    if fixed is not None:
        return fixed
    register = _REGISTER.match(operand)
    if register:
        return _behind_stub(architecture, _register(frame, register.group(1)))
    place = _MEMORY.match(operand)
    if place is None:
        return None
    offset, base, index, scale = place.groups()
    address = int(offset or "0", 16) + (_register(frame, base) if base else 0)
    address += _register(frame, index) * int(scale) if index else 0
    return _behind_stub(architecture, _word(address & WORD))


def _fixed_target(architecture: gdb.Architecture, operand: str) -> int | None:
    direct = _DIRECT.match(operand)
    if direct:
        return _behind_stub(architecture, int(direct.group(1), 16))
    relative = _RELATIVE.match(operand)
    return _behind_stub(architecture, _word(int(relative.group(1), 16))) if relative else None


def _behind_stub(architecture: gdb.Architecture, address: int) -> int:
    """The function itself where ``address`` is a stub that jumps to it (System V AMD64 ABI, 5.2)."""
    try:
        rows = architecture.disassemble(address, count=_STUB)
    except gdb.error:
        return address
    for row in rows:
        text = row["asm"].strip()
        match = _JUMP.match(text)
        if match:
            return _word(int(match.group(1), 16))
        if not text.startswith("endbr"):
            break
    return address


def _word(address: int) -> int:
    return int.from_bytes(memory.read(address, 8), "little")


def _register(frame: gdb.Frame, name: str) -> int:
    return int(frame.read_register(name)) & WORD
