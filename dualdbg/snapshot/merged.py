"""What a node sends of its processes: a stack that several threads have once, and only what tells its places. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..shared import page_size

_OF_A_PLACE = ("kind", "function", "file", "line", "library", "number")
# Of native code without a name only the offset in the page is the same in other processes.
_PAGE = page_size.SMALLEST


def merged(objects: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The objects of ``dualdbg stacks --json``: first the stacks of all threads, each once, then the rest. A thread
    has the number of its stack in place of its frames, and nothing else but its names."""
    numbers: dict[tuple[Any, ...], int] = {}
    stacks: list[list[dict[str, Any]]] = []
    rest = []
    for one in objects:
        if one.get("event") == "process":
            threads = []
            for thread in one["threads"]:
                frames = [_place(frame) for frame in thread["frames"] if frame["number"] is not None]
                key = tuple(tuple(frame.items()) for frame in frames)
                if key not in numbers:
                    numbers[key] = len(stacks)
                    stacks.append(frames)
                threads.append({"tid": thread["tid"], "name": thread.get("name"), "stack": numbers[key]})
            one = {**one, "threads": threads}
        rest.append(one)
    yield {"event": "stacks", "stacks": stacks}
    yield from rest


def _place(frame: dict[str, Any]) -> dict[str, Any]:
    found = {name: frame[name] for name in _OF_A_PLACE if frame.get(name) is not None}
    address = frame.get("address")
    if frame.get("function") is None and address is not None:
        found["address"] = hex(int(address, 16) % _PAGE)
    return found
