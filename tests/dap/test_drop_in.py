"""What debugpy's users rely on and may not lose: each of these is what debugpy's own adapter does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dap.client import Client, Refused
from tests.dap.test_launch import finish

Write = Callable[..., Path]

EXITS = "import sys\nsys.exit({})\n"


def test_without_debugging_the_process_is_told(client: Client, program: Write) -> None:
    path = program("import os, signal\nprint(os.getpid(), flush=True)\nsignal.pause()\n")
    client.initialize()
    client.request("launch", {"program": str(path), "noDebug": True})
    assert "runs without a debugger" in client.refused(
        "setBreakpoints", {"source": {"path": str(path)}, "breakpoints": [{"line": 1}]}
    )
    assert client.set_lines(path, []) == []
    body = client.event("process")
    assert (body["name"], body["startMethod"], body["isLocalProcess"]) == (str(path), "launch", True)
    assert client.wait_output(r"^(\d+)\n")[1] == str(body["systemProcessId"])
    client.request("terminate")
    client.event("exited")


@pytest.mark.parametrize(
    ("options", "code", "stops"),
    [
        ({}, 0, False),
        ({}, 3, True),
        ({"breakOnSystemExitZero": True}, 0, True),
        ({"breakOnSystemExit": [0, {"from": 5, "to": 7}]}, 0, True),
        ({"breakOnSystemExit": [0, {"from": 5, "to": 7}]}, 6, True),
        ({"breakOnSystemExit": [0, {"from": 5, "to": 7}]}, 3, False),
    ],
)
def test_exits_that_stop(
    client: Client, program: Write, options: dict[str, object], code: int, stops: bool
) -> None:
    path = program(EXITS.format(code))
    client.initialize()
    launched = client.send("launch", {"program": str(path), **options})
    client.initialized(launched)
    client.request("setExceptionBreakpoints", {"filters": ["uncaught"]})
    client.request("configurationDone")
    if stops:
        client.go("continue", client.stopped(reason="exception")["threadId"])
    assert client.event("exited")["exitCode"] == code
    assert "is not known" not in client.output


def test_a_refused_jump_is_refused(client: Client, program: Write) -> None:
    path = program("def f():\n    x = 1\n    for x in range(3):\n        x = 2\n    return x\n\nprint(f())\n")
    client.start({"program": str(path)}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    before = client.stack(thread)[0]
    targets = client.request("gotoTargets", {"source": {"path": str(path)}, "line": 4})["targets"]
    with pytest.raises(Refused, match="can't jump into"):
        client.request("goto", {"threadId": thread, "targetId": targets[0]["id"]})
    assert client.evaluate("1 + 1", before)["result"] == "2", "the frame of the stop is still good"
    assert client.stack(thread)[0]["line"] == 2
    assert client.events("stopped") == [] and client.events("continued") == []
    client.go("continue", thread)
    assert finish(client) == 0


def test_an_expression_without_a_context_is_no_statement(client: Client, program: Write) -> None:
    path = program("n = 1\nprint(n)\n")
    client.start({"program": str(path)}, lines={path: [2]})
    frame = client.stack(client.stopped()["threadId"])[0]
    asked = {"frameId": frame["id"]}
    assert client.request("evaluate", {**asked, "expression": "n + 1"})["result"] == "2"
    with pytest.raises(Refused, match="SyntaxError"):
        client.request("evaluate", {**asked, "expression": "n = 5"})
    with pytest.raises(Refused):
        client.request("evaluate", {**asked, "expression": "`info threads"})
    assert client.request("evaluate", {**asked, "expression": "n"})["result"] == "1"


def test_rules_of_the_user_leave_our_own_out(client: Client, program: Write, tmp_path: Path) -> None:
    """`rules` that include everything do not make the debugger's bootstrap the user's code."""
    path = program("import os\nos.getpid()\n")
    rules = [{"path": "**", "include": True}, {"path": str(tmp_path), "include": True}]
    client.initialize()
    launched = client.send("launch", {"program": str(path), "rules": rules, "stopOnEntry": True})
    client.initialized(launched)
    client.request("configurationDone")
    stop = client.stopped(reason="entry")
    frame = client.stack(stop["threadId"])[0]
    assert (frame["source"]["path"], frame["line"]) == (str(path), 1)


def test_rules_leave_files_out(client: Client, program: Write) -> None:
    other = program("def f():\n    return 1\n", "other.py")
    path = program("import other\nother.f()\nprint('end')\n")
    rules = [{"path": str(other), "include": False}]
    client.start({"program": str(path), "rules": rules}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    client.go("stepIn", thread)
    client.stopped(reason="step")
    assert client.stack(thread)[0]["line"] == 3


def test_the_remote_root_may_be_where_the_program_runs(
    client: Client, program: Write, tmp_path: Path
) -> None:
    path = program("import os\nprint(os.getcwd())\n")
    mapping = {"localRoot": "/the/editors/folder", "remoteRoot": "."}
    theirs = f"/the/editors/folder/{path.name}"
    asked = {"program": str(path), "cwd": str(tmp_path), "pathMappings": [mapping]}
    answer = client.start(asked, lines={theirs: [2]})[theirs]
    assert answer[0]["verified"] and answer[0]["source"]["path"] == theirs
    source = client.stack(client.stopped()["threadId"])[0]["source"]
    assert source["path"] == theirs and not source.get("sourceReference")


def test_a_file_outside_of_all_mappings_has_its_text(client: Client, program: Write, tmp_path: Path) -> None:
    other = program("# Zoë\ndef f(call):\n    return call()\n", "library/other.py")
    path = program(
        "import sys\nsys.path.append('library')\nimport other\n\n\ndef inner():\n    return 1\n\n\nother.f(inner)\n",
        "mine/program.py",
    )
    mapping = {"localRoot": "/the/editors/folder", "remoteRoot": str(path.parent)}
    theirs = f"/the/editors/folder/{path.name}"
    asked = {"program": str(path), "cwd": str(tmp_path), "pathMappings": [mapping], "justMyCode": False}
    client.start(asked, lines={theirs: [7]})
    mine, library, main = client.stack(client.stopped()["threadId"])
    assert [bool(row["source"].get("sourceReference")) for row in (mine, library, main)] == [
        False,
        True,
        False,
    ]
    number = library["source"]["sourceReference"]
    asked = {"sourceReference": number, "source": library["source"]}
    assert client.request("source", asked)["content"] == other.read_text()
    other.unlink()
    os.mkfifo(other)  # nothing is waited for
    with pytest.raises(Refused, match="cannot be read"):
        client.request("source", asked)


def test_an_uncaught_exception_is_told_without_notes(client: Client, program: Write) -> None:
    path = program("class Bad(ValueError):\n    pass\ndef f():\n    raise Bad('no (note: yes)')\nf()\n")
    mapping = {"localRoot": "/the/editors/folder", "remoteRoot": "."}
    client.start({"program": str(path), "pathMappings": [mapping]}, exceptions=["uncaught"])
    thread = client.stopped(reason="exception")["threadId"]
    told = client.request("exceptionInfo", {"threadId": thread})
    assert told["details"]["source"] == f"/the/editors/folder/{path.name}"
    assert (told["exceptionId"], told["description"], told["breakMode"]) == (
        "Bad",
        "no (note: yes)",
        "unhandled",
    )
    assert told["details"]["typeName"] == "Bad"
    lines = told["details"]["stackTrace"].splitlines()
    assert [line.rpartition(" in ")[2] for line in lines if " in " in line] == ["f", "<module>"]
    files = [line.split('"')[1] for line in lines if '"' in line]
    assert files == [told["details"]["source"]] * 2


def test_evaluation_while_the_program_runs(client: Client, program: Write) -> None:
    path = program(
        "import time\nn = 41\nprint('begun', flush=True)\nwhile n:\n    time.sleep(0.01)\nprint('end')\n"
    )
    client.start({"program": str(path)})
    client.wait_output("begun")
    assert client.request("evaluate", {"expression": "n + 1", "context": "repl"})["result"] == "42"
    with pytest.raises(Refused, match="ZeroDivisionError"):
        client.request("evaluate", {"expression": "1 / 0", "context": "repl"})
    assert client.request("evaluate", {"expression": "sys.maxsize"})["result"] == str(sys.maxsize)
    for text in ("n", "n = 7", "print(1)"):
        assert "a hover runs nothing" in client.refused("evaluate", {"expression": text, "context": "hover"})
    assert client.request("evaluate", {"expression": "n", "context": "repl"})["result"] == "41"
    client.request("evaluate", {"expression": "n = 0", "context": "repl"})
    client.wait_output("end")
    assert finish(client) == 0


@pytest.mark.parametrize("reprs", ["read", "run"])
def test_a_slow_machine_is_no_news(client: Client, program: Write, reprs: str) -> None:
    """pydevd warns of values whose text took it long (here: any time at all). Only code of the program is to blame."""
    path = program("values = {'a': [1, 2], 'b': object()}\nprint('end')\n")
    asked = {"program": str(path), "reprs": reprs, "env": {"PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": "0"}}
    client.start(asked, lines={path: [2]})
    frame = client.stack(client.stopped()["threadId"])[0]
    client.children(client.scope(frame)["values"])
    client.go("continue", client.request("threads")["threads"][0]["id"])
    assert finish(client) == 0
    assert ("pydevd warning" in "".join(row["output"] for row in client.events("output"))) == (reprs == "run")


def test_a_frame_keeps_its_number_while_the_stop_lasts(client: Client, program: Write) -> None:
    path = program("def down(n):\n    if n:\n        return down(n - 1)\n    return 0\n\ndown(30)\n")
    client.start({"program": str(path)}, lines={path: [4]})
    thread = client.stopped()["threadId"]
    whole = client.stack(thread)
    assert len(whole) == len({row["id"] for row in whole}) == 32
    assert whole == [*client.stack(thread, startFrame=0, levels=20), *client.stack(thread, startFrame=20)]
    client.go("continue", thread)
    assert finish(client) == 0


def test_modules_of_python_are_told(client: Client, program: Write) -> None:
    helpers = program("def far():\n    return 1\n", "helpers.py")
    path = program("import helpers\nhelpers.far()\n")
    client.start({"program": str(path)}, lines={helpers: [2]})
    thread = client.stopped()["threadId"]
    client.stack(thread)
    for file, name in ((path, "__main__"), (helpers, "helpers")):
        told = client.event("module", reason="new")["module"]
        assert (told["name"], told["path"]) in {("__main__", str(path)), ("helpers", str(helpers))}, (
            file,
            name,
        )
        assert "package" not in told
    client.go("continue", thread)
    assert finish(client) == 0


def test_the_columns_of_what_raised(client: Client, program: Write) -> None:
    """As debugpy tells them of an uncaught exception, with a Python that knows them (3.11 and later)."""
    line = "x = 0; y = 3 + len(x)"
    client.start({"program": str(program(f"{line}\n"))}, exceptions=["uncaught"])
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    assert frame["line"] == 1
    if sys.version_info >= (3, 11):
        assert line[frame["column"] - 1 : frame["endColumn"] - 1] == "len(x)"
    client.request("disconnect", {"terminateDebuggee": True})


TWO_THREADS = """\
import threading
begun, end = threading.Event(), threading.Event()
def wait():
    begun.set()
    end.wait()
