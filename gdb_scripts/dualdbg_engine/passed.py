"""What was passed to a function without debug info, at its entry and as far as it is still known later.

Later a value is where the code of the function keeps it, or what was noted at the entry of this very call.
"""

from __future__ import annotations

import contextlib
from typing import Any, Mapping, Sequence

import gdb
from dualdbg_helpers import abi, context, frame_offsets, passed, placing, result_code
from dualdbg_helpers import entry_code as code_reading
from dualdbg_helpers import kept as kept_reading
from dualdbg_helpers.answers import printable
from dualdbg_helpers.errors import HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable
from dualdbg_helpers.inferior import host_encoding
from dualdbg_shared.requests.arguments import (
    EntryCode,
    KeptArguments,
    NoteArguments,
    PassedOn,
    Passing,
    ReadEntryCode,
    ReadKeptArguments,
    ReadPassedArguments,
)
from dualdbg_shared.requests.values import NativeVariable

from . import entry_values, helpers
from .caller_types import known_to_caller
from .entries import at_entry, machine_of
from .registry import answers
from .threads import WORD, find_frame
from .values import keep, shown_text

_NOT_KNOWN = "<not known>"
_MOST_CODE = 1 << 16  # bytes of a function of which all ways are looked at; of a larger one its beginning
_BEGINNING = 1 << 9
_LONGEST = 300  # characters of the members of an object, which can be looked into
FAILURES = (HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable)


@answers(ReadPassedArguments)
def passed_arguments(
    gdb_thread: int,
    level: int,
    entry: int,
    what: Passing,
    kept: "Mapping[str, tuple[str, int]]",
) -> list[NativeVariable]:
    """The arguments of a frame, each with its value where that is known for certain.

    ``entry`` is the function's. ``kept`` are the registers of :func:`kept_arguments`. What neither they nor
    :func:`note_arguments` tell is not known behind the entry; nothing is
    on a processor that :mod:`abi` does not know, and where the ways in which it may be passed do not agree.
    """
    helpers.load()
    frame = find_frame(gdb_thread, level)
    is_at_entry = level == 0 and at_entry(frame, entry)
    noted = {} if is_at_entry else entry_values.noted(frame, entry)
    passing = placing.passing(what._asdict(), machine_of(frame))
    rows = []
    with known_to_caller(frame, what) as classes:
        for name, kind, place in placing.agreed(passing):
            now = place if is_at_entry else _now(kind, place, kept)
            if place is None:
                without = _NOT_KNOWN
            elif name in noted:
                without = "%s (at entry)" % noted[name]
            else:
                without = "<not known any more>"
            row = {"name": name, **_row(frame, kind, now, without, passing)}
            if row["address"] and row["handle"] is None and not (name == "this" and what.constructs):
                _look_into(row, kind, classes)
            rows.append(NativeVariable(**row))
    return rows


@answers(NoteArguments)
def note_arguments(gdb_thread: int, entry: int, what: Passing) -> None:
    frame = find_frame(gdb_thread, 0)
    if not at_entry(frame, entry):
        return
    helpers.load()
    texts = {}
    passing = placing.passing(what._asdict(), machine_of(frame))
    with known_to_caller(frame, what):
        for name, kind, place in placing.agreed(passing):
            shown = placing.shown_kind(kind, passing)
            if place is not None and shown is not None:
                with contextlib.suppress(*FAILURES):  # it has no value here, and is not known later
                    texts[name] = _text(shown, _bytes(frame, kind, place))
    entry_values.note(frame, entry, texts)


def passed_text(frame: gdb.Frame, entry: int, what: "placing.Passing", name: str) -> "tuple[str, str, bytes]":
    """Type and text of an argument at the entry of a function, and its bytes. Raises GdbError where it is not known."""
    helpers.load()
    kind, place = next((kind, place) for one, kind, place in placing.agreed(what) if one == name)
    if place is None or not at_entry(frame, entry):
        raise gdb.GdbError("the value of %s is not known here" % name)
    try:
        data = _bytes(frame, kind, place)
        shown = placing.shown_kind(kind, what)
        if shown is None:
            raise gdb.GdbError("the value of %s is not known: its type, %s, is not" % (name, kind))
        return shown, passed.text_of(context.shared(), shown, data), data
    except FAILURES as error:
        raise gdb.GdbError("%s: %s" % (name, getattr(error, "message", error))) from None


def _now(
    kind: str, place: "passed.Place | None", kept: "Mapping[str, tuple[str, int]]"
) -> "passed.Registers | None":
    """Where an argument is behind the entry, if it is somewhere for certain."""
    if not isinstance(place, passed.Registers):
        return None
    kept_in = [kept.get(word) if isinstance(word, str) else None for word in place.words]
    left, found = passed.size_of(kind), []
    for one in kept_in:
        if one is None or one[1] < min(left, 8):
            return None
        found.append(one[0])
        left -= 8
    return passed.Registers(tuple(found))


@answers(ReadKeptArguments)
def kept_arguments(parts: "Sequence[tuple[int, int]]", pc: int) -> KeptArguments:
    architecture = gdb.selected_inferior().architecture()
    machine = abi.architecture(architecture.name())
    code = _instructions(architecture, parts) if machine == abi.AARCH64 else disassembled(parts)
    if machine is None or code is None:
        return KeptArguments({})
    found = kept_reading.kept(code, pc, machine)
    return KeptArguments(found.kept, found.outside)


