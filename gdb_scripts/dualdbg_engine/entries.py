"""Whether a frame is still at the entry of its function, where nothing but a prologue has run."""

from __future__ import annotations

import gdb
from dualdbg_helpers import abi


def at_entry(frame: gdb.Frame, entry: int) -> bool:
    """Whether the arguments are where the caller has put them: nothing but a prologue has run."""
    machine = machine_of(frame)
    if machine is None:
        return False
    offset = frame.pc() - entry
    if not 0 <= offset <= abi.MAX_PROLOGUE:
        return False
    code = gdb.selected_inferior().read_memory(entry, offset).tobytes() if offset else b""
    return bool(abi.arguments_intact(machine, code))


def machine_of(frame: gdb.Frame) -> "str | None":
    """What :mod:`abi` calls the machine of a frame; None for one that it does not know."""
    name: "str | None" = abi.architecture(frame.architecture().name())
    return name
