"""One session over both languages: breakpoints on both sides, one stack, steps across, values of either side."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .client import Client
from .samples import HELPER, PYBIND, line_of, paths


def test_breakpoints_on_both_sides_and_one_stack(client: Client, demo: Path) -> None:
    inner = line_of(HELPER, "double term")
    answers = client.start({"program": str(demo)}, lines={demo: [11], HELPER: [inner]})
    assert answers[str(demo)][0]["verified"]
    assert not answers[str(HELPER)][0]["verified"]  # its library is not there yet
    assert "debug information" in answers[str(HELPER)][0]["message"]

    stop = client.stopped(reason="breakpoint", allThreadsStopped=True)
    bound = client.event("breakpoint", reason="changed")["breakpoint"]
    assert bound["verified"] and bound["line"] == inner
    assert stop["hitBreakpointIds"] == [answers[str(HELPER)][0]["id"]]
    frames = client.stack(stop["threadId"])
    names = paths(frames)
    boundary = names.index("--")
    assert [name.split("(")[0] for name in names[:3]] == [
        "sample::inner_loop",
        "sample::helper",
        "sample::outer",
    ]
    assert names[boundary:] == ["--", "main:10", "<module>:15"]
    assert frames[0]["source"]["path"] == str(HELPER) and frames[0]["line"] == inner
    assert frames[boundary]["name"] == "called from Python"
    assert {frame.get("presentationHint") for frame in frames[3:boundary]} == {"subtle"}
    for frame in frames[:boundary]:
        assert int(frame["instructionPointerReference"], 16)

    client.go("continue", stop["threadId"])
    stop = client.stopped()
    client.set_lines(HELPER, [])
    client.go("continue", stop["threadId"])
    stop = client.stopped(reason="breakpoint", hitBreakpointIds=[answers[str(demo)][0]["id"]])
    assert paths(client.stack(stop["threadId"]))[:2] == ["main:11", "<module>:15"]
    client.go("continue", stop["threadId"])
    assert client.event("exited") == {"exitCode": 0}
    client.event("terminated")
    client.wait_output(r"done 10\.")


def test_what_the_client_set_is_not_told_as_new(client: Client, demo: Path) -> None:
    """An editor takes a new breakpoint for one that it has not, and adds it to its own."""
    answers = client.start(
        {"program": str(demo)},
        lines={demo: [1, 4, 10, 12], HELPER: [21, 22, 30]},
        functions=["sample::inner_loop", "py:double"],
        exceptions=["cpp_throw", "uncaught"],
    )
    assert answers[str(demo)][1]["line"] != 4, "moved: line 4 is empty"
    client.stopped()
    client.set_lines(demo, [10, 11, 12, 13])
    client.go("continue", client.request("threads")["threads"][0]["id"])
    client.stopped()
    assert [body for body in client.events("breakpoint") if body["reason"] == "new"] == []
    client.evaluate(f"`break {demo}:6")
    assert client.event("breakpoint", reason="new")["breakpoint"]["line"] == 6


CALLS = """\
extern "C" int one(int value) {
    return value + 1;
}
extern "C" int two(int value) {
    return value * 2;
}
extern "C" int both(int value) {
    return two(one(value)) + one(value);
}
"""


def test_step_in_targets_of_a_native_line(
    client: Client, program: Callable[..., Path], tmp_path: Path
) -> None:
    source, library = tmp_path / "calls.cpp", tmp_path / "libcalls.so"
    source.write_text(CALLS)
    subprocess.run(["g++", "-g", "-O0", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    path = program(f"import ctypes\nboth = ctypes.CDLL({str(library)!r}).both\nboth(1)\nboth(2)\nend = 1\n")
    client.start({"program": str(path)}, lines={source: [8], path: [5]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    targets = client.request("stepInTargets", {"frameId": frame["id"]})["targets"]
    assert [target["label"] for target in targets] == ["one", "two"]
    client.go("stepIn", thread, targetId=targets[1]["id"])
    client.stopped(reason="step")
    assert [row["name"] for row in client.stack(thread)][:2] == ["two", "both"]
    assert client.stack(thread)[0]["line"] == 5, "behind the prologue"
    outer = client.stack(thread)[1]
    assert client.request("stepInTargets", {"frameId": outer["id"]})["targets"] == [], "it stands in its call"
    assert "earlier stop" in client.refused("stepIn", {"threadId": thread, "targetId": targets[0]["id"]})
    client.go("continue", thread)
    client.stopped(reason="breakpoint")
    client.go("continue", thread)
    client.stopped()
    assert client.stack(thread)[0]["line"] == 5, "nothing is left of the choice"


def test_steps_cross_the_boundary_both_ways(client: Client, demo: Path) -> None:
    client.start({"program": str(demo)}, lines={demo: [11]})
    thread = client.stopped()["threadId"]

    client.go("stepIn", thread)
    client.stopped(reason="step")
    frames = client.stack(thread)
    assert "call_back" in frames[0]["name"] and frames[0]["source"]["path"] == str(PYBIND)
    assert paths(frames)[-2:] == ["main:11", "<module>:15"]

    client.go("stepIn", thread)  # the callback
    client.stopped(reason="step")
    frames = client.stack(thread)
    assert paths(frames)[0] == "double:6"
    labels = [frame["name"] for frame in frames if frame.get("presentationHint") == "label"]
    assert labels == ["called from C/C++", "called from Python"]

    client.go("stepOut", thread)
    client.stopped(reason="step")
    assert "call_back" in client.stack(thread)[0]["name"]
    client.go("stepOut", thread)
    client.stopped(reason="step")
    assert paths(client.stack(thread))[0] in ("main:11", "main:12")
    client.go("next", thread)
    client.stopped(reason="step")
    assert paths(client.stack(thread))[0] in ("main:12", "main:13")


def test_values_of_both_sides(client: Client, demo: Path) -> None:
    inner = line_of(HELPER, "double term")
    client.start({"program": str(demo)}, lines={HELPER: [inner], demo: [12]})
    thread = client.stopped()["threadId"]
    frames = client.stack(thread)
    local = client.scope(frames[0])
    assert local["total"]["value"] == "2" and local["total"]["type"] == "double"
    assert local["steps"]["value"] == "3"
    assert client.evaluate("total * 2 + steps", frames[0], "watch")["result"] == "7"
    assert client.evaluate("steps", frames[0], "hover")["result"] == "3"
    outer = next(frame for frame in frames if "outer" in frame["name"])
    assert client.evaluate("start", outer)["result"] == "1"

    client.set_lines(HELPER, [])
    client.set_lines(PYBIND, [line_of(PYBIND, "callback(value)")])
    client.go("continue", thread)
    client.stopped()
    main = next(frame for frame in client.stack(thread) if frame["name"] == "main")
    assert client.scope(main)["first"]["value"].startswith("4.83")  # read from memory
    assert client.evaluate("first", main, "hover")["result"].startswith("4.83")

    client.go("continue", thread)
    client.stopped()
    frame = client.stack(thread)[0]
    local = client.scope(frame)
    assert local["first"]["type"] == "float"
    assert client.evaluate("first + second", frame, "watch")["type"] == "float"
    assert client.evaluate("first", frame, "hover")["type"] == "float"


def test_setting_values_of_both_sides(client: Client, demo: Path) -> None:
    inner = line_of(HELPER, "double term")
    client.start({"program": str(demo)}, lines={HELPER: [inner], demo: [13]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    scope = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]
    answer = client.request(
        "setVariable", {"variablesReference": scope["variablesReference"], "name": "total", "value": "40 + 2"}
    )
    assert answer["value"] == "42"
    answer = client.request(
        "setExpression", {"expression": "total", "value": "total + 58", "frameId": frame["id"]}
    )
    assert answer["value"] == "100"
    assert client.evaluate("total", frame)["result"] == "100"
    client.set_lines(HELPER, [])
    client.go("continue", thread)
    client.stopped()
    frame = client.stack(thread)[0]
    assert float(client.scope(frame)["first"]["value"]) > 100
    scope = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]
    answer = client.request(
        "setVariable", {"variablesReference": scope["variablesReference"], "name": "text", "value": "'new'"}
    )
    assert answer["value"] == "'new'"
    client.request("setExpression", {"expression": "second", "value": "7", "frameId": frame["id"]})
    client.go("continue", thread)
    client.wait_output("new 7")


def test_children_of_native_values_are_paged(client: Client, native_samples: Path, demo: Path) -> None:
    client.start({"program": str(demo)}, lines={PYBIND: [line_of(PYBIND, "callback(value)")]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    callback = client.scope(frame)["callback"]
    assert callback["value"].startswith("<function double") and callback["memoryReference"].startswith("0x")
    array = client.evaluate("*(unsigned char (*)[1000])$sp", frame)
    page = client.children(array)
    assert len(page) == 201 and page["…"]["value"] == "more"
    assert "[0]" in page and "[199]" in page
    assert "[200]" in client.children(page["…"])
    assert list(client.children(array, start=500, count=2)) == ["[500]", "[501]"]


@pytest.mark.parametrize("kind", ["function", "instruction", "data"])
def test_native_breakpoints_that_are_no_lines(client: Client, demo: Path, kind: str) -> None:
    client.start({"program": str(demo)}, functions=["sample::helper"])
    thread = client.stopped(reason="function breakpoint")["threadId"]
    frame = client.stack(thread)[0]
    assert "helper" in frame["name"]
    if kind == "function":
        return
    if kind == "instruction":
        rows = client.request(
            "disassemble",
            {"memoryReference": frame["instructionPointerReference"], "instructionCount": 40},
        )["instructions"]
        call = next(row for row in rows if re.match(r"call|bl\s", row["instruction"]))
        answer = client.request(
            "setInstructionBreakpoints", {"breakpoints": [{"instructionReference": call["address"]}]}
        )
        assert answer["breakpoints"][0]["verified"]
        client.go("continue", thread)
        client.stopped(reason="instruction breakpoint")
        assert client.stack(thread)[0]["instructionPointerReference"] == call["address"]
        return
    scope = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]
    info = client.request(
        "dataBreakpointInfo", {"variablesReference": scope["variablesReference"], "name": "doubled"}
    )
    assert "8 bytes" in info["description"] and "write" in info["accessTypes"]
    answer = client.request(
        "setDataBreakpoints", {"breakpoints": [{"dataId": info["dataId"], "accessType": "write"}]}
    )
    assert answer["breakpoints"][0]["verified"], answer
    client.go("continue", thread)
    client.stopped(reason="data breakpoint", hitBreakpointIds=[answer["breakpoints"][0]["id"]])
    frame = client.stack(thread)[0]
    assert client.evaluate("doubled", frame)["result"] == "2"
    client.request("setDataBreakpoints", {"breakpoints": []})
    assert client.request("dataBreakpointInfo", {"name": "1 + 1", "frameId": frame["id"]})["dataId"] is None
