"""Which line of the source an instruction is shown with, and where statements begin."""

from __future__ import annotations

from itertools import pairwise

import gdb
from dualdbg_shared.libraries import is_system_source

from .blocks import (
    entry_of,
    functions_around,
    functions_before,
    inner_function,
    is_in,
    is_inlined,
    is_same,
    outer_function,
    shown_function,
)

# GCC's name of a file, in code that was optimised while linking; gdb 12 has <artificial>@0x0.
_NO_FILE = "<artificial>"
_THROW = "__cxa_throw"
_MOST_RUNS = 32  # of instructions of one line, at which a line of the source is looked for


def source_of(address: int, block: gdb.Block | None) -> tuple[str | None, int | None]:
    """File and line of an address as the function of ``block`` has them.

    Of what was inlined there it is the line of the call. At its entry the function may begin with an instruction of a
    header, without a call that is known: then it is the line of the function itself.
    """
    position = gdb.find_pc_line(address)
    file = position.symtab.fullname() if position.symtab is not None else None
    line = position.line or None
    if block is None or block.function is None:
        return file, line
    inner = None
    for one in functions_around(address):
        if is_same(one, block):
            break
        inner = one
    if inner is not None and inner.function.line:
        return inner.function.symtab.fullname(), inner.function.line
    if is_inlined(block):
        return file, line  # of an inlined function gdb has the line of the call, not its own
    return line_at_entry(address, block.function, file, line)


def line_at_entry(
    address: int, function: gdb.Symbol, file: str | None, line: int | None
) -> tuple[str | None, int | None]:
    """File and line of an address in a function that was not inlined.

    The first instruction of optimised code may be one of a header, or of a function above that was inlined, without a
    call that is known. At the entry it is the line of the function itself, unless that is the C++ library's and begins
    with code of the user's. Behind a call, where code of the C++ library begins in the same way, it is the line of the
    call, or of the call of what was inlined and made it.
    """
    block = outer_function(address)
    own = function.symtab.fullname()
    if _NO_FILE in own:
        own = _file_of(block) or own
    if file is None or (file == own and (line or 0) >= function.line):
        return file, line
    is_whole = _NO_FILE not in own
    if block is not None and entry_of(block) == address:
        if is_system_source(own) and not is_system_source(file):
            return file, line
        return (own, function.line) if function.line and is_whole else (file, line)
    before = gdb.find_pc_line(address - 1) if is_system_source(file) else None
    if before is not None and before.symtab is not None and before.line:
        name = before.symtab.fullname()
        if name == own or not (is_whole or is_system_source(name)):
            return name, before.line
        calls = _call_before(address, block)
        if calls is not None and not is_system_source(calls[0]):
            return calls
    return file, line


def line_of_throw(
    call: int, function: gdb.Symbol, file: str | None, line: int | None
) -> tuple[str | None, int | None]:
    """File and line of a call by the innermost function there: of one of ``__cxa_throw`` in the file of that function.

    ``call`` is the last byte of the call.

    The optimiser gives it the line of what was inlined and is done before (a count of references is given back),
    without a call that is known. Then it is the line of the code in front of the call: the function's own, or the one
    that calls what was inlined there.
    """
    block, own = shown_function(call), function.symtab.fullname()
    position = gdb.find_pc_line(call)
    if file == own or _NO_FILE in own or block is None or _THROW not in _text(call):
        return file, line
    for _ in range(_MOST_RUNS):
        if position.symtab is None or not is_in(position.pc, block) or not _is_straight(position.pc, call):
            break
        blocks = [*functions_around(position.pc)]
        if is_same(blocks[0], block) and position.symtab.fullname() == own:
            return own, position.line
        for inner, around in pairwise(blocks):
            if is_same(around, block) and inner.function.line and inner.function.symtab.fullname() == own:
                return own, inner.function.line
        position = gdb.find_pc_line(position.pc - 1)
    return file, line


def _text(within: int) -> str:
    """The text of the last instruction that a row of the line table has up to an address within it."""
    rows = gdb.selected_inferior().architecture().disassemble(gdb.find_pc_line(within).pc, within)
    return str(rows[-1]["asm"])


def _is_straight(start: int, end: int) -> bool:
    """Whether control that comes to ``start`` comes to the instruction around ``end``, as far as jumps tell."""
    rows = gdb.selected_inferior().architecture().disassemble(start, end)[:-1]
    return not any(row["asm"].startswith(("jmp", "ret", "b ")) or _THROW in row["asm"] for row in rows)


def _call_before(address: int, block: gdb.Block | None) -> tuple[str, int] | None:
    """File and line at which a function calls what was inlined in front of an address; None where nothing was."""
    inner = None
    for one in functions_before(address):
        if block is not None and is_same(one, block):
            return (inner.function.symtab.fullname(), inner.function.line) if inner is not None else None
        inner = one
    return None


def _file_of(block: gdb.Block | None) -> str | None:
    """The file of a function that was optimised while it was linked: that of the first line which is its own, and no
    header's.
    """
    address = entry_of(block) if block is not None else 0
    for _ in range(_MOST_RUNS):
        position = gdb.find_pc_line(address)
        inner = inner_function(address)
        if block is None or inner is None or position.symtab is None or position.last is None:
            break
        name: str = position.symtab.fullname()
        if is_same(inner, block) and not is_system_source(name):
            return name
        address = position.last + 1
    return None


def is_moved(address: int, block: gdb.Block) -> bool:
    """Whether control comes here to a part of an inlined function that the compiler has moved among the code around.

    No statement of the function begins in that part, but some do elsewhere. The line table says where a statement
    begins; its other rows say of which line an instruction is.
    """
    position = gdb.find_pc_line(address)
    if position.symtab is None or any(is_same(one, block) for one in functions_before(address)):
        return False
    table, at = position.symtab.linetable(), address
    while is_in(at, block):
        position = gdb.find_pc_line(at)
        if position.symtab is None or position.last is None or begins_statement_of(at, position):
            return False
        at = position.last + 1
    return has_statements(table, block)


def has_statements(table: gdb.LineTable, block: gdb.Block) -> bool:
    """Whether a statement begins in the function of a block, by the line table of its file."""
    near = {row.line for row in table if block.start <= row.pc < block.end}
    return any(is_in(row.pc, block) for line in near for row in table.line(line) or ())


def begins_statement(address: int) -> bool:
    """Whether a statement begins at an address, of whatever line of the file that the address has."""
    table = gdb.find_pc_line(address).symtab
    lines = {row.line for row in table.linetable() if row.pc == address} if table is not None else set()
    return any(row.pc == address for line in lines for row in table.linetable().line(line) or ())


def begins_statement_of(address: int, position: gdb.Symtab_and_line) -> bool:
    """Whether a statement of the line of ``position`` begins at an address."""
    return any(row.pc == address for row in position.symtab.linetable().line(position.line) or ())
