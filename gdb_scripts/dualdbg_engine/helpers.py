"""Brings the helpers for PyTorch and Python into gdb, at first need: their printers, settings and commands."""

from __future__ import annotations

import gdb
from dualdbg_helpers import register, settings, standard_library

_loaded = False


def load() -> None:
    """gdb knows the helpers from now on; the first call does it."""
    global _loaded
    if _loaded:
        return
    settings.VERB = "gdb set"  # in dualdbg, the user reaches gdb's settings by this
    standard_library.register()
    register.register()  # gdb asks the last one first; a Stack is also a std::vector
    _loaded = True


def type_name(type_: gdb.Type) -> str:
    """The name of a type for people, default arguments of templates left out."""
    return str(standard_library.type_name(type_))
