"""Threads in which SQLite waits for the lock of a database. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ..model import NativeFrame
from ..shared.libraries import is_c_library
from .facts import ThreadReport
from .linux.system_calls import SLEEPS


def waits_in_sqlite(thread: ThreadReport) -> bool:
    """Whether SQLite sleeps, other than because the program wants it to: it waits for a lock of a database."""
    call = thread.system_call
    if call is None or call.name not in SLEEPS:
        return False
    native = [frame for frame in thread.stack.frames if isinstance(frame, NativeFrame)]
    own = [frame for frame in native if not is_c_library(frame.library)]
    of_sqlite = [frame for frame in own if PurePath(frame.library or "").name.startswith("libsqlite3.so")]
    return own[:1] == of_sqlite[:1] != [] and not any(one.function == "sqlite3_sleep" for one in of_sqlite)
