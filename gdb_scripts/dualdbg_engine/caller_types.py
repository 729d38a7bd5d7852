"""Types that a function without debug info is passed: enumerations and classes, by the debug info of its caller."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import gdb
from dualdbg_helpers import language, passed
from dualdbg_shared.requests.arguments import Passing

_SCOPED_NAME = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_SIZES = (1, 2, 4, 8)
_CLASSES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


@contextmanager
def known_to_caller(frame: gdb.Frame, what: Passing) -> "Iterator[dict[str, gdb.Type]]":
    """Meanwhile :mod:`passed` knows the enumerations among the types of ``what`` as the
    library has them that calls the function of ``frame``. Others may have one of the same name. Yields its classes.
    """
    kinds = [kind for _, kind in what.parameters] + [what.this or ""]
    names = {name for kind in kinds for name in _SCOPED_NAME.findall(kind)}
    unknown = sorted(name for name in names if not (passed.value_of(name) or passed.object_of(name)))
    types = _found(frame, unknown) if unknown else {}
    passed.ENUMERATIONS.update(
        {
            name: passed.Value(kind.sizeof, kind.sizeof, (passed.INTEGER,), _text(kind))
            for name, kind in types.items()
            if kind.code == gdb.TYPE_CODE_ENUM and kind.sizeof in _SIZES
        }
    )
    try:
        yield {name: kind for name, kind in types.items() if kind.code in _CLASSES and _is_whole(kind)}
    finally:
        passed.ENUMERATIONS.clear()


def _found(frame: gdb.Frame, names: "list[str]") -> "dict[str, gdb.Type]":
    try:
        caller = frame.older()
        if caller is None:
            return {}
        block = caller.block()
    except RuntimeError:  # no debug info either; or a gdb.error, where the stack cannot be followed
        return {}
    library = caller.find_sal().symtab
    if library is None:
        return {}
    found = {}
    for name in names:
        symbol = language.class_symbol(name, block)
        if symbol is None or symbol.symtab is None or symbol.symtab.objfile != library.objfile:
            continue
        if symbol.type is not None:
            found[name] = symbol.type.strip_typedefs()
    return found


def _is_whole(kind: gdb.Type) -> bool:
    """Whether debug info has all of a type. Of a class that it only declares, which may be a base or in a member, gdb
    says that it has no members.
    """
    kind = kind.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        return _is_whole(kind.target())
    if kind.code not in _CLASSES:
        return True
    parts = [field for field in kind.fields() if hasattr(field, "bitpos")]  # others are static members
    return kind.sizeof > 0 and all(_is_whole(field.type) for field in parts)


def _text(kind: gdb.Type) -> "Callable[[Any, bytes], str]":
    """As gdb writes it: by its name, as flags, or as a number that has none."""
    return lambda _target, data: str(gdb.Value(int.from_bytes(data, "little")).cast(kind))
