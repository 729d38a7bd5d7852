"""Lets go of the process and ends gdb in good order, for the case that the session is dead."""

from __future__ import annotations

import contextlib
from typing import Iterator

import gdb

from .interrupting import interrupt_quietly
from .parking import unpark
from .registers import check_restorable

_calling = False  # the target runs code of dualdbg
_wanted = False  # to leave as soon as that is done


def leave() -> None:
    """Leave with every thread stopped: a thread may stand behind a trap that gdb has not looked at yet."""
    global _wanted
    if _calling:
        _wanted = True
    # gdb.selected_thread() raises SystemError while gdb is between two threads that it handles.
    elif any(thread.is_running() for thread in gdb.selected_inferior().threads()):
        gdb.events.stop.connect(lambda event: gdb.post_event(_detach_and_quit))
        interrupt_quietly()
    else:
        gdb.post_event(_detach_and_quit)


def _detach_and_quit() -> None:
    if gdb.selected_inferior().pid:
        unpark()
        gdb.execute("detach")
    gdb.execute("quit")


@contextlib.contextmanager
def calling() -> Iterator[None]:
    """Code of dualdbg runs in the target and must not be cut short: :func:`leave` waits for its end.

    The innermost frame of the thread is selected. Raises gdb.GdbError where the registers could not be given back.
    """
    global _calling
    check_restorable()
    _calling = True
    try:
        yield
    finally:
        _calling = False
        if _wanted:
            gdb.post_event(_detach_and_quit)
