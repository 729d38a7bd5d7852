"""What is wanted only while the program runs: breakpoints, exceptions and pauses reach what has begun before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.target.launcher import Launch
from tests import rows, support

from .client import Client
from .test_debugging import debug, piped

LOOP = """\
import sys, threading, time
def numbers():
    while True:
        yield 1
def helper(n):
    return n
def early():
    while True:
        time.sleep(0.005)
        helper(2)
def late():
    for _ in range(2):
        time.sleep(0.005)
def raising():
    try:
        raise KeyError(1)
    except KeyError:
        return None
threading.Thread(target=early, daemon=True).start()
print("ready", flush=True)
for number in numbers():
    time.sleep(0.005)
    raising()
    threading.Thread(target=late, daemon=True).start()
"""
# Calls in threads that begin all the time, after the program has heard that the breakpoint is set: each is to meet it.
STARTS = """\
import select, sys, threading
calls, hits, armed, over = [], [], False, False
def helper():
    pass
def short():
    for _ in range(3):
        known = armed
        helper()
        if known:
            calls.append(1)
def starts():
    while not over:
        threads = [threading.Thread(target=short) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
if "audit" in sys.argv:
    # It lets other threads run, as any code may; time.sleep is an event itself from Python 3.13 on.
    sys.addaudithook(lambda event, arguments: select.select([], [], [], 0))
starters = [threading.Thread(target=starts) for _ in range(4)]
for one in starters:
    one.start()
print("ready", flush=True)
sys.stdin.readline()
armed = True
while len(calls) < 200:
    sys.stdin.readline()
over = True
for one in starters:
    one.join()
print(len(hits) >= len(calls), flush=True)
"""


@pytest.fixture(params=[pytest.param("own"), *rows.versions()])
def python(request: pytest.FixtureRequest) -> str:
    return sys.executable if request.param == "own" else str(support.other_interpreter(request.param))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(LOOP)
    return path


async def ready(client: Client) -> None:
    assert client.target.stdout is not None
    assert await client.target.stdout.readline() == b"ready\n"


def read_a_line(client: Client) -> None:
    """The program, which waits for a line of its input, goes on."""
    assert client.target.stdin is not None
    client.target.stdin.write(b"\n")


async def set_lines(client: Client, path: Path, *lines: int) -> None:
    places = [{"line": line} for line in lines]
    await client.request("setBreakpoints", source={"path": str(path)}, breakpoints=places)


async def top(client: Client) -> tuple[str, int]:
    stop = await client.event("stopped")
    return (await client.stack(stop["threadId"]))[0]


@pytest.mark.parametrize("audit", ["", "audit"])
def test_every_call_after_the_answer_meets_a_breakpoint(python: str, script: Path, audit: str) -> None:
    script.write_text(STARTS)

    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        place = {"line": 4, "condition": "hits.append(1)"}
        await client.request("setBreakpoints", source={"path": str(script)}, breakpoints=[place])
        assert client.target.stdin is not None and client.target.stdout is not None
        client.target.stdin.write(b"\n" * 10_000)
        client.target.stdin.close()
        assert await client.target.stdout.readline() == b"True\n"

    debug(piped(python, script, *([audit] if audit else [])), scenario)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(("numbers", 4), id="a generator that has begun"),
        pytest.param(("helper", 6), id="a function that a running thread calls"),
        pytest.param(("early", 9), id="a function in which a thread is"),
        pytest.param(("late", 13), id="a thread that begins later"),
        pytest.param(("<module>", 22), id="the main program"),
    ],
)
def test_a_breakpoint_that_is_set_while_it_runs(python: str, script: Path, place: Any) -> None:
    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await set_lines(client, script, place[1])
        for _ in range(2):
            assert await top(client) == place
            await client.resume()

    debug(piped(python, script), scenario)


WAITING = """\
import sys, threading
def numbers():
    while True:
        try:
            yield
            print(1)
        except KeyError:
            print(2)
async def coroutine():
    while True:
        await Waits()
        print(3)
class Waits:
    def __await__(self):
        yield
one, other = numbers(), coroutine()
next(one), other.send(None)
print("ready", flush=True)
sys.stdin.readline()
exec(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("does", "place"),
    [
        pytest.param("next(one)", ("numbers", 6), id="a generator"),
        pytest.param("one.throw(KeyError())", ("numbers", 8), id="an exception that a generator is given"),
        pytest.param("other.send(None)", ("coroutine", 12), id="a coroutine"),
        pytest.param(
            "threading.Thread(target=next, args=(one,)).start()", ("numbers", 6), id="in another thread"
        ),
    ],
)
def test_a_breakpoint_in_what_has_begun_and_waits(python: str, script: Path, does: str, place: Any) -> None:
    """It is on no stack when the breakpoint is set."""
    script.write_text(WAITING)

    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await set_lines(client, script, place[1])
        read_a_line(client)
        assert await top(client) == place

    debug(piped(python, script, does), scenario)


def test_an_exception_that_is_to_stop_later(python: str, script: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await client.request("setExceptionBreakpoints", filters=["raised"])
        assert await top(client) == ("raising", 16)

    debug(piped(python, script), scenario)


def test_an_uncaught_exception_that_is_to_stop_later(python: str, script: Path) -> None:
    script.write_text(
        "import os, sys, time\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "def fails():\n    raise KeyError(1)\n"
        "fails()\n"
    )

    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await client.request("setExceptionBreakpoints", filters=["uncaught"])
        read_a_line(client)
        assert await top(client) == ("fails", 5)

    debug(piped(python, script), scenario)


def test_a_function_that_is_to_stop_later(python: str, script: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await client.request("setFunctionBreakpoints", breakpoints=[{"name": "helper"}])
        assert (await top(client))[0] == "helper"

    debug(piped(python, script), scenario)


def test_a_pause_while_it_runs(python: str, script: Path) -> None:
    script.write_text("".join(LOOP.splitlines(keepends=True)[:-1]))  # a thread in which it steps might end

    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await client.request("pause", threadId="*")
        stop = await client.event("stopped")
        assert stop["reason"] == "pause" and stop["allThreadsStopped"]
        await client.request("next", threadId=stop["threadId"])
        assert (await client.event("stopped"))["reason"] == "step"

    debug(piped(python, script), scenario)


def test_the_program_s_own_breakpoint_while_it_runs(python: str, script: Path) -> None:
    script.write_text("def f():\n    breakpoint()\n    return 1\nf()\nprint(2)\n")

    async def scenario(client: Client) -> None:
        await client.start()
        stop = await client.event("stopped")
        name, line = (await client.stack(stop["threadId"]))[0]
        assert name == "f" and line in (2, 3)
        await client.request("stepOut", threadId=stop["threadId"])
        assert (await top(client))[0] == "<module>"

    debug(piped(python, script), scenario)


OTHER = """\
def helper(n):
    return n + 1
"""
TWO_FILES = """\
import other, sys
def mine(n):
    return other.helper(n)
print("ready", flush=True)
for n in range(2):
    mine(n)
sys.stdin.readline()
for n in range(2):
    other.helper(n)
"""


def test_a_step_leads_into_a_file_without_a_breakpoint(python: str, tmp_path: Path, script: Path) -> None:
    script.write_text(TWO_FILES)
    (tmp_path / "other.py").write_text(OTHER)

    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await ready(client)
        assert await top(client) == ("mine", 3)
        await client.request("stepIn", threadId=1)
        assert await top(client) == ("helper", 2)

    debug(piped(python, script), scenario)


def test_a_breakpoint_is_added_in_a_file_that_had_none(python: str, tmp_path: Path, script: Path) -> None:
    script.write_text(TWO_FILES)
    other = tmp_path / "other.py"
    other.write_text(OTHER)

    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await ready(client)
        assert await top(client) == ("mine", 3)
        await client.resume()
        assert await top(client) == ("mine", 3)
        await set_lines(client, script)
        await set_lines(client, other, 2)
        await client.resume()
        assert await top(client) == ("helper", 2)

    debug(piped(python, script), scenario)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_relative_name_is_that_of_the_folder_where_the_program_began(
    python: str, tmp_path: Path, script: Path, wanted: bool
) -> None:
    """``wanted``: the breakpoint is there from the beginning."""
    script.write_text(
        "import os, sys\nos.chdir('/')\nprint('ready', flush=True)\nsys.stdin.readline()\ndef f():\n    return 1\nf()\n"
    )
    launch = Launch(python, script=script.name, cwd=str(tmp_path), stdin="pipe", stdout="pipe", stderr="pipe")

    async def scenario(client: Client) -> None:
        await client.start({script: [6]} if wanted else {})
        await ready(client)
        await set_lines(client, script, 6)
        read_a_line(client)
        assert await top(client) == ("f", 6)

    debug(launch, scenario)


def test_so_is_that_of_a_file_that_the_program_has_run_itself(
    python: str, tmp_path: Path, script: Path
) -> None:
    library = tmp_path / "library.py"
    library.write_text("def f():\n    return 1\n")
    script.write_text(
        "import os, sys\n"
        "exec(compile(open('library.py').read(), 'library.py', 'exec'))\n"
        "os.chdir('/')\nprint('ready', flush=True)\nsys.stdin.readline()\nf()\n"
    )
    launch = Launch(python, script=str(script), cwd=str(tmp_path), stdin="pipe", stdout="pipe", stderr="pipe")

    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await set_lines(client, library, 2)
        read_a_line(client)
        assert await top(client) == ("f", 2)

    debug(launch, scenario)


def test_a_trace_function_that_is_put_back_is_that_of_the_debugger(python: str, script: Path) -> None:
    """The program puts back what it had found before the breakpoint was set (test.support.no_tracing does so)."""
    script.write_text(
        "import sys\n"
        "def helper(n):\n    return n\n"
        "earlier = sys.gettrace()\nsys.settrace(None)\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        "sys.settrace(earlier)\nhelper(1)\n"
    )

    async def scenario(client: Client) -> None:
        await client.start()
        await ready(client)
        await set_lines(client, script, 3)
        read_a_line(client)
        assert await top(client) == ("helper", 3)

    debug(piped(python, script), scenario)
