"""Machine code of Cython functions: of which line of the author's an instruction is, and where control comes to one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Container, Iterator, NamedTuple

import gdb
from dualdbg_shared.producers import is_optimized
from dualdbg_shared.toolchains.cython import CYTHON_SOURCES, is_cython_authors

from . import blocks, control_flow, function_locations
from .control_flow import reached
from .function_code import flows_of, following_in
from .source_lines import begins_statement_of
from .stack_protector import guard_in

# What drops a reference. Cython does that behind a loop and on the way to a handler, on the line that came before.
_DROPS = {"_Py_Dealloc", "_Py_DecRef", "Py_DECREF", "Py_XDECREF", "_Py_DECREF", "_Py_XDECREF", "Py_DecRef"}

_NEAR = 100  # instructions


class Place(NamedTuple):
    """The line of the author's to which an instruction belongs, and the instance of the function: start and end of its
    block, and its C name.
    """

    instance: "tuple[int, int, str]"
    file: str
    line: int


class Function(NamedTuple):
    """A function that was not inlined: where control goes from each instruction, and the line of each.

    ``entered``: the instructions at which control comes to a line from elsewhere, and runs it. ``whole``: the lines (of
    an instance) that are run there alone, as far as can be told. ``sure``: those of which that is certain: that call
    something wherever control comes to them, and all where nothing was optimised.
    """

    entry: int
    following: "dict[int, list[int]]"
    places: "dict[int, Place | None]"
    entered: "list[int]"
    whole: "set[Place]"
    sure: "set[Place]"
    is_plain: bool

    def is_sure_of(self, lines: "Container[tuple[str, int]]") -> bool:
        """Whether it is certain that these lines are run where :meth:`entries_of` has them and nowhere else."""
        of_lines = self._of(lines)
        return bool(of_lines) and of_lines <= self.sure

    def _of(self, lines: "Container[tuple[str, int]]") -> "set[Place]":
        """Where these lines are: in each instance of a function that has them."""
        return {at for at in self.places.values() if at is not None and (at.file, at.line) in lines}

    def entries_of(self, lines: "Container[tuple[str, int]]", begun: "Container[int]") -> "list[int]":
        """Where control comes to one of these lines (file and line): as few instructions as stop once each time.

        Statements of theirs have ``begun`` there, be it that the instruction is of another line.
        """
        of_lines = self._of(lines)
        if of_lines and of_lines <= self.whole:
            return fewest(
                self.following, self.entry, [one for one in self.entered if self.places[one] in of_lines]
            )
        inside = {
            address: at in of_lines or (at is not None and address in begun)
            for address, at in self.places.items()
        }
        return entered(self.following, self.entry, inside)


def entered(following: "dict[int, list[int]]", entry: int, inside: "dict[int, bool]") -> "list[int]":
    """The instructions ``inside`` to which control comes from others: as few as stop once each time."""
    visits = [entry] if inside.get(entry) else []
    for address in reached([entry], following.__getitem__):
        if not inside[address]:
            visits += [after for after in following[address] if inside[after] and after not in visits]
    return fewest(following, entry, visits)


def fewest(following: "dict[int, list[int]]", entry: int, visits: "list[int]") -> "list[int]":
    """The visits without those to which control comes through others alone, since the last time too."""
    kept: list[int] = []
    for visit in visits:
        if visit not in kept and visit in reached([entry, *following[visit]], following.__getitem__, kept):
            kept.append(visit)
    return sorted(kept)


@lru_cache(maxsize=64)
def function_at(entry: int, end: int) -> Function:
    """The function that is entered at ``entry``. Raises gdb.error where its code cannot be read."""
    code = flows_of(entry, end)
    following = following_in(code)
    line_of = Lines()
    prologue = {*range(entry, behind_prologue(entry, entry)), *guard_in(entry, code)}
    places: "dict[int, Place | None]" = {}
    for address in code:
        at = line_of(address) if address not in prologue else None
        places[address] = None
        if at is not None and at[0].endswith(CYTHON_SOURCES):
            places[address] = Place(instance_of(authors_around(address)[0]), *at)
    arrivals = {
        after
        for address in reached([entry], following.__getitem__)
        for after in following[address]
        if places[after] is not None and places[after] != places[address]
    }
    counting, whole, calling = _that_count(arrivals, places, following, code)
    table = gdb.find_pc_line(entry).symtab
    is_plain = table is not None and is_optimized(table.producer) is False
    sure = {place for place in places.values() if place is not None} if is_plain else calling
    return Function(entry, following, places, sorted(counting), whole, sure, is_plain)


def _that_count(
    arrivals: set[int],
    places: dict[int, Place | None],
    following: dict[int, list[int]],
    code: dict[int, control_flow.Flow],
) -> "tuple[list[int], set[Place], set[Place]]":
    """Those from which the line is run: something is called there, or a statement of the line begins. And the lines of
    which no other instruction seems to run them; those of which that is certain.

    Other instructions of a line have been moved among those of another one, or compute ahead what may not be needed.
    Where nothing is done but to drop references, it is the end of a loop or the way to a handler, and GCC's place of a
    label does nothing at all: these count only where the line has no other place.
    """
    statements = _Statements()
    counts: list[int] = []
    little: list[int] = []
    calling: set[Place] = set()
    open_: set[Place] = set()
    for address in arrivals:
        place = places[address]
        assert place is not None
        run = list(_run(address, places, following))
        called = {name for name in (code[one].calls for one in run) if name is not None}
        begins = any(one in statements.of(one, place) for one in run)
        is_idle = all(code[one].is_nop for one in run)
        if called - _DROPS:
            calling.add(place)
        if called - _DROPS or (begins and not called and not is_idle):
            counts.append(address)
        elif begins:
            little.append(address)
        else:
            open_.add(place)
    others = {places[address] for address in counts}
    counts += [address for address in little if places[address] not in others]
    run_there = {place for place in map(places.__getitem__, counts) if place is not None}
    return counts, calling | (run_there - open_), calling - open_


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


class Lines:
    """The line of the author's at which an instruction is, as file and line; None in Cython's own code.

    Of code of Cython's or Python's that was inlined it is the line that calls it.
    """

    def __init__(self) -> None:
        self._of_runs: dict[tuple[int, ...], tuple[str, int] | None] = {}

    def __call__(self, address: int) -> tuple[str, int] | None:
        """The line of the instruction at an address."""
        sal = gdb.find_pc_line(address)
        around = blocks.functions_around(address)
        run = sal.pc, *(edge for block in around for edge in (block.start, block.end))
        if run not in self._of_runs:
            self._of_runs[run] = line_in(address, None)
        return self._of_runs[run]


def line_in(address: int, name: str | None) -> tuple[str, int] | None:
    """The line at which an instruction is in the function of this C name, or in the innermost of the author's: of code
    that was inlined there the line that calls it. None in any other code.
    """
    inner: gdb.Block | None = None
    for block in blocks.functions_around(address):
        own = block.function.name.partition("(")[0]
        if own == name or (name is None and is_cython_authors(own)):
            if inner is not None:  # of an inlined function gdb has the place of the call
                return inner.function.symtab.fullname(), inner.function.line
            sal = gdb.find_pc_line(address)
            return (sal.symtab.fullname(), sal.line) if sal.symtab is not None else None
        inner = block
    return None


def line_of_cython(address: int, file: str | None, line: int | None) -> tuple[str | None, int | None]:
    """File and line of an address in the author's code of Cython.

    Where a statement begins it is that one's, though code that was inlined by a later line was moved there; where the
    address has a line of Python's headers, without a call that is known, the one to which control comes next.
    """
    position = gdb.find_pc_line(address)
    is_own = position.symtab is not None and position.symtab.filename.endswith(CYTHON_SOURCES)
    if is_own and begins_statement_of(address, position):
        return position.symtab.fullname(), position.line
    if file is None or not file.endswith(".h"):
        return file, line
    return _next_line(address) or (file, line)


def _next_line(address: int) -> tuple[str, int] | None:
    """The line of the author's to which control comes next, where no branch is taken; None where it is far away."""
    code = control_flow.Code()
    for _ in range(_NEAR):
        at = line_in(address, None)
        if at is not None and at[0].endswith(CYTHON_SOURCES):
            return at
        behind = code.following(address)
        if not behind:
            break
        address = behind[0]
    return None


def authors_around(address: int) -> list[gdb.Block]:
    """The blocks of the author's functions around an address, the innermost first."""
    return [one for one in blocks.functions_around(address) if is_cython_authors(one.function.name)]


def instance_of(block: gdb.Block) -> "tuple[int, int, str]":
    """Start and end of a function's block, and its C name."""
    return block.start, block.end, block.function.name.partition("(")[0]


def behind_prologue(address: int, start: int) -> int:
    """The address, or where the body of the function begins that is entered there (``start``)."""
    return function_locations.function_body(address).address if address == start else address


def _forget(event: Any) -> None:
    """Another file may be mapped at the addresses now."""
    function_at.cache_clear()


for _name in ("new_objfile", "free_objfile", "clear_objfiles"):
    if hasattr(gdb.events, _name):  # the second is gdb's from version 13 on
        getattr(gdb.events, _name).connect(_forget)
