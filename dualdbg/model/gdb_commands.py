"""Commands that the user wants gdb to run before the program does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GdbCommand:
    """A command of gdb's command line, or of MI where it begins with a dash.

    ``may_fail``: the session begins all the same. ``purpose`` is what the user says of it, for messages.
    """

    text: str
    may_fail: bool = False
    purpose: str = ""
