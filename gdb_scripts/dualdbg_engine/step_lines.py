"""Where a step in a Cython function ends: where control comes to code of another line of the author's.

gdb's own step ends at rows of the line table that begin a statement. The optimiser leaves lines without any, or lets
control come to them behind it: such a step runs on to the caller.
"""

from __future__ import annotations

from typing import Sequence

from dualdbg_shared.requests.breakpoints import InsertStepLines
from dualdbg_shared.requests.code import FindOtherLines, Visit

from . import blocks, breakpoints
from .control_flow import reached
from .cython_lines import authors_around, function_at, instance_of
from .registry import answers


@answers(FindOtherLines)
def other_lines(pc: int) -> list[Visit]:
    """Where control comes to lines of the author's in the function around ``pc``, what was inlined there included.

    ``is_inner``: it was inlined into the function at ``pc``. Empty where no code of the author's is at ``pc``, or where
    it is not known to where control goes from there.
    """
    outer = blocks.outer_function(pc)
    around = [instance_of(block) for block in authors_around(pc)]
    if outer is None or not around:
        return []
    function = function_at(blocks.entry_of(outer), outer.end)
    if pc not in function.following:
        return []
    rows = []
    for address in function.entered:
        place = function.places[address]
        assert place is not None
        name = place.instance[2]
        inlined = blocks.function_named(name, address)
        rows.append(
            Visit(
                address,
                place.file,
                place.line,
                name,
                is_inlined=inlined is not None and blocks.is_inlined(inlined),
                is_inner=place.instance not in around,
            )
        )
    return rows


@answers(InsertStepLines)
def insert_step_lines(
    gdb_thread: int, pc: int, top: int, places: Sequence[tuple[int, str | None]]
) -> list[int]:
    outer = blocks.outer_function(pc)
    if outer is None:
        return []
    following = function_at(blocks.entry_of(outer), outer.end).following
    names = dict(places)
    met = reached(following[pc], lambda address: [] if address in names else following[address])
    return [
        breakpoints.function_point(address, names[address], gdb_thread, top)
        for address in sorted(met)
        if address in names
    ]
