"""Instructions of the inferior, and the functions that they call."""

from __future__ import annotations

from typing import Any

import gdb
from dualdbg_shared.requests.code import (
    CallSite,
    DecodedInstruction,
    Disassemble,
    DisassembleUntil,
    FindCalls,
    FindCallTarget,
)

from . import memory
from .call_texts import STUB, Target, behind_stub, called, is_call
from .registry import answers
from .threads import WORD, find_thread


@answers(Disassemble)
def disassemble(start: int, limit: int) -> list[DecodedInstruction]:
    architecture = gdb.selected_inferior().architecture()
    rows: list[DecodedInstruction] = []
    address = start
    while len(rows) < limit:
        try:
            found = architecture.disassemble(address, count=min(limit - len(rows), 64))
        except gdb.error:
            found = []
        if not found:
            break
        rows += [_instruction(row) for row in found]
        address = found[-1]["addr"] + found[-1]["length"]
    return rows


@answers(DisassembleUntil)
def disassemble_until(start: int, end: int) -> list[DecodedInstruction]:
    try:
        found = gdb.selected_inferior().architecture().disassemble(start, end_pc=end - 1)
    except gdb.error:
        return []
    return [_instruction(row) for row in found]


def _instruction(row: Any) -> DecodedInstruction:
    position = gdb.find_pc_line(row["addr"])
    table = position.symtab
    return DecodedInstruction(
        address=row["addr"],
        text=row["asm"],
        bytes=memory.read(row["addr"], row["length"]).hex(),
        file=table.fullname() if table is not None else None,
        line=position.line if table is not None and position.line else None,
    )


@answers(FindCalls)
def calls(start: int, end: int) -> list[CallSite]:
    """The call instructions in [start, end): the address of each, and of what it calls (null: in a register)."""
    architecture = gdb.selected_inferior().architecture()
    name = architecture.name()
    rows = []
    for row in architecture.disassemble(start, end - 1):
        if is_call(name, row["asm"]):
            target = called(name, row["asm"])
            fixed = _behind_stub(architecture, _address(target)) if target and target.is_fixed else None
            rows.append(CallSite(row["addr"], fixed))
    return rows


@answers(FindCallTarget)
def call_target(gdb_thread: int) -> int | None:
    find_thread(gdb_thread).switch()
    frame = gdb.newest_frame()
    architecture = frame.architecture()
    target = called(architecture.name(), architecture.disassemble(frame.pc())[0]["asm"])
    return _behind_stub(architecture, _address(target, frame)) if target is not None else None


def _address(target: Target, frame: gdb.Frame | None = None) -> int:
    """Where a call goes. ``frame`` has made it, where the target is not the same at each call."""
    if target.address is not None:
        return target.address
    if target.slot is not None:
        return _word(target.slot)
    assert frame is not None
    if target.register is not None:
        return _register(frame, target.register) & _without_signature(frame)
    assert target.memory is not None
    offset, base, index, scale = target.memory
    address = offset + (_register(frame, base) if base else 0)
    address += _register(frame, index) * scale if index else 0
    return _word(address & WORD)


def _without_signature(frame: gdb.Frame) -> int:
    """The bits of a pointer to a function: on AArch64 it may be signed (blraa)."""
    return (1 << 48) - 1 if frame.architecture().name().startswith("aarch64") else WORD


def _behind_stub(architecture: gdb.Architecture, address: int) -> int:
    """The function itself where ``address`` is a stub that jumps to it."""
    try:
        rows = architecture.disassemble(address, count=STUB)
    except gdb.error:
        return address
    target = behind_stub(architecture.name(), [row["asm"] for row in rows])
    return _address(target) if target is not None else address


def _word(address: int) -> int:
    return int.from_bytes(memory.read(address, 8), "little")


def _register(frame: gdb.Frame, name: str) -> int:
    return int(frame.read_register(name)) & WORD
