"""Whether a line of optimised code is run where a breakpoint on it stops and nowhere else."""

from __future__ import annotations

import gdb
from dualdbg_shared.producers import is_optimized

from .blocks import entry_of, outer_function
from .control_flow import reached
from .function_code import Code, Instance, Line, code_of
from .instance_entries import Ways

_MOST_FUNCTIONS = 100  # that have the line, at some milliseconds each
_NEAR = 12  # instructions between the place of a line and the first one that is its own


def is_certain(table: gdb.Symtab, line: int, places: "set[int]") -> bool:
    """Whether each time that control comes to a line of this file it passes one of the places, as far as code and
    marks of statements tell. Where that is too much to look at it is not certain.

    An optimiser mixes the line with others in one of the instances of its function, or copies it when it unrolls a
    loop.
    """
    if is_optimized(table.producer) is False:
        return True
    functions: "dict[int, gdb.Block]" = {}
    for row in table.linetable():
        block = outer_function(row.pc) if row.line == line else None
        if block is not None:
            functions[entry_of(block)] = block
    if len(functions) > _MOST_FUNCTIONS:
        return False
    at = table.fullname(), line
    found = (code_of(one) for one in functions.values())
    return all(code is not None and _is_certain_in(code, at, places) for code in found)


def _is_certain_in(code: Code, line: Line, places: "set[int]") -> bool:
    instances: "dict[Instance, set[int]]" = {}
    begin = code.begin[:1]  # handlers of exceptions end what they interrupt, on its lines
    for at in reached(begin, code.following.__getitem__):
        for instance, of_instance in code.frames[at].items():
            if of_instance == line:
                instances.setdefault(instance, set()).add(at)
    inside = places.intersection(code.following)
    for instance, own in instances.items():
        here = {one for one in inside if instance in code.frames[one] or _leads_to(code, one, own)}
        calls, _ = Ways.of(code, own).calls({line})
        missed: "set[int]" = set(reached(begin, code.following.__getitem__, here))
        if not here or not missed.isdisjoint(calls - here):
            return False
        if any(
            one in set(reached(code.following[one], code.following.__getitem__, here)) for one in calls - here
        ):
            return False
    return True


def _leads_to(code: Code, at: int, own: "set[int]") -> bool:
    """Whether an instruction is of a line, or the next one is of which the compiler has moved others in front."""
    for _ in range(_NEAR):
        after = code.following[at]
        if at in own or len(after) != 1:
            break
        at = after[0]
    return at in own
