"""Watchpoints in the registers of the processor: on memory, and on the values of expressions."""

from __future__ import annotations

import itertools
import re
from functools import partial

import gdb
from dualdbg_helpers import expressions, language
from dualdbg_shared.requests.breakpoints import InsertWatchpoint, WatchExpression

from .calls import NoCalls
from .deletions import when_gone
from .registry import answers
from .threads import find_frame

# By their bytes, LP64.
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
_ACCESS = {"write": gdb.WP_WRITE, "read": gdb.WP_READ, "readWrite": gdb.WP_ACCESS}
_LOCATION = "-location "
_NAME = re.compile(r"[\s(*&:]*([A-Za-z_][\w:]*)")
_variables: "dict[gdb.Breakpoint, int]" = {}  # the numbers of gdb's variables that have what is watched


@answers(InsertWatchpoint)
def insert_watchpoint(address: int, size: int, access: str) -> int:
    word = _WORDS.get(size)
    with language.ours():
        type_ = language.find_type(word) if word else language.find_type("unsigned char").array(size - 1)
        return int(_watch_memory(gdb.Value(address).cast(type_.pointer()), access).number)


def _watch_memory(pointer: gdb.Value, access: str) -> gdb.Breakpoint:
    """Watch what a pointer points to.

    gdb keeps the expression, and may read it again when another frame is selected: then in that frame's language. So it
    has no type in it.
    """
    free = next(one for one in itertools.count() if one not in _variables.values())
    name = "dualdbg_watched_%d" % free
    gdb.set_convenience_variable(name, pointer)
    point = gdb.Breakpoint("*$" + name, type=gdb.BP_WATCHPOINT, wp_class=_ACCESS[access])
    _variables[point] = free
    when_gone(point, partial(_unwatched, point, name))
    return point


def _unwatched(point: gdb.Breakpoint, name: str) -> None:
    del _variables[point]
    gdb.set_convenience_variable(name, None)


@answers(WatchExpression)
def watch_expression(gdb_thread: "int | None", level: int, expression: str, access: str) -> "int | None":
    """Watch the value of an expression in a frame of thread ``gdb_thread``; returns gdb's number.

    gdb deletes it when the function of a local variable is left. With ``-location`` before the expression the memory is
    watched in which the value is now; so it is where gdb would have to call the program for the value (``v[0]``).
    Without a thread the expression has to begin with a global variable; None where debug info knows none of that name
    yet. GdbError: there is no value, or the processor cannot watch it: gdb would run the program instruction by
    instruction.
    """
    where = expression.startswith(_LOCATION)
    expression = expression[len(_LOCATION) :] if where else expression
    if gdb_thread is not None:
        find_frame(gdb_thread, level).select()
    elif not _is_global(expression):
        return None
    value = expressions.evaluate(expression, may_call=False)
    point = None
    try:
        if not where:
            with NoCalls():
                point = gdb.Breakpoint(expression, type=gdb.BP_WATCHPOINT, wp_class=_ACCESS[access])
    except gdb.error:
        if value.address is None:
            raise
    if point is None or (point.type == gdb.BP_WATCHPOINT and value.address is not None):
        if value.address is None:
            raise gdb.GdbError("it is not in memory")
        if point is not None:
            point.delete()
        point = _watch_memory(value.address, access)
    if point.type == gdb.BP_WATCHPOINT:  # those in hardware have types of their own
        point.delete()
        of_register = "it is in a register of the processor here, not in memory"
        raise gdb.GdbError("no debug register can watch it" if value.address is not None else of_register)
    return int(point.number)


def _is_global(expression: str) -> bool:
    match = _NAME.match(expression)
    if match is None:
        return False
    name = match.group(1)
    return gdb.lookup_global_symbol(name) is not None or gdb.lookup_static_symbol(name) is not None
