"""Libraries for LD_PRELOAD from the user's cache, and what gdb needs of them in its environment."""

from __future__ import annotations

from pathlib import Path

from ..errors import TargetError
from ..symbols.cache import cache_directory, store
from ..target import preload, whole_state
from ..target.preload import PreloadLibrary


def compiled(library: PreloadLibrary) -> Path:
    """The library in the cache. It is compiled if it is not there; raises TargetError where it cannot be."""
    path = cache_directory() / library.file_name
    if path.exists():
        return path
    content = library.compile()
    try:
        return store(library.file_name, [content])
    except OSError as error:
        raise TargetError(f"{library.file_name} could not be written: {error}", library.without) from error


def for_gdb() -> dict[str, str]:
    """Variables for gdb's environment, so that gdb can restore all registers of a program after a call.

    Where the library for this is needed and cannot be made, the variables say why: gdb refuses calls that need it.
    """
    if not whole_state.needed():
        return {}
    library = whole_state.WHOLE_STATE
    try:
        return {preload.VARIABLE: library.preload(compiled(library), None)}
    except TargetError as error:
        return {whole_state.MISSING: f"{error.message}\n{error.hint}"}
