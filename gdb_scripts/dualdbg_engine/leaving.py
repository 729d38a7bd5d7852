"""Lets go of the process and ends gdb in good order: when the session is dead, or somebody ends gdb by a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Iterator

import gdb
from dualdbg_shared import quiet_signal
from dualdbg_shared.console_text import plain
from dualdbg_shared.requests.process import Leave, LeaveOnSignals, LetGo, MayLetGo, TakePending

from .interrupting import interrupt_quietly, run_until_interrupted
from .parking import unpark
from .probe_hits import any_has_faulted
from .registers import check_restorable
from .registry import answers

_calling = False  # the target runs code of dualdbg
_wanted = False  # to leave as soon as that is done


@answers(Leave)
def leave() -> None:
    global _wanted
    if _calling:
        _wanted = True
    # gdb.selected_thread() raises SystemError while gdb is between two threads that it handles.
    elif any(thread.is_running() for thread in gdb.selected_inferior().threads()):
        gdb.events.stop.connect(lambda event: gdb.post_event(_detach_and_quit))
        interrupt_quietly()
    else:
        gdb.post_event(_detach_and_quit)


@answers(LeaveOnSignals)
def leave_on_signals() -> None:
    """From now on SIGTERM and SIGHUP make gdb leave as :func:`leave` does.

    By itself gdb ends at once then, and a thread that it has made call a function would return from it to nowhere.
    Where gdb can start no thread, that stays so.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # Signals for gdb itself are to reach its own thread (the manual of gdb: Threading in GDB).
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        threading.Thread(target=_leave_at_signal, args=(reading,), daemon=True).start()
    except RuntimeError:
        os.close(reading)
        os.close(writing)
        return
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for number in _LEAVES:
        signal.signal(number, lambda number, frame: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)


_LEAVES = (signal.SIGTERM, signal.SIGHUP)


def _leave_at_signal(reading: int) -> None:
    """Python code that belongs to a signal runs when gdb next runs Python; this thread hears of it at once."""
    while os.read(reading, 1)[0] not in _LEAVES:
        pass
    gdb.post_event(leave)


def _detach_and_quit() -> None:
    if gdb.selected_inferior().pid:
        let_go()
    gdb.execute("quit")


@answers(LetGo)
def let_go() -> None:
    """Detach from the process, which gdb has stopped. The program gets no signal by that.

    gdb stops threads by SIGSTOP. A thread that meets a breakpoint just then has not taken it yet, and gdb would take it
    back by a SIGCONT (linux-nat.c, detach_one_lwp), which the program could notice. So the threads take it first.
    """
    for _ in range(_MOST_RUNS):
        if may_let_go():
            break
        take_pending()
    if gdb.selected_inferior().pid:  # it has not ended
        gdb.execute("detach")


@answers(MayLetGo)
def may_let_go() -> bool:
    unpark()
    inferior = gdb.selected_inferior()
    if not inferior.pid or any(thread.is_running() for thread in inferior.threads()):
        return True
    return not quiet_signal.is_pending(inferior.pid, signal.SIGSTOP) and not any_has_faulted()


@answers(TakePending)
def take_pending() -> None:
    for point in gdb.breakpoints():
        point.enabled = False
    run_until_interrupted()
    for _ in gdb.selected_inferior().threads():
        if not any_has_faulted():
            break
        gdb.execute("continue", to_string=True)  # gdb tells the next one, and lets no thread run


_MOST_RUNS = 10  # in each the threads take what is pending; another event may come in between


# Of these the code that runs is the cause, and gdb interrupts by SIGINT.
_STOPS_IN_ANY_CASE = {"SIGILL", "SIGTRAP", "SIGABRT", "SIGFPE", "SIGBUS", "SIGSEGV", "SIGSYS", "SIGINT"}


@contextlib.contextmanager
def _no_stop_at_signals() -> Iterator[None]:
    """Signals that somebody sends go to the program meanwhile, and gdb does not stop at them.

    gdb would give up the call at such a stop: its frame would stay on the stack, and lead to nowhere once gdb is gone.
    A SIGSTOP is dropped: gdb stops threads by it, and what is left of that would stop the program when gdb is gone.
    """
    rows = [line.split() for line in plain(gdb.execute("info signals", to_string=True)).splitlines()]
    # Stop, print, pass: Yes or No.
    table = {row[0]: row[1:4] for row in rows if row[:1] and row[0].startswith("SIG")}
    names = " ".join(
        name for name, how in table.items() if how[0] == "Yes" and name not in _STOPS_IN_ANY_CASE
    )
    changes = [("handle %s nostop noprint" % names, "handle %s stop print" % names)] if names else []
    if table["SIGSTOP"][2] == "Yes":
        changes.append(("handle SIGSTOP nopass", "handle SIGSTOP pass"))
    for change, _ in changes:
        gdb.execute(change, to_string=True)
    try:
        yield
    finally:
        for _, back in changes:
            gdb.execute(back, to_string=True)


@contextlib.contextmanager
def calling() -> Iterator[None]:
    """Code of dualdbg runs in the target and must not be cut short: :func:`leave` waits for its end.

    The innermost frame of the thread is selected. Raises gdb.GdbError where the registers could not be given back.
    """
    global _calling
    check_restorable()
    _calling = True
    try:
        with _no_stop_at_signals():
            yield
    finally:
        _calling = False
        if _wanted:
            gdb.post_event(_detach_and_quit)