waits = threading.Thread(target=wait, name="waits")
waits.start()
begun.wait()
x = 1
y = 2
end.set()
"""


def test_a_stop_is_told_thread_by_thread(client: Client, program: Write) -> None:
    """As Visual Studio may ask for it: every thread has its own event, and the one that stopped comes first."""
    path = program(TWO_THREADS)
    client.initialize()
    client.initialized(client.send("launch", {"program": str(path)}))
    client.set_lines(path, [9])
    told = {"multiThreadsSingleNotification": False, "JustMyCodeStepping": 1}
    client.request("setDebuggerProperty", told)
    client.request("configurationDone")
    first = client.stopped(reason="breakpoint", allThreadsStopped=False)
    assert len(first["hitBreakpointIds"]) == 1
    names = {row["id"]: row["name"] for row in client.request("threads")["threads"]}
    assert names[first["threadId"]] == "MainThread" and "waits" in names.values()
    client.go("next", first["threadId"])
    assert client.stopped(reason="step", allThreadsStopped=False)["threadId"] == first["threadId"]
    other = client.stopped(reason="pause", allThreadsStopped=False, preserveFocusHint=True)
    assert names[other["threadId"]] == "waits"
    assert "wait" in {frame["name"] for frame in client.stack(other["threadId"])}
    client.request("setDebuggerProperty", {"multiThreadsSingleNotification": True})
    client.go("next", first["threadId"])
    client.stopped(reason="step", allThreadsStopped=True)
    client.go("continue", first["threadId"])
    assert finish(client) == 0


@pytest.mark.parametrize(
    "asked", [{"exceptions": ["uncaught"]}, {"functions": ["raise:ValueError"]}], ids=str
)
def test_an_exception_is_told_by_its_type_and_its_message(
    client: Client, program: Write, asked: dict[str, list[str]]
) -> None:
    path = program("x = 1\nraise ValueError('no: it is not')\n")
    client.start({"program": str(path)}, **asked)
    body = client.stopped(reason="exception")
    assert (body["text"], body["description"]) == ("ValueError", "no: it is not")


ONE_WAITS_FOR_THE_OTHER = """\
import threading
begun, first, second = (threading.Event() for _ in range(3))
def one():
    begun.wait()
    first.set()
    second.wait()
    print("one goes on", flush=True)
