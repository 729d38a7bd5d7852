"""Reads what ``dualdbg stacks --json`` wrote, packed by gzip or not, of anybody: bounded, each field checked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..errors import DualdbgError
from ..snapshot.linux.memory import PAGE
from .tree import Place

LONGEST_LINE = 64 << 20  # bytes of one process, unpacked
MOST_FRAMES = 20_000  # of one thread
_MOST_RANKS = 10_000_000
_PAGE_DIGITS = 3  # hexadecimal, of an offset in a page of 4096 bytes
_GZIP = b"\x1f\x8b"


class BadRecord(DualdbgError):
    """A file that is not what ``dualdbg stacks --json`` writes, or that cannot be read."""


@dataclass(frozen=True, eq=False)
class RecordedStack:
    """A stack, its outermost place first. Equal ones of one job are the same object: thousands of ranks share few."""

    places: tuple[Place, ...]


Known = dict[tuple[object, ...], RecordedStack]
"""The stacks of a job that were met, by what the files have of their frames."""


@dataclass(frozen=True)
class RecordedProcess:
    """The stacks of one process. ``rank`` is None where the file has none."""

    rank: int | None
    pid: int
    parent: int
    stacks: tuple[RecordedStack, ...]


@dataclass(frozen=True)
class Remark:
    """What a file says besides stacks: a process that was not read, or something that was seen."""

    is_failure: bool
    text: str


def recorded(path: Path, known: Known, all_threads: bool = True) -> Iterator[RecordedProcess | Remark]:
    """The processes of a file, one at a time, and what it says besides. ``-`` is standard input.

    Without ``all_threads`` the main thread of each is all. Raises :class:`BadRecord`, which names file and line.
    """
    number = 0
    try:
        with open(0, "rb", closefd=False) if str(path) == "-" else path.open("rb") as raw:
            packed = raw.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
            file: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise ValueError(f"longer than {LONGEST_LINE} bytes")
                found = _a(dict, json.loads(line), "the line")
                event = found.get("event")
                if event == "process":
                    yield _process(found, known, all_threads)
                elif event == "error":
                    pid = found.get("pid")
                    yield Remark(True, f"process {pid}: {_a(str, found.get('message'), 'message')}")
                elif event == "finding":
                    yield Remark(False, _a(str, found.get("text"), "text"))
    except (OSError, EOFError, zlib.error) as error:
        raise BadRecord(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecord(
            f"{path}, line {number or 1}: not what dualdbg stacks --json writes: {error}",
            "take it again with: dualdbg stacks --json PID > FILE",
        ) from error


def _process(found: dict[str, Any], known: Known, all_threads: bool) -> RecordedProcess:
    threads = _a(list, found.get("threads"), "threads")
    stacks = tuple(
        _stack(_a(dict, thread, "a thread"), known) for thread in (threads if all_threads else threads[:1])
    )
    pid, parent = (_a(int, found.get(name), name) for name in ("pid", "parent"))
    return RecordedProcess(_rank(found.get("label")), pid, parent, stacks)


def _rank(label: object) -> int | None:
    word, _, digits = label.partition(" ") if isinstance(label, str) else ("", "", "")
    if word != "rank" or not (digits.isascii() and digits.isdecimal() and len(digits) <= 8):
        return None
    return int(digits) if int(digits) < _MOST_RANKS else None


def _stack(thread: dict[str, Any], known: Known) -> RecordedStack:
    frames = _a(list, thread.get("frames"), "frames")
    if len(frames) > MOST_FRAMES:
        raise ValueError(f"a thread of more than {MOST_FRAMES} frames")
    shown = [frame for frame in reversed(frames) if _a(dict, frame, "a frame").get("number") is not None]
    key = tuple(map(_key, shown))
    try:
        stack = known.get(key)
    except TypeError as error:  # a list where a text should be
        raise ValueError("a frame is garbled") from error
    if stack is None:
        stack = known[key] = RecordedStack(tuple(map(_place, shown)))
    return stack


def _key(frame: dict[str, Any]) -> tuple[object, ...]:
    """What of a frame tells its place, as the file has it: :func:`_place` checks it, once for each place."""
    get = frame.get
    function = get("function")
    if get("kind") == "python":
        return "python", function, get("file"), get("line")
    address = get("address") if function is None else None
    return (
        get("kind"),
        function,
        get("library"),
        address[-_PAGE_DIGITS:] if isinstance(address, str) else address,
    )


def _place(frame: dict[str, Any]) -> Place:
    kind = _a(str, frame.get("kind"), "kind")
    function, file, library = (_or_none(str, frame, name) for name in ("function", "file", "library"))
    if kind == "python":
        return Place(kind, function, file, _or_none(int, frame, "line"))
    address = _or_none(str, frame, "address")
    offset = int(address, 16) % PAGE if function is None and address else None
    return Place(kind, function, library=library, offset=offset)


def _or_none(kind: type, frame: dict[str, Any], name: str) -> Any:
    value = frame.get(name)
    return None if value is None else _a(kind, value, name)


def _a(kind: type, value: object, name: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} is no {kind.__name__}")
    return value
