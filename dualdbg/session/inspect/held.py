"""A target that gdb holds, as a snapshot takes it: the registers from gdb, the rest of it through the kernel."""

from __future__ import annotations

import os

from ...backends.native import AskingGdb
from ...shared.requests.threads import ListThreads, ReadRegisters
from ...snapshot.capture import Held
from ...snapshot.linux.registers import AARCH64, X86_64, debugger_names, from_debugger
from ...symbols.address_space import AddressSpace


async def held_by_gdb(native: AskingGdb, image: AddressSpace) -> Held:
    """The registers of all threads, read afresh. Raises what the engine raises where gdb lets the target run."""
    architecture = AARCH64 if os.uname().machine == "aarch64" else X86_64
    names = debugger_names(architecture)
    threads = await native.ask(ListThreads())
    registers = {
        tid: from_debugger(architecture, await native.ask(ReadRegisters(number, names)))
        for number, tid in threads.items()
    }
    return Held(registers, image.memory_file)
