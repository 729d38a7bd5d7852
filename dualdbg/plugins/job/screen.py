"""The merged tree of a job as text of a bounded width and height. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath

from ...system.terminal_text import visible
from .tree import Node, Place, rows

_INDENT = 2
_DEEPEST = 12  # branches that are indented; deeper ones stand below one another


def screen(root: Node, width: int = 80, height: int | None = 40) -> str:
    """The tree, the odd ranks first. ``height`` is the most lines, None for all; what is left out is counted."""
    lines: list[str] = []
    for row in rows(root):
        margin = " " * (_INDENT * min(row.depth, _DEEPEST))
        plural = "s" if row.count != 1 else ""
        lines.append(_cut(f"{margin}{row.count} rank{plural}: {row.ranks}", width))
        lines += [_cut(f"{margin}  {' '.join(words(place))}".rstrip(), width) for place in row.places]
    if height is not None and len(lines) > height:
        left_out = len(lines) - (height - 1)
        lines = [*lines[: height - 1], f"... {left_out} more lines: --all shows them"]
    return "".join(f"{line}\n" for line in lines)


def words(place: Place) -> tuple[str, str]:
    """What the place is called, and where that is."""
    name = place.function or (f"?+{place.offset:#x}" if place.offset is not None else "?")
    where = PurePosixPath(place.file or place.library or "").name
    if place.line is not None:
        where += f":{place.line}"
    return name, where


def _cut(text: str, width: int) -> str:
    text = visible(text)
    return text if len(text) <= width else text[: width - 3] + "..."
