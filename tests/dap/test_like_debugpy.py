"""What clients of debugpy rely on in its answers: rows of values, stacks without what rules leave out, asked stops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import rows
from tests.support import other_interpreter, require

from .client import Client, Message
from .test_launch import finish

Write = Callable[..., Path]

GROUPS = ("special variables", "function variables")


def stopped_frame(client: Client, path: Path, line: int, **options: Any) -> Message:
    """The innermost frame at a breakpoint in a program."""
    client.start({"program": str(path), **options}, lines={path: [line]})
    return client.stack(client.stopped()["threadId"])[0]


def test_the_length_of_a_container_can_be_watched(client: Client, program: Write) -> None:
    path = program("table = {'one': 1}\nrow = [1, 2, 3]\ngroup = {4}\nprint('end')\n")
    frame = stopped_frame(client, path, 4)
    known = client.scope(frame)
    for name, length in (("table", "1"), ("row", "3"), ("group", "1")):
        row = client.children(known[name])["len()"]
        assert (row["value"], row["evaluateName"]) == (length, f"len({name})")
        assert row["presentationHint"] == {"attributes": ["readOnly"]}
        assert client.evaluate(row["evaluateName"], frame, "watch")["result"] == length


@pytest.mark.parametrize("version", rows.versions())
def test_the_methods_of_a_value_are_in_their_groups(version: str, client: Client, program: Write) -> None:
    path = program(
        "import collections\nclass Own(dict):\n    def mine(self): pass\n\n"
        "table, queue, own = {'one': 1}, collections.deque([1]), Own(two=2)\nprint('end')\n"
    )
    frame = stopped_frame(client, path, 6, python=str(other_interpreter(version)))
    known = client.scope(frame)
    for name, key, method, special in (
        ("table", "'one'", "fromkeys", "__contains__"),
        ("queue", "0", "rotate", "__reversed__"),
        ("own", "'two'", "mine", "__getitem__"),
    ):
        shown = client.children(known[name])
        assert list(shown) == [*GROUPS, key, "len()"]
        methods = client.children(shown["function variables"])
        assert {"copy", method} <= set(methods)
        assert (methods["copy"]["variablesReference"], methods["copy"]["value"][:10]) == (0, "<built-in ")
        assert special in client.children(shown["special variables"])


def test_groups_that_are_hidden_and_groups_that_are_none(client: Client, program: Write) -> None:
    path = program("row = [7]\nprint('end')\n")
    shown = {"special": "hide", "function": "inline"}
    frame = stopped_frame(client, path, 2, variablePresentation=shown)
    names = list(client.children(client.scope(frame)["row"]))
    assert "append" in names and "__len__" not in names and not set(GROUPS) & set(names)


def test_the_elements_of_an_array(client: Client, program: Write) -> None:
    pytest.importorskip("numpy", reason="numpy comes with PyTorch")
    path = program(
        "import numpy\na = numpy.array([[1, 2], [5, 4]], numpy.int32)\nnone = numpy.zeros(0)\n"
        "one = numpy.array(3.5)\nobjects = numpy.array([a, None], dtype=object)\nlong = numpy.arange(5000)\nprint(a)\n"
    )
    frame = stopped_frame(client, path, 7)
    known = client.scope(frame)
    shown = client.children(known["a"])
    facts = {name: shown[name]["value"] for name in ("shape", "size", "dtype")}
    assert facts == {"shape": "(2, 2)", "size": "4", "dtype": "dtype('int32')"}
    for name, value in (("min", "1"), ("max", "5")):
        assert value in shown[name]["value"]
        assert value in client.evaluate(shown[name]["evaluateName"], frame, "watch")["result"]
    elements = client.children(shown["[0:2] "])
    assert elements["0"]["value"] == "array([1, 2], dtype=int32)"
    inner = client.children(client.children(elements["1"])["[0:2] "])
    assert (inner["0"]["type"], inner["0"]["evaluateName"]) == ("int32", "a[0:2][1][0:2][0]")
    assert "5" in client.evaluate(inner["0"]["evaluateName"], frame, "watch")["result"]
    assert not {"min", "max"} & set(client.children(known["none"]))
    assert {"min", "max"} <= set(client.children(known["one"]))
    objects = client.children(known["objects"])
    assert "min" not in objects and "1" in client.children(objects["[0:2] "])
    assert client.children(client.children(known["long"])["[0:5000] "])["len()"]["value"] == "500"


NOT_ASCII = (
    "globals()['\u03c0\u03b5'] = 41\nprint('here')\nimport unicodedata\nprint(unicodedata.{}, flush=True)\n"
)


@pytest.mark.parametrize("version", rows.versions())
def test_a_name_that_is_not_ascii(version: str, client: Client, program: Write) -> None:
    """To compile it the interpreter imports unicodedata. The program has no such name, and has not imported that."""
    path = program(NOT_ASCII.format("name('a')"))
    frame = stopped_frame(client, path, 2, python=str(other_interpreter(version)))
    assert client.evaluate("\u03c0\u03b5 + 1", frame)["result"] == "42"
    assert client.evaluate("\u03c0\u03b5 + 2", frame, "watch")["result"] == "43"
    client.evaluate("\u03b4 = \u03c0\u03b5", frame)
    client.go("continue", client.request("threads")["threads"][0]["id"])
    assert finish(client) == 0
    assert "LATIN SMALL LETTER A" in client.output


def test_a_name_that_is_not_ascii_beside_a_file_of_the_programs(client: Client, program: Write) -> None:
    """The interpreter takes the program's module of that name, as it does without a debugger."""
    require("unicodedata" not in sys.builtin_module_names, "unicodedata in a file of its own", outside=True)
    program("def normalize(form, text):\n    return text\nmine = 'of the program'\n", "unicodedata.py")
    path = program(NOT_ASCII.format("mine"))
    frame = stopped_frame(client, path, 2)
    assert client.evaluate("\u03c0\u03b5 + 1", frame)["result"] == "42"
    client.go("continue", client.request("threads")["threads"][0]["id"])
    assert finish(client) == 0
    assert "of the program" in client.output


