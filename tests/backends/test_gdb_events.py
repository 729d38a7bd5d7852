"""MI's records of stops become events: lines as gdb 12 to 18 write them."""

from __future__ import annotations

from typing import Any

import pytest

from dualdbg.backends.events import (
    NativeConsole,
    NativeExited,
    NativeLog,
    NativeStopped,
    StopCause,
    WatchedValue,
)
from dualdbg.backends.gdb_events import stop_event, text_event
from dualdbg.protocol import mi


def stop(line: str, threads: dict[int, int] | None = None) -> Any:
    record = mi.parse_line(line)
    assert isinstance(record, mi.Async)
    return stop_event(record.payload, threads or {})


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ('reason="breakpoint-hit",', StopCause.BREAKPOINT),
        ('reason="access-watchpoint-trigger",', StopCause.WATCHPOINT),
        ('reason="end-stepping-range",', StopCause.STEPPED),
        ('reason="function-finished",', StopCause.RETURNED),
        ('reason="solib-event",', StopCause.LIBRARIES),
        ('reason="syscall-entry",', StopCause.OTHER),
        ("", StopCause.UNSAID),
    ],
)
def test_each_reason_has_a_cause(reason: str, cause: StopCause) -> None:
    event = stop(f'*stopped,{reason}thread-id="2",stopped-threads="all"', {2: 4711})
    assert (event.cause, event.thread, event.gdb_thread) == (cause, 4711, 2)


def test_an_unknown_reason_keeps_its_words_for_people() -> None:
    assert stop('*stopped,reason="syscall-entry",thread-id="1"').words == "syscall-entry"


def test_a_breakpoint_with_its_place() -> None:
    line = (
        '*stopped,reason="breakpoint-hit",disp="keep",bkptno="7",frame={addr="0x10",func="f"},thread-id="1"'
    )
    assert stop(line) == NativeStopped(
        StopCause.BREAKPOINT, None, 1, pc=16, gdb_breakpoint=7, words="breakpoint-hit"
    )


def test_a_breakpoint_of_gdbs_own_has_a_number_below_zero() -> None:
    """So has each that is set with ``internal=True``, as those of a step into a call are."""
    event = stop('*stopped,reason="breakpoint-hit",disp="keep",bkptno="-44",thread-id="1"')
    assert (event.cause, event.gdb_breakpoint) == (StopCause.BREAKPOINT, -44)


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("wpt", '{old="1",new="2"}', "1", "2"),
        ("hw-rwpt", '{value="3"}', None, "3"),
        ("hw-awpt", '{old="4",new="5"}', "4", "5"),
    ],
)
def test_a_watchpoint_says_what_changed(key: str, value: str, old: str | None, new: str) -> None:
    event = stop(
        f'*stopped,reason="watchpoint-trigger",{key}={{number="3",exp="x"}},value={value},thread-id="1"'
    )
    assert event.gdb_breakpoint == 3
    assert event.watched == (WatchedValue(3, "x", old, new),)


def test_several_watchpoints_at_once() -> None:
    event = stop(
        '*stopped,reason="watchpoint-trigger",wpt={number="2",exp="x"},value={old="1",new="2"},'
        'reason="watchpoint-trigger",wpt={number="3",exp="y"},value={old="3",new="4"},thread-id="1"'
    )
    assert event.watched == (WatchedValue(2, "x", "1", "2"), WatchedValue(3, "y", "3", "4"))
    assert event.gdb_breakpoint == 3  # the last, which was set for a step under way
    mixed = stop(
        '*stopped,reason="watchpoint-trigger",wpt={number="2",exp="x"},value={old="1",new="2"},'
        'reason="access-watchpoint-trigger",hw-awpt={number="3",exp="x"},value={old="1",new="2"},thread-id="1"'
    )
    assert mixed.watched == (WatchedValue(2, "x", None, None), WatchedValue(3, "x", None, None))


def test_the_watchpoint_of_a_function_that_was_left() -> None:
    event = stop('*stopped,reason="watchpoint-scope",wpnum="5",thread-id="1"')
    assert (event.cause, event.gdb_breakpoint, event.watched) == (StopCause.WATCHPOINT_GONE, 5, ())


def test_a_signal() -> None:
    line = '*stopped,reason="signal-received",signal-name="SIGSEGV",signal-meaning="Segmentation fault"'
    event = stop(line)
    assert (event.cause, event.signal, event.signal_meaning) == (
        StopCause.SIGNAL,
        "SIGSEGV",
        "Segmentation fault",
    )


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ('*stopped,reason="exited-normally"', NativeExited(0)),
        ('*stopped,reason="exited",exit-code="012"', NativeExited(10)),
        ('*stopped,reason="exited-signalled",signal-name="SIGKILL"', NativeExited(None, "SIGKILL")),
    ],
)
def test_ends(line: str, event: NativeExited) -> None:
    assert stop(line) == event


def test_text() -> None:
    assert text_event(mi.Stream("log", 'dualdbg-log:[3, "x = 1"]\n')) == NativeLog(3, "x = 1")
    assert text_event(mi.Stream("target", "hello")) == NativeConsole("hello")
    assert text_event(mi.Stream("log", "warning: talk of gdb's own")) is None
