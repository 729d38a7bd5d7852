"""What was passed to a function without debug info, at its entry: later its code may have used the places otherwise."""

from __future__ import annotations

from typing import Any

import gdb
from dualdbg_helpers import abi, context, passed, placing
from dualdbg_helpers.answers import printable
from dualdbg_helpers.errors import HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable
from dualdbg_helpers.inferior import host_encoding
from dualdbg_shared.requests.arguments import Passing, ReadPassedArguments
from dualdbg_shared.requests.values import NativeVariable

from . import helpers
from .entries import at_entry, machine_of
from .registry import answers
from .threads import WORD, find_frame
from .values import keep

_NOT_KNOWN = "<not known>"
FAILURES = (HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable)


@answers(ReadPassedArguments)
def passed_arguments(gdb_thread: int, level: int, entry: int, what: Passing) -> list[NativeVariable]:
    """The arguments of a frame, each with its value where that is known for certain: at the entry of the function.

    ``entry`` is the function's. Nothing is known on a processor that :mod:`abi` does not know, and where the ways in
    which an argument may be passed do not agree.
    """
    helpers.load()
    frame = find_frame(gdb_thread, level)
    is_at_entry = level == 0 and at_entry(frame, entry)
    passing = placing.passing(what._asdict(), machine_of(frame))
    rows = []
    for name, kind, place in placing.agreed(passing):
        without = _NOT_KNOWN if place is None else "<not known any more>"
        row = _row(frame, kind, place if is_at_entry else None, without, passing)
        rows.append(NativeVariable(name, **row))
    return rows


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
        row["value"] = _NOT_KNOWN
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