RAISES = """\
import {module}

def call():
    raise RuntimeError("here")

{module}.back(call)
"""


@pytest.mark.parametrize("own_code", [True, False])
def test_frames_of_files_that_rules_leave_out(client: Client, program: Write, own_code: bool) -> None:
    left_out = program("def back(call):\n    call()\n", "lib/left_out.py")
    path = program("import sys\nsys.path.insert(0, 'lib')\n" + RAISES.format(module="left_out"))
    client.initialize()
    asked = {"program": str(path), "cwd": str(path.parent), "justMyCode": own_code}
    rules = [{"path": str(left_out.parent), "include": False}]
    launched = client.send("launch", {**asked, "rules": rules})
    client.initialized(launched)
    client.set_lines(path, [6])
    client.request("setExceptionBreakpoints", {"filters": ["raised", "uncaught"]})
    client.request("configurationDone")
    for reason, lines in (
        ("breakpoint", [6, 8]),
        ("exception", [6, 8]),
        ("exception", [8]),
        ("exception", [6, 8]),
    ):
        thread = client.stopped(reason=reason)["threadId"]
        shown = client.stack(thread)
        assert [row["line"] for row in shown if row.get("source", {}).get("path") == str(path)] == lines
        assert str(left_out) not in {row.get("source", {}).get("path") for row in shown}
        if lines == [8]:  # what prints the traceback at the end is Python too from 3.13 on, and raises
            client.request("setExceptionBreakpoints", {"filters": ["uncaught"]})
        client.go("continue", thread)
    assert finish(client) == 1


def test_rules_that_leave_nothing_out_hide_nothing(client: Client, program: Write) -> None:
    other = program("def back(call):\n    call()\n", "other.py")
    path = program("import other\ndef call():\n    return 1\nother.back(call)\n")
    rules = [{"path": str(other), "include": True}]
    client.start({"program": str(path), "rules": rules}, lines={path: [3]})
    shown = client.stack(client.stopped()["threadId"])
    assert [Path(row["source"]["path"]).name for row in shown] == ["program.py", "other.py", "program.py"]


ASKS = """\
import debugpy

def risky():
    __exception__ = "its own"
    raise ValueError("wrong")

for as_uncaught in (True, False):
    try:
        risky()
    except ValueError as error:
        debugpy.trigger_exception_handler(error, as_uncaught=as_uncaught)
        assert error.__traceback__.tb_next.tb_frame.f_locals["__exception__"] == "its own"
print("end", flush=True)
"""


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("filters", [[], ["uncaught"]])
def test_a_program_that_wants_to_stop_with_an_exception(
    version: str, client: Client, program: Write, filters: list[str]
) -> None:
    path = program(ASKS)
    client.start({"program": str(path), "python": str(other_interpreter(version))}, exceptions=filters)
    for _ in range(1 + len(filters)):
        stop = client.stopped(reason="exception")
        assert "hitBreakpointIds" not in stop
        told = client.request("exceptionInfo", {"threadId": stop["threadId"]})
        assert (told["exceptionId"], told["description"], told["breakMode"]) == (
            "ValueError",
            "wrong",
            "unhandled",
        )
        assert client.stack(stop["threadId"])[0]["name"] == "risky"
        client.go("continue", stop["threadId"])
    assert finish(client) == 0
    assert "end" in client.output
