"""Where the panes are: a tree of splits and of panes that share a place, as data, and its geometry. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Union

Axis = Literal["rows", "columns"]
_SMALLEST = {"rows": 3, "columns": 12}  # cells; no part is dragged smaller


@dataclass(frozen=True)
class PaneSlot:
    """Panes that share one rectangle; one of them is shown."""

    panes: tuple[str, ...]
    shown: str

    @classmethod
    def of(cls, *panes: str) -> PaneSlot:
        """These panes in one place; the first is shown."""
        return cls(panes, panes[0])


@dataclass(frozen=True)
class Split:
    """Parts above each other (rows) or side by side (columns), with their shares of the room."""

    axis: Axis
    parts: tuple[Node, ...]
    shares: tuple[float, ...]


Node = Union[PaneSlot, Split]


@dataclass(frozen=True)
class Box:
    """A rectangle of cells; ``x`` and ``y`` are its left upper corner."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Divider:
    """The line between part ``index`` and the next of the split at ``path``. ``extent``: the room both share."""

    path: tuple[int, ...]
    index: int
    axis: Axis
    box: Box


@dataclass(frozen=True)
class Geometry:
    """Where each place and each divider is, in cells."""

    places: tuple[tuple[PaneSlot, Box], ...]
    dividers: tuple[Divider, ...]


def rows(*parts: tuple[Node, float]) -> Split:
    """A split into parts above each other, each with its share of the height."""
    return Split("rows", tuple(node for node, _ in parts), tuple(share for _, share in parts))


def columns(*parts: tuple[Node, float]) -> Split:
    """A split into parts side by side, each with its share of the width."""
    return Split("columns", tuple(node for node, _ in parts), tuple(share for _, share in parts))


def geometry(node: Node, box: Box, path: tuple[int, ...] = ()) -> Geometry:
    """The rectangle of every place. Between columns there is one column for a line, between rows none."""
    if isinstance(node, PaneSlot):
        return Geometry(((node, box),), ())
    places: list[tuple[PaneSlot, Box]] = []
    dividers: list[Divider] = []
    gap = 1 if node.axis == "columns" else 0
    room = (box.width if node.axis == "columns" else box.height) - gap * (len(node.parts) - 1)
    at = 0
    for index, (part, size) in enumerate(zip(node.parts, _sizes(node.shares, room), strict=True)):
        if index:
            dividers.append(Divider(path, index - 1, node.axis, _line(box, node.axis, at - gap)))
        inner = geometry(part, _slice(box, node.axis, at, size), (*path, index))
        places += inner.places
        dividers += inner.dividers
        at += size + gap
    return Geometry(tuple(places), tuple(dividers))


def _sizes(shares: tuple[float, ...], room: int) -> list[int]:
    """Whole cells in these proportions. They use all of the room, and each is at least 1 while there is room."""
    room = max(room, 0)
    total = sum(shares)
    edges = [0]
    for index in range(1, len(shares) + 1):
        edges.append(round(room * sum(shares[:index]) / total))
    sizes = [after - before for before, after in pairwise(edges)]
    for index, size in enumerate(sizes):
        if size < 1 <= max(sizes) - 1:
            sizes[sizes.index(max(sizes))] -= 1 - size
            sizes[index] = 1
    return sizes


def _slice(box: Box, axis: Axis, at: int, size: int) -> Box:
    if axis == "columns":
        return Box(box.x + at, box.y, size, box.height)
    return Box(box.x, box.y + at, box.width, size)


def _line(box: Box, axis: Axis, at: int) -> Box:
    if axis == "columns":
        return Box(box.x + at, box.y, 1, box.height)
    return Box(box.x, box.y + at, box.width, 1)


# -- looking and changing ------------------------------------------------------------------------


def places(node: Node) -> Iterator[PaneSlot]:
    """The places of the tree, from the top and the left on."""
    if isinstance(node, PaneSlot):
        yield node
    else:
        for part in node.parts:
            yield from places(part)


def all_panes(node: Node) -> tuple[str, ...]:
    """The names of all panes, the hidden ones too."""
    return tuple(pane for place in places(node) for pane in place.panes)


