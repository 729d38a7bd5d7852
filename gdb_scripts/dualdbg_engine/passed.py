"""What was passed to a function without debug info, at its entry and as far as it is still known later.

Later a value is where the code of the function keeps it, or what was noted at the entry of this very call.
"""

from __future__ import annotations

import contextlib
from typing import Any

import gdb
from dualdbg_helpers import abi, context, kept, passed
from dualdbg_helpers.answers import printable
from dualdbg_helpers.errors import HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable
from dualdbg_helpers.inferior import host_encoding

from . import entry_values, helpers
from .threads import WORD, find_frame
from .values import keep

FAILURES = (HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable)


def passed_arguments(
    number: int,
    level: int,
    entry: int,
    parameters: list[list[str]],
    hidden: bool,
    member: bool,
    registers: "dict[str, list[Any]]",
) -> list[dict[str, Any]]:
    """The arguments of a frame, each with its value where that is known for certain, by :func:`passed.places`.

    ``entry`` is the function's, ``parameters`` have name and type. ``registers`` are those of :func:`kept_arguments`.
    What neither they nor :func:`note_arguments` tell is not known behind the entry; nothing is on another processor,
    and behind an argument of whose type nothing is known.
    """
    helpers.load()
    frame = find_frame(number, level)
    at_entry = level == 0 and _at_entry(frame, entry)
    noted = {} if at_entry else entry_values.noted(frame, entry)
    places = passed.places([kind for _, kind in parameters], hidden, member)
    rows = []
    for (name, kind), place in zip(parameters, places):
        now = place if at_entry else _now(kind, place, registers)
        if place is None:
            without = "<not known>"
        elif name in noted:
            without = "%s (at entry)" % noted[name]
        else:
            without = "<not known any more>"
        rows.append({"name": name, **_row(frame, kind, now, without)})
    return rows


def note_arguments(number: int, entry: int, parameters: list[list[str]], hidden: bool, member: bool) -> None:
    """Where a thread stands at the entry of the function: note what is passed, for as long as this call lasts."""
    frame = find_frame(number, 0)
    if not _at_entry(frame, entry):
        return
    helpers.load()
    texts = {}
    for (name, kind), place in zip(
        parameters, passed.places([kind for _, kind in parameters], hidden, member)
    ):
        if place is not None:
            with contextlib.suppress(*FAILURES):  # it has no value here, and is not known later
                texts[name] = _text(kind, _bytes(frame, kind, place))
    entry_values.note(frame, entry, texts)


def passed_text(
    frame: gdb.Frame, entry: int, parameters: "list[tuple[str, str]]", hidden: bool, member: bool, name: str
) -> "tuple[str, bytes]":
    """The text of an argument at the entry of a function, and its bytes. Raises GdbError where it is not known."""
    helpers.load()
    places = passed.places([kind for _, kind in parameters], hidden, member)
    place, kind = next((place, kind) for place, (one, kind) in zip(places, parameters) if one == name)
    if place is None or not _at_entry(frame, entry):
        raise gdb.GdbError("the value of %s is not known here" % name)
    try:
        data = _bytes(frame, kind, place)
        return passed.text_of(context.shared(), kind, data), data
    except FAILURES as error:
        raise gdb.GdbError("%s: %s" % (name, getattr(error, "message", error))) from None


def _now(
    kind: str, place: "passed.Place | None", registers: "dict[str, list[Any]]"
) -> "passed.Registers | None":
    """Where an argument is behind the entry, if it is somewhere for certain."""
    if not isinstance(place, passed.Registers):
        return None
    kept_in = [registers.get(word) if isinstance(word, str) else None for word in place.words]
    left, found = passed.size_of(kind), []
    for one in kept_in:
        if one is None or one[1] < min(left, 8):
            return None
        found.append(one[0])
        left -= 8
    return passed.Registers(tuple(found))


def kept_arguments(parts: "list[list[int]]", pc: int) -> dict[str, Any]:
    """Where arguments of a function still are at the address ``pc``, by :func:`kept.kept`.

    ``parts``: where the code of the function is, as start and end; the first begins with its entry.
    """
    architecture = gdb.selected_inferior().architecture()
    if abi.architecture(architecture.name()) != abi.X86_64:
        return {"kept": {}, "outside": []}
    flavor = gdb.parameter("disassembly-flavor")
    if flavor != "att":
        gdb.execute("set disassembly-flavor att", to_string=True)
    try:
        code = [
            [(row["addr"], row["asm"]) for row in architecture.disassemble(start, end - 1)]
            for start, end in parts
        ]
    finally:
        if flavor != "att":
            gdb.execute("set disassembly-flavor %s" % flavor, to_string=True)
    found = kept.kept(code, pc)
    return {"kept": {name: list(one) for name, one in found.kept.items()}, "outside": found.outside}


def _at_entry(frame: gdb.Frame, entry: int) -> bool:
    """Whether the arguments are where the caller has put them: nothing but a prologue has run."""
    if abi.architecture(frame.architecture().name()) != abi.X86_64:
        return False
    offset = frame.pc() - entry
    if not 0 <= offset <= abi.MAX_PROLOGUE:
        return False
    code = gdb.selected_inferior().read_memory(entry, offset).tobytes() if offset else b""
    return bool(abi.arguments_intact(abi.X86_64, code))


def _row(frame: gdb.Frame, kind: str, place: "passed.Place | None", without: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": passed.type_text(kind),
        "value": without,
        "handle": None,
        "address": None,
        "expression": None,
    }
    if place is None:
        return row
    try:
        data = _bytes(frame, kind, place)
        row["value"] = _text(kind, data)
    except FAILURES as error:
        row["value"] = "<%s>" % (error.message if isinstance(error, HelperError) else error)
        return row
    address = int.from_bytes(data[:8], "little")
    if kind.endswith(("*", "&")) or passed.value_of(kind) is None:
        row["address"] = address
        if kind == "_object*" and address:
            row["handle"] = keep(address)
    return row


def _text(kind: str, data: bytes) -> str:
    return str(printable(passed.text_of(context.shared(), kind, data), host_encoding()))


def _bytes(frame: gdb.Frame, kind: str, place: "passed.Place") -> bytes:
    if isinstance(place, passed.OnStack):
        caller = frame.older()
        if caller is None:
            raise HelperError("the caller is not known")
        start = (int(caller.read_register("rsp")) & WORD) + place.offset
        return bytes(gdb.selected_inferior().read_memory(start, passed.size_of(kind)).tobytes())
    return b"".join(register_bytes(frame, word) for word in place.words)


def register_bytes(frame: gdb.Frame, word: "str | int") -> bytes:
    """The eight bytes of a general register by its name, or the lower ones of the xmm of this number."""
    if isinstance(word, str):
        return (int(frame.read_register(word)) & WORD).to_bytes(8, "little")
    low = frame.read_register("xmm%d" % word)["v2_int64"][0]
    return (int(low) & WORD).to_bytes(8, "little")
