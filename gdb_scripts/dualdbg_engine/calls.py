"""Functions of the target that an expression calls: nothing stops in them, and what a signal ends is undone."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from typing import ContextManager, Iterator, Mapping

import gdb
from dualdbg_shared import quiet_signal

from .interrupting import stopping_by

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


class NoCalls(ContextManager[None]):
    """While it is entered, no expression calls a function of the target. dualdbg has checked that no expression
    assigns: gdb's own may-write-memory would also keep gdb from removing its breakpoints.
    """

    def __enter__(self) -> None:
        self._allowed = gdb.parameter("may-call-functions")
        if self._allowed:
            gdb.execute("set may-call-functions off", to_string=True)

    def __exit__(self, *exception: object) -> None:
        if self._allowed:
            gdb.execute("set may-call-functions on", to_string=True)


@contextlib.contextmanager
def undisturbed(expression: str, seconds: float) -> Iterator[None]:
    """While an expression is evaluated, nothing that it calls stops, or takes longer than so many seconds.

    A stop would leave the thread within the function, and every frame and value that was read before would be wrong.
    Raises gdb.GdbError where a signal, or the time, ended what it called.
    """
    connection = gdb.selected_inferior().connection
    nothing_runs = connection is None or connection.type == "core"
    if nothing_runs or _CALLS_NOTHING.match(expression):
        yield
        return
    signals: list[str] = []  # gdb 18 tells none of them
    too_late = threading.Event()

    def stopped(event: gdb.StopEvent) -> None:
        if isinstance(event, gdb.SignalEvent):
            signals.append(event.stop_signal)

    gdb.events.stop.connect(stopped)
    try:
        with without_breakpoints(), settings(_SETTINGS), _after(seconds, too_late):
            yield
    except gdb.error:
        if too_late.is_set():
            raise gdb.GdbError("what it calls takes longer than %g s, and was undone" % seconds) from None
        if signals:
            raise gdb.GdbError("what it calls got %s, and was undone" % signals[0]) from None
        raise
    finally:
        gdb.events.stop.disconnect(stopped)


@contextlib.contextmanager
def _after(seconds: float, too_late: threading.Event) -> Iterator[None]:
    """Send the process a signal unless this is left before, and set ``too_late`` then.

    It is a quiet one: where it comes too late, the program does not notice it.
    """
    pid = gdb.selected_inferior().pid
    with stopping_by(quiet_signal.choose(pid)) as number:

        def end() -> None:
            too_late.set()
            with contextlib.suppress(ProcessLookupError):  # then the call has ended too
                os.kill(pid, number)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        # Signals for gdb itself are to reach its own thread (the manual of gdb: Threading in GDB).
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            timer.start()
        except RuntimeError as error:  # the system gives gdb no thread
            raise gdb.GdbError("nothing is called: gdb could not end it (%s)" % error) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            yield
        finally:
            timer.cancel()


@contextlib.contextmanager
def settings(wanted: "Mapping[str, object]") -> Iterator[None]:
    """While it is entered, these settings of gdb hold."""
    before = {name: gdb.parameter(name) for name in wanted}
    try:
        _execute(wanted)
        yield
    finally:
        _execute(before)


def _execute(wanted: "Mapping[str, object]") -> None:
    for name, value in wanted.items():
        word = ("on" if value else "off") if isinstance(value, bool) else value
        gdb.execute("set %s %s" % (name, word), to_string=True)
