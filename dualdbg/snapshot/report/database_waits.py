"""Threads that wait for the lock of a database of SQLite: "database is locked", before that is raised. Pure.

SQLite sleeps meanwhile, and looks again: after 1 ms and then ever later, from the twelfth time on every 100 ms
(``sqliteDefaultBusyCallback`` in src/main.c).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import ProcessReport, ThreadReport
from ..sqlite_waits import waits_in_sqlite
from .descriptor_waits import lock_holders
from .finding import Finding
from .standing import standing, wakings
from .telling_frame import where
from .waits import Earlier, Node, Scene, Wait, name_of, seconds_in_words

_LAST = 0.1  # seconds between two looks of SQLite's, once it has waited for long
# The stops of our own looks wake it too. Who waits anew wakes 11 times in the
# first third of a second.
_MORE_WAKINGS = 4


def database_waits(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Those that have waited all the time since the earlier look. A program that has its turn in between waits anew,
    and then SQLite looks more often."""
    before = dict(_waiting(scene.earlier)) if scene.earlier is not None else {}
    findings = []
    for process in scene.shown:
        for thread in process.threads:
            node, call = (process.pid, thread.thread.tid), thread.system_call
            if node in told or call is None or not _waits_for_long(thread):
                continue
            since = ""
            if scene.earlier is not None:
                was = before.get(node)
                seconds = scene.earlier.until(process)
                if was is None or not _has_waited(was, (process, thread), seconds):
                    continue
                since = f"it has waited all of the last {seconds_in_words(seconds)}; "
            database = f" {call.descriptor.target}" if call.descriptor is not None else ""
            text = f"{name_of(scene, node)} waits for the lock of a database of SQLite{database}, in {where(thread)}\n"
            text += f"{since}SQLite looks every {_LAST:g} s whether it is free, until a time limit is over"
            if call.descriptor is not None:
                text += lock_holders(scene, node[0], call.descriptor)
            findings.append(Finding("database", text, (node,)))
    return findings


def _waiting(earlier: Earlier) -> Iterator[tuple[Node, tuple[ProcessReport, ThreadReport]]]:
    for process in earlier.processes:
        for thread in process.threads:
            if _waits_for_long(thread):
                yield (process.pid, thread.thread.tid), (process, thread)


def _waits_for_long(thread: ThreadReport) -> bool:
    sleep = thread.system_call.sleep if thread.system_call is not None else None
    return waits_in_sqlite(thread) and (sleep is None or sleep.seconds >= _LAST)


def _has_waited(
    was: tuple[ProcessReport, ThreadReport], now: tuple[ProcessReport, ThreadReport], seconds: float
) -> bool:
    before, after = standing(*was), standing(*now)
    return before.stack == after.stack and wakings(before, after) <= seconds / _LAST + _MORE_WAKINGS
