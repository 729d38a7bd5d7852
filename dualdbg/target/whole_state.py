"""The library that lets a gdb before 14 write vector registers on processors with AMX; see docs/facts.md."""

from __future__ import annotations

from pathlib import Path

from .preload import PreloadLibrary

WHOLE_STATE = PreloadLibrary(
    Path(__file__).parent / "whole_state.c",
    "gdb before 14 writes vector registers on this processor",
    "a gdb 14 or later, named with --gdb PATH",
)
MISSING = "DUALDBG_WHOLE_STATE_MISSING"  # tells dualdbg_engine/registers.py in gdb why the library is missing
FIXED = 14  # the first gdb that does not need it: it asks the processor for the size of its state
_FLAG = "amx_tile"


def needed() -> bool:
    """Whether the state of this processor's registers is larger than gdb 12 and 13 provide for.

    The kernel shows the flag only when it keeps the tiles of AMX in the state (arch/x86/kernel/fpu/xstate.c,
    ``xsave_cpuid_features``).
    """
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "")
    return _FLAG in flags.split()
