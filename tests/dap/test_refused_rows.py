"""A breakpoint that is refused says so itself, and the others of its list are set; in all five lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .client import Client
from .samples import HELPER, line_of

Write = Callable[..., Path]

_WRITES = {"condition": "y = 3"}
_REFUSED = "'y = 3' would change the program"
_STACK_PLACE = "0x10000:4"


def _lines() -> dict[str, Any]:
    line = line_of(HELPER, "return")
    return {"source": {"path": str(HELPER)}, "breakpoints": [{"line": line}, {"line": line, **_WRITES}]}


_LISTS: list[tuple[str, Callable[[], dict[str, Any]]]] = [
    ("setBreakpoints", _lines),
    ("setFunctionBreakpoints", lambda: {"breakpoints": [{"name": "getpid"}, {"name": "getuid", **_WRITES}]}),
    (
        "setInstructionBreakpoints",
        lambda: {
            "breakpoints": [{"instructionReference": "0x1000"}, {"instructionReference": "0x2000", **_WRITES}]
        },
    ),
    (
        "setDataBreakpoints",
        lambda: {"breakpoints": [{"dataId": _STACK_PLACE}, {"dataId": "0x20000:4", **_WRITES}]},
    ),
]


@pytest.mark.parametrize(("command", "arguments"), _LISTS, ids=[command for command, _ in _LISTS])
def test_the_others_of_the_list_are_set(
    client: Client, program: Write, command: str, arguments: Callable[[], dict[str, Any]]
) -> None:
    path = program("x = 1\ny = 2\n")
    client.start({"program": str(path)}, lines={path: [2]})
    client.stopped()
    answer = client.request(command, arguments())
    good, bad = answer["breakpoints"]
    assert not bad["verified"] and bad["reason"] == "failed" and _REFUSED in bad["message"]
    assert "id" in good
    # The list is known as it was set: an empty one leaves nothing behind.
    asked = arguments()
    client.request(command, {**asked, "breakpoints": []})
    listed = client.evaluate("`info breakpoints")["result"]
    rows = [row for row in listed.splitlines() if not row.startswith(" ")]
    assert len(rows) == 1 and str(path) in rows[0], listed


def test_what_is_no_address_is_refused_alone(client: Client, program: Write) -> None:
    path = program("x = 1\ny = 2\n")
    client.start({"program": str(path)}, lines={path: [2]})
    client.stopped()
    asked = [{"instructionReference": "nowhere"}, {"instructionReference": "0x1000"}]
    bad, good = client.request("setInstructionBreakpoints", {"breakpoints": asked})["breakpoints"]
    assert not bad["verified"] and "'nowhere' is no address" in bad["message"]
    assert "id" in good
