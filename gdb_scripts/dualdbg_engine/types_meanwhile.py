"""Has the session compile the types of a PyTorch that is not known, and takes what it says of that.

gdb itself would wait for the compiler, and the whole session with it. The session keeps what was compiled where the
helpers look for it, by a name that is told here.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import gdb
from dualdbg_helpers import context
from dualdbg_helpers.layout import choose
from dualdbg_shared.requests.values import TakeCompiledTypes

from .registry import answers

# Begins a line on gdb's log stream: what is wanted, as JSON; dualdbg/backends/gdb_events.py.
_MARK = "dualdbg-types:"


class Meanwhile:
    """What :data:`dualdbg_helpers.layout.choose.meanwhile` says of it."""

    def __init__(self) -> None:
        self.beside = os.environ.get("TMPDIR")  # a folder of this session alone; backends/gdb_process.py
        self._since: dict[str, float] = {}  # by the name of the file that is to come
        self.failed: dict[str, str] = {}

    def ask(self, maker: Any, part: str) -> str | None:
        """Have the session compile a part, if it does not yet; None, or why that has failed."""
        name = maker.file_name(part)
        if name not in self._since:
            self._since[name] = time.monotonic()
            wanted = {
                "name": name,
                "pytorch": maker.version,
                "part": part,
                "installation": list(maker.installation),
                "compiler": maker.compiler,
                "gdb": maker.gdb,
                "beside": self.beside,
            }
            # Not at once: what gdb does at this moment may have its streams written into a text.
            gdb.post_event(lambda: gdb.write(_MARK + json.dumps(wanted) + "\n", gdb.STDLOG))
        return self.failed.get(name)

    def so_far(self, maker: Any, part: str) -> str:
        """What is said in the place of a value."""
        return "the layout of PyTorch %s is %s" % (maker.version, self.state(maker, part))

    def state(self, maker: Any, part: str) -> str | None:
        """How far it is, or why it has failed; None: it was not asked for."""
        name = maker.file_name(part)
        if name in self.failed:
            return "not compiled: %s" % self.failed[name]
        if name not in self._since:
            return None
        return "being compiled (%.0f s so far)" % (time.monotonic() - self._since[name])


_meanwhile = Meanwhile()


def begin() -> None:
    """From now on no command of this gdb waits for a compiler, but one that says so."""
    choose.meanwhile = _meanwhile


@answers(TakeCompiledTypes)
def types_compiled(name: str, problem: str | None) -> None:
    if problem is not None:
        _meanwhile.failed[name] = problem
    context.renew_layouts()
