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
_GZIP = b"\x1f\x8b"


class BadRecord(DualdbgError):
    """A file that is not what ``dualdbg stacks --json`` writes, or that cannot be read."""


@dataclass(frozen=True)
class RecordedProcess:
    """The stacks of one process, each with its outermost frame first. ``rank`` is None where the file has none."""

    rank: int | None
    pid: int
    stacks: tuple[tuple[Place, ...], ...]


def recorded(path: Path) -> Iterator[RecordedProcess]:
    """The processes of a file, one at a time. Raises :class:`BadRecord`, which names the file and the line."""
    number = 0
    try:
        with path.open("rb") as raw:
            packed = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            file: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise ValueError(f"longer than {LONGEST_LINE} bytes")
                found = json.loads(line)
                if _a(dict, found, "the line").get("event") == "process":
                    yield _process(found)
    except (OSError, EOFError, zlib.error) as error:
        raise BadRecord(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecord(
            f"{path}, line {number or 1}: not what dualdbg stacks --json writes: {error}",
            "take it again with: dualdbg stacks --json PID > FILE",
        ) from error


def _process(found: dict[str, Any]) -> RecordedProcess:
    threads = _a(list, found.get("threads"), "threads")
    stacks = tuple(_stack(_a(dict, thread, "a thread")) for thread in threads)
    return RecordedProcess(_rank(found.get("label")), _a(int, found.get("pid"), "pid"), stacks)


def _rank(label: object) -> int | None:
    word, _, digits = label.partition(" ") if isinstance(label, str) else ("", "", "")
    if word != "rank" or not (digits.isascii() and digits.isdecimal() and len(digits) <= 8):
        return None
    return int(digits) if int(digits) < _MOST_RANKS else None


def _stack(thread: dict[str, Any]) -> tuple[Place, ...]:
    frames = _a(list, thread.get("frames"), "frames")
    if len(frames) > MOST_FRAMES:
        raise ValueError(f"a thread of more than {MOST_FRAMES} frames")
    shown = (_a(dict, frame, "a frame") for frame in reversed(frames))
    return tuple(_place(frame) for frame in shown if frame.get("number") is not None)


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
