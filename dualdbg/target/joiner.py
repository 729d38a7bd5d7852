"""What brings programs other than Python into the session: a small library for LD_PRELOAD."""

from __future__ import annotations

from pathlib import Path

from .preload import PreloadLibrary

ENVIRONMENT = "DUALDBG_JOIN"  # the name that join.c knows
JOINER = PreloadLibrary(
    Path(__file__).parent / "bootstrap" / "join.c",
    "programs other than Python join",
    "--follow python does without it",
)
