"""What a C++ ``throw`` throws, and what a panic of Rust says, read from memory. Nothing here changes the target."""

from __future__ import annotations

import re

import gdb
from dualdbg_shared.requests.breakpoints import (
    ReadCaughtObject,
    ReadPanicText,
    ReadThrownObject,
    ThrownObject,
)

from .memory import read, string_at, word_at
from .registry import answers
from .threads import WORD, select_innermost

_MOST_BASES = 16
_LONGEST_PANIC = 1 << 16
# Registers of the first two arguments: System V AMD64 ABI, figure 3.4; AAPCS64, 6.8.2.
_ARGUMENTS = {"i386:x86-64": ("rdi", "rsi"), "aarch64": ("x0", "x1")}
# libstdc++ keeps their text as a pointer to characters behind the vtable pointer (std::__cow_string, <stdexcept>).
_WITH_TEXT_POINTER = ("St13runtime_error", "St11logic_error")
# c10/util/Exception.h: its first member is std::string msg_, whose first word points to the characters.
_WITH_STRING = ("N3c105ErrorE",)
# The class of libstdc++'s exceptions; 1 in the last byte: a dependent one.
_OF_LIBSTDCXX = int.from_bytes(b"GNUCC++\0", "big")
_HEADER, _BEFORE_HEADER = 32, 80  # the sizes of _Unwind_Exception, and of __cxa_exception before it
_BUILT_IN = re.compile(r"[a-z]$")  # no class has such a base
_MANGLED = re.compile(r"\*?[A-Z0-9][A-Za-z0-9_]*$")


@answers(ReadThrownObject)
def thrown_object(gdb_thread: int) -> ThrownObject:
    """At the entry of __cxa_throw(object, type, destructor): the mangled names of the type and its first bases.

    ``text`` is what() for types that are known to keep it in memory, else None.
    """
    frame = select_innermost(gdb_thread)
    names = _ARGUMENTS.get(frame.architecture().name())
    if names is None:
        return ThrownObject((), None)
    thrown, type_ = (int(frame.read_register(name)) & WORD for name in names)
    return _object(thrown, type_)


@answers(ReadCaughtObject)
def caught_object(gdb_thread: int) -> ThrownObject:
    """The same at the entry of __cxa_begin_catch(unwind header).

    In libstdc++ (unwind-cxx.h) the object lies behind the header; before that is __cxa_exception, which begins with the
    type. Of an exception that was thrown again by std::rethrow_exception, the word there is the object itself.
    """
    frame = select_innermost(gdb_thread)
    names = _ARGUMENTS.get(frame.architecture().name())
    header = int(frame.read_register(names[0])) & WORD if names is not None else 0
    kind = word_at(header)
    if kind is None or kind & ~0xFF != _OF_LIBSTDCXX:
        return ThrownObject((), None)
    thrown = word_at(header - _BEFORE_HEADER) if kind & 0xFF else header + _HEADER
    if not thrown:
        return ThrownObject((), None)
    return _object(thrown, word_at(thrown - _HEADER - _BEFORE_HEADER))


def _object(thrown: int, type_: int | None) -> ThrownObject:
    types = _types(type_)
    text = None
    if any(name in _WITH_TEXT_POINTER + _WITH_STRING for name in types):
        text = string_at(word_at(thrown + 8))
    return ThrownObject(tuple(types), text)


@answers(ReadPanicText)
def panic_text(gdb_thread: int) -> str | None:
    """At the entry of rust_panic(&mut dyn PanicPayload): the message; null where it cannot be read for certain.

    The vtable says how large the payload is (library/std/src/panicking.rs): a ``&str``, an ``Option<String>``, or a
    reference to the format and the String that the hook made of it. Of the words of a String, which Rust may order as
    it likes, the capacity is no smaller than the length, and the text is valid UTF-8.
    """
    frame = select_innermost(gdb_thread)
    names = _ARGUMENTS.get(frame.architecture().name())
    if names is None:
        return None
    payload, vtable = (int(frame.read_register(name)) & WORD for name in names)
    size = word_at(vtable + 8)
    if size == 16:
        return _text_of(word_at(payload), word_at(payload + 8))
    if size not in (24, 32):
        return None
    words = [word_at(payload + offset) for offset in range(0, size, 8)]
    found = set()
    for at in range(len(words) - 2):
        one, two, three = words[at : at + 3]
        for capacity, pointer, length in ((one, two, three), (two, one, three)):
            if capacity and length and length <= capacity < _LONGEST_PANIC:
                found.add(_text_of(pointer, length))
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def _text_of(pointer: int | None, length: int | None) -> str | None:
    if not pointer or length is None or length > _LONGEST_PANIC:
        return None
    try:
        return read(pointer, length).decode("utf-8")
    except (gdb.error, UnicodeDecodeError):
        return None


def _types(type_: int | None) -> list[str]:
    """The names of a std::type_info and of its bases at the beginning of the object.

    Itanium C++ ABI, 2.9.5: __si_class_type_info has its base behind the name; __vmi_class_type_info has flags, the
    number of bases, and for each the type_info and an offset in the upper bits of a word.
    """
    types: list[str] = []
    while type_ and len(types) < _MOST_BASES:
        name = string_at(word_at(type_ + 8))
        if name is None or not (_MANGLED.match(name) or (not types and _BUILT_IN.match(name))):
            break
        types.append(name.lstrip("*"))
        if _is_type_info(word_at(type_ + 16)):
            type_ = word_at(type_ + 16)
        elif _is_type_info(word_at(type_ + 24)) and (word_at(type_ + 32) or 0) >> 8 == 0:
            type_ = word_at(type_ + 24)
        else:
            break
    return types


def _is_type_info(address: int | None) -> bool:
    if not address or address % 8:
        return False
    name = string_at(word_at(address + 8))
    return name is not None and _MANGLED.match(name) is not None and word_at(word_at(address)) is not None
