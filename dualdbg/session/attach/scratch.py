"""A few bytes of a process's memory that nothing uses: the rest of a page behind a library's last variable.

The dynamic loader maps whole pages, and clears what lies behind a library's data (its .bss). Nothing is ever put
there. The program itself and the loader are left out: the heap may begin right behind the program, and the loader
allocates behind itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath

from ...errors import TargetError, UnreadableMemory
from ...snapshot.linux.memory import Memory
from ...symbols.address_space import Module

_PF_W = 2
_KEPT = 64  # bytes behind the last variable that we do not use either


def find_scratch(memory: Memory, modules: Sequence[Module], size: int) -> int:
    """The address of ``size`` zero bytes. Raises TargetError when no library has room for them."""
    page = os.sysconf("SC_PAGE_SIZE")
    for module in modules[1:]:
        if module.library is None or PurePath(module.path).name.startswith(("ld-", "ld.")):
            continue
        for segment in module.library.elf.loads():
            if not segment.flags & _PF_W:
                continue
            end = module.bias + segment.address + segment.memory_size
            limit = -(-end // page) * page
            if limit - end < size + _KEPT:
                continue
            try:
                if not any(memory.read(end, limit - end)):
                    return limit - size
            except UnreadableMemory:
                continue
    raise TargetError("no library of the process has room for the text that is to be run")
