"""Functions that GCC has split (-fpartial-inlining), and of which it has put a part back into the function itself.

Debug info has such a part as a call of the function, inlined, on the line that declares the function. It is no call of
the source.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

import gdb
from dualdbg_shared.binding_names import is_cython_authors

from .blocks import (
    caller_of,
    entry_of,
    inner_function,
    is_inlined,
    is_same,
    is_same_function,
    lines_of_function,
    outer_function,
)


class Instance(NamedTuple):
    """A function that was inlined, or one that was not: where its code begins, its block, and gdb's place for it."""

    address: int
    block: gdb.Block
    place: int


def without_parts(instances: "list[Instance]") -> "Iterator[Instance]":
    """The instances of a function without those that are parts.

    A part is passed behind the beginning of its function. Where that has left no code, it stands for the function.
    """
    for one in instances:
        around = caller_of(one.block)
        if around is None or not _is_part(one.block, around, instances):
            yield one
        elif entry_of(around) == one.address:
            yield one._replace(block=around)


def _is_part(block: gdb.Block, around: gdb.Block, instances: "list[Instance]") -> bool:
    """Whether the function of a block is a part of the one ``around`` it, and no recursion, which the source calls."""
    if not is_same_function(around, block):
        return False
    line, file = block.function.line, block.function.symtab.fullname()  # those of the call
    declared = {one.block.function.line for one in instances if not is_inlined(one.block)}
    if is_cython_authors(block.function.name):  # what ends a function is on its first line too
        return line in declared
    own = {at for one in instances if is_inlined(one.block) for at in _own_lines(one, file)}
    return line not in own and (line in declared if declared else line < min(own, default=0))


def _own_lines(instance: Instance, file: str) -> "set[int]":
    """The lines of a file in an inlined function, without those of what was inlined there."""
    outer = outer_function(instance.address)
    addresses = [instance.address, *(lines_of_function(outer) if outer is not None else ())]
    positions = [gdb.find_pc_line(one) for one in addresses if is_same(inner_function(one), instance.block)]
    own = [one for one in positions if one.symtab is not None and one.symtab.fullname() == file]
    return {one.line for one in own if one.line}
