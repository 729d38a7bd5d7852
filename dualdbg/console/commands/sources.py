"""The commands that show source lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import Frame, PythonFrame
from ...system.folders import here
from ...system.source_files import file_at, means_file, source_lines
from ..parameters import function_span
from ..reports import SourceReport
from ..selection import Listing
from .registry import command, no_argument

if TYPE_CHECKING:
    from ..console import Console

_COUNT = 11  # lines at a time, the current one in the middle


@command(
    "list l",
    "[LINE | FIRST,LAST | FILE:LINE | - | .]",
    "show the source of the selected frame; again: the lines that follow; .: from its line anew",
    repeats=True,
    completes="path",
)
async def list_(console: Console, argument: str) -> None:
    frame = await console.frame()
    file, first, last = _range(console, frame, argument)
    lines = source_lines(file)
    if not lines:
        raise CommandError(f"the source of {file} cannot be read", "list FILE:LINE shows another file")
    if first > len(lines):
        raise CommandError(f"{file} ends at line {len(lines)}", "list - goes back")
    first, last = max(first, 1), min(last, len(lines))
    _remember(console, file, first, last)
    current = frame.line if frame.file == file else None
    shown = tuple(lines[first - 1 : last])
    console.show(SourceReport(file, first, shown, current))


@command("longlist ll", "", "show the whole source of the selected frame's function, in Python")
async def longlist(console: Console, argument: str) -> None:
    """Raises CommandError where the frame is no Python function whose source can be read."""
    no_argument("longlist", argument)
    frame = await console.frame()
    if not isinstance(frame, PythonFrame) or frame.file is None:
        raise CommandError("longlist shows functions of Python", "list FIRST,LAST shows lines of any file")
    lines = source_lines(frame.file)
    if not lines:
        raise CommandError(f"the source of {frame.file} cannot be read", "list FILE:LINE shows another file")
    first, last = function_span("\n".join(lines), frame.function, frame.line or 0) or (1, len(lines))
    _remember(console, frame.file, first, last)
    console.show(SourceReport(frame.file, first, tuple(lines[first - 1 : last]), frame.line))


def _range(console: Console, frame: Frame, argument: str) -> tuple[str, int, int]:
    """The file, the first and the last line that are asked for."""
    listing = console.listing
    file = listing.file if listing is not None else frame.file
    if match := re.fullmatch(r"(.+):(\d+)", argument):
        return _existing(match.group(1), frame), *_around(int(match.group(2)))
    if file is None:
        raise CommandError(
            "there is no source for this frame: its library has no debug info",
            "up goes to the caller; list FILE:LINE shows any file",
        )
    if match := re.fullmatch(r"(\d+)\s*,\s*(\d+)", argument):
        return file, int(match.group(1)), int(match.group(2))
    if argument.isdecimal():
        return file, *_around(int(argument))
    if argument == "." and frame.file is not None:
        return frame.file, *_around(frame.line or 1)
    if argument == "-":
        before = listing.first if listing is not None else _around(frame.line or 1)[0]
        if before <= 1:
            raise CommandError("that was the beginning of the file")
        return file, before - _COUNT, before - 1
    if argument:
        raise CommandError(f"list does not know {argument!r}", "help list")
    if listing is not None:
        return file, listing.last + 1, listing.last + _COUNT
    return file, *_around(frame.line or 1)


def _around(line: int) -> tuple[int, int]:
    first = max(line - _COUNT // 2, 1)
    return first, first + _COUNT - 1


def _existing(name: str, frame: Frame) -> str:
    folders = [here()]
    if frame.file is not None:
        folders.append(Path(frame.file).parent)
        if means_file(name, frame.file):
            return frame.file
    found = file_at(name, folders)
    if found is not None:
        return found
    raise CommandError(f"there is no file {name}", "give the path from the current folder")


def _remember(console: Console, file: str, first: int, last: int) -> None:
    console.listing = Listing(file, first, last)
