"""What gdb says of itself. Every session asks at its start, so nothing else is imported here."""

from __future__ import annotations

import gdb
from dualdbg_shared.requests.threads import ReadGdbVersion

from .registry import answers


@answers(ReadGdbVersion)
def gdb_version() -> str:
    return str(gdb.VERSION)
