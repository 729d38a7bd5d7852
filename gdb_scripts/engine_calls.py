"""What a function calls, from its code: for steps in functions without debug info. x86-64 only."""

import re

import gdb

import __main__ as engine

WORD = 0xFFFFFFFFFFFFFFFF
_CALL = re.compile(r"(?:bnd |notrack )*callq?\s+(.*)")
_JUMP = re.compile(r"(?:bnd |notrack )*jmpq?\s+\*.*#\s*(0x[0-9a-f]+)")
_DIRECT = re.compile(r"(0x[0-9a-f]+)")
_RELATIVE = re.compile(r"\*.*\(%rip\).*#\s*(0x[0-9a-f]+)")
_REGISTER = re.compile(r"\*%(\w+)$")
_MEMORY = re.compile(r"\*(-?0x[0-9a-f]+)?\((?:%(\w+))?(?:,%(\w+),(\d))?\)$")
_STUB = 3  # instructions of an entry of the procedure linkage table that are looked at


def calls(start, end):
    """The call instructions in [start, end): where each is, and where it goes; null for one that a register decides."""
    architecture = gdb.selected_inferior().architecture()
    if not architecture.name().startswith("i386:x86-64"):
        return []
    rows = []
    for row in architecture.disassemble(start, end - 1):
        match = _CALL.match(row["asm"].strip())
        if match:
            rows.append({"site": row["addr"], "target": _fixed_target(architecture, match.group(1))})
    return rows


def call_target(number):
    """Where the call instruction at which thread ``number`` stands goes to; null when it is none."""
    engine._thread(number).switch()
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
    memory = _MEMORY.match(operand)
    if memory is None:
        return None
    offset, base, index, scale = memory.groups()
    address = int(offset or "0", 16) + (_register(frame, base) if base else 0)
    address += _register(frame, index) * int(scale) if index else 0
    return _behind_stub(architecture, _word(address & WORD))


def _fixed_target(architecture, operand):
    direct = _DIRECT.match(operand)
    if direct:
        return _behind_stub(architecture, int(direct.group(1), 16))
    relative = _RELATIVE.match(operand)
    return _behind_stub(architecture, _word(int(relative.group(1), 16))) if relative else None


def _behind_stub(architecture, address):
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


def _word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")


def _register(frame, name):
    return int(frame.read_register(name)) & WORD


COMMANDS = {"calls": calls, "call-target": call_target}
