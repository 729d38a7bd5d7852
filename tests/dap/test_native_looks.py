"""What cppdbg's users look at and change at a native stop: values, formats, memory, code, watched places, jumps."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dualdbg.dap.presentation.formats import without_specifier

from .client import Client, Message, Refused
from .conftest import clean_adapter
from .samples import line_of

Write = Callable[..., Path]

SOURCE = """\
#include <string>
#include <unistd.h>
#include <vector>
int counter = 7;
struct Base { int a = 1; };
struct Deep : Base { int b = 255; std::string name = "deep"; std::vector<int> items{1, 2, 3}; };
static int increment() { return ++counter; }
extern "C" int for_ever() { for (;;) pause(); }
extern "C" int crash() { return *(volatile int *)nullptr; }
extern "C" int leaf(int value) {
    int local = value + 1;
    return local;
}
extern "C" int run(int count) {
    Deep deep;
    Deep *pointer = &deep;
    int array[4] = {1, 2, 3, 4};
    char word[8] = "abc";
    int total = 0;
    for (int i = 0; i < count; ++i) {
        total += leaf(i);
        counter = total;
    }
    total += array[1] + pointer->b + word[7];
    return total + (count < 0 ? increment() : 0);
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source, and the library made of it."""
    source = tmp_path_factory.mktemp("looks") / "looks.cpp"
    library = source.with_suffix(".so")
    source.write_text(SOURCE)
    subprocess.run(["g++", "-g", "-O0", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return source, library


@pytest.fixture
def thread(client: Client, built: tuple[Path, Path], program: Write) -> int:
    """A thread that stands in the first round of the loop, before the call."""
    source, library = built
    path = program(f"import ctypes\nrun = ctypes.CDLL({str(library)!r}).run\nprint(run(3))\n")
    client.start({"program": str(path)}, lines={source: [line_of(source, "total += leaf")]})
    number = client.stopped(reason="breakpoint")["threadId"]
    client.set_lines(source, [])
    return int(number)


@pytest.fixture
def frame(client: Client, thread: int) -> Message:
    return client.stack(thread)[0]


class Still(NamedTuple):
    """A session that stands there, and the frame."""

    client: Client
    frame: Message


@pytest.fixture(scope="module")
def still(built: tuple[Path, Path]) -> Iterator[Still]:
    """For all tests that do not let it go on. What they change of the program they look at before."""
    source, library = built
    path = source.with_name("still.py")
    path.write_text(f"import ctypes\nrun = ctypes.CDLL({str(library)!r}).run\nprint(run(3))\n")
    with clean_adapter(source.with_name("log")) as adapter:
        client = adapter.client
        client.start({"program": str(path)}, lines={source: [line_of(source, "total += leaf")]})
        number = client.stopped(reason="breakpoint")["threadId"]
        client.set_lines(source, [])
        yield Still(client, client.stack(number)[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", ("n", "")),
        ("n,x", ("n", "x")),
        ("f(a, b), h", ("f(a, b)", "x")),
        ("n,bb", ("n", "t")),
        ("p,3", ("*(p)@3", "")),
        ("p,[12]", ("*(p)@12", "")),
        ("f(a, b)", ("f(a, b)", "")),
        ("a, b + 1", ("a, b + 1", "")),
        (",x", (",x", "")),
        ("p,0", ("p,0", "")),
        ("name,s", ("name", "")),
    ],
)
def test_format_specifiers(text: str, expected: tuple[str, str]) -> None:
    assert without_specifier(text) == expected


def test_values_in_other_formats(still: Still) -> None:
    client, frame = still
    shown = {
        text: client.evaluate(text, frame, "watch")["result"] for text in ("deep.b,x", "deep.b,o", "count,b")
    }
    assert shown == {"deep.b,x": "0xff", "deep.b,o": "0377", "count,b": "11"}
    three = client.evaluate("(int *)array,3", frame, "watch")
    assert three["result"] == "{1, 2, 3}" and len(client.children(three)) == 3
    asked = {"expression": "deep.b", "frameId": frame["id"], "format": {"hex": True}}
    assert client.request("evaluate", asked)["result"] == "0xff"
    scope = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]
    rows = client.children(scope, format={"hex": True})
    assert rows["count"]["value"] == "0x3"
    assert client.children(rows["deep"])["b"]["value"] == "0xff", "as what it lies in"
    assert client.children(client.scope(frame)["deep"], format={"hex": True})["b"]["value"] == "0xff"
    assert client.children(client.scope(frame)["deep"])["b"]["value"] == "255"


def test_every_value_can_be_watched_by_its_expression(still: Still) -> None:
    """What an editor adds to its watches for a row."""
    client, frame = still
    seen = 0
    rows = list(client.scope(frame).values())
    while rows:
        row = rows.pop()
        if "evaluateName" not in row:
            continue
        seen += 1
        again = client.evaluate(row["evaluateName"], frame, "watch")
        assert again["result"] == row["value"], row
        if row["variablesReference"] and row["name"] not in ("name",):
            rows += client.children(row).values()
    assert seen > 20
    deep = client.scope(frame)["pointer"]
    assert client.children(deep)["b"]["evaluateName"] == "pointer->b"


@pytest.mark.parametrize("more", [{}, {"hitCondition": ">= 100"}, {"logMessage": "here"}], ids=str)
def test_what_a_watch_calls_does_not_stop(
    client: Client, thread: int, frame: Message, built: tuple[Path, Path], more: Message
) -> None:
    """Else the thread would stay within the call, and the frames that the client has would mean others."""
    source, _ = built
    before = [(one["name"], one["line"]) for one in client.stack(thread)]
    client.set_lines(source, [{"line": line_of(source, "return local"), **more}])
    assert client.evaluate("leaf(20)", frame, "watch")["result"] == "21"
    for call in ("crash()", "leaf(crash())"):
        asked = {"expression": call, "frameId": frame["id"], "context": "watch"}
        assert "SIGSEGV" in client.refused("evaluate", asked)
    asked = {"expression": "for_ever()", "frameId": frame["id"], "context": "watch"}
    if not more:
        assert "takes longer than" in client.refused("evaluate", asked)
    waiting = client.send("evaluate", asked)
    client.request("cancel", {"requestId": waiting})
    with pytest.raises(Refused):
        client.answer(waiting)
    assert client.evaluate("count", frame, "watch")["result"] == "3"
    assert [(one["name"], one["line"]) for one in client.stack(thread)] == before
    assert not client.events("stopped") and not client.events("continued")
    client.go("continue", thread)
    if not more:
        assert client.stack(client.stopped()["threadId"])[0]["name"] == "leaf"
    else:
        assert client.event("exited") == {"exitCode": 0}


def test_an_array_takes_a_text_that_fits(still: Still) -> None:
    """Element by element: gdb would put the text into the target, and write its address."""
    client, frame = still
    reference = client.request("scopes", {"frameId": frame["id"]})["scopes"][0]["variablesReference"]

    def asked(name: str, value: str) -> Message:
        return {"variablesReference": reference, "name": name, "value": value}

    assert client.request("setVariable", asked("word", '"zz"'))["value"].startswith('"zz\\000')
    assert client.evaluate("word[2]", frame, "watch")["result"].startswith("0")
    for name, value in (("word", '"longer than it"'), ("word", "7"), ("array", "&counter")):
        assert "an array of" in client.refused("setVariable", asked(name, value))
    assert client.request("setVariable", asked("array", "{(int)7, 8}"))["value"].startswith("{7, 8, 3")
    assert client.request("setVariable", asked("array", "{1, 2}"))["value"].startswith("{1, 2, 3")


def test_hovering_changes_nothing(still: Still) -> None:
    client, frame = still
    before = int(client.evaluate("counter", frame, "hover")["result"])
    for text in ("increment()", "counter = 3", "counter++"):
        asked = {"expression": text, "frameId": frame["id"], "context": "hover"}
        assert "would" in client.refused("evaluate", asked)
    assert client.evaluate("counter", frame, "hover")["result"] == str(before)
    assert client.evaluate("increment()", frame, "watch")["result"] == str(before + 1)


def test_expressions_without_a_frame(still: Still) -> None:
    client = still.client
    assert client.request("setExpression", {"expression": "counter", "value": "23"})["value"] == "23"
    assert client.request("evaluate", {"expression": "counter"})["result"] == "23"
    assert client.request("dataBreakpointInfo", {"name": "counter"})["dataId"]


def test_what_can_be_watched(client: Client, thread: int, frame: Message) -> None:
    """A variable, a part of one, an expression, and any address, with as many bytes as are wanted."""
    deep = client.scope(frame)["deep"]
    of_part = {"variablesReference": deep["variablesReference"], "name": "b"}
    part = client.request("dataBreakpointInfo", of_part)
    place = client.request("dataBreakpointInfo", {"name": "deep.b", "frameId": frame["id"]})
    assert part["dataId"] == place["dataId"]
    whole = client.request("dataBreakpointInfo", {"name": "deep", "frameId": frame["id"]})
    assert whole["dataId"] is None and "at most 8" in whole["description"]
    some = {"name": "deep", "frameId": frame["id"], "bytes": 4}
    assert client.request("dataBreakpointInfo", some)["dataId"].endswith(":4")
    address = client.evaluate("counter", frame)["memoryReference"]
    asked = {"name": address, "asAddress": True, "bytes": 4}
    id = client.request("dataBreakpointInfo", asked)["dataId"]
    assert id == f"{address}:4"
    not_there = client.request("dataBreakpointInfo", {"name": "counter", "asAddress": True, "bytes": 4})
    assert not_there["dataId"] is None and "no address" in not_there["description"]
    rows = [{"dataId": id, "accessType": "write", "condition": "counter > 1"}]
    answer = client.request("setDataBreakpoints", {"breakpoints": rows})["breakpoints"][0]
    assert answer["verified"]
    client.go("continue", thread)
    client.stopped(reason="data breakpoint", hitBreakpointIds=[answer["id"]])
    assert client.evaluate("counter", client.stack(thread)[0])["result"] == "3", (
        "1 does not fit the condition"
    )


def test_memory_is_written_whole_or_as_far_as_there_is_some(still: Still) -> None:
    client, frame = still
    maps = client.evaluate("-exec info proc mappings", frame)["result"]
    places = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"(0x[0-9a-f]+)\s+(0x[0-9a-f]+).*rw-p", maps)]
    taken = {int(start, 16) for start in re.findall(r"(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+0x", maps)}
    end = next(b for _, b in places if b not in taken)

    def read() -> str:
        return str(client.request("readMemory", {"memoryReference": f"{end - 4:#x}", "count": 4})["data"])

    before, six = read(), base64.b64encode(b"abcdef").decode()
    asked = {"memoryReference": f"{end:#x}", "offset": -4, "data": six}
    assert f"no memory at {end:#x}" in client.refused("writeMemory", asked)
    assert read() == before, "nothing of it was written"
    assert client.request("writeMemory", {**asked, "allowPartial": True}) == {"bytesWritten": 4}
    assert base64.b64decode(read()) == b"abcd"
    asked["memoryReference"] = f"{end + 4:#x}"
    assert "cannot be written" in client.refused("writeMemory", {**asked, "allowPartial": True})


def test_code_before_the_function(still: Still) -> None:
    """A view of the code is scrolled upwards: the functions before this one, in one row, as gdb has them."""
    client, frame = still
    asked = {"memoryReference": client.evaluate("(void *)run", frame)["result"].split()[0]}
    asked = {**asked, "instructionOffset": -12, "instructionCount": 14}
    rows = client.request("disassemble", asked)["instructions"]
    assert "invalid" not in {row.get("presentationHint") for row in rows}
    names = [row["symbol"].partition("+")[0] for row in rows if "symbol" in row]
    assert names.index("leaf") < names.index("run") == 12 and {"leaf", "run"} >= set(names[6:])
    places = [int(row["address"], 16) for row in rows]
    lengths = [len(row["instructionBytes"].split()) for row in rows]
    ends = [place + length for place, length in zip(places, lengths, strict=True)]
    assert ends[:-1] == places[1:], "without a gap"
    last = SOURCE[: SOURCE.index("return local")].count("\n") + 1
    assert {row["line"] for row in rows if row.get("symbol", "").startswith("leaf")} >= {last, last + 1}


def test_breakpoints_on_instructions(client: Client, thread: int, frame: Message) -> None:
    asked = {"memoryReference": client.evaluate("(void *)leaf", frame)["result"].split()[0]}
    rows = client.request("disassemble", {**asked, "instructionCount": 15})["instructions"]
    body = next(row["address"] for row in rows if row["line"] != rows[0]["line"])
    offset = int(body, 16) - int(rows[0]["address"], 16)
    wanted = {"instructionReference": rows[0]["address"], "offset": offset, "hitCondition": "2"}
    nowhere = {"instructionReference": "0x10"}
    answers = client.request("setInstructionBreakpoints", {"breakpoints": [wanted, nowhere]})["breakpoints"]
    assert [row["verified"] for row in answers] == [True, False]
    client.go("continue", thread)
    client.stopped(reason="instruction breakpoint", hitBreakpointIds=[answers[0]["id"]])
    assert client.evaluate("$pc", client.stack(thread)[0])["result"].split()[0] == body
    assert client.evaluate("value", client.stack(thread)[0])["result"] == "1"


def test_a_chosen_call_is_entered_whatever_the_granularity(
    client: Client, thread: int, frame: Message
) -> None:
    targets = client.request("stepInTargets", {"frameId": frame["id"]})["targets"]
    assert [row["label"] for row in targets] == ["leaf"]
    client.go("stepIn", thread, targetId=targets[0]["id"], granularity="instruction")
    client.stopped(reason="step")
    assert client.stack(thread)[0]["name"] == "leaf"


@pytest.mark.parametrize("granularity", ["statement", "line", "instruction"])
def test_granularities(client: Client, thread: int, frame: Message, granularity: str) -> None:
    client.go("next", thread, granularity=granularity)
    client.stopped(reason="step")
    top = client.stack(thread)[0]
    assert (top["line"] == frame["line"]) is (granularity == "instruction")
    assert top["instructionPointerReference"] != frame["instructionPointerReference"]
    client.go("stepOut", thread, granularity=granularity)
    client.stopped(reason="step")
    assert client.stack(thread)[0]["name"] != "run"


def test_the_thread_goes_elsewhere_in_its_function(
    client: Client, thread: int, frame: Message, built: tuple[Path, Path]
) -> None:
    source = built[0]

    def targets(text: str) -> list[Message]:
        asked = {"source": {"path": str(source)}, "line": line_of(source, text)}
        return list(client.request("gotoTargets", asked)["targets"])

    def go(text: str) -> Message:
        target = targets(text)[0]
        client.go("goto", thread, targetId=target["id"])
        client.stopped(reason="goto")
        top = client.stack(thread)[0]
        assert (top["line"], top["instructionPointerReference"]) == (
            target["line"],
            target["instructionPointerReference"],
        )
        return top

    assert targets("int local") == [], "of another function"
    assert targets("#include <string>") == []
    back = go("int array")
    assert client.evaluate("counter", back)["result"] == "7", "nothing was run"
    go("int array")  # where it stands already
    old = targets("return total")[0]
    after = go("total += array")
    assert client.evaluate("total", after)["result"] == "0"
    assert "earlier stop" in client.refused("goto", {"threadId": thread, "targetId": old["id"]})
    client.go("next", thread)
    client.stopped(reason="step")
    client.go("continue", thread)
    assert client.event("exited") == {"exitCode": 0}
    assert "\n257\n" in f"\n{client.output}", "2 + 255: the loop was left out"


def test_a_jump_to_a_breakpoint_stops_once(client: Client, thread: int, built: tuple[Path, Path]) -> None:
    source = built[0]
    line = line_of(source, "total += array")
    id = client.set_lines(source, [line])[0]["id"]
    target = client.request("gotoTargets", {"source": {"path": str(source)}, "line": line})["targets"][0]
    client.go("goto", thread, targetId=target["id"])
    assert client.stopped()["hitBreakpointIds"] == [id]
    client.go("continue", thread)
    assert client.event("exited") == {"exitCode": 0}


def test_commands_of_gdb_and_of_mi(still: Still) -> None:
    """cppdbg's prefix: what the prompt does not know goes to gdb."""
    client, frame = still

    def told(line: str) -> str:
        return str(client.evaluate(f"-exec {line}", frame)["result"])

    assert "Dump of assembler code for function leaf" in told("disassemble leaf")
    assert "looks.so" in told("info sharedlibrary looks")
    assert told("set var total = 40") == "" and told("p total + 2") == "42"
    assert 'value="40"' in told("-data-evaluate-expression total")
    assert told("info breakpoints") == "No breakpoints.", "the prompt's own, not gdb's"
    assert "is not available: dualdbg itself runs the program" in told("-exec-continue")
    assert client.evaluate("`disassemble leaf", frame)["result"].startswith("dualdbg: there is no command")


@pytest.mark.parametrize("wanted", [True, False])
def test_what_a_function_has_returned_is_a_variable(
    client: Client, built: tuple[Path, Path], program: Write, wanted: bool
) -> None:
    source, library = built
    path = program(f"import ctypes\nrun = ctypes.CDLL({str(library)!r}).run\nprint(run(3))\n")
    options = {} if wanted else {"showReturnValue": False}
    client.start(
        {"program": str(path), **options},
        lines={source: [line_of(source, "return local"), line_of(source, "return total")]},
    )
    thread = int(client.stopped(reason="breakpoint")["threadId"])
    client.go("stepOut", thread)
    client.stopped(reason="step")
    found = client.scope(client.stack(thread)[0])
    assert ("(return) leaf" in found) == wanted
    if wanted:
        row = found["(return) leaf"]
        assert (row["type"], row["value"]) == ("int", "1")
        assert row["presentationHint"]["attributes"] == ["readOnly"]
    client.set_lines(source, [line_of(source, "return total")])
    client.go("continue", thread)
    client.stopped(reason="breakpoint")
    assert not any(name.startswith("(return)") for name in client.scope(client.stack(thread)[0]))
    client.go("stepOut", thread)  # to the line of Python, whose variables gdb reads
    client.stopped(reason="step")
    found = client.scope(client.stack(thread)[0])
    assert (found.get("(return) run") or {}).get("value") == ("263" if wanted else None)
