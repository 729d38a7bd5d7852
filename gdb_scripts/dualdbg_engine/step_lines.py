"""Where a step in a Cython function ends: where control comes to code of another line of the author's.

gdb's own step ends at rows of the line table that begin a statement. The optimiser leaves lines without any, or lets
control come to them behind it: such a step runs on to the caller.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Iterator, NamedTuple

import gdb
from dualdbg_shared.binding_names import CYTHON_SOURCES, is_cython_authors

from . import blocks, breakpoints, control_flow, visits
from .control_flow import reached

# What drops a reference. Cython does that behind a loop and on the way to a handler, on the line that came before.
_DROPS = {"_Py_Dealloc", "_Py_DecRef", "Py_DECREF", "Py_XDECREF", "_Py_DECREF", "_Py_XDECREF", "Py_DecRef"}


class Place(NamedTuple):
    """The line of the author's to which an instruction belongs, and the instance of the function: start and end of its
    block, and its C name.
    """

    instance: "tuple[int, int, str]"
    file: str
    line: int


class Function(NamedTuple):
    """A function that was not inlined: where control goes from each instruction, and the line of each; ``entered``:
    the instructions at which control comes to a line from elsewhere.
    """

    following: "dict[int, list[int]]"
    places: "dict[int, Place | None]"
    entered: "list[int]"


def other_lines(pc: int) -> list[dict[str, Any]]:
    """Where control comes to lines of the author's in the function around ``pc``, what was inlined there included.

    Rows have ``address``, ``file``, ``line``, ``function``, the C name of the author's function, ``is_inlined``, and
    ``is_inner``: it was inlined into the function at ``pc``. Empty where no code of the author's is at ``pc``.
    """
    outer = blocks.outer_function(pc)
    around = [_instance(block) for block in _authors(pc)]
    if outer is None or not around:
        return []
    function = _function(blocks.entry_of(outer), outer.end)
    rows = []
    for address in function.entered:
        place = function.places[address]
        assert place is not None
        name = place.instance[2]
        inlined = blocks.function_named(name, address)
        rows.append(
            {
                "address": address,
                "file": place.file,
                "line": place.line,
                "function": name,
                "is_inlined": inlined is not None and blocks.is_inlined(inlined),
                "is_inner": place.instance not in around,
            }
        )
    return rows


def insert_step_lines(number: int, pc: int, top: int, places: list[list[Any]]) -> list[int]:
    """Set breakpoints for thread ``number``, which stands at ``pc``; returns gdb's numbers of them.

    ``places``: addresses of :func:`other_lines`, and the name of the function where it was inlined. It is set to those
    that control may come to before all others. They stop in the frame that ends at ``top``, its canonical address.
    """
    outer = blocks.outer_function(pc)
    if outer is None:
        return []
    following = _function(blocks.entry_of(outer), outer.end).following
    names = dict(places)
    met = reached(following.get(pc, []), lambda address: [] if address in names else following[address])
    return [
        breakpoints.insert_at_function(address, names[address], number, top)
        for address in sorted(met)
        if address in names
    ]


def _authors(address: int) -> list[gdb.Block]:
    """The blocks of the author's functions around an address, the innermost first."""
    return [one for one in blocks.functions_around(address) if is_cython_authors(one.function.name)]


def _instance(block: gdb.Block) -> "tuple[int, int, str]":
    return block.start, block.end, block.function.name.partition("(")[0]


@lru_cache(maxsize=64)
def _function(entry: int, end: int) -> Function:
    """The function that is entered at ``entry``. Raises gdb.error where its code cannot be read."""
    code = visits.flows_of(entry, end)
    following = visits.following_in(code)
    line_of = visits.Lines()
    prologue = range(entry, visits.behind_prologue(entry, entry))
    places: "dict[int, Place | None]" = {}
    for address in code:
        at = line_of(address) if address not in prologue else None
        places[address] = None
        if at is not None and at[0].endswith(CYTHON_SOURCES):
            places[address] = Place(_instance(_authors(address)[0]), *at)
    entered = {
        after
        for address in reached([entry], following.__getitem__)
        for after in following[address]
        if places[after] is not None and places[after] != places[address]
    }
    return Function(following, places, sorted(_that_count(entered, places, following, code)))


def _that_count(
    entered: set[int],
    places: dict[int, Place | None],
    following: dict[int, list[int]],
    code: dict[int, control_flow.Flow],
) -> list[int]:
    """Those from which the line is run: something is called there, or a statement of the line begins.

    Other instructions of a line have been moved among those of another one, or compute ahead what may not be needed.
    Where nothing is done but to drop references, it is the end of a loop or the way to a handler: that counts only
    where the line has no other place.
    """
    statements = _Statements()
    counts: list[int] = []
    drops: list[int] = []
    for address in entered:
        place = places[address]
        assert place is not None
        run = list(_run(address, places, following))
        called = {name for name in (code[one].calls for one in run) if name is not None}
        begins = any(one in statements.of(one, place) for one in run)
        if called - _DROPS or (begins and not called):
            counts.append(address)
        elif begins:
            drops.append(address)
    others = {places[address] for address in counts}
    return counts + [address for address in drops if places[address] not in others]


class _Statements:
    """Where statements of a line begin, by the line table of the unit around an address."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, int], set[int]] = {}

    def of(self, address: int, place: Place) -> set[int]:
        """The addresses at which statements of the place's line begin."""
        key = place.file, place.line
        if key not in self._of:
            table = gdb.find_pc_line(address).symtab
            if table is None or table.fullname() != place.file:
                return set()
            self._of[key] = {row.pc for row in table.linetable().line(place.line) or ()}
        return self._of[key]


def _run(
    address: int, places: "dict[int, Place | None]", following: "dict[int, list[int]]"
) -> "Iterator[int]":
    """The instructions to which control comes from one without leaving its line."""
    place = places[address]
    return reached([address], lambda one: [after for after in following[one] if places[after] == place])


def _forget(event: Any) -> None:
    """Another file may be mapped at the addresses now."""
    _function.cache_clear()


for _name in ("new_objfile", "free_objfile", "clear_objfiles"):
    if hasattr(gdb.events, _name):  # the second is gdb's from version 13 on
        getattr(gdb.events, _name).connect(_forget)
