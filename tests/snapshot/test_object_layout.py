"""Where the members of Python's objects lie: one table for snapshots and for the helpers in gdb."""

from __future__ import annotations

import ctypes
import struct
import sys
from dataclasses import fields

import pytest

from dualdbg.errors import UnreadableMemory
from dualdbg.shared.cpython import ObjectLayout, Version, string_state
from dualdbg.snapshot.cpython import layout as python_layout
from dualdbg.snapshot.cpython.layout import PythonLayout
from dualdbg.snapshot.cpython.reader import Interpreter, PythonReader
from dualdbg.snapshot.linux.memory import PAGE, Memory


class OwnMemory(Memory):
    """That of this process."""

    def _load(self, page: int) -> bytes | None:
        return ctypes.string_at(page * PAGE, PAGE)


def this_interpreter() -> PythonReader:
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    return PythonReader(OwnMemory(), Interpreter(runtime, sys.version_info[:2], sys.executable))


TEXTS = ("", "a", "plain", "é", "naïve café", "\u20ac 5", "\U0001f40d", sys.intern("an interned name"))


@pytest.mark.parametrize("text", TEXTS)
def test_strings_of_this_interpreter(text: str) -> None:
    assert this_interpreter().string(id(text)) == text


def test_tuples_bytes_and_types_of_this_interpreter() -> None:
    reader = this_interpreter()
    values = ("a", 2, b"bytes\0too")
    assert reader.tuple_items(id(values)) == [id(value) for value in values]
    assert reader.bytes_object(id(values[2])) == values[2]
    assert reader.type_name(id(values)) == "tuple"


@pytest.mark.parametrize("width", [2, 8, 16])
@pytest.mark.parametrize("interned", range(4))
@pytest.mark.parametrize("kind", [1, 2, 4])
def test_the_state_of_a_string_tells_its_own_layout(width: int, interned: int, kind: int) -> None:
    """``interned`` takes 2 bits; 8 in free-threaded builds of 3.14; 16 in some releases before 3.14.0."""
    for flags in range(4):
        found = string_state(interned | (kind | flags << 3) << width)
        assert found == (kind, bool(flags & 1), bool(flags & 2))


def test_what_is_no_string() -> None:
    for state in (0, 1, 3 << 2, 7 << 8, 0xFFFFFFFF):
        assert string_state(state) is None


class MadeUp(Memory):
    """A few objects at made-up addresses."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data.ljust(PAGE, b"\0")

    def _load(self, page: int) -> bytes | None:
        return self.data if page == 1 else None


@pytest.mark.parametrize(("free_threaded", "width"), [(False, 2), (True, 8)])
def test_objects_of_3_14(free_threaded: bool, width: int) -> None:
    """A tuple of 3.14 begins with its hash (Include/cpython/tupleobject.h), and so its items come a word later."""
    head = 32 if free_threaded else 16
    text = bytes(head) + struct.pack("<QQII", 3, 0, 2 | (1 | 0b11 << 3) << width, 0) + b"abc"
    row = bytes(head) + struct.pack("<QQQQ", 2, 0xDEAD, 0x1111, 0x2222)
    memory = MadeUp(text.ljust(256, b"\0") + row)
    unused = {field.name: 0 for field in fields(PythonLayout)}
    layout = PythonLayout(**{**unused, "version": (3, 14), "head": head, "has_gil": not free_threaded})  # type: ignore[arg-type]
    reader = object.__new__(PythonReader)
    reader.memory, reader.layout = memory, layout
    assert reader.string(PAGE) == "abc"
    assert reader.tuple_items(PAGE + 256) == [0x1111, 0x2222]
    with pytest.raises(UnreadableMemory):
        reader.string(PAGE + 1024)


def test_both_tables_agree_on_the_head_of_an_object() -> None:
    for layout in (python_layout._3_8, python_layout._3_12):
        assert layout.objects.head == layout.head
    assert ObjectLayout(Version(3, 13, True)).head == 32
