"""What the C library has said of the reason before it ended the program: a failed assertion, a heap that is damaged."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import DualdbgError
from ...symbols.address_space import AddressSpace, Module
from ..linux.memory import Memory, ProcessMemory

_KEPT = "__abort_msg"  # glibc's assert/assert.c and sysdeps/posix/libc_fatal.c set it, for the core's reader
_TEXT = 4  # bytes behind its start: before the text is its size (struct abort_msg_s in include/stdlib.h)
_MOST = 1000  # bytes of text


def last_words(memory: Memory, modules: Iterable[Module]) -> str | None:
    """The text, without the end of its line; None where there is none, or where it cannot be read.

    It needs no names of the functions that led there: a C library without symbols has none of some.
    """
    for module in modules:
        if module.library is None or not module.is_named("libc.so.6"):
            continue
        try:
            for kept in module.library.find_data(_KEPT, exact=True):
                place = memory.u64(kept.address + module.bias)
                if place:
                    return memory.text(place + _TEXT, _MOST).strip() or None
        except DualdbgError:  # the page is not in the core, the file has been replaced: then it is not known
            continue
    return None


def last_words_of(pid: int) -> str | None:
    """Those of a process that stands still."""
    return last_words(ProcessMemory(pid), AddressSpace(pid).refresh())
