"""Memory, machine code, registers: read, written, stepped through by instruction."""

from __future__ import annotations

import base64
import importlib.util
import os
import platform
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dualdbg.system.patience import patient
from dualdbg.target.watch_registers import Watching, watching
from tests.support import PROGRAM_COUNTER, require

from .client import Client, Message
from .conftest import clean_adapter, demo_text
from .samples import HELPER, line_of


@pytest.fixture
def frame(client: Client, demo: Path) -> Message:
    """The innermost frame at a stop in sample::helper."""
    client.start({"program": str(demo)}, functions=["sample::helper"])
    return client.stack(client.stopped()["threadId"])[0]


class Still(NamedTuple):
    """A session that stands in sample::helper, and the innermost frame there."""

    client: Client
    frame: Message


@pytest.fixture(scope="module")
def still(native_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Still]:
    """For all tests that do not let it go on."""
    folder = tmp_path_factory.mktemp("still")
    path = folder / "program.py"
    path.write_text(demo_text(native_samples))
    with clean_adapter(folder / "log") as adapter:
        client = adapter.client
        client.start({"program": str(path)}, functions=["sample::helper"])
        yield Still(client, client.stack(client.stopped()["threadId"])[0])


def test_memory_is_read_and_written(still: Still) -> None:
    client, frame = still
    place = client.scope(frame)["start"]["memoryReference"]
    answer = client.request("readMemory", {"memoryReference": place, "count": 8})
    assert struct.unpack("d", base64.b64decode(answer["data"])) == (1.0,)
    data = base64.b64encode(struct.pack("d", 2.5)).decode()
    assert client.request("writeMemory", {"memoryReference": place, "data": data}) == {"bytesWritten": 8}
    assert client.evaluate("start", frame)["result"] == "2.5"
    part = client.request("readMemory", {"memoryReference": place, "offset": 4, "count": 4})
    assert int(part["address"], 16) == int(place, 16) + 4


@pytest.mark.parametrize("place", ["0x0", "0xffffffffffffffff", "18446744073709551600"])
def test_memory_that_is_not_there(still: Still, place: str) -> None:
    client = still.client
    answer = client.request("readMemory", {"memoryReference": place, "count": 16})
    assert "data" not in answer and answer["unreadableBytes"] == 16
    data = base64.b64encode(b"x").decode()
    assert "cannot be written" in client.refused("writeMemory", {"memoryReference": place, "data": data})
    assert "no address" in client.refused("readMemory", {"memoryReference": "nowhere", "count": 1})
    assert "base64" in client.refused("writeMemory", {"memoryReference": place, "data": "?"})


def test_disassembly(still: Still) -> None:
    client, frame = still
    here = frame["instructionPointerReference"]

    def rows(**more: int) -> list[Message]:
        answer = client.request("disassemble", {"memoryReference": here, "instructionCount": 20, **more})
        return list(answer["instructions"])

    after = rows()
    assert len(after) == 20 and after[0]["address"] == here
    assert after[0]["location"]["path"].endswith("helper.cpp") and after[0]["line"] == frame["line"]
    assert after[0]["symbol"].startswith("sample::helper")
    around = rows(instructionOffset=-4)
    assert len(around) == 20 and around[4]["address"] == here
    far = rows(instructionOffset=-200)
    assert len(far) == 20
    assert len({row["address"] for row in far}) == 20
    assert "too many" in client.refused("disassemble", {"memoryReference": here, "instructionCount": 10**9})


def test_disassembly_where_there_is_no_code(still: Still) -> None:
    client = still.client
    asked = {"memoryReference": "0x1000", "instructionOffset": -3, "instructionCount": 6}
    rows = client.request("disassemble", asked)["instructions"]
    assert [int(row["address"], 16) for row in rows] == list(range(0xFFD, 0x1003))
    assert {row["presentationHint"] for row in rows} == {"invalid"}


def test_the_disassembly_of_a_frame_without_source(client: Client) -> None:
    client.start({"code": "import os\nos.getsid(0)"}, functions=["getsid"])
    without = client.stack(client.stopped()["threadId"])[0]
    assert without["source"]["origin"] == "disassembly"
    assert "presentationHint" not in without["source"]  # it is what the breakpoint was set for
    text = client.request("source", {"sourceReference": without["source"]["sourceReference"]})["content"]
    line = text.splitlines()[without["line"] - 1]
    assert line.startswith("=> ") and without["instructionPointerReference"] in line


