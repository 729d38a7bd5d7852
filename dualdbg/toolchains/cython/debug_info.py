"""The C names of an author's Cython functions in debug info: where all calls were inlined no symbol table has them."""

from __future__ import annotations

from ...shared.elf import ElfFile
from ...shared.toolchains.cython import CYTHON_CDEF, CYTHON_DEF, CYTHON_WRAPPER, without_types
from ...symbols.elf.debug_names import debug_strings
from .names import Part, cython_function, is_named

_PREFIXES = (CYTHON_CDEF, CYTHON_DEF, CYTHON_WRAPPER)
_PARTS = (Part.C_FUNCTION, Part.BODY, Part.WRAPPER)


def c_functions_meant(elf: ElfFile, path: tuple[str, ...]) -> list[str]:
    """The C names of the functions that ``path`` means, in the debug info of ``elf``: of each the part with its lines.

    The slots of a class may have a copy of its special methods.
    """
    strings = debug_strings(elf)
    if strings is None or not all(map(str.isidentifier, path)):
        return []

    def exists(name: str) -> bool:
        return next(strings.exact(name.encode()), None) is not None

    found: dict[tuple[str, ...], dict[Part, set[str]]] = {}
    for _, string in strings.holding(path[-1].encode()):
        text = string.decode("utf-8", "replace")
        function = cython_function(text, exists) if without_types(text).startswith(_PREFIXES) else None
        if function is not None and is_named(function, path):
            found.setdefault(function.path, {}).setdefault(function.part, set()).add(text)
    best = (next((parts[one] for one in _PARTS if one in parts), set()) for parts in found.values())
    return sorted(name for names in best for name in names)
