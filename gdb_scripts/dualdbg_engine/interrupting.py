"""Stops the running target. gdb's own way is a SIGINT, which the program gets when gdb dies at that moment."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Iterator

import gdb
from dualdbg_shared import quiet_signal
from dualdbg_shared.requests.process import InterruptBy

from .registry import answers

taken: "set[str]" = set()  # signals at which gdb stops for something else
_stopping: list[str] = []  # the signals at which gdb stops until its next stop


@answers(InterruptBy)
def interrupt_by(name: str) -> None:
    """Send the target a signal that :mod:`quiet_signal` has chosen, at which gdb stops.

    When the target runs on it gets this signal: there it does what it would do without gdb, nothing. A target that has
    stopped meanwhile gets none: that stop is the answer, and the signal would end the next call of a function by gdb.
    """
    pid = gdb.selected_inferior().pid
    if not pid:
        raise gdb.GdbError("there is no process")
    if not any(thread.is_running() for thread in gdb.selected_inferior().threads()):
        return
    if not _stopping:
        gdb.events.stop.connect(_stopped)
    if name not in _stopping:
        _stopping.append(name)
        gdb.execute("handle %s stop print %s" % (name, _passing(name)), to_string=True)
    try:
        os.kill(pid, signal.Signals[name])
    except OSError as error:
        raise gdb.GdbError("%s cannot be sent to process %d: %s" % (name, pid, error.strerror)) from error


def interrupt_quietly() -> None:
    """:func:`interrupt_by` with the signal that is right for the target now. Raises GdbError when it has ended."""
    try:
        interrupt_by(quiet_signal.choose(gdb.selected_inferior().pid, taken))
    except OSError as error:
        raise gdb.GdbError("the process has ended") from error


def run_until_interrupted() -> None:
    """Let the stopped target run for a moment, and wait until it has stopped again.

    Threads may have signals to take at which gdb stops for something else; it does not, from now on.
    """
    pid = gdb.selected_inferior().pid
    for name in taken:
        gdb.execute("handle %s nostop noprint pass" % name, to_string=True)
    with stopping_by(quiet_signal.choose(pid, taken)) as number:
        os.kill(pid, number)  # it is taken as soon as the target runs
        gdb.execute("continue", to_string=True)


@contextlib.contextmanager
def stopping_by(name: str) -> Iterator[signal.Signals]:
    """While it is entered, gdb stops at this signal, whose number it returns."""
    gdb.execute("handle %s stop print %s" % (name, _passing(name)), to_string=True)
    try:
        yield signal.Signals[name]
    finally:
        gdb.execute("handle %s nostop noprint %s" % (name, _passing(name)), to_string=True)


def _stopped(event: gdb.Event) -> None:
    gdb.events.stop.disconnect(_stopped)
    while _stopping:
        name = _stopping.pop()
        gdb.execute("handle %s nostop noprint %s" % (name, _passing(name)), to_string=True)


def _passing(name: str) -> str:
    return "nopass" if name == quiet_signal.LAST_RESORT else "pass"