def test_frames_without_source_are_deemphasized_where_the_program_only_was(client: Client) -> None:
    """So an editor goes to the first frame with source by itself, and folds the others."""
    client.start({"code": "import time\nprint('ready', flush=True)\ntime.sleep(1000)"})
    client.wait_output("ready")
    thread = client.request("threads")["threads"][0]["id"]
    client.go("pause", thread)
    native = [
        frame["source"]
        for frame in client.stack(client.stopped(reason="pause")["threadId"])
        if frame.get("source", {}).get("origin") == "disassembly"
    ]
    assert native and {source.get("presentationHint") for source in native} == {"deemphasize"}


def test_steps_by_instruction(client: Client, frame: Message) -> None:
    thread = client.request("threads")["threads"][0]["id"]
    rows = client.request(
        "disassemble", {"memoryReference": frame["instructionPointerReference"], "instructionCount": 3}
    )["instructions"]
    for command, row in zip(("next", "stepIn"), rows[1:], strict=True):
        client.go(command, thread, granularity="instruction")
        client.stopped(reason="step")
        assert client.stack(thread)[0]["instructionPointerReference"] == row["address"]


def test_what_the_hardware_cannot_watch_is_refused(client: Client, frame: Message) -> None:
    """gdb would step through it instead, or let the program run no more: more than a register, or than there are."""
    place = int(client.scope(frame)["start"]["memoryReference"], 16) & ~63
    free = 3 if platform.machine() == "x86_64" else 4  # one of the four of x86-64 is for returns
    rows = [f"{place:#x}:99", "0xffffffffffff0000:4", *(f"{place + 8 * i:#x}:8" for i in range(free + 1))]
    wanted = [{"dataId": row, "accessType": "readWrite"} for row in (*rows, rows[2])]
    answers = client.request("setDataBreakpoints", {"breakpoints": wanted})["breakpoints"]
    assert [row["verified"] for row in answers] == [False, False, *[True] * free, False, True]
    assert answers[2]["id"] == answers[-1]["id"]
    assert "no debug register left" in answers[-2]["message"]
    client.request("setDataBreakpoints", {"breakpoints": [wanted[2], {"dataId": f"{place + 9:#x}:8"}]})
    client.request("setFunctionBreakpoints", {"breakpoints": []})
    client.request("setDataBreakpoints", {"breakpoints": []})
    client.go("continue", client.request("threads")["threads"][0]["id"])
    client.event("terminated")


def test_two_data_breakpoints_are_reached_at_once(client: Client, frame: Message) -> None:
    """gdb tells of both in one report."""
    scope = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]
    info = client.request(
        "dataBreakpointInfo", {"variablesReference": scope["variablesReference"], "name": "doubled"}
    )
    wanted = [{"dataId": info["dataId"], "accessType": access} for access in ("read", "readWrite", "write")]
    answers = client.request("setDataBreakpoints", {"breakpoints": wanted})["breakpoints"]
    assert all(row["verified"] for row in answers)
    thread = client.request("threads")["threads"][0]["id"]
    client.go("continue", thread)
    hit = client.stopped(reason="data breakpoint")["hitBreakpointIds"]
    assert set(hit) <= {row["id"] for row in answers}
    assert client.stack(thread)[0]["name"].startswith("sample::helper")


@pytest.mark.parametrize(
    ("address", "size", "count"),
    [(0x1000, 8, 1), (0x1004, 4, 1), (0x1001, 8, 4), (0x1004, 8, 2), (0x1001, 1, 1)],
)
def test_debug_registers(address: int, size: int, count: int) -> None:
    assert Watching("x86_64", 3).needed(address, size) == count


@pytest.mark.parametrize(
    ("address", "size", "count"),
    [(0x1000, 8, 1), (0x1004, 4, 1), (0x1001, 7, 1), (0x1001, 8, 2), (0x1004, 8, 2), (0xFFFF00001003, 3, 1)],
)
def test_debug_registers_of_aarch64(address: int, size: int, count: int) -> None:
    """One watches any bytes of a doubleword; and memory reaches further up."""
    machine = Watching("aarch64", 4)
    assert machine.needed(address, size) == count
    assert address + size < machine.end


def test_registers(still: Still) -> None:
    client, frame = still
    registers = client.scope(frame, "Registers")
    assert int(registers[PROGRAM_COUNTER]["value"], 16) == int(frame["instructionPointerReference"], 16)
    scopes = client.request("scopes", {"frameId": frame["id"]})["scopes"]
    scope = next(row for row in scopes if row["name"] == "Registers")
    assert scope["expensive"]
    asked = {"variablesReference": scope["variablesReference"], "name": "r15", "value": "0x1234"}
    assert int(client.request("setVariable", asked)["value"], 0) == 0x1234
    assert client.evaluate("$r15 == 0x1234", frame)["result"] in ("1", "true")


