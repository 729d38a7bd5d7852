"""The functions around an address, inlined ones too, as blocks of debug info."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Iterator

import gdb
from dualdbg_shared.console_text import plain


def entry_of(block: gdb.Block) -> int:
    """Where the function of a block is entered: it may have parts at lower addresses, which are seldom run."""
    return int(block.function.value().address)


def outer_function(address: int) -> gdb.Block | None:
    """The block of the function that was not inlined around an address."""
    found = None
    for block in functions_around(address):
        found = block
    return found


def functions_around(address: int) -> Iterator[gdb.Block]:
    """The blocks of the functions around an address, the innermost inlined one first."""
    return _functions(block_at(address))


def functions_shown(address: int) -> Iterator[gdb.Block]:
    """The blocks of the functions of which gdb shows frames where a thread stands at an address."""
    return _functions(gdb.block_for_pc(address))


def shown_function(address: int) -> gdb.Block | None:
    """The block of the innermost function of which gdb has a frame at an address."""
    return next(functions_shown(address), None)


def functions_entered(address: int) -> Iterator[gdb.Block]:
    """The blocks of the functions that gdb 18 has at an address for their entry alone, and of those around it."""
    yield from functions_shown(address)
    yield from functions_around(address)


def functions_before(address: int) -> Iterator[gdb.Block]:
    """The blocks of the functions around the instruction that ends at an address, the innermost inlined one first."""
    return functions_shown(address - 1)


def block_at(address: int) -> gdb.Block | None:
    """The innermost block around the instruction that begins at an address.

    An inlined function may have no code at all. gdb 18 gives its block the first byte of the instruction that is at its
    entry, whosever that is; the other bytes are still its owner's.
    """
    block, behind = gdb.block_for_pc(address), gdb.block_for_pc(address + 1)
    if block is None or behind is None or (block.start, block.end) == (behind.start, behind.end):
        return block
    try:
        (row,) = gdb.selected_inferior().architecture().disassemble(address)
    except gdb.error:  # memory that cannot be read
        return block
    return behind if row["length"] > 1 else block


def inner_function(address: int) -> gdb.Block | None:
    """The block of the innermost function around an address."""
    return next(functions_around(address), None)


def inlined_at(address: int) -> gdb.Block | None:
    """The outermost inlined function that begins at an address."""
    blocks = list(functions_shown(address))
    before = [(one.start, one.end) for one in functions_before(address)]
    found = None
    for block in blocks[:-1]:
        if entry_of(block) != address and (block.start, block.end) in before:
            break
        found = block
    return found


def is_inlined(block: gdb.Block) -> bool:
    """Whether the function of a block was inlined into another there."""
    return caller_of(block) is not None


def caller_of(block: gdb.Block) -> gdb.Block | None:
    """The function into which that of a block was inlined; None for one that was not.

    gdb puts a function that is declared within another (that of a lambda, a contained one of Fortran) into the blocks
    of that one, also where that was inlined somewhere else.
    """
    outer = block.superblock
    while outer is not None and outer.function is None:
        outer = outer.superblock
    if outer is None or not (outer.start <= block.start and block.end <= outer.end):
        return None
    return None if _has_symbol(entry_of(block), block.function.linkage_name) else outer


def _functions(block: gdb.Block | None) -> Iterator[gdb.Block]:
    """The functions around a block, inlined ones first."""
    while block is not None and block.function is None:
        block = block.superblock
    while block is not None:
        yield block
        block = caller_of(block)


def is_same(one: gdb.Block | None, other: gdb.Block) -> bool:
    """Whether these are the same block. One inside of another with the same addresses is of another function."""
    return one is not None and (one.start, one.end, one.function.name) == (
        other.start,
        other.end,
        other.function.name,
    )


def is_same_function(one: gdb.Block, other: gdb.Block) -> bool:
    """Whether these are of one function. Of C++ without a linkage name gdb has parameters in some of its names."""
    names = one.function.linkage_name, other.function.linkage_name
    return names[0] == names[1] or (
        "(" in "".join(names) and _identifiers(names[0]) == _identifiers(names[1])
    )


def is_in(address: int, block: gdb.Block) -> bool:
    """Whether an instruction belongs to the function of a block, or to one that was inlined into it."""
    return any(is_same(around, block) for around in functions_around(address))


def lines_of_function(outer: gdb.Block) -> Iterator[int]:
    """The addresses at which lines begin in a function, from its entry on. What lies before is seldom run."""
    address = entry_of(outer)
    while address < outer.end:
        yield address
        last = gdb.find_pc_line(address).last
        if last is None or last < address:
            return
        yield from reversed(list(_begin_behind(address, last)))
        address = last + 1


def _begin_behind(address: int, last: int) -> Iterator[int]:
    """Where lines begin behind an address, the last one first: gdb 18 takes what follows of the line of a statement to
    it, though code of another file, which may be inlined, lies between.
    """
    while (begins := gdb.find_pc_line(last).pc) > address:
        yield begins
        last = begins - 1


def inlined_in(outer: gdb.Block, name: str) -> Iterator[tuple[int, gdb.Block]]:
    """Where functions of this name were inlined into a function: the entry of each, and its block."""
    found: dict[tuple[int, int, int], tuple[int, gdb.Block]] = {}
    for address in lines_of_function(outer):
        for block in functions_around(address):
            if is_inlined(block) and _may_be(block.function.name, name):
                found.setdefault((block.start, block.end, entry_of(block)), (address, block))
    for address, block in found.values():
        begins = entry_of(block)
        yield (begins if any(is_same(one, block) for one in functions_entered(begins)) else address), block


def function_named(name: str, address: int) -> gdb.Block | None:
    """The innermost function around an address that has this name; else, the innermost that ends as the name does."""
    ends_so = None
    for block in functions_entered(address):
        if _may_be(block.function.name, name):
            return block
        if ends_so is None and _identifiers(block.function.name)[-1:] == _identifiers(name)[-1:]:
            ends_so = block
    return ends_so


def _may_be(function: str, name: str) -> bool:
    """Whether a function is the one of a name: either may leave out scopes, but has no other ones.

    ``std::vector::size`` is not ``Stack::size``, into which it may have been inlined. Rust's methods have the number of
    their ``impl`` for a scope, which says nothing.
    """
    longer, shorter = sorted((_identifiers(function), _identifiers(name)), key=len, reverse=True)
    if longer[-1:] != shorter[-1:]:
        return False
    scopes = iter(longer)
    return "{impl#" in function or all(one in scopes for one in shorter)


@lru_cache(maxsize=4096)
def _identifiers(name: str) -> tuple[str, ...]:
    """``ns``, ``S`` and ``f`` of ``ns::S<int>::f<long>(int) const``; ``operator()`` and other operators as they are."""
    operator = re.search(r"\boperator\s*(?:\(\)|[^\w\s(]+|\w.*?)(?=\(|$)", name)
    if operator:
        return (*_identifiers(name[: operator.start()]), operator.group().replace(" ", ""))
    depth, kept = 0, ""
    for character in name:
        if character in "<([":
            if character == "(" and depth == 0 and kept and not kept.endswith("::"):
                break
            depth += 1
        elif character in ">)]":
            depth -= 1
        elif depth == 0:
            kept += character
    return tuple(one.strip() for one in kept.split("::") if one.strip())


def symbol_at(address: int) -> tuple[int, str]:
    """Where the function around an address begins by the symbol table, and its name."""
    text = plain(gdb.execute("info symbol %#x" % address, to_string=True)).partition(" in section ")[0]
    name, _, distance = text.rpartition(" + ")
    return (address - int(distance), name) if name else (address, text)


@lru_cache(
    maxsize=1 << 16
)  # a function may have ten thousand inlined ones, which are gone through again and again
def _has_symbol(address: int, linkage: str) -> bool:
    """Whether the function of this linkage name, or a part of it that a compiler has made, begins at an address."""
    text = plain(gdb.execute("with print demangle off -- info symbol %#x" % address, to_string=True))
    found = text.partition(" in section ")[0]
    return bool(found == linkage or found.startswith(linkage + "."))


def _forget_symbols(event: Any) -> None:
    """Another file may be mapped at the addresses now."""
    _has_symbol.cache_clear()


for _name in ("new_objfile", "free_objfile", "clear_objfiles"):
    if hasattr(gdb.events, _name):  # the second is gdb's from version 13 on
        getattr(gdb.events, _name).connect(_forget_symbols)
