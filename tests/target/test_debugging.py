"""pydevd does its work when it is spoken to directly: stops, steps, forks, and every way for the connection to end."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dualdbg.target.launcher import Launch, Meeting, spawn
from tests import rows, support

from .client import DEADLINE, Client, connected, outcome, status

VERSIONS = [
    pytest.param(None, id="own"),
    *(pytest.param(*row.values, marks=(pytest.mark.slow, *row.marks)) for row in rows.versions()),
]

SCRIPT = """\
import sys
def f(x):
    y = x + 1
    return y
print(f(1))
print('end')
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    if request.param is None:
        return sys.executable
    return str(support.other_interpreter(request.param))


def piped(python: str, script: Path, *args: str, **options: object) -> Launch:
    pipes = {"stdin": "pipe", "stdout": "pipe", "stderr": "pipe"}
    return Launch(python, script=str(script), args=args, **{**pipes, **options})  # type: ignore[arg-type]


def debug(launch: Launch, scenario: Callable[[Client], Awaitable[None]], **options: object) -> None:
    async def run() -> None:
        async with connected(launch, **options) as client:
            await asyncio.wait_for(scenario(client), DEADLINE)

    asyncio.run(run())


async def ends_well(client: Client, stdout: str, code: int = 0) -> None:
    reading = asyncio.create_task(client.drain())
    result = await outcome(client.target)
    await reading
    assert (result.stdout, result.stderr, result.status) == (stdout, "", code)


