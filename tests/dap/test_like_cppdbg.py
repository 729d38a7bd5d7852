"""What cppdbg's users rely on and may not lose: a configuration whose type alone is changed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .client import Client, Message
from .samples import line_of
from .test_launch import Terminals, terminals

__all__ = ["terminals"]

Write = Callable[..., Path]

PROGRAM = """\
#include <cstdio>
#include <cstdlib>
static int twice(int value) {
    int result = value * 2;
    return result;
}
int main(int argc, char **argv) {
    const char *who = std::getenv("WHO");
    int total = 0;
    for (int i = 0; i < 3; ++i) {
        total += twice(i);
    }
    std::printf("%s %s %d\\n", who, argv[argc - 1], total);
    return 5;
}
"""


WAITS = """\
#include <unistd.h>
static int tick(int value) {
    return value + 1;
}
int main() {
    for (int value = 0;; usleep(10000)) {
        value = tick(value);
    }
}
"""


def compiled(source: Path, text: str, *flags: str) -> Path:
    """What g++ makes of a program's text, without optimization."""
    source.write_text(text)
    made = source.with_suffix("")
    subprocess.run(["g++", "-g", "-O0", *flags, "-o", str(made), str(source)], check=True)
    return made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program's, which is compiled beside it."""
    path = tmp_path_factory.mktemp("app") / "app.cpp"
    compiled(path, PROGRAM)
    return path


@pytest.fixture
def configuration(source: Path) -> Message:
    """What the template of cppdbg for a program of one's own looks like, with everything that may stand in it."""
    return {
        "name": "(gdb) Launch",
        "type": "dualdbg",
        "request": "launch",
        "program": str(source.with_suffix("")),
        "args": ["word"],
        "stopAtEntry": False,
        "cwd": str(source.parent),
        "environment": [{"name": "WHO", "value": "me"}],
        "externalConsole": False,
        "MIMode": "gdb",
        "miDebuggerPath": "gdb",
        "miDebuggerArgs": "-ex 'set $of_the_arguments = 6'",
        "setupCommands": [
            {"description": "pretty-printing", "text": "-enable-pretty-printing", "ignoreFailures": True},
            {"description": "flavor", "text": "-gdb-set disassembly-flavor intel", "ignoreFailures": True},
            {"description": "no such thing", "text": "no-such-command", "ignoreFailures": True},
            {"description": "cppdbg's own", "text": "run", "ignoreFailures": True},
            {"text": "set $of_the_commands = 7"},
        ],
        "additionalSOLibSearchPath": "/opt/a;/opt/b",
        "symbolLoadInfo": {"loadAll": True, "exceptionList": "libz*.so"},
        "launchCompleteCommand": "exec-run",
        "avoidWindowsConsoleRedirection": True,
        "showDisplayString": True,
        "unknownBreakpointHandling": "stop",
        "hardwareBreakpoints": {"require": False},
        "logging": {"moduleLoad": False, "engineLogging": False, "programOutput": True},
        "targetArchitecture": "x64",
        "customLaunchSetupCommands": [],
        "postRemoteConnectCommands": [],
        "miDebuggerServerAddress": "",
        "debugServerPath": "",
    }


def rest(client: Client) -> list[str]:
    """Where it stops until its end: functions."""
    names = []
    while (event := client.next_event("stopped", "terminated"))["event"] == "stopped":
        thread = event["body"]["threadId"]
        names.append(client.stack(thread)[0]["name"])
        client.go("continue", thread)
    return names


def test_a_program_without_python(client: Client, configuration: Message, source: Path) -> None:
    client.start(configuration, lines={source: [line_of(source, "value * 2")]})
    thread = client.stopped(reason="breakpoint")["threadId"]
    frames = client.stack(thread)
    assert [frame["name"] for frame in frames][:2] == ["twice", "main"]
    assert client.evaluate("$of_the_arguments * $of_the_commands", frames[0])["result"] == "42"
    assert client.evaluate("-exec show solib-search-path")["result"].count("/opt/a:/opt/b") == 1
    client.go("continue", thread)
    assert rest(client) == ["twice", "twice"]
    assert client.event("exited") == {"exitCode": 5}
    assert "me word 6" in client.output
    assert "dualdbg: " not in client.output, "nothing of it is to be told"


def test_a_program_without_python_stops_in_main(client: Client, configuration: Message) -> None:
    client.start({**configuration, "stopAtEntry": True})
    stop = client.stopped(reason="entry")
    assert client.stack(stop["threadId"])[0]["name"] == "main" and "hitBreakpointIds" not in stop
    client.go("continue", stop["threadId"])
    assert rest(client) == []
    assert client.event("exited") == {"exitCode": 5}


def test_a_program_without_python_is_run_without_debugging(client: Client, configuration: Message) -> None:
    client.initialize()
    client.request("launch", {**configuration, "noDebug": True})
    assert client.event("exited") == {"exitCode": 5}
    client.wait_output("me word 6")