def test_completion_of_native_expressions(still: Still) -> None:
    client, frame = still
    text = "doub"
    asked = {"text": text, "column": len(text) + 1, "frameId": frame["id"]}
    targets = client.request("completions", asked)["targets"]
    assert "doubled" in [target["label"] for target in targets]
    assert targets[0]["length"] == 4


def test_log_points_and_conditions_in_cpp(client: Client, demo: Path) -> None:
    line = line_of(HELPER, "double term")
    client.start({"program": str(demo)}, lines={HELPER: [{"line": line, "logMessage": "i is {i}"}]})
    client.event("exited")
    assert [text for text in ("i is 0", "i is 1", "i is 2") if text in client.output] == [
        "i is 0",
        "i is 1",
        "i is 2",
    ]


def test_conditions_and_counts_of_hits_in_cpp(client: Client, demo: Path) -> None:
    line = line_of(HELPER, "double term")
    row = {"line": line, "hitCondition": "2"}
    client.start({"program": str(demo)}, lines={HELPER: [row]})
    thread = client.stopped()["threadId"]
    assert client.evaluate("i", client.stack(thread)[0])["result"] == "1"
    client.set_lines(HELPER, [{"line": line, "condition": "i == 2"}])
    client.go("continue", thread)
    client.stopped()
    assert client.evaluate("i", client.stack(thread)[0])["result"] == "2"
    client.go("continue", thread)
    assert client.event("exited") == {"exitCode": 0}


def test_a_breakpoint_that_is_off_is_not_verified(client: Client, demo: Path) -> None:
    """The console switched it off, and the row says so; a condition without a value stops once, and leaves it on."""
    line = line_of(HELPER, "double term")
    client.start({"program": str(demo)}, lines={HELPER: [{"line": line, "condition": "*(int *)0 == i"}]})
    stop = client.stopped()
    assert "cannot be evaluated" in stop["text"] and "Cannot access memory" in stop["text"]
    (id,) = stop["hitBreakpointIds"]

    def row_after(command: str) -> Message:
        seen = len(client.events("breakpoint"))
        client.evaluate(f"`{command} {id}", client.stack(stop["threadId"])[0])
        return dict(client.events("breakpoint")[seen:][-1]["breakpoint"])

    off = row_after("disable")
    assert off["id"] == id and not off["verified"] and off["reason"] == "failed"
    assert off["message"].startswith("is off: ")
    on = row_after("enable")
    assert on["id"] == id and on["verified"] and "message" not in on
    assert not row_after("disable")["verified"]
    client.go("continue", stop["threadId"])
    assert client.event("exited") == {"exitCode": 0}


@pytest.mark.torch
def test_a_tensor_at_stops_of_both_kinds(client: Client, program: Callable[..., Path]) -> None:
    """Its facts and elements as children, and its data as the editor's view of memory reads it."""
    require(importlib.util.find_spec("torch"), "PyTorch")
    path = program("import torch\nt = torch.arange(12.0).reshape(3, 4)\ntorch.randn(2)\n")
    client.start({"program": str(path)}, functions=["randn"], lines={path: [3]})
    thread = client.stopped(seconds=patient(90))["threadId"]
    frame = client.stack(thread)[0]
    places = [client.scope(frame)["t"]["memoryReference"]]
    places += [client.evaluate(name, frame, "watch").get("memoryReference") for name in ("t", "t + 1")]
    assert places == [places[0], places[0], None], (
        "of variables, not of values that are gone when they are shown"
    )
    client.go("continue", thread)
    client.stopped(reason="function breakpoint")
    frame = next(row for row in client.stack(thread) if row["name"] == "<module>")
    tensor = client.scope(frame)["t"]
    assert "8., 9." in tensor["value"].replace("\n", " ").replace("  ", " ")
    children = client.children(tensor)
    assert children["sizes"]["value"] == "[3, 4]" and children["dtype"]["value"] == "float32"
    assert children["[11]"]["value"] == "11.0"
    assert children["data"]["memoryReference"] == places[0]
    asked = {"memoryReference": places[0], "count": 48}
    data = base64.b64decode(client.request("readMemory", asked)["data"])
    assert struct.unpack("<12f", data) == tuple(map(float, range(12)))


def test_what_this_machine_can_watch() -> None:
    """On AArch64 the kernel is asked; 2 to 16 is what the architecture allows."""
    machine = watching()
    assert machine.machine == os.uname().machine
    assert 2 <= machine.count <= 16
