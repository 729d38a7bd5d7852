"""At the stop where the program has replaced itself with another (exec): what belonged to the earlier one is forgotten.

The new program stands before its first instruction, in its loader or its own entry. Its stack begins with argc, the
arguments, the environment and the auxiliary vector (System V ABI, "Initial Stack and Register State"): there the
environment can be changed before anybody has read it.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple

import gdb
from dualdbg_helpers import language
from dualdbg_shared.requests.process import ForgetProgram, ReadEnvironmentVariable, SetEnvironment

from . import parking, probes, taught
from .memory import read
from .registry import answers
from .threads import WORD

_SIZE = 8  # bytes of a word
_LONGEST = 1 << 17  # bytes of one string of the environment: MAX_ARG_STRLEN, linux/binfmts.h
_MOST = 1 << 20  # words that are read
_PAGE = 4096
_ELSEWHERE = "the program does not stand at its beginning"
_CATCHPOINT = getattr(gdb, "BP_CATCHPOINT", None)  # gdb 12 has no objects for them


@answers(ForgetProgram)
def forget_program() -> None:
    """Delete the breakpoints of the earlier program: gdb would set them at the same addresses in this one.

    What the user has set by name with gdb's own commands stays, and what gdb catches.
    """
    parking.forget()
    taught.forget_arguments()
    probes.forget_probes()
    for point in gdb.breakpoints():
        by_address = (point.location or "").startswith("*") or (point.expression or "").startswith(
            "*$dualdbg_"
        )
        if point.type != _CATCHPOINT and (by_address or point.number < 0):  # below 0 are our own alone
            point.delete()


@answers(ReadEnvironmentVariable)
def environment_variable(name: str) -> str | None:
    found = (_text(pointer) for pointer in _initial_stack().environment)
    return next((text[len(name) + 1 :] for text in found if text.startswith(name + "=")), None)


@answers(SetEnvironment)
def set_environment(values: Mapping[str, str]) -> None:
    stack = _initial_stack()
    kept = [one for one in stack.environment if _text(one).partition("=")[0] not in values]
    strings = [_encoded("%s=%s" % pair) + b"\0" for pair in values.items()]
    place = stack.top - sum(map(len, strings))
    added = [place + sum(map(len, strings[:at])) for at in range(len(strings))]
    words = [*stack.before, *kept, *added, 0, *stack.after]
    start = (place - len(words) * _SIZE) & ~15
    inferior = gdb.selected_inferior()
    inferior.write_memory(place, b"".join(strings))
    inferior.write_memory(start, b"".join(word.to_bytes(_SIZE, "little") for word in words))
    language.evaluate("$sp = %d" % start)


class _Stack(NamedTuple):
    """The first stack of a program, in words: ``before`` and ``after`` are around the pointers of the environment."""

    top: int
    before: list[int]
    environment: list[int]
    after: list[int]


def _initial_stack() -> _Stack:
    name = str(gdb.selected_inferior().architecture().name())
    if not (name.startswith("i386:x86-64") or name == "aarch64"):
        raise gdb.GdbError("the environment of a program for %s cannot be changed" % name)
    top = int(gdb.newest_frame().read_register("sp")) & WORD
    count = _word(top)
    if count > _MOST:
        raise gdb.GdbError(_ELSEWHERE)
    before = [_word(top + at * _SIZE) for at in range(count + 2)]
    if before[-1] != 0:
        raise gdb.GdbError(_ELSEWHERE)
    at = top + len(before) * _SIZE
    environment = _words_until(at, 0, 1)
    at += (len(environment) + 1) * _SIZE
    vector = _words_until(at, 0, 2)  # pairs of a type and a value; AT_NULL is the last
    return _Stack(top, before, environment, [*vector, 0, _word(at + (len(vector) + 1) * _SIZE)])


def _words_until(at: int, last: int, width: int) -> list[int]:
    """The words from an address on, ``width`` at a time, up to a group that begins with ``last``."""
    words: list[int] = []
    while (first := _word(at)) != last:
        words += [first, *(_word(at + other * _SIZE) for other in range(1, width))]
        at += width * _SIZE
        if len(words) > _MOST:
            raise gdb.GdbError(_ELSEWHERE)
    return words


def _word(address: int) -> int:
    return int.from_bytes(read(address, _SIZE), "little")


def _text(pointer: int) -> str:
    data = b""
    while b"\0" not in data and len(data) < _LONGEST:
        at = pointer + len(data)
        data += read(at, _PAGE - at % _PAGE)
    return data.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
