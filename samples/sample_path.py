"""Makes the native sample modules importable, compiling them the first time."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "native"))


def add_native_modules() -> None:
    """Puts the folder of ``sample_capi``, ``sample_pybind`` and ``sample_locks`` on ``sys.path``."""
    if importlib.util.find_spec("sample_capi") is not None:
        return  # PYTHONPATH names a build already
    import build

    try:
        sys.path.insert(0, str(build.build()))
    except build.BuildError as error:
        sys.exit(f"the native samples cannot be compiled: {error}")
