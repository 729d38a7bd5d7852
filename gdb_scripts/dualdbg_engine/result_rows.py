"""The text of what a function has returned, from the registers just behind the return.

By debug info where the function has it, else by the type that the session knows (``dualdbg_helpers/returned.py``). What
has no value here for certain is said to be not known.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

import gdb
from dualdbg_helpers import abi, context, passed, returned
from dualdbg_helpers.answers import printable
from dualdbg_helpers.inferior import host_encoding
from dualdbg_shared.console_text import plain

from . import helpers
from .passed import FAILURES, register_bytes
from .threads import WORD
from .values import shown_text, type_name

Row = Dict[str, str]

_NOT_KNOWN = "<not known: %s>"
_NO_TYPE = "nothing tells its type"
_SMALL = 16  # bytes; what is larger comes back in memory, whatever it is
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
)
_X87 = ("st0",)
# Of a class in gdb's ptype: what a compiler makes trivial only where the author has written none, or "= default".
_SPECIAL = r"^\s*(?:%s\((?:const )?[\w:]*%s(?:<.*>)? ?&&?\)|~%s\((?:void)?\));"


def row(
    frame: gdb.Frame, kind: "str | None", type_: "gdb.Type | None", language: str, declared: bool
) -> "Optional[Row]":
    """What the function has returned that has just returned to ``frame``; None for nothing.

    ``kind`` and ``declared`` are as in :class:`returned.Reading`, ``type_`` is that of debug info.
    """
    helpers.load()
    if abi.architecture(frame.architecture().name()) != abi.X86_64:
        return {"type": "", "value": _NOT_KNOWN % "results are not read on this processor"}
    if type_ is not None and declared:
        return _declared(frame, type_, language)
    if kind is not None and declared:
        return _known(frame, kind)
    return _unknown(frame, "", _NO_TYPE if declared else "the compiler has made this function anew")


def _unknown(frame: gdb.Frame, kind: str, why: str) -> Row:
    return {"type": kind, "value": _NOT_KNOWN % ("%s; rax is 0x%x" % (why, _register(frame, "rax")))}


def _register(frame: gdb.Frame, name: str) -> int:
    return int(frame.read_register(name)) & WORD


# -- without debug info -----------------------------------------------------------------------------


def _known(frame: gdb.Frame, kind: str) -> "Optional[Row]":
    if kind == returned.VOID:
        return None
    name, found, target = passed.type_text(kind), returned.result_of(kind), context.shared()
    if found is None:
        return _unknown(frame, name, "where such a value is returned")
    try:
        if isinstance(found, returned.Made):
            text = found.text(target, _register(frame, "rax"))
        else:
            data = b"".join(register_bytes(frame, word) for word in found.registers)
            text = found.text(target, data)
    except FAILURES as error:
        return {"type": name, "value": "<%s>" % getattr(error, "message", error)}
    return {"type": name, "value": printable(text, host_encoding())}


# -- with debug info --------------------------------------------------------------------------------


def _declared(frame: gdb.Frame, type_: gdb.Type, language: str) -> "Optional[Row]":
    plain = type_.strip_typedefs()
    if plain.code == gdb.TYPE_CODE_VOID or not plain.sizeof:
        return None
    name = type_name(type_)
    try:
        value = _value(frame, type_, plain, language)
    except (gdb.error, RuntimeError) as error:
        return {"type": name, "value": "<%s>" % error}
    if value is None:
        return _unknown(frame, name, "where such a value is returned")
    return {"type": name, "value": shown_text(value)}


def _value(frame: gdb.Frame, type_: gdb.Type, plain: gdb.Type, language: str) -> "Optional[gdb.Value]":
    registers = _registers(plain, language)
    if registers is None:
        return None
    if not registers:
        return gdb.Value(_register(frame, "rax")).cast(type_.unqualified().pointer()).dereference()
    if registers == _X87:
        return frame.read_register("st0").cast(type_)
    data = b"".join(register_bytes(frame, word) for word in registers)
    return gdb.Value(data[: plain.sizeof], type_)


def _registers(plain: gdb.Type, language: str) -> "Optional[Tuple[returned.Word, ...]]":
    """The registers of a result; none where it is in memory. None: not known."""
    if plain.code in _INTEGERS or plain.code == gdb.TYPE_CODE_METHODPTR:
        return returned.INTEGERS[: -(-plain.sizeof // 8)] if plain.sizeof <= _SMALL else None
    if plain.code == gdb.TYPE_CODE_FLT:
        return returned.FLOATS[:1] if plain.sizeof <= 8 else _X87 if plain.name == "long double" else None
    if language not in _C or plain.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    if plain.sizeof > _SMALL:
        return ()
    found = returned.result_of(plain.name or "")
    if found is not None:
        return found.registers if isinstance(found, returned.InRegisters) else ()
    trivial = _is_trivial(plain)
    if trivial is None:
        return None
    if not trivial:
        return ()
    classes: List[Optional[str]] = [None] * -(-plain.sizeof // 8)
    if not _classify(plain, 0, classes):
        return None
    return returned.registers_of(tuple(one or passed.SSE for one in classes))


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
