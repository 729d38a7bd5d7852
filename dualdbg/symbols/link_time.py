"""Whether calls of a function of the interpreter may be missed by a breakpoint on it, because they were inlined."""

from __future__ import annotations

from functools import lru_cache

from ..shared.libraries import holds_interpreter
from .objfile import Objfile

# What GCC's optimisation at link time, and LLVM's, put behind the name of a local symbol that other parts need too.
_PROMOTED = (b".lto_priv.", b".llvm.")


@lru_cache(maxsize=8)  # it looks through all names, and is asked for each place of a breakpoint
def inlined_calls(library: Objfile) -> str | None:
    """What to say of a function of this library, where it is the interpreter's; None where there is nothing to say."""
    if not holds_interpreter(library.path):
        return None
    full = [table for table in library.tables if table.is_full]
    if not full:
        how = "it is stripped, as one that was optimised at link time mostly is"
    elif any(next(table.strings.holding(mark), None) for table in full for mark in _PROMOTED):
        how = "it was optimised at link time"
    else:
        return None
    return f"calls of it within the interpreter may be inlined, and do not stop: {how}"
