"""Thread-local variables of a process with glibc, without libthread_db, however the code reaches them.

The loader has a list with the libraries that have such variables, by number. Each thread has a vector with its block of
each number (ELF Handling For Thread-Local Storage, 3.4.6), unless the library has a fixed place beside the threads'
pointers. A thread brings its vector up to date when it next looks itself: until then an entry may be that of a library
which was closed since, and whose number another one has. Both have a generation, which tells (glibc,
nptl_db/td_thr_tlsbase.c). Where the loader has its list is said by words in the C library that are there for debuggers.
"""

from dualdbg_shared.libraries import is_loader

from . import abi
from .errors import Unreadable
from .inferior import MASK, register

# No offset lies above: -1 stands for a library without a fixed place. 0 is no offset either.
_FIXED = 1 << 47
_MOST_MODULES, _MOST_LISTS = 1 << 16, 1 << 10
_UNTOUCHED = (0, MASK)  # zero where the vector has not been brought up to date since it was made
# Of a field: its bits, how many it has, where it lies. In these of the C library (nptl_db/structs.def).
_LIST_IN_LOADER = "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list"
_OFFSET_IN_LIBRARY = "_thread_db_link_map_l_tls_offset"


def address_of(target, frame, symbol, library):
    """The address of a thread-local variable in the thread of ``frame``; None where it is not known, or the thread has
    none yet."""
    arch = abi.architecture(frame.architecture().name())
    found = target.mappings.library_named(library)
    offset = found.elf.thread_local(symbol) if arch is not None and found and found.elf else None
    if offset is None:
        return None
    try:
        block = _block(target, frame, arch, found.base)
    except Unreadable:
        return None
    return None if block is None else block + offset


def _block(target, frame, arch, base):
    """Where the thread's variables of the library begin that is loaded at ``base``."""
    memory, offset = target.memory, _field(target, _OFFSET_IN_LIBRARY)
    number, generation, library = next(
        (one for one in _libraries(target) if one[2] and memory.u64(one[2]) == base), (0, 0, 0)
    )
    if not number or offset is None:
        return None
    pointer = register(frame, "fs_base" if arch == abi.X86_64 else "tpidr")
    fixed = memory.u64(library + offset)
    if 0 < fixed < _FIXED:
        return pointer - fixed if arch == abi.X86_64 else pointer + fixed
    vector = memory.pointer(pointer + (8 if arch == abi.X86_64 else 0))
    if number > memory.u64(vector - 16) or memory.u64(vector) < generation:  # its length lies before it
        return None
    block = memory.pointer(vector + 16 * number)
    return None if block in _UNTOUCHED else block


def _libraries(target):
    """Number, generation and link_map of each library with such variables; a number that is free has no link_map."""
    loader = next((one for one in target.mappings.libraries if is_loader(one.path)), None)
    if loader is None or loader.elf is None:
        return
    start, field = loader.elf.find_symbol("_rtld_global"), _field(target, _LIST_IN_LOADER)
    if start is None or field is None:
        return
    memory, number = target.memory, 0
    at = memory.pointer(loader.base + start + field)
    for _ in range(_MOST_LISTS):
        if not at or number > _MOST_MODULES:
            return
        length, following = memory.words(at, 2)
        words = memory.words(at + 16, 2 * min(length, _MOST_MODULES))
        for generation, library in zip(words[::2], words[1::2]):
            yield number, generation, library
            number += 1
        at = following


def _field(target, name):
    """Where a field lies in its structure; None where the C library does not say so."""
    place = target.mappings.address_of(name, "libc.so", "libc-", "libpthread")
    return None if place is None else target.memory.u32(place + 8)
