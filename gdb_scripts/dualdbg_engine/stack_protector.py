"""The code of ``-fstack-protector``, which comes behind a function's prologue, on the line where the function begins.

Ubuntu's GCC puts it into each function of which a variable has an address. Without it a breakpoint on the function, and
a step into it, would be on the line of the brace, as gdb has them: it takes the second line in the table of lines for
the end of the prologue (find_function_start_sal), which is this code.
"""

from __future__ import annotations

import re

import gdb

from .memory import read

# GCC's "stack_protect_set" (config/i386/i386.md): the word from the thread, its place in the frame, and the register
# cleared. With Clang the register is not cleared.
_X86 = re.compile(
    rb"\x64\x48\x8b\x04\x25\x28\0\0\0"  # mov %fs:0x28,%rax
    rb"\x48\x89(?:\x45.|\x85.{4}|\x44\x24.|\x84\x24.{4})"  # mov %rax,N(%rbp) or N(%rsp)
    rb"(?:\x31\xc0)?",  # xor %eax,%eax
    re.DOTALL,
)
# config/aarch64/aarch64.md: the address of __stack_chk_guard in two instructions, then as above. Mask, what is left.
_AARCH64 = (
    ((0x9F000000, 0x90000000),),  # adrp
    ((0xFFC00000, 0xF9400000), (0xFF800000, 0x91000000)),  # ldr from the table of offsets, or add
    ((0xFFFFFC00, 0xF9400000),),  # ldr x, [x]
    ((0xFFC003E0, 0xF90003E0), (0xFFC003E0, 0xF90003A0)),  # str x, [sp or x29, N]
    ((0xFFFFFFE0, 0xD2800000),),  # mov x, 0
)
_LONGEST = 32


def behind_guard(address: int) -> int:
    """Where the code that begins at ``address`` ends, if another line begins there; else ``address``."""
    try:
        data = read(address, _LONGEST)
    except gdb.error:
        return address
    after = address + _length(data)
    if after == address:
        return address
    before, position = gdb.find_pc_line(address), gdb.find_pc_line(after)
    begins = position.symtab is not None and position.pc == after and position.line != before.line
    return after if begins else address


def _length(data: bytes) -> int:
    found = _X86.match(data)
    if found is not None:
        return found.end()
    for number, kinds in enumerate(_AARCH64):
        word = int.from_bytes(data[4 * number : 4 * number + 4], "little")
        if not any(word & mask == rest for mask, rest in kinds):
            return 0
    return 4 * len(_AARCH64)
