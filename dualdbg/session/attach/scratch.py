"""A few bytes of a process's memory that nothing uses: the rest of a page behind what a file has for it.

The dynamic loader maps whole pages. What lies behind a library's last variable (its .bss) it clears, and nothing is
ever put there; the program itself and the loader are left out, for the heap may begin right behind the program, and
the loader allocates behind itself. Where no library has room, the rest of a page of code or of constants is taken, of
any file: it holds what follows in the file, which nothing reads there. A debugger may write to it (ptrace(2)), and the
page becomes the process's own. What was there is put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import TargetError, UnreadableMemory
from ...shared import page_size
from ...shared.libraries import is_loader
from ...snapshot.linux.memory import Memory
from ...symbols.address_space import Module

_PF_W = 2
_PAGE = page_size.of_this_machine()
_KEPT = 64  # bytes behind what the file has that we do not use either


def find_scratch(memory: Memory, modules: Sequence[Module], size: int) -> int:
    """The address of ``size`` bytes. Raises TargetError when no file of the process has room for them."""
    cleared = (
        end for module in modules[1:] if not is_loader(module.path) for end in _ends(module, writable=True)
    )
    behind_code = (end for module in modules for end in _ends(module, writable=False))
    for ends, zeros in ((cleared, True), (behind_code, False)):
        for end in ends:
            limit = -(-end // _PAGE) * _PAGE
            if limit - end < size + _KEPT:
                continue
            try:
                data = memory.read(end, limit - end)
            except UnreadableMemory:
                continue
            if not zeros or not any(data):
                return limit - size
    raise TargetError("no file of the process has room in memory for the text that is to be run")


def _ends(module: Module, writable: bool) -> Iterator[int]:
    """Where the parts of a mapped file end that are writable, or are not."""
    for segment in module.library.elf.loads() if module.library is not None else ():
        if bool(segment.flags & _PF_W) == writable:
            yield module.bias + segment.address + segment.memory_size
