"""Which registers hold whole numbers and pointers at the entry of a function, by its types."""

from __future__ import annotations

import gdb
from dualdbg_helpers import passed, placing
from dualdbg_shared.requests.arguments import FindRegisterArguments, Passing, RegisterArgument

from . import helpers
from .blocks import entry_of, outer_function
from .registry import answers

_HIDDEN = ("__in_chrg", "__vtt_parm")  # GCC has these names for what it adds to some constructors
_NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM)
_POINTERS = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_WORD = 8


@answers(FindRegisterArguments)
def traced_arguments(address: int, what: "Passing | None") -> "list[RegisterArgument]":
    """The arguments of a function that are one whole number or a pointer, up to the first whose place is not certain.

    Debug info tells them where ``what`` is None, and where all that it has comes from the mangled name.
    """
    if what is not None and not (what.as_written and gdb.block_for_pc(address) is not None):
        return _by_names(what)
    return _by_debug_info(address)


def _by_names(what: Passing) -> "list[RegisterArgument]":
    helpers.load()
    rows = []
    for name, kind, place in placing.agreed(placing.passing(what._asdict())):
        if not isinstance(place, passed.Registers) or place.words[0] not in passed.INTEGERS:
            continue
        is_pointer = kind.endswith(("*", "&"))
        size = _SIZES.get(kind, 0)
        if len(place.words) == 1 and (is_pointer or size):
            register = passed.INTEGERS.index(str(place.words[0]))
            rows.append(
                RegisterArgument(
                    name, kind, register, _WORD if is_pointer else size, kind in _SIGNED, is_pointer
                )
            )
    return rows


_SIGNED = {"char": 1, "signed char": 1, "short": 2, "int": 4, "long": 8, "long long": 8}
_SIZES = {
    **_SIGNED,
    "bool": 1,
    "unsigned char": 1,
    "unsigned short": 2,
    "unsigned int": 4,
    "unsigned long": 8,
    "unsigned long long": 8,
}


def _by_debug_info(address: int) -> "list[RegisterArgument]":
    block = outer_function(address)
    if block is None or entry_of(block) != address:
        return []
    result = block.function.type.target().strip_typedefs()
    register = 0
    if result.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
        return []  # perhaps a hidden argument says where it is to be made
    rows = []
    for symbol in block:
        if not symbol.is_argument:
            continue
        if symbol.name in _HIDDEN:
            break  # what is passed to such a constructor, and where, is the compiler's own business
        kind = symbol.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_FLT and kind.sizeof <= _WORD:
            continue
        is_pointer = kind.code in _POINTERS
        if not is_pointer and (kind.code not in _NUMBERS or kind.sizeof > _WORD):
            break
        if register == len(passed.INTEGERS):
            break
        is_signed = kind.code != gdb.TYPE_CODE_BOOL and not is_pointer and _is_signed(kind)
        rows.append(
            RegisterArgument(symbol.name, str(symbol.type), register, kind.sizeof, is_signed, is_pointer)
        )
        register += 1
    return rows


def _is_signed(kind: gdb.Type) -> bool:
    return int(gdb.Value(-1).cast(kind)) < 0
