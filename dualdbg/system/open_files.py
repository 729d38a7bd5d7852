"""How many files dualdbg may have open: it keeps one for each library of the program.

A shell's usual limit (1,024, ``ulimit -n``) is too small for a program with many libraries. The kernel lets a process
raise it to the hard limit, so dualdbg does; the program gets the limit that dualdbg was started with.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

from ..errors import DualdbgError

_FEWEST = 256  # `import torch` maps some 120 files; gdb and debugpy need some more
_MOST = 1 << 16  # some libraries close every number up to the limit

_given: tuple[int, int] | None = None


def raise_limit() -> None:
    """For this process, and for gdb."""
    global _given
    soft, hard = _given = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = _MOST if hard == unlimited else min(hard, _MOST)
    if soft != unlimited and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def restore_limit() -> None:
    """For the program, between fork and exec."""
    if _given is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, _given)


def passed_on() -> tuple[int, ...]:
    """The descriptors behind the standard ones that dualdbg was started with, for a program that it starts: a shell's
    ``5<file`` and ``<(command)``, the job server of make, sockets of systemd.

    They are those that an exec leaves open; what Python opens is closed by it (PEP 446).
    """
    found = []
    for number in [int(one.name) for one in Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):  # EBADF: that of the folder itself
            if number > 2 and os.get_inheritable(number):
                found.append(number)
    return tuple(found)


def require_enough() -> None:
    """Raises DualdbgError where a session would not be able to read all libraries."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FEWEST:
        raise DualdbgError(
            f"dualdbg needs a file for each library of the program, and the limit is {hard} open files",
            "ulimit -n 1024 raises it (root: ulimit -Hn 1024 first)",
        )