def other():
    first.wait()
    second.set()
threads = [threading.Thread(target=work, name=work.__name__) for work in (one, other)]
for thread in threads:
    thread.start()
begun.set()
for thread in threads:
    thread.join()
"""


def test_a_thread_steps_while_the_others_stand(client: Client, program: Write) -> None:
    """The step waits for a thread that is held: both can be looked at, and continue lets all of them run."""
    path = program(ONE_WAITS_FOR_THE_OTHER)
    client.start({"program": str(path), "steppingResumesAllThreads": False}, lines={path: [5]})
    assert client.stopped(reason="breakpoint")["threadId"]
    names = {row["name"]: row["id"] for row in client.request("threads")["threads"]}
    client.go("stepOut", names["one"])
    tops = {name: [frame["name"] for frame in client.stack(names[name])] for name in ("one", "other")}
    assert "one" in tops["one"] and "other" in tops["other"]
    client.go("continue", names["one"])
    client.wait_output("one goes on\n")
    assert finish(client) == 0


def test_an_expression_without_a_frame_has_the_names_of_the_main_module(
    client: Client, program: Write
) -> None:
    path = program("where = 'in the module'\ndef f():\n    where = 'in f'\n    return where\nf()\n")
    client.start({"program": str(path)}, lines={path: [4]})
    thread = client.stopped()["threadId"]
    assert client.evaluate("len(where)")["result"] == "13"
    assert client.evaluate("len(where)", client.stack(thread)[0])["result"] == "4"


def test_continue_overtakes_a_step_that_has_not_begun(client: Client, program: Write) -> None:
    """The thread is busy with an expression, so the step waits for it. It does not leave the next stop then."""
    path = program("import os, time\ntime.sleep(0.2)\nx = 1\ny = 2\n")
    client.start({"program": str(path), "steppingResumesAllThreads": False}, lines={path: [2, 4]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    over = path.with_name("over")
    busy = f"[time.sleep(0.01) for _ in iter(lambda: os.path.exists({str(over)!r}), True)]"
    client.send("evaluate", {"expression": busy, "frameId": frame["id"], "context": "repl"})
    taken = [client.send(command, {"threadId": thread}) for command in ("next", "continue")]
    for one in taken:
        client.answer(one)
    over.touch()
    assert client.stack(client.stopped()["threadId"])[0]["line"] == 4
    client.go("continue", thread)
    assert finish(client) == 0


def test_continue_while_a_step_takes_long_leaves_the_session_alive(client: Client, program: Write) -> None:
    """debugpy has nothing to let go of then, and gives no answer."""
    path = program("import time\ntime.sleep(1.5)\nx = 1\ny = 2\n")
    client.start({"program": str(path), "steppingResumesAllThreads": False}, lines={path: [2, 4]})
    thread = client.stopped()["threadId"]
    client.go("next", thread)
    client.go("continue", thread)
    assert client.request("threads")["threads"]
    while (
        client.stack(client.stopped()["threadId"])[0]["line"] != 4
    ):  # the step may still end where it was to
        client.go("continue", thread)
    client.go("continue", thread)
    assert finish(client) == 0
