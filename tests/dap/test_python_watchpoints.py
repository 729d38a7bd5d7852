"""Data breakpoints on values of Python: what an editor is told of them, and what stops."""

from __future__ import annotations

from pathlib import Path

from .client import Client

PROGRAM = """\
class Box:
    def __init__(self):
        self.inside = {"a": 1}
    @property
    def made(self):
        return 1
def work(n):
    box = Box()
    total = 0
    for i in range(n):
        total += i
        box.inside["a"] = total // 3
    return total
work(6)
print("done")
"""


def test_variables_and_what_is_in_them_are_watched(client: Client, tmp_path: Path) -> None:
    """From the list of variables, at any depth, or by expression. A list that is sent again changes nothing."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    client.start({"program": str(program)}, lines={program: [10]})
    thread = client.stopped(reason="breakpoint")["threadId"]
    client.request("setBreakpoints", {"source": {"path": str(program)}, "breakpoints": []})
    frame = client.stack(thread)[0]
    (scope,) = [
        one for one in client.request("scopes", {"frameId": frame["id"]})["scopes"] if one["name"] == "Locals"
    ]
    info = client.request("dataBreakpointInfo", {**scope, "name": "total"})
    assert (info["dataId"], info["accessTypes"], info["canPersist"]) == ("py:total", ["write"], False)
    box = client.scope(frame)["box"]
    inside = client.children(box)["inside"]
    deep = client.request(
        "dataBreakpointInfo", {"variablesReference": inside["variablesReference"], "name": "'a'"}
    )
    assert deep["dataId"] == "py:box.inside['a']"
    refused = client.request("dataBreakpointInfo", {"name": "box.made", "frameId": frame["id"]})
    assert refused["dataId"] is None and "is what code makes of it (property)" in refused["description"]
    wanted = [{"dataId": info["dataId"], "condition": "total > 5"}, {"dataId": deep["dataId"]}]
    rows = client.request("setDataBreakpoints", {"breakpoints": wanted})["breakpoints"]
    assert [row["verified"] for row in rows] == [True, True]
    for line, number, text in (
        (10, 1, "box.inside['a']: 1 -> 0, at program.py:12"),
        (10, 1, "box.inside['a']: 0 -> 1, at program.py:12"),
        (12, 0, "total: 3 -> 6, at program.py:11"),
    ):
        client.go("continue", thread)
        stop = client.stopped(reason="data breakpoint", hitBreakpointIds=[rows[number]["id"]])
        assert text in stop["text"] + stop["description"], stop
        assert client.stack(thread)[0]["line"] == line
        assert client.request("setDataBreakpoints", {"breakpoints": wanted})["breakpoints"] == rows
    client.request("setDataBreakpoints", {"breakpoints": []})
    client.go("continue", thread)
    assert client.event("exited")["exitCode"] == 0
    removed = [one["breakpoint"]["id"] for one in client.events("breakpoint") if one["reason"] == "removed"]
    assert not set(removed) & {row["id"] for row in rows}  # the editor itself has removed them
