"""A number of a thread, a frame, a value or a target is refused where there is none, and means one thing only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.dap import requests
from dualdbg.dap.registry import REQUESTS
from tests import support

from .client import SCHEMA, Client

Write = Callable[..., Path]

_NONE = 999_999_999
_IDS = {"threadId", "frameId", "variablesReference", "targetId", "sourceReference", "requestId"}

# What makes a request whole besides the number, by command.
_MORE: dict[str, dict[str, Any]] = {
    "evaluate": {"expression": "x"},
    "completions": {"text": "x", "column": 2},
    "setVariable": {"name": "x", "value": "1"},
    "setExpression": {"expression": "x", "value": "1"},
}

_ALL = [
    ("continue", "threadId"),
    ("next", "threadId"),
    ("stepIn", "threadId"),
    ("stepOut", "threadId"),
    ("goto", "threadId"),
    ("stackTrace", "threadId"),
    ("exceptionInfo", "threadId"),
    ("stepIn", "targetId"),
    ("goto", "targetId"),
    ("scopes", "frameId"),
    ("evaluate", "frameId"),
    ("completions", "frameId"),
    ("setExpression", "frameId"),
    ("stepInTargets", "frameId"),
    ("variables", "variablesReference"),
    ("setVariable", "variablesReference"),
    ("source", "sourceReference"),
]


def test_the_table_is_complete() -> None:
    """Each request that takes such a number is in the table above, or does without it."""
    support.require(SCHEMA.exists(), "the schema of the protocol (../shared)", outside=True)
    assert requests
    without = {
        ("cancel", "requestId"),  # what has been answered already cannot be told from what was never asked
        ("pause", "threadId"),  # all threads are paused, whichever is named
        ("dataBreakpointInfo", "frameId"),  # answers why there is nothing to watch
        ("dataBreakpointInfo", "variablesReference"),
    }
    definitions = json.loads(SCHEMA.read_text())["definitions"]
    found = set()
    for command in REQUESTS:
        taken = definitions.get(f"{command[0].upper()}{command[1:]}Arguments", {}).get("properties", {})
        found |= {(command, name) for name in taken if name in _IDS}
    assert found - without == set(_ALL)


@pytest.mark.parametrize("origin", ["python", "native"])
def test_a_number_that_nothing_has_is_refused(client: Client, program: Write, origin: str) -> None:
    path = program("import os\nx = 1\nos.getppid()\ny = 2\n")
    client.start({"program": str(path)}, lines={path: [3]})
    thread = client.stopped()["threadId"]
    if origin == "native":
        client.set_functions(["getppid"])
        client.go("continue", thread)
        client.stopped()
    for command, name in _ALL:
        whole = {} if name == "threadId" else {"threadId": thread}
        why = client.refused(command, {**whole, **_MORE.get(command, {}), name: _NONE})
        assert str(_NONE) in why or (command == "goto" and origin == "native"), (
            command,
            why,
        )
        why = client.refused(command, {**whole, **_MORE.get(command, {}), name: -1})
    assert client.events("continued") == [] and client.events("stopped") == []
    client.go("continue", thread)


@pytest.mark.parametrize("number", [{}, {"threadId": 0}, {"threadId": _NONE}])
def test_a_pause_is_of_all_threads(number: dict[str, int], client: Client, program: Write) -> None:
    """A client that has seen no stop knows no thread. debugpy pauses whatever the number."""
    client.start({"program": str(program("import time\nprint('on', flush=True)\ntime.sleep(600)\n"))})
    client.wait_output("on")
    client.request("pause", number)
    client.stopped(reason="pause")


def test_a_frame_that_is_a_value_has_a_number_of_its_own(client: Client, program: Write) -> None:
    """pydevd numbers values by their addresses, and the variables of a frame by that of the frame."""
    path = program(
        "import sys\n\ndef work():\n    here = sys._getframe()\n    above = here.f_back\n    print(above)\n\nwork()\n"
    )
    client.start({"program": str(path)}, lines={path: [6]})
    frames = client.stack(client.stopped()["threadId"])
    locals_ = client.scope(frames[0])
    assert locals_["here"]["value"].endswith("line 6, code work>")
    for expression in ("here", "above", "here.f_back"):
        shown = client.evaluate(expression, frames[0], "watch")
        assert shown["result"].startswith("<frame at 0x")
        assert "f_trace_lines" in client.children(shown)
    again = client.scope(frames[0])
    assert {name: row["value"] for name, row in again.items()} == {
        name: row["value"] for name, row in locals_.items()
    }
    assert "sys" in client.scope(frames[1])
