"""Functions of the target that an expression calls: nothing stops in them, and a signal undoes them."""

from __future__ import annotations

import contextlib
import re
from typing import Iterator, Mapping

import gdb

# A name, a member, a number or a register; an operator or a bracket may call a function.
_CALLS_NOTHING = re.compile(r"[\w.$: ]*\Z")
# Only the thread runs: another one would pass breakpoints that are off. What a signal ends is undone.
_SETTINGS = {"scheduler-locking": "on", "unwindonsignal": "on"}


@contextlib.contextmanager
def without_breakpoints() -> Iterator[None]:
    """While it is entered, no breakpoint is on."""
    points = [point for point in gdb.breakpoints() if point.enabled]
    try:
        for point in points:
            point.enabled = False
        yield
    finally:
        for point in points:
            if point.is_valid():
                point.enabled = True


@contextlib.contextmanager
def undisturbed(expression: str) -> Iterator[None]:
    """While an expression is evaluated, nothing that it calls stops.

    A stop would leave the thread within the function, and every frame and value that was read before would be wrong.
    Raises gdb.GdbError where a signal ended what it called.
    """
    connection = gdb.selected_inferior().connection
    nothing_runs = connection is None or connection.type == "core"
    if nothing_runs or _CALLS_NOTHING.match(expression):
        yield
        return
    signals: list[str] = []

    def stopped(event: gdb.StopEvent) -> None:
        if isinstance(event, gdb.SignalEvent):
            signals.append(event.stop_signal)

    before = {name: gdb.parameter(name) for name in _SETTINGS}
    gdb.events.stop.connect(stopped)
    try:
        with without_breakpoints():
            _set(_SETTINGS)
            yield
    except gdb.error:
        if not signals:
            raise
        raise gdb.GdbError("what it calls got %s, and was undone" % signals[0]) from None
    finally:
        gdb.events.stop.disconnect(stopped)
        _set(before)


def _set(settings: "Mapping[str, object]") -> None:
    for name, value in settings.items():
        word = ("on" if value else "off") if isinstance(value, bool) else value
        gdb.execute("set %s %s" % (name, word), to_string=True)
