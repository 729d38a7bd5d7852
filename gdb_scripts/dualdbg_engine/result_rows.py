"""The text of what a function has returned, from the registers just behind the return.

By debug info where the function has it (``result_places.py``), else by the type that the session knows
(``dualdbg_helpers/returned.py``). What has no value here for certain is said to be not known.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

import gdb
from dualdbg_helpers import abi, context, passed, result_address, returned
from dualdbg_helpers.answers import printable
from dualdbg_helpers.inferior import host_encoding

from . import disassembly, helpers
from .entries import machine_of
from .passed import FAILURES, register_bytes
from .result_places import X87, Place, place_of
from .threads import WORD
from .values import shown_text, type_name

Row = Dict[str, str]


class Call(NamedTuple):
    """What is known of a call: the function that it has led to, and ``start`` and ``end`` of the code around it, as far
    as the unwind table has that together. None where they are not known.
    """

    entry: Optional[int] = None
    start: Optional[int] = None
    end: Optional[int] = None


_INSTRUCTION = 4  # bytes of one of AArch64
_MOST_CODE = 1 << 16  # bytes of a caller's part that is disassembled
_NOT_KNOWN = "<not known: %s>"
_NO_PLACE = "where such a value is returned"
_NO_ADDRESS = "where it was made in memory"
_NO_TYPE = "nothing tells its type"


def row(
    frame: gdb.Frame,
    kind: "str | None",
    type_: "gdb.Type | None",
    language: str,
    declared: bool,
    call: Call,
) -> "Optional[Row]":
    """What the function has returned that has just returned to ``frame``; None for nothing.

    ``kind``, ``declared`` and ``call`` are as in :class:`returned.Reading`, ``type_`` is that of debug info.
    """
    helpers.load()
    machine = machine_of(frame)
    if machine is None:
        return {"type": "", "value": _NOT_KNOWN % "results are not read on this processor"}
    if type_ is not None and declared:
        return _declared(frame, type_, language, machine, call)
    if kind is not None and declared:
        return _known(frame, kind, machine, call)
    return _unknown(frame, "", _NO_TYPE if declared else "the compiler has made this function anew")


def _unknown(frame: gdb.Frame, kind: str, why: str) -> Row:
    name = returned.INTEGERS[machine_of(frame) or abi.X86_64][0]
    return {"type": kind, "value": _NOT_KNOWN % ("%s; %s is 0x%x" % (why, name, _register(frame, name)))}


def _register(frame: gdb.Frame, name: str) -> int:
    return int(frame.read_register(name)) & WORD


def _made_at(frame: gdb.Frame, machine: str, call: Call) -> "Optional[int]":
    """The address at which a result has been made; None where it is not known. Raises gdb.error for unreadable code."""
    if machine == abi.X86_64:
        return _register(frame, "rax")
    if call.start is None or call.end is None or call.end - call.start > _MOST_CODE:
        return None
    code = frame.architecture().disassemble(call.start, call.end - 1)
    site = int(frame.pc()) - _INSTRUCTION
    (target,) = [row.target for row in disassembly.calls(site, site + _INSTRUCTION)] or [None]
    calls_it = target is not None and target == call.entry
    found = result_address.result_address([(row["addr"], row["asm"]) for row in code], site, calls_it)
    if found is None:
        return None
    base = _register(frame, found.register)
    if found.slot is not None:
        (base,) = context.shared().memory.words(base + found.slot, 1)
    return (base + found.offset) & WORD


def _bytes(frame: gdb.Frame, place: "Place | returned.InRegisters") -> bytes:
    read = _long_bytes if place.piece > 8 else register_bytes
    return b"".join(read(frame, word)[: place.piece] for word in place.registers)


def _long_bytes(frame: gdb.Frame, number: "returned.Word") -> bytes:
    """The 16 bytes of a vector register of AArch64."""
    halves = frame.read_register("v%s" % number)["d"]["u"]
    return b"".join((int(halves[i]) & WORD).to_bytes(8, "little") for i in range(2))


# -- without debug info -----------------------------------------------------------------------------


def _known(frame: gdb.Frame, kind: str, machine: str, call: Call) -> "Optional[Row]":
    if kind == returned.VOID:
        return None
    name, found, target = passed.type_text(kind), returned.result_of(kind, machine), context.shared()
    if found is None:
        return _unknown(frame, name, _NO_PLACE)
    try:
        if isinstance(found, returned.Made):
            address = _made_at(frame, machine, call)
            if address is None:
                return _unknown(frame, name, _NO_ADDRESS)
            text = found.text(target, address)
        else:
            text = found.text(target, _bytes(frame, found))
    except (gdb.error, *FAILURES) as error:
        return {"type": name, "value": "<%s>" % getattr(error, "message", error)}
    return {"type": name, "value": printable(text, host_encoding())}


# -- with debug info --------------------------------------------------------------------------------


def _declared(frame: gdb.Frame, type_: gdb.Type, language: str, machine: str, call: Call) -> "Optional[Row]":
    plain = type_.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_VOID or not plain.sizeof:
        return None
    name = type_name(type_)
    try:
        place = place_of(plain, language, machine)
        if place is None:
            return _unknown(frame, name, _NO_PLACE)
        if place.registers:
            return {"type": name, "value": shown_text(_in_registers(frame, type_, place))}
        address = _made_at(frame, machine, call)
        if address is None:
            return _unknown(frame, name, _NO_ADDRESS)
        made = gdb.Value(address).cast(type_.unqualified().pointer()).dereference()
        return {"type": name, "value": shown_text(made)}
    except (gdb.error, RuntimeError, *FAILURES) as error:
        return {"type": name, "value": "<%s>" % getattr(error, "message", error)}


def _in_registers(frame: gdb.Frame, type_: gdb.Type, place: Place) -> gdb.Value:
    if place.registers == X87:
        return frame.read_register("st0").cast(type_)
    return gdb.Value(_bytes(frame, place)[: type_.sizeof], type_)
