"""Compiles what brings programs other than Python into the session: a small library for LD_PRELOAD."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..errors import TargetError

SOURCE = Path(__file__).parent / "bootstrap" / "join.c"
ENVIRONMENT = "DUALDBG_JOIN"  # the name that join.c knows
PRELOAD = "LD_PRELOAD"
_COMPILERS = ("cc", "gcc", "clang", "g++")
_DEADLINE = 60.0  # seconds; it takes a tenth of one
_WITHOUT = "--follow python does without it"


def file_name() -> str:
    """What the library is kept as: another one for another source or machine."""
    key = hashlib.sha256(SOURCE.read_bytes() + platform.machine().encode()).hexdigest()[:16]
    return f"join-{key}.so"


def compile_joiner() -> bytes:
    """The library. Raises TargetError where there is no C compiler that makes it."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise TargetError(
            "programs other than Python join by a small library, and there is no C compiler to make it",
            "apt-get install gcc, or --follow python",
        )
    with tempfile.TemporaryDirectory(prefix="dualdbg-") as folder:
        library = Path(folder) / "join.so"
        command = [compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_DEADLINE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TargetError(f"{compiler} could not compile {SOURCE.name}: {error}", _WITHOUT) from error
        if done.returncode:
            why = done.stderr.strip() or f"status {done.returncode}"
            raise TargetError(f"{compiler} could not compile {SOURCE.name}: {why}", _WITHOUT)
        return library.read_bytes()


def preload(library: Path, before: str | None) -> str:
    """The value of LD_PRELOAD that has ``library`` behind what the user has there.

    Raises TargetError for a path that cannot stand in it: ld.so(8) takes spaces and colons for the end of one.
    """
    if set(" :") & set(str(library)):
        raise TargetError(
            f"programs other than Python join by LD_PRELOAD, which cannot name {library}",
            "XDG_CACHE_HOME names another folder, without spaces and colons",
        )
    return f"{before}:{library}" if before else str(library)
