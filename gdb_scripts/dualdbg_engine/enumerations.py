"""Enumerations that a function without debug info is passed: its caller's debug info has their names."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import gdb
from dualdbg_helpers import passed

_SCOPED_NAME = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_SIZES = (1, 2, 4, 8)


@contextmanager
def known_to_caller(frame: gdb.Frame, what: "dict[str, Any]") -> "Iterator[None]":
    """Meanwhile :mod:`passed` knows the enumerations among the types of ``what``, a :class:`placing.Passing`, as the
    library has them that calls the function of ``frame``. Others may have one of the same name.
    """
    names = {name for _, kind in what["parameters"] for name in _SCOPED_NAME.findall(kind)}
    unknown = sorted(name for name in names if passed.value_of(name) is None)
    passed.ENUMERATIONS.update(_found(frame.older(), unknown) if unknown else {})
    try:
        yield
    finally:
        passed.ENUMERATIONS.clear()


def _found(caller: "gdb.Frame | None", names: "list[str]") -> "dict[str, passed.Value]":
    if caller is None:
        return {}
    try:
        block = caller.block()
    except RuntimeError:  # it has no debug info either
        return {}
    library = caller.find_sal().symtab
    if library is None:
        return {}
    found = {}
    for name in names:
        symbol = gdb.lookup_symbol(name, block, gdb.SYMBOL_STRUCT_DOMAIN)[0]
        if symbol is None or symbol.symtab is None or symbol.symtab.objfile != library.objfile:
            continue
        kind = symbol.type
        if kind is not None and kind.code == gdb.TYPE_CODE_ENUM and kind.sizeof in _SIZES:
            found[name] = passed.Value(kind.sizeof, kind.sizeof, (passed.INTEGER,), _text(kind))
    return found


def _text(kind: gdb.Type) -> "Callable[[Any, bytes], str]":
    """As gdb writes it: by its name, as flags, or as a number that has none."""
    return lambda _target, data: str(gdb.Value(int.from_bytes(data, "little")).cast(kind))