def test_breakpoint_step_and_stack(python: str, script: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        assert (await client.event("stopped"))["reason"] == "breakpoint"
        assert await client.stack(1) == [("f", 3), ("<module>", 5)]
        await client.request("next", threadId=1)
        assert (await client.event("stopped"))["reason"] == "step"
        assert await client.stack(1) == [("f", 4), ("<module>", 5)]
        await client.request("stepOut", threadId=1)
        await client.event("stopped")
        assert (await client.stack(1))[0][0] == "<module>"
        await client.resume()
        await ends_well(client, "2\nend\n")

    debug(piped(python, script), scenario)


@pytest.mark.parametrize("just_my_code", [True, False])
def test_stop_on_entry_is_the_first_line_of_the_script(python: str, script: Path, just_my_code: bool) -> None:
    async def scenario(client: Client) -> None:
        await client.request("launch", justMyCode=just_my_code, stopOnEntry=True)
        await client.request("configurationDone")
        assert (await client.event("stopped"))["reason"] == "entry"
        assert await client.stack(1) == [("<module>", 1)]
        for line in (2, 5, 6):
            await client.request("next", threadId=1)
            await client.event("stopped")
            assert await client.stack(1) == [("<module>", line)]
        await client.request("next", threadId=1)
        await ends_well(client, "2\nend\n")

    debug(piped(python, script), scenario)


def test_uncaught_exception_stops_where_it_is_raised(python: str, script: Path) -> None:
    script.write_text("def f():\n    raise KeyError('k')\nf()\n")

    async def scenario(client: Client) -> None:
        await client.request("attach", justMyCode=True)
        await client.request("setExceptionBreakpoints", filters=["uncaught"])
        client.send("configurationDone")
        stop = await client.event("stopped")
        assert stop["reason"] == "exception" and stop["text"].startswith("KeyError")
        assert await client.stack(1) == [("f", 2), ("<module> (Current frame)", 3)]
        await client.resume()
        reading = asyncio.create_task(client.drain())
        result = await outcome(client.target)
        await reading
        assert result.status == 1
        assert result.stderr.startswith("Traceback (most recent call last):\n  File ")
        assert "dualdbg" not in result.stderr and "pydevd" not in result.stderr

    debug(piped(python, script), scenario)


def test_a_module_stops_and_steps_to_its_end(python: str, script: Path) -> None:
    script.write_text("def f():\n    return 1\nprint(f())\nraise KeyError('k')\n")
    launch = Launch(
        python, module="script", cwd=str(script.parent), stdin="pipe", stdout="pipe", stderr="pipe"
    )

    async def scenario(client: Client) -> None:
        await client.request("attach", justMyCode=True)
        await client.request("setExceptionBreakpoints", filters=["uncaught"])
        await client.request("setBreakpoints", source={"path": str(script)}, breakpoints=[{"line": 2}])
        client.send("configurationDone")
        await client.event("stopped")
        assert await client.stack(1) == [("f", 2), ("<module>", 3)]
        await client.request("stepOut", threadId=1)
        await client.event("stopped")
        await client.request("next", threadId=1)
        assert (await client.event("stopped"))["reason"] == "step"
        assert await client.stack(1) == [("<module>", 4)]
        await client.request("next", threadId=1)
        stop = await client.event("stopped")
        assert stop["reason"] == "exception" and stop["text"].startswith("KeyError")
        await client.resume()
        reading = asyncio.create_task(client.drain())
        result = await outcome(client.target)
        await reading
        assert (result.stdout, result.status) == ("1\n", 1)
        assert "pydevd" not in result.stderr and "dualdbg" not in result.stderr

    debug(launch, scenario)


def test_the_breakpoint_function_stops(python: str, script: Path) -> None:
    script.write_text("x = 1\nbreakpoint()\nprint(x)\n")

    async def scenario(client: Client) -> None:
        await client.start()
        await client.event("stopped")
        assert (await client.stack(1))[0] in (("<module>", 2), ("<module>", 3))
        await client.resume()
        await ends_well(client, "1\n")

    debug(piped(python, script), scenario)


def test_threads_of_the_program_stop_too(python: str, script: Path) -> None:
    script.write_text(
        "import threading\ndef f():\n    print('in it')\nt = threading.Thread(target=f)\nt.start()\nt.join()\n"
    )

    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        stop = await client.event("stopped")
        assert await client.stack(stop["threadId"]) == [("f", 3)]
        await client.resume()
        await ends_well(client, "in it\n")

    debug(piped(python, script), scenario)


def test_a_forked_child_does_not_stop_and_its_parent_does(python: str, script: Path) -> None:
    script.write_text(
        "import os, sys, threading\n"
        "def f():\n"
        "    return 1\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    f()\n"
        "    thread = threading.Thread(target=f); thread.start(); thread.join()\n"
        "    sys.exit(5)\n"
        "print(os.waitpid(pid, 0)[1] >> 8, flush=True)\n"
        "f()\n"
    )

    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await client.event("stopped")
        assert await client.stack(1) == [("f", 3), ("<module>", 10)]
        await client.resume()
        await ends_well(client, "5\n")

    debug(piped(python, script), scenario)


def test_closing_every_descriptor_loses_the_debugger_and_not_the_program(python: str, script: Path) -> None:
    script.write_text("import os\ndef f():\n    return 1\nos.closerange(3, 65536)\nprint(f())\n")

    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await ends_well(client, "1\n")

    debug(piped(python, script), scenario)


def test_hanging_up_lets_the_program_run_on(python: str, script: Path) -> None:
    script.write_text("def f():\n    return 1\nprint('started', flush=True)\ninput()\nprint(f())\n")

    async def scenario(client: Client) -> None:
        await client.start({script: [2]})
        assert client.target.stdout is not None
        assert await client.target.stdout.readline() == b"started\n"
        await client.hang_up()
        result = await outcome(client.target, b"\n")
        assert (result.stdout, result.stderr, result.status) == ("1\n", "", 0)

    debug(piped(python, script), scenario)


def test_hanging_up_at_a_stop_lets_the_program_run_on(python: str, script: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await client.event("stopped")
        await client.hang_up()
        result = await outcome(client.target)
        assert (result.stdout, result.stderr, result.status) == ("2\nend\n", "", 0)

    debug(piped(python, script), scenario)


def test_hanging_up_before_the_start_ends_the_target(script: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.hang_up()
        result = await outcome(client.target)
        assert (result.stdout, result.stderr, result.status) == ("", "", 3)

    debug(piped(sys.executable, script), scenario)


def test_a_target_that_finds_nobody_says_so_and_does_not_run(script: Path) -> None:
    async def run() -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
            port = closed.getsockname()[1]
            for address in (("127.0.0.1", port), "/nowhere/x"):
                target = await spawn(piped(sys.executable, script), Meeting(address))
                result = await outcome(target)
                assert (result.stdout, result.status) == ("", 3)
                said = "dualdbg: the program is not run: the session that started it has ended\n"
                assert result.stderr == said

    asyncio.run(run())


def test_without_the_token_nothing_is_answered(script: Path) -> None:
    async def run() -> None:
        arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        server = await asyncio.start_server(lambda *streams: arrived.put_nowait(streams), "127.0.0.1", 0)
        target = await spawn(piped(sys.executable, script), Meeting(server.sockets[0].getsockname()[:2]))
        reader, writer = await arrived.get()
        assert set(json.loads(await reader.readline())) == {"token", "pid"}, "it says first who it is"
        client = Client(target, reader, writer)
        for command in ("initialize", "attach", "configurationDone"):
            assert (await client.request(command, adapterID="x"))["success"] is False
        assert (await client.request("pydevdAuthorize", debugServerAccessToken="guess"))["success"] is False
        assert target.exit is None
        target.kill()
        assert status(await target.wait()) == -9
        await client.hang_up()
        server.close()

    asyncio.run(run())


def test_the_connection_is_out_of_the_way(script: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await client.event("stopped")
        frame = (await client.request("stackTrace", threadId=1))["body"]["stackFrames"][0]["id"]
        connection = "__import__('pydevd').get_global_debugger()._client_socket"
        answer = await client.request(
            "evaluate", expression=f"{connection}.fileno()", frameId=frame, context="repl"
        )
        assert int(answer["body"]["result"]) >= 500
        await client.resume()
        await ends_well(client, "2\nend\n")

    debug(piped(sys.executable, script), scenario)


# Has pydevd answer what was asked of a frame, when it comes to it after the thread has left that frame.
LATE = """
import pydevd
from _pydevd_bundle import pydevd_api
from _pydevd_bundle._debug_adapter import pydevd_schema as schema

thread = pydevd.get_current_thread_id(pydevd.threading.current_thread())
asked = schema.EvaluateRequest(schema.EvaluateArguments("x", frameId=-1, context="CONTEXT"), seq=1001)
pydevd_api.internal_evaluate_expression_json(pydevd.get_global_debugger(), asked, thread)
asked = schema.SetExpressionRequest(schema.SetExpressionArguments("x", "2", frameId=-1), seq=1002)
pydevd_api.internal_set_expression_json(pydevd.get_global_debugger(), asked, thread)
"""


@pytest.mark.parametrize("context", ["clipboard", "watch", "hover", "repl"])
def test_a_frame_that_was_left_has_no_values(script: Path, context: str) -> None:
    """Who asks for one has asked too late: None is not the answer."""

    async def scenario(client: Client) -> None:
        await client.start({script: [3]})
        await client.event("stopped")
        frame = (await client.request("stackTrace", threadId=1))["body"]["stackFrames"][0]["id"]
        code = f"exec({LATE.replace('CONTEXT', context)!r}, {{}})"
        await client.request("evaluate", expression=code, frameId=frame, context="repl")
        value, assigned = await client.response(1001), await client.response(1002)
        assert (value["success"], value["message"]) == (False, "the thread has gone on from that frame")
        assert not assigned["success"]
        await client.resume()
        await ends_well(client, "2\nend\n")

    debug(piped(sys.executable, script), scenario)


def test_a_child_that_inherits_the_environment_is_left_alone(tmp_path: Path) -> None:
    """What runs before the bootstrap has cleaned up (a .pth file) may start another Python."""
    from dualdbg.target.launcher import environment

    env = environment(Launch(sys.executable, code="pass"), Meeting("/nowhere"), None)
    command = "import os, sys; print(sorted(n for n in os.environ if 'DUALDBG_TARGET' in n), 'pydevd' in sys.modules)"

    async def run() -> bytes:
        # Launcher, keeper, program, and its child.
        child = """/bin/sh -c '"$@"; true' sh "$@"; true"""
        words = ("/bin/sh", "-c", child, "sh", sys.executable, "-c", command)
        process = await asyncio.create_subprocess_exec(*words, env=env, stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0]

    assert asyncio.run(run()) == b"[] False\n"
    assert os.environ.get("DUALDBG_TARGET") is None
