"""Tasks of asyncio in an editor: a scope of the frames of a thread that runs an event loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .client import Client
from .samples import line_of

SOURCE = """\
import asyncio, threading
async def waits():
    await asyncio.sleep(3600)
def works():
    return 1
async def main():
    others = [asyncio.create_task(waits(), name=f"waits {n}") for n in (1, 2)]
    await asyncio.sleep(0)
    works()
    for other in others: other.cancel()
asyncio.run(main())
works()
"""


def test_the_scope_of_tasks(client: Client, program: Callable[..., Path]) -> None:
    path = program(SOURCE)
    client.start({"program": str(path)}, lines={path: [line_of(path, "return 1")]})
    thread = client.stopped(reason="breakpoint")["threadId"]
    frame = client.stack(thread)[0]
    scopes = client.request("scopes", {"frameId": frame["id"]})["scopes"]
    assert scopes[-1]["name"] == "Tasks" and scopes[-1]["expensive"]

    def rows(reference: int) -> dict[str, dict[str, object]]:
        answer = client.request("variables", {"variablesReference": reference})
        return {row["name"]: row for row in answer["variables"]}

    tasks = rows(scopes[-1]["variablesReference"])
    assert list(tasks) == ["Task-1", "waits 1", "waits 2"]
    assert tasks["Task-1"]["value"] == f"runs in thread {thread}"
    assert (tasks["waits 1"]["value"], tasks["waits 1"]["type"]) == ("waits for a future", "waits")
    reference = tasks["waits 2"]["variablesReference"]
    assert isinstance(reference, int)
    members = rows(reference)
    assert str(members["#1"]["value"]).endswith(f"{path}:{line_of(path, 'sleep(3600)')}")
    assert "loop" in members

    # Where no loop runs there is no such scope.
    client.request("continue", {"threadId": thread})
    thread = client.stopped(reason="breakpoint")["threadId"]
    frame = client.stack(thread)[0]
    scopes = client.request("scopes", {"frameId": frame["id"]})["scopes"]
    assert "Tasks" not in [scope["name"] for scope in scopes]
