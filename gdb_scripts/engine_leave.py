"""Lets go of the process and ends gdb, in good order: for whoever sees that the session is dead."""

import contextlib

import gdb

_calling = False  # the target runs code of ours
_wanted = False  # to leave as soon as that is done


def leave():
    """With every thread stopped: one that has met a breakpoint and was not looked at yet stands behind the trap."""
    global _wanted
    if _calling:
        _wanted = True
    # gdb.selected_thread() raises SystemError while gdb is between two threads that it handles.
    elif any(thread.is_running() for thread in gdb.selected_inferior().threads()):
        gdb.events.stop.connect(lambda event: gdb.post_event(_detach_and_quit))
        gdb.execute("interrupt")
    else:
        gdb.post_event(_detach_and_quit)


def _detach_and_quit():
    if gdb.selected_inferior().pid:
        gdb.execute("detach")
    gdb.execute("quit")


@contextlib.contextmanager
def calling():
    """Code of ours runs in the target, and is not to be cut short: who wants to leave waits for its end."""
    global _calling
    _calling = True
    try:
        yield
    finally:
        _calling = False
        if _wanted:
            gdb.post_event(_detach_and_quit)


COMMANDS = {"leave": leave, "calling": calling}
