"""Compiles what brings programs other than Python into the session: a small library for LD_PRELOAD, in the cache."""

from __future__ import annotations

import hashlib
import os
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


def joiner(cache: Path) -> Path:
    """The library, compiled now unless ``cache`` has it. Raises TargetError where there is no C compiler."""
    key = hashlib.sha256(SOURCE.read_bytes() + platform.machine().encode()).hexdigest()[:16]
    library = cache / f"join-{key}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _compile(library)
    return library


def _compile(library: Path) -> None:
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise TargetError(
            "programs other than Python join by a small library, and there is no C compiler to make it",
            "apt-get install gcc, or --follow python",
        )
    descriptor, name = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        done = subprocess.run(
            [compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-o", part, SOURCE],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DEADLINE,
        )
        if done.returncode:
            raise TargetError(
                f"{compiler} could not compile {SOURCE.name}: {done.stderr.strip() or done.returncode}",
                "--follow python does without it",
            )
        part.chmod(0o755)
        part.replace(library)
    finally:
        part.unlink(missing_ok=True)


def preload(library: Path, before: str | None) -> str:
    """The value of LD_PRELOAD that has ``library`` behind what the user has there."""
    return f"{before}:{library}" if before else str(library)
