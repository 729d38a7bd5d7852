"""Child processes: a debug session of its own for each, which the client is asked to start."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.support import is_running, wait_until

from .client import Client, Message, Refused, StdioAdapter, connect
from .server import Server, gone, process_id

Write = Callable[..., Path]

# As a DataLoader has it: a worker that takes numbers from a queue, works on them in C++, and gives the results back.
LOADER = """\
import multiprocessing, os, sys
sys.path.insert(0, {samples!r})
import sample_pybind

def fetch(index):
    doubled = sample_pybind.outer(float(index), 2)
    return doubled

def worker(indices, results):
    while (index := indices.get()) is not None:
        results.put((os.getpid(), fetch(index)))

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    indices, results = context.Queue(), context.Queue()
    process = context.Process(target=worker, args=(indices, results))
    process.start()
    for index in (1, 2):
        indices.put(index)
    got = [results.get() for _ in range(2)]
    indices.put(None)
    process.join()
    print("worker ended with", process.exitcode, len(got), flush=True)
"""
FETCH = 6  # the line of `doubled = ...`
END = 23  # the last line
MAKES_A_CHILD = """\
import os, sys, time
child = os.fork()
mark = sys.argv[1] + (".parent" if child else ".child")
print("begun", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
open(mark, "w").close()
if child:
    os.waitpid(child, 0)
"""


@pytest.fixture
def loader(program: Write, native_samples: Path) -> Callable[[str], Path]:
    return lambda method: program(LOADER.format(samples=str(native_samples), method=method), "loader.py")


def follow(client: Client) -> list[Message]:
    """The client can start sessions; what it is asked to start is put into the list."""
    asked: list[Message] = []

    def start(arguments: Message) -> Message:
        asked.append(arguments)
        return {}

    client.reverse["startDebugging"] = start
    client.supports["supportsStartDebuggingRequest"] = True
    return asked


def session_of(client: Client, asked: list[Message]) -> tuple[Client, Message]:
    """The client of the next child, connected as VS Code does it; and what it is to send."""
    assert client.wait(lambda: bool(asked), 30), client.tail()
    wanted = asked.pop(0)
    assert wanted["request"] == "attach"
    configuration = wanted["configuration"]
    assert configuration["debugServer"] == configuration["connect"]["port"]
    return connect(configuration["connect"]["port"]), configuration


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_has_a_session_of_its_own(
    client: Client, loader: Callable[[str], Path], method: str
) -> None:
    path = loader(method)
    asked = follow(client)
    client.start({"program": str(path), "type": "debugpy"}, lines={path: [FETCH, END]})
    child, configuration = session_of(client, asked)
    assert configuration["type"] == "debugpy"
    answers = child.start(
        configuration, lines={path: [FETCH, END]}, functions=["sample::helper"], command="attach"
    )
    pid = int(child.event("process", startMethod="attachForSuspendedLaunch")["systemProcessId"])
    assert pid != process_id(client)
    assert child.event("capabilities") == {"capabilities": {"supportsRestartRequest": False}}
    stop = child.stopped(reason="breakpoint", hitBreakpointIds=[answers[str(path)][0]["id"]])
    assert stop["threadId"] == pid
    assert [frame["name"] for frame in child.stack(pid)][:2] == ["fetch", "worker"]
    assert child.scope(child.stack(pid)[0])["index"]["value"] == "1"
    child.go("stepIn", pid)
    child.stopped()
    assert child.stack(pid)[0]["name"] == "sample::outer"
    child.go("continue", pid)
    child.stopped(hitBreakpointIds=[answers["functions"][0]["id"]])
    assert "cannot be started again" in child.refused("restart")
    child.set_functions([])
    child.go("continue", pid)
    child.stopped()
    child.set_lines(path, [])
    child.go("continue", pid)
    assert child.event("exited") == {"exitCode": 0}
    child.event("terminated")
    child.request("disconnect")
    child.wait_end()
    thread = client.stopped()["threadId"]  # the program itself was never stopped by what its child met
    assert client.stack(thread)[0]["line"] == END
    client.go("continue", thread)
    client.wait_output("worker ended with 0 2")
    client.event("terminated")


FORKED = """\
import os, threading
# As it is in a forked child for a moment: threading knows the main thread by its number in the parent.
threading.main_thread()._set_native_id = lambda: None
child = os.fork()
if not child:
    while not os.path.exists({mark!r}):
        pass
    here = 1
    os._exit(0)
os.waitpid(child, 0)
"""


def test_threads_of_a_child_that_has_just_begun_are_its_own(
    client: Client, program: Write, tmp_path: Path
) -> None:
    """VS Code asks for them at once; the child's stop names the child's thread, not that of its parent."""
    mark = tmp_path / "mark"
    path = program(FORKED.format(mark=str(mark)))
    asked = follow(client)
    client.start({"program": str(path)})
    child, configuration = session_of(client, asked)
    child.start(configuration, lines={path: [8]}, command="attach")
    pid = process_id(child)

    def threads() -> list[int]:
        return [row["id"] for row in child.request("threads")["threads"]]

    assert process_id(client) not in threads()
    wait_until(lambda: threads() == [pid], what="the debugger's own thread is known as such")
    mark.touch()
    assert child.stopped(reason="breakpoint")["threadId"] == pid
    assert child.stack(pid)[0]["line"] == 8
    child.go("continue", pid)
    child.event("terminated")
    client.event("terminated")


def test_a_child_that_is_no_python(client: Client, tmp_path: Path) -> None:
    source, program = tmp_path / "tool.cpp", tmp_path / "tool"
    source.write_text(
        "int work(int value) {\n    return value + 1;\n}\nint main() {\n    return work(6);\n}\n"
    )
    subprocess.run(["g++", "-g", "-O0", "-o", str(program), str(source)], check=True)
    asked = follow(client)
    code = f"import subprocess\nprint('status', subprocess.run([{str(program)!r}]).returncode)\n"
    client.start({"code": code, "followChildren": "tool"})
    child, configuration = session_of(client, asked)
    child.start(configuration, lines={source: [5]}, functions=["work"], command="attach")
    pid = child.stopped(reason="breakpoint")["threadId"]
    assert child.stack(pid)[0]["line"] == 5
    child.go("continue", pid)
    child.stopped(reason="function breakpoint")
    assert child.scope(child.stack(pid)[0])["value"]["value"] == "6"
    child.go("continue", pid)
    assert child.event("exited") == {"exitCode": 7}
    client.wait_output("status 7")
    client.event("terminated")


def test_a_client_that_starts_a_new_adapter_for_a_child(
    client: Client, loader: Callable[[str], Path], tmp_path: Path
) -> None:
    """As a client does whose adapters are programs that it runs: the new one hands the session on."""
    path = loader("fork")
    asked = follow(client)
    client.start({"program": str(path)})
    unused, configuration = session_of(client, asked)
    unused.close()  # type: ignore[attr-defined]
    second = StdioAdapter("--log-dir", str(tmp_path / "second"))
    child = second.client
    answers = child.start(configuration, lines={path: [FETCH]}, command="attach")
    stop = child.stopped(hitBreakpointIds=[answers[str(path)][0]["id"]])
    pid = process_id(child)
    assert stop["threadId"] == pid != second.process.pid
    assert child.scope(child.stack(pid)[0])["index"]["value"] == "1"
    child.set_lines(path, [])
    child.go("continue", pid)
    child.event("terminated")
    child.request("disconnect")
    child.wait_end()
    assert second.close() == ""
    client.wait_output("worker ended with 0 2")
    client.event("terminated")


def with_a_child(client: Client, program: Write, tmp_path: Path) -> Client:
    """Starts a program in the client's session; its child's session is returned. Both processes wait."""
    asked = follow(client)
    client.start({"program": str(program(MAKES_A_CHILD)), "args": [str(tmp_path / "go")]})
    child, configuration = session_of(client, asked)
    child.start(configuration, command="attach")
    client.wait_output("begun\nbegun")
    return child


def test_the_end_of_the_program_ends_its_children(
    adapter: StdioAdapter, program: Write, tmp_path: Path
) -> None:
    client = adapter.client
    child = with_a_child(client, program, tmp_path)
    pids = process_id(client), process_id(child)
    client.request("disconnect")
    client.wait_end()
    child.event("terminated")
    child.wait_end()
    for pid in pids:
        gone(pid)
    assert adapter.process.wait(patient(60)) == 0


def test_the_sessions_of_children_hear_that_the_program_is_terminated(
    client: Client, program: Write, tmp_path: Path
) -> None:
    """Before the client of the program disconnects: an editor closes their windows by that."""
    child = with_a_child(client, program, tmp_path)
    pids = process_id(client), process_id(child)
    client.request("terminate")
    child.event("terminated")
    child.request("disconnect")
    child.wait_end()
    assert child.events("exited") == []
    client.event("terminated")
    for pid in pids:
        gone(pid)


@pytest.mark.parametrize("who", ["child", "program"])
def test_who_is_let_go_of_runs_on(client: Client, program: Write, tmp_path: Path, who: str) -> None:
    """A client that disconnects from a child, or vanishes, leaves it running; one that leaves the program, both."""
    asked = follow(client)
    mark = tmp_path / "go"
    client.start({"program": str(program(MAKES_A_CHILD)), "args": [str(mark)]})
    child, configuration = session_of(client, asked)
    child.start(configuration, command="attach")
    client.wait_output("begun\nbegun")
    child.go("pause", process_id(child))
    child.stopped()
    if who == "program":
        client.request("disconnect", {"terminateDebuggee": False})
        child.event("terminated")
    else:
        child.close()  # type: ignore[attr-defined]
    mark.touch()
    for name in ("go.child", "go.parent"):
        wait_until((tmp_path / name).exists, what=f"the end of the {name}")
    if who == "child":
        client.event("terminated")


def test_a_child_that_outlives_its_program(client: Client, program: Write) -> None:
    asked = follow(client)
    path = program("import os, time\nif os.fork() == 0:\n    while True:\n        time.sleep(0.01)\n")
    client.start({"program": str(path)})
    child, configuration = session_of(client, asked)
    child.start(configuration, command="attach")
    pid = process_id(child)
    client.event("exited")
    child.go("pause", pid)
    child.stopped()
    assert client.events("terminated") == [], "the session lasts as long as the children"
    client.request("terminate")
    child.event("terminated")
    client.event("terminated")
    gone(pid)


def test_a_child_that_no_session_is_started_for(client: Client, program: Write) -> None:
    asked = follow(client)
    path = program("import os\nif os.fork() == 0:\n    os._exit(7)\nprint('child', os.wait()[1] >> 8)\n")

    def refuse(arguments: Message) -> Message:
        raise ValueError("no window")

    client.reverse["startDebugging"] = refuse
    client.start({"program": str(path)})
    client.wait_output("child 7")
    client.wait_output("without dualdbg: the editor refused startDebugging: no window")
    client.event("terminated")
    assert asked == []


@pytest.mark.parametrize(
    "said", rows.some([{}, {"subProcess": False}, {"subProcess": True}, {"followChildren": "nobody"}], 2)
)
def test_who_is_not_followed(client: Client, program: Write, said: Message) -> None:
    """Not without the client, not against the user's will, not what the pattern does not mean."""
    asked = follow(client) if "subProcess" not in said or not said["subProcess"] else []
    if not said:
        client.supports.clear()
    client.start(
        {
            "code": "import os\nif os.fork() == 0:\n    os._exit(7)\nprint('child', os.wait()[1] >> 8)\n",
            **said,
        }
    )
    client.wait_output("child 7")
    client.event("terminated")
    assert asked == []
    assert ("startDebugging" in client.output) == (said == {"subProcess": True})


def test_only_children_are_to_be_had_at_their_port(client: Client, program: Write, tmp_path: Path) -> None:
    asked = follow(client)
    mark = tmp_path / "go"
    client.start({"program": str(program(MAKES_A_CHILD)), "args": [str(mark)]})
    stranger, configuration = session_of(client, asked)
    for command, arguments, why in (
        ("launch", {"code": "print(1)"}, "only child processes"),
        ("attach", {"processId": os.getpid()}, "only child processes"),
        ("attach", {}, "only child processes"),
        ("attach", {"childToken": "guessed"}, "is gone"),
    ):
        stranger.initialize()
        assert why in stranger.refused(command, arguments)
        stranger.wait_end()
        stranger = connect(configuration["connect"]["port"])
    stranger.close()  # type: ignore[attr-defined]
    for number in range(2):
        child = connect(configuration["connect"]["port"])
        child.initialize()
        launched = child.send("attach", configuration)
        if number:
            with pytest.raises(Refused, match="is gone") as refused:
                child.answer(launched)
            assert not refused.value.message["body"]["error"]["showUser"], "nobody made a mistake"
        else:
            child.initialized(launched)
            child.close()  # type: ignore[attr-defined]  # it vanishes while the child waits to be configured
            client.wait_output("runs without dualdbg")
    mark.touch()
    client.event("terminated")
    assert (tmp_path / "go.child").exists()


def test_children_of_a_server_come_to_its_own_port(loader: Callable[[str], Path]) -> None:
    path = loader("fork")
    server = Server(str(path))
    client = connect(server.port)
    asked = follow(client)
    client.start({"subProcess": True}, lines={path: [END]}, command="attach")
    child, configuration = session_of(client, asked)
    assert configuration["connect"]["port"] == server.port
    child.start(configuration, lines={path: [FETCH]}, command="attach")
    pid = child.stopped()["threadId"]
    os.kill(pid, signal.SIGKILL)
    assert child.event("exited") == {"exitCode": 137}
    child.event("terminated")
    assert is_running(process_id(client))
    client.request("disconnect", {"terminateDebuggee": True})
    client.wait_end()
    assert server.process.wait(patient(60)) == 137
    assert server.close()[1] == ""
