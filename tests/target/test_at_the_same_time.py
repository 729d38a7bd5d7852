"""Two threads, or a thread and the debugger, come to the same point at once: no stop is lost by it.

pydevd has moments between what it looks at and what it does. The programs here hold a thread in such a moment, by a
part of pydevd that they replace, until the other side has done its work.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.shared import python_versions
from tests import rows, support

from .client import Client
from .test_debugging import debug, piped
from .test_wanted_later import read_a_line, ready, top

# The second thread has met its breakpoint, and has yet to mark the threads that are to stop.
TWO = """\
import sys, threading
import pydevd
def first():
    return 1
def second():
    return 2
inside, go, lock = threading.Event(), threading.Event(), pydevd.suspend_threads_lock
class Held:
    def __enter__(self):
        if threading.current_thread() is late and not go.is_set():
            inside.set()
            go.wait()
        return lock.__enter__()
    def __exit__(self, *error):
        return lock.__exit__(*error)
pydevd.suspend_threads_lock = Held()
late = threading.Thread(target=second)
late.start()
inside.wait()
early = threading.Thread(target=first)
early.start()
sys.stdin.readline()
early.join()
go.set()
late.join()
print("over", flush=True)
"""

# The call has been told of, with what was known of breakpoints then. What pydevd answers says whether it is told again.
CALLED = """\
import sys, threading
import pydevd
def other():
    return 1
def wanted():
    return 2
inside, go = threading.Event(), threading.Event()
debugger = pydevd.get_global_debugger()
class Held:
    # A callback asks last of all, and again while it is held, whether there are plugins.
    def __bool__(self):
        frame = sys._getframe()
        while frame is not None and frame.f_code is not wanted.__code__:
            frame = frame.f_back
        if frame is not None and not inside.is_set():
            inside.set()
            go.wait()
            debugger.plugin = None
        return False
debugger.plugin = Held()
early = threading.Thread(target=wanted)
early.start()
inside.wait()
print("ready", flush=True)
sys.stdin.readline()
go.set()
early.join()
wanted()
print("over", flush=True)
"""


@pytest.fixture(params=[pytest.param("own"), *rows.versions()])
def python(request: pytest.FixtureRequest) -> str:
    return sys.executable if request.param == "own" else str(support.other_interpreter(request.param))


@pytest.fixture(params=rows.versions()[python_versions.KNOWN.index((3, 12)) :])
def monitored(request: pytest.FixtureRequest) -> str:
    return str(support.other_interpreter(request.param))


def test_a_thread_stops_that_met_its_breakpoint_before_another_was_let_go(
    python: str, tmp_path: Path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(TWO)

    async def scenario(client: Client) -> None:
        await client.start({script: [4, 6]})
        assert await top(client) == ("first", 4)
        await client.request("continue", threadId=1)
        read_a_line(client)
        assert await top(client) == ("second", 6)

    debug(piped(python, script), scenario)


def test_a_call_that_was_under_way_does_not_hide_the_later_ones(monitored: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(CALLED)

    async def scenario(client: Client) -> None:
        await client.start({script: [4]})
        await ready(client)
        await client.request("setFunctionBreakpoints", breakpoints=[{"name": "wanted"}])
        read_a_line(client)
        assert (await top(client))[0] == "wanted"

    debug(piped(monitored, script), scenario)
