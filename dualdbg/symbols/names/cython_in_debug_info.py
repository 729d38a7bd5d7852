"""The C names of an author's cdef functions in debug info: where all calls were inlined no symbol table has them."""

from __future__ import annotations

from ...known.cython_names import Part, cython_function
from ...shared.binding_names import CYTHON_CDEF, without_types
from ...shared.elf import ElfFile
from ..elf.debug_names import debug_strings


def c_functions_meant(elf: ElfFile, name: str) -> list[str]:
    """The C names of the cdef and cpdef functions that ``fastc.term`` means, in the debug info of ``elf``."""
    path = tuple(name.split("."))
    strings = debug_strings(elf)
    if strings is None or len(path) < 2 or not all(map(str.isidentifier, path)):
        return []
    found = set()
    for _, string in strings.holding(path[-1].encode()):
        text = string.decode("utf-8", "replace")
        function = cython_function(text) if without_types(text).startswith(CYTHON_CDEF) else None
        if function is not None and function.part is Part.C_FUNCTION and function.path[-len(path) :] == path:
            found.add(text)
    return sorted(found)