def test_a_program_without_python_in_a_terminal(
    client: Client, configuration: Message, source: Path, terminals: Terminals
) -> None:
    """It is held until gdb has it, also where it becomes the foreground of a terminal meanwhile."""
    asked = {**configuration, "externalConsole": True}
    client.start(asked, lines={source: [line_of(source, "value * 2")]})
    assert rest(client) == ["twice"] * 3
    terminals.read_until(b"me word 6")
    assert terminals.asked[0]["kind"] == "external"


def test_a_program_without_python_is_started_again(
    client: Client, configuration: Message, source: Path
) -> None:
    client.start(configuration, lines={source: [line_of(source, "value * 2")]})
    first = client.stopped(reason="breakpoint")["threadId"]
    client.request("restart")
    second = client.stopped(reason="breakpoint")["threadId"]
    assert first != second and client.stack(second)[0]["name"] == "twice"


def test_attaching_as_cppdbg_does(client: Client, tmp_path: Path) -> None:
    """With the program's file and the number as a text, as its picker of processes gives it."""
    source = tmp_path / "waits.cpp"
    program = compiled(source, WAITS)
    with subprocess.Popen([program]) as process:
        try:
            asked = {"program": str(program), "processId": str(process.pid), "MIMode": "gdb"}
            client.start(asked, lines={source: [line_of(source, "return value")]}, command="attach")
            thread = client.stopped(reason="breakpoint")["threadId"]
            frames = client.stack(thread)
            assert [frame["name"] for frame in frames] == ["tick", "main"]
            assert int(client.evaluate("value,d", frames[0])["result"]) >= 0
            client.set_lines(source, [])
            client.request("disconnect")
            client.wait_end()
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no-such-command", "Undefined command"),
        ("-no-such-command", "Undefined MI command"),
        ("-gdb-set print no-such", "Undefined set print command"),
        ("run", "is not available: dualdbg itself runs the program"),
        ("-exec-run", "is not available: dualdbg itself runs the program"),
    ],
)
def test_a_command_that_fails_says_which(client: Client, configuration: Message, text: str, why: str) -> None:
    commands = [{"text": text, "description": "my printers"}]
    client.initialize()
    told = client.refused("launch", {**configuration, "setupCommands": commands})
    assert f"setupCommands: '{text}' (my printers) failed" in told and "ignoreFailures" in told
    assert why in told


MISSED: list[tuple[str, object, str]] = [
    ("visualizerFile", "x.natvis", "pretty printers"),
    ("logging", {"engineLogging": True}, "logDir"),
    ("debuginfod", {"enabled": True}, "downloads nothing"),
    ("variables", {"A": "B"}, "write the values themselves"),
    ("hardwareBreakpoints", {"require": True}, "hbreak"),
]


def test_option_without_effect_that_would_be_missed_is_told(client: Client, configuration: Message) -> None:
    client.start({**configuration, **{option: value for option, value, _ in MISSED}})
    assert rest(client) == []
    said = [line for line in client.output.splitlines() if line.startswith("dualdbg: ")]
    for option, _, told in MISSED:
        assert any(option in line and told in line for line in said), (option, said)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("customLaunchSetupCommands", [{"text": "file x"}], "setupCommands"),
        ("miDebuggerServerAddress", "localhost:1234", "dualdbg dap --listen"),
        ("debugServerPath", "/usr/bin/gdbserver", "dualdbg dap --listen"),
        ("deploySteps", [{"type": "shell"}], "preLaunchTask"),
        ("MIMode", "lldb", "install gdb"),
        ("miDebuggerArgs", "'", "close the quotes"),
        ("program", "/etc/hostname-of-nobody", "there is no file"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do(
    client: Client, configuration: Message, option: str, value: object, told: str
) -> None:
    client.initialize()
    assert told in client.refused("launch", {**configuration, option: value})


@pytest.mark.parametrize("both_ways", [True, False])
def test_files_that_have_moved(
    client: Client, configuration: Message, tmp_path: Path, both_ways: bool
) -> None:
    """`useForBreakpoints` false: only what is shown is mapped, and the editor's own path is no file of the program."""
    source = tmp_path / "app.cpp"
    configuration = {**configuration, "program": str(compiled(source, PROGRAM))}
    line = line_of(source, "value * 2")
    moved = tmp_path / "moved" / "app.cpp"
    moved.parent.mkdir()
    entry = {"editorPath": str(moved.parent), "useForBreakpoints": both_ways}
    asked = {**configuration, "sourceFileMap": {str(source.parent): entry}}
    text = source.read_text()
    source.unlink()
    moved.write_text(text)
    answers = client.start(asked, lines={moved: [line]}, functions=["twice"])
    assert answers[str(moved)][0]["verified"] is both_ways
    frame = client.stack(client.stopped()["threadId"])[0]
    assert frame["source"]["path"] == str(moved)
