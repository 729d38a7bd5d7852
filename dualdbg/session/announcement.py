"""Tells that a session has begun, and warns of a Python that is newer than we know."""

from __future__ import annotations

from ..model import Notice, SessionStarted
from ..shared.python_versions import warning_of
from .loop import Loop


def announce_start(loop: Loop, python_version: str | None, gdb_version: str | None) -> None:
    """Tell the beginning of the session; warn when the version of its Python (``3.15.0``) is newer than we know."""
    loop.tell(SessionStarted(loop.state.pid, python_version, gdb_version))
    warning = warning_of(python_version)
    if warning is not None:
        loop.tell(Notice("warning", *warning))
