"""The place that a user has typed: a line, a file, an address, or the name of a function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import CommandError
from ...model import Stack
from ...system.folders import expanded
from .source_text import SourceText

_DEFINITION = r"^\s*(?:async\s+def|def|class|struct|enum)\s+{name}\b|\b{name}\s*\([^;]*$"


@dataclass(frozen=True)
class Spot:
    """A line of a file, or an address."""

    file: str | None = None
    line: int | None = None
    address: int | None = None


def understand(
    text: str, shown: SourceText | None, stack: Stack | None, folders: Sequence[Path]
) -> Spot | None:
    """The place that ``text`` means; None when it is a name that only the session can know.

    ``shown`` is the file on the screen, ``folders`` are where a bare file name is looked for. Raises CommandError for
    a file that does not exist.
    """
    text = text.strip()
    if text.isdecimal():
        return Spot(shown.path if shown is not None else None, int(text))
    if re.fullmatch(r"\*?0x[0-9a-fA-F]+", text):
        return Spot(address=int(text.lstrip("*"), 16))
    file, _, line = text.rpartition(":")
    if not (file and line.isdecimal()):
        file, line = text, ""
    path = _find(file, shown, folders)
    if path is not None:
        return Spot(path, int(line) if line else None)
    if "/" in file or Path(file).suffix in _SUFFIXES:
        raise CommandError(
            f"there is no file {file}", "give its path from the current folder, or the whole of it"
        )
    return _definition(text, shown) or _frame(text, stack)


def _find(name: str, shown: SourceText | None, folders: Sequence[Path]) -> str | None:
    places = [*folders, *([Path(shown.path).parent] if shown is not None else [])]
    wanted = expanded(name)
    for folder in places if not wanted.is_absolute() else [wanted.parent]:
        path = folder / wanted
        if path.is_file():
            return str(path)
    return None


def _definition(name: str, shown: SourceText | None) -> Spot | None:
    """The line where the file on the screen defines the name."""
    if shown is None:
        return None
    pattern = re.compile(_DEFINITION.format(name=re.escape(name)))
    for number, line in enumerate(shown.lines, 1):
        if pattern.search(line):
            return Spot(shown.path, number)
    return None


def _frame(name: str, stack: Stack | None) -> Spot | None:
    """Where a function of that name stands in the stack."""
    for frame in stack.visible() if stack is not None else ():
        function = (frame.function or "").partition("(")[0]
        if function == name or function.rpartition("::")[2] == name or function.rpartition(".")[2] == name:
            if frame.file is not None and frame.line is not None:
                return Spot(frame.file, frame.line)
            return Spot(address=getattr(frame, "pc", None))
    return None


_SUFFIXES = {".py", ".pyx", ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".cuh"}