def shown_panes(node: Node) -> tuple[str, ...]:
    """The names of the panes that are shown, one for each place."""
    return tuple(place.shown for place in places(node))


def show(node: Node, pane: str) -> Node:
    """The same tree with ``pane`` shown where it is."""
    if isinstance(node, PaneSlot):
        return replace(node, shown=pane) if pane in node.panes else node
    return replace(node, parts=tuple(show(part, pane) for part in node.parts))


def drag(node: Node, divider: Divider, by: int, box: Box) -> Node:
    """The same tree with a divider moved by that many cells, as far as its neighbours can be made smaller."""
    return _at(node, divider.path, box, lambda split, inner: _move(split, divider.index, by, inner))


def grow(node: Node, pane: str, axis: Axis, by: int, box: Box) -> Node:
    """The place of ``pane`` gets that many more cells (fewer: negative) from its neighbour."""
    for divider in geometry(node, box).dividers:
        split = _find(node, divider.path)
        if divider.axis != axis:
            continue
        before, after = split.parts[divider.index], split.parts[divider.index + 1]
        if pane in all_panes(before):
            return drag(node, divider, by, box)
        if pane in all_panes(after) and divider.index + 2 == len(split.parts):
            return drag(node, divider, -by, box)
    return node


def _find(node: Node, path: tuple[int, ...]) -> Split:
    for index in path:
        assert isinstance(node, Split)
        node = node.parts[index]
    assert isinstance(node, Split)
    return node


def _at(node: Node, path: tuple[int, ...], box: Box, change: Any) -> Node:
    assert isinstance(node, Split)
    if not path:
        changed: Node = change(node, box)
        return changed
    gap = 1 if node.axis == "columns" else 0
    room = (box.width if node.axis == "columns" else box.height) - gap * (len(node.parts) - 1)
    sizes = _sizes(node.shares, room)
    at = sum(sizes[: path[0]]) + gap * path[0]
    inner = _slice(box, node.axis, at, sizes[path[0]])
    parts = list(node.parts)
    parts[path[0]] = _at(parts[path[0]], path[1:], inner, change)
    return replace(node, parts=tuple(parts))


def _move(split: Split, index: int, by: int, box: Box) -> Split:
    gap = 1 if split.axis == "columns" else 0
    room = (box.width if split.axis == "columns" else box.height) - gap * (len(split.parts) - 1)
    sizes = _sizes(split.shares, room)
    smallest = _SMALLEST[split.axis]
    by = max(min(by, sizes[index + 1] - smallest), smallest - sizes[index])
    sizes[index] += by
    sizes[index + 1] -= by
    return replace(split, shares=tuple(float(size) for size in sizes)) if min(sizes) > 0 else split


# -- as data, for the settings file ----------------------------------------------------------------


def to_data(node: Node) -> dict[str, Any]:
    """The tree as tables and lists, for TOML or JSON; :func:`from_data` reads them."""
    if isinstance(node, PaneSlot):
        return {"panes": list(node.panes), "shown": node.shown}
    return {
        "axis": node.axis,
        "parts": [to_data(part) for part in node.parts],
        "shares": [round(share, 4) for share in node.shares],
    }


def from_data(data: Any) -> Node:
    """The tree from :func:`to_data`. Raises ValueError for any other data."""
    if not isinstance(data, dict):
        raise ValueError("an arrangement is a table")
    for name in ("panes", "parts", "shares"):
        if not isinstance(data.get(name, []), list):
            raise ValueError(f"{name} is a list")
    if "panes" in data:
        panes = tuple(data["panes"])
        if not panes or not all(isinstance(pane, str) for pane in panes) or data.get("shown") not in panes:
            raise ValueError("a place has panes, and shows one of them")
        return PaneSlot(panes, data["shown"])
    parts = tuple(from_data(part) for part in data.get("parts", ()))
    shares = tuple(data.get("shares", ()))
    sound = len(parts) == len(shares) > 0 and data.get("axis") in ("rows", "columns")
    if not sound or not all(isinstance(share, (int, float)) and share > 0 for share in shares):
        raise ValueError("a split has an axis, parts and their shares")
    return Split(data["axis"], parts, tuple(float(share) for share in shares))
