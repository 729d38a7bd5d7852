"""Where a function with debug info has its result just behind the return, by its type.

Sources: System V ABI for AMD64, 3.2.3; AAPCS64, 6.8.2 and 6.9; Itanium C++ ABI, 3.1.3.1.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Tuple

import gdb
from dualdbg_helpers import abi, passed, returned
from dualdbg_shared.console_text import plain

_SMALL = 16  # bytes; what is larger comes back in memory, but on AArch64 a class of numbers of floating point
_MOST_FLOATS = 4  # of such a class
# Languages whose classes are returned by the rules of C and C++.
_C = ("c", "c++", "minimal", "asm", "opencl")
_INTEGERS = (
    gdb.TYPE_CODE_INT,
    gdb.TYPE_CODE_CHAR,
    gdb.TYPE_CODE_BOOL,
    gdb.TYPE_CODE_ENUM,
    gdb.TYPE_CODE_PTR,
    gdb.TYPE_CODE_REF,
    gdb.TYPE_CODE_RVALUE_REF,
    gdb.TYPE_CODE_MEMBERPTR,
    gdb.TYPE_CODE_METHODPTR,
)
X87 = ("st0",)
# Of a class in gdb's ptype: what a compiler makes trivial only where the author has written none, or "= default".
_SPECIAL = r"^\s*(?:%s\((?:const )?[\w:]*%s(?:<.*>)? ?&&?\)|~%s\((?:void)?\));"
# What the library declares for its templates; gdb 13 does not tell of a declaration that it is "= default".
_OF_LIBRARY = re.compile(r"std::(?:\w+::)*(\w+)<")
_AS_ITS_PARTS = (
    "pair",
    "__pair_base",
    "duration",
    "time_point",
    "reference_wrapper",
    "span",
    "basic_string_view",
)
_NEVER_TRIVIAL = ("unique_ptr", "shared_ptr", "weak_ptr", "function", "basic_string", "vector", "deque")


class Place(NamedTuple):
    """The registers of a result, ``piece`` bytes of it in each; none where it is made in memory."""

    registers: "Tuple[returned.Word, ...]"
    piece: int = 8


def place_of(kind: gdb.Type, language: str, machine: str) -> Optional[Place]:
    """Where a result of a type without typedefs is; None where that is not known. ``machine``: one of ``abi``'s."""
    if kind.code in _INTEGERS:
        integers = returned.INTEGERS[machine]
        return Place(integers[: -(-kind.sizeof // 8)]) if kind.sizeof <= _SMALL else None
    if kind.code == gdb.TYPE_CODE_FLT:
        return _of_float(kind, machine)
    if language not in _C or kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    return _of_class_on_arm(kind) if machine == abi.AARCH64 else _of_class(kind)


def _of_float(kind: gdb.Type, machine: str) -> Optional[Place]:
    if machine == abi.AARCH64:
        return Place((0,), kind.sizeof) if kind.sizeof <= _SMALL else None
    if kind.sizeof <= 8:
        return Place(returned.FLOATS[:1])
    return Place(X87) if kind.name == "long double" else None


def _of_class(kind: gdb.Type) -> Optional[Place]:
    if kind.sizeof > _SMALL:
        return Place(())
    found = returned.result_of(kind.name or "", abi.X86_64)
    if found is not None:
        return Place(found.registers if isinstance(found, returned.InRegisters) else ())
    trivial = _is_trivial(kind)
    if trivial is None:
        return None
    if not trivial:
        return Place(())
    classes: List[Optional[str]] = [None] * -(-kind.sizeof // 8)
    if not _classify(kind, 0, classes):
        return None
    return Place(returned.registers_of(tuple(one or passed.SSE for one in classes)))


def _of_class_on_arm(kind: gdb.Type) -> Optional[Place]:
    found = returned.result_of(kind.name or "", abi.AARCH64)
    if isinstance(found, returned.InRegisters):
        return Place(found.registers, found.piece)
    sizes: List[int] = []
    trivial = _is_trivial(kind)
    if found is not None or trivial is False or kind.sizeof > _MOST_FLOATS * _SMALL:
        return Place(())
    if not trivial or not _parts(kind, sizes):
        return None
    size = sizes[0] if len(set(sizes)) == 1 else 0
    if size and sum(sizes) != kind.sizeof:
        return None  # there is something between them, or they are one over the other
    if size and len(sizes) <= _MOST_FLOATS:
        return Place(tuple(range(len(sizes))), size)
    words = -(-kind.sizeof // 8)
    return Place(returned.INTEGERS[abi.AARCH64][:words] if kind.sizeof <= _SMALL else ())


def _parts(kind: gdb.Type, sizes: "List[int]") -> bool:
    """Add the size of each number of floating point in a type, and 0 for all else that is in it.

    False where something is in it by other rules, or is not known. By other rules: vectors of the processor, and what
    is empty, of which compilers have not agreed.
    """
    kind = kind.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        return not _is_vector(kind) and all(_parts(kind.target(), sizes) for _ in range(low, high + 1))
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        fields = [field for field in kind.fields() if hasattr(field, "bitpos")]
        return all(
            bool(field.type.sizeof) and not _is_empty(field.type) and _parts(field.type, sizes)
            for field in fields
        )
    sizes.append(kind.sizeof if kind.code == gdb.TYPE_CODE_FLT else 0)
    return kind.code == gdb.TYPE_CODE_FLT or kind.code in _INTEGERS


def _is_vector(kind: gdb.Type) -> bool:
    return "vector_size" in str(kind)


def _classify(type_: gdb.Type, offset: int, classes: "List[Optional[str]]") -> bool:
    """Give each word its class (AMD64 ABI, 3.2.3); False where that is not known."""
    type_ = type_.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_ARRAY:
        low, high = type_.range()
        inner = type_.target()
        return all(_classify(inner, offset + i * inner.sizeof, classes) for i in range(high - low + 1))
    if type_.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return all(
            not field.bitsize and _classify(field.type, offset + field.bitpos // 8, classes)
            for field in type_.fields()
            if hasattr(field, "bitpos") and field.type.sizeof and not _is_empty(field.type)
        )
    if type_.code in _INTEGERS and type_.sizeof <= 8:
        classes[offset // 8] = passed.INTEGER
        return bool(offset % type_.sizeof == 0)
    if type_.code == gdb.TYPE_CODE_FLT and type_.sizeof <= 8:
        classes[offset // 8] = classes[offset // 8] or passed.SSE
        return bool(offset % type_.sizeof == 0)
    return False


def _is_empty(type_: gdb.Type) -> bool:
    """Whether a class has no members, as an allocator or a deleter."""
    type_ = type_.strip_typedefs()
    if type_.code != gdb.TYPE_CODE_STRUCT:
        return False
    return all(_is_empty(field.type) for field in type_.fields() if hasattr(field, "bitpos"))


def _is_trivial(type_: gdb.Type) -> "Optional[bool]":
    """Whether a class is copied and destroyed as its bytes are; None where debug info does not tell.

    gdb shows a destructor or copy constructor that the author has written, and does not say of one whether it is
    "= default". One that has code somewhere is not.
    """
    type_ = type_.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_ARRAY:
        return _is_trivial(type_.target())
    if type_.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return True
    if type_.code == gdb.TYPE_CODE_STRUCT and type_.dynamic:
        return None
    fields = [field for field in type_.fields() if hasattr(field, "bitpos")]
    if any((field.name or "").startswith("_vptr") for field in fields):
        return False
    answers = [_is_trivial(field.type) for field in fields] + [_is_trivial_itself(type_)]
    if False in answers:
        return False
    return None if None in answers else True


def _is_trivial_itself(type_: gdb.Type) -> "Optional[bool]":
    whole = type_.name
    if whole is None:
        return True  # it has no name, so it has no constructor
    of_library = _OF_LIBRARY.match(whole)
    if of_library is not None and of_library[1] in _AS_ITS_PARTS + _NEVER_TRIVIAL:
        return of_library[1] in _AS_ITS_PARTS
    gdb.set_convenience_variable(
        "dualdbg_result", gdb.Value(bytes(max(type_.sizeof, 1))[: type_.sizeof], type_)
    )
    shown = plain(gdb.execute("ptype $dualdbg_result", to_string=True))
    base = re.escape(re.sub(r"<.*", "", whole).rpartition("::")[2])
    special = _SPECIAL % (base, base, base)
    if re.search(special, shown, re.MULTILINE) is None:
        return True
    try:
        gdb.decode_line("'%s::~%s'" % (whole, base))
    except (gdb.error, RuntimeError):
        return None
    return False