@answers(ReadEntryCode)
def entry_code(parts: "Sequence[tuple[int, int]]", pads: "Sequence[int]") -> EntryCode:
    whole = sum(end - start for start, end in parts) <= _MOST_CODE
    rows = disassembled(parts if whole else [(parts[0][0], min(parts[0][1], parts[0][0] + _BEGINNING))])
    if rows is None:
        return EntryCode(None, False)
    code = code_reading.code_of(rows, whole)
    found = code_reading.evidence(code)._replace(stack=frame_offsets.reach(code, pads))
    not_hidden = whole and result_code.is_no_hidden_result(code, frozenset(pads), found.exact)
    outside = code.outside if whole else []
    passed_on = code_reading.passed_on(code)
    return EntryCode(found._asdict(), not_hidden, outside, PassedOn(*passed_on) if passed_on else None)


def disassembled(parts: "Sequence[tuple[int, int]]") -> "list[list[tuple[int, str]]] | None":
    """The instructions of the parts of a function, in AT&T's syntax; None on any processor but x86-64."""
    architecture = gdb.selected_inferior().architecture()
    if abi.architecture(architecture.name()) != abi.X86_64:
        return None
    flavor = gdb.parameter("disassembly-flavor")
    if flavor != "att":
        gdb.execute("set disassembly-flavor att", to_string=True)
    try:
        return _instructions(architecture, parts)
    finally:
        if flavor != "att":
            gdb.execute("set disassembly-flavor %s" % flavor, to_string=True)


def _instructions(
    architecture: gdb.Architecture, parts: "Sequence[tuple[int, int]]"
) -> "list[list[tuple[int, str]]]":
    return [
        [(row["addr"], row["asm"]) for row in architecture.disassemble(start, end - 1)]
        for start, end in parts
    ]


def _row(
    frame: gdb.Frame, kind: str, place: "passed.Place | None", without: str, what: "placing.Passing"
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": passed.written_text(kind) if what.as_written else passed.type_text(kind),
        "value": without,
        "handle": None,
        "address": None,
        "expression": None,
    }
    if place is None:
        return row
    shown = placing.shown_kind(kind, what)
    if shown is None:
        row["value"] = _raw(frame, place)
        return row
    try:
        data = _bytes(frame, kind, place)
        row["value"] = _text(shown, data)
    except FAILURES as error:
        row["value"] = "<%s>" % (error.message if isinstance(error, HelperError) else error)
        return row
    address = int.from_bytes(data[:8], "little")
    if kind.endswith(("*", "&")) or passed.value_of(kind) is None:
        row["address"] = address
        if kind == "_object*" and address:
            row["handle"] = keep(address)
    return row


def _look_into(row: dict[str, Any], kind: str, classes: "dict[str, gdb.Type]") -> None:
    """Of what an address leads to: its members where its class is known, and whose object ``this`` is part of."""
    name, address = kind.rstrip("*&").replace(" const", ""), row["address"]
    if name in classes and len(kind) - len(kind.rstrip("*&")) == 1:
        value = gdb.Value(address).cast(classes[name].pointer())
        row["handle"] = keep(value)
        if row["name"] == "this" or kind.endswith("&"):
            members = shown_text(value.dereference())
            is_long = len(members) > _LONGEST
            row["value"] += " " + (members[:_LONGEST] + "..." if is_long else members)
    if row["name"] == "this":
        with contextlib.suppress(*FAILURES):  # it has no vtable
            rtti = context.shared().rtti
            whole = rtti.name(address)
            if whole != name and name in rtti.lineage(address):
                row["value"] += ", of a %s" % whole


def _raw(frame: gdb.Frame, place: "passed.Place") -> str:
    """What is in the registers of an argument of whose type nothing is known."""
    words = place.words if isinstance(place, passed.Registers) else ()
    parts = [
        "%s is 0x%x"
        % (
            word if isinstance(word, str) else _vector_name(frame, word),
            int.from_bytes(register_bytes(frame, word), "little"),
        )
        for word in words
    ]
    return "<not known: %s>" % ", ".join(parts)


def _text(kind: str, data: bytes) -> str:
    return str(printable(passed.text_of(context.shared(), kind, data), host_encoding()))


def _bytes(frame: gdb.Frame, kind: str, place: "passed.Place") -> bytes:
    if isinstance(place, passed.Copied):
        return _memory(int.from_bytes(_bytes(frame, "void*", place.where), "little"), passed.size_of(kind))
    if isinstance(place, passed.OnStack):
        caller = frame.older()
        if caller is None:
            raise HelperError("the caller is not known")
        return _memory((int(caller.read_register("sp")) & WORD) + place.offset, passed.size_of(kind))
    return b"".join(register_bytes(frame, word)[: place.piece] for word in place.words)


def _memory(start: int, size: int) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(start, size).tobytes())


def _vector_name(frame: gdb.Frame, number: int) -> str:
    return ("d%d" if machine_of(frame) == abi.AARCH64 else "xmm%d") % number


def register_bytes(frame: gdb.Frame, word: "str | int") -> bytes:
    """The eight bytes of a general register by its name, or the lower ones of the vector register of this number."""
    if isinstance(word, str):
        return (int(frame.read_register(word)) & WORD).to_bytes(8, "little")
    low = frame.read_register(_vector_name(frame, word))
    low = low["u"] if machine_of(frame) == abi.AARCH64 else low["v2_int64"][0]
    return (int(low) & WORD).to_bytes(8, "little")
