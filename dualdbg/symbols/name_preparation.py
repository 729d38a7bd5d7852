"""Makes the indexes of names of big libraries in a process of its own, which gives way to everything else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress

from ..errors import SymbolError, TargetError
from ..system.environment import for_questions, own_module
from ..system.in_thread import run
from ..system.patience import patient
from . import cache
from .objfile import Objfile

_SECONDS = patient(600.0)
_LOWEST = 19  # priority, as of nice(1)


def prepare(libraries: Iterable[Objfile]) -> None:
    """Make the indexes that are wanted and that nobody has made; it takes seconds. Nothing where the cache is not kept.

    What cannot be made is done without: names are searched for then.
    """
    if not cache.is_kept():
        return
    paths = [library.path for library in libraries if _lacks(library)]
    if not paths:
        return
    with suppress(OSError, subprocess.TimeoutExpired, TargetError):
        run(
            [*own_module(__name__), *paths],
            env=for_questions(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
        )


def _lacks(library: Objfile) -> bool:
    # A library that was replaced since it was loaded tells nothing.
    with suppress(SymbolError):
        return library.lacks_name_index()
    return False


def main() -> None:
    """The process: its arguments are paths of libraries."""
    os.nice(_LOWEST)
    for path in sys.argv[1:]:
        library = Objfile.open(path)
        if library.lacks_name_index():  # else another session has made it meanwhile
            library.keep_name_index()


if __name__ == "__main__":
    main()
