"""The gdb commands of the session: a line of JSON in, a line of JSON out.

They are plain gdb commands, not MI commands, so that they work in gdb 12 too.
"""

from __future__ import annotations

import json
import os

import gdb
from dualdbg_helpers import in_time
from dualdbg_shared.requests.codec import encoded

from . import registry, undecided

# By the path of the source, and by the name of the function: what `skip` takes.
_SKIPPED = (
    "-gfi /rustc/*",  # Rust's library, as its builds name it
    "-gfi */lib/rustlib/src/rust/*",  # the same, where its source is installed
    "-gfi */include/python3*/*",  # Py_INCREF and its kind
    "-rfu ^__Pyx_",  # Cython's own functions
)


def skip_libraries() -> None:
    """gdb skips them from now on. ``info skip`` lists them, and ``skip delete`` forgets them."""
    for what in _SKIPPED:
        gdb.execute("skip " + what, to_string=True)


_MARK = "dualdbg-answer:"  # begins the line of the answer; dualdbg/backends/gdb_client.py
_LONG = 1 << 10  # characters; gdb writes them one by one on its MI channel, so a file is much faster


class AskCommand(gdb.Command):
    """``dualdbg-engine``: answers a line of JSON: {"result": ...}, {"error": text}, or where either is (_aside)."""

    def __init__(self) -> None:
        super().__init__("dualdbg-engine", gdb.COMMAND_SUPPORT)

    def invoke(self, argument: str, from_tty: bool) -> None:
        try:
            name, *fields = json.loads(argument)
            with in_time.one_command():
                answer = {"result": registry.answer(name, fields)}
        except (gdb.error, gdb.GdbError, ValueError, KeyError) as error:
            answer = {"error": "%s" % error}
        except KeyboardInterrupt:
            answer = {"error": "interrupted"}
        text = encoded(answer)
        if len(text) > _LONG:
            try:
                text = json.dumps(_aside(text))
            except OSError:
                pass  # no folder for it, or a full disk: the slow way
        gdb.write(_MARK + text + "\n")
        gdb.flush()


class TellCommand(gdb.Command):
    """``dualdbg-engine-tell``: does the same without an answer; the sender does not wait."""

    def __init__(self) -> None:
        super().__init__("dualdbg-engine-tell", gdb.COMMAND_SUPPORT)

    def invoke(self, argument: str, from_tty: bool) -> None:
        name, *fields = json.loads(argument)
        registry.answer(name, fields)


def register() -> None:
    """gdb knows the commands from now on."""
    AskCommand()
    TellCommand()
    skip_libraries()
    undecided.register()


_memory: list[int] = []  # the descriptor of the last long answer


def _aside(text: str) -> dict[str, str]:
    """Where a long answer is: ``memory``, a path valid until the next answer, or ``file``, a path to delete."""
    # /proc/PID belongs to root when other processes may not look into this one (prctl(2), PR_SET_DUMPABLE).
    if hasattr(os, "memfd_create") and os.stat("/proc/self/fd").st_uid == os.geteuid():
        if _memory:
            os.close(_memory.pop())
        _memory.append(os.memfd_create("dualdbg-answer"))
        with open(_memory[0], "w", encoding="ascii", closefd=False) as file:
            file.write(text)
        return {"memory": "/proc/%d/fd/%d" % (os.getpid(), _memory[0])}
    # Without tempfile and pathlib, because their import takes longer than all the answers of a short session.
    name = "dualdbg-answer-%d-%s" % (os.getpid(), os.urandom(8).hex())
    path = os.path.join(os.environ.get("TMPDIR") or "/tmp", name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)
    return {"file": path}
