"""A directed graph as an SVG picture: layers from top to bottom, few crossings, no other program needed.

The steps are those of Sugiyama, Tagawa and Toda (1981): layers by the longest path, dummy points where an
edge passes a layer, order by barycentres, then positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

_CHARACTER = 6.6  # width in pixels of one character of the 11 px monospace font
_LINE = 15
_PADDING = 8
_GAP_X = 22
_GAP_Y = 46
_MARGIN = 20
_SWEEPS = 24
_DUMMY_WIDTH = 6.0
_WIDEST = 1500  # a layer with more goes on in a row below


@dataclass(frozen=True)
class Box:
    """A node: lines of text (the first is bold), the colours of its fill and outline, and a tooltip."""

    key: str
    lines: tuple[str, ...]
    fill: str = "#ffffff"
    stroke: str = "#555555"
    dashed: bool = False
    tooltip: str = ""

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * _CHARACTER + 2 * _PADDING

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 2 * _PADDING - 4


_Edges = set[tuple[str, str]]


def draw(
    boxes: Sequence[Box], edges: Iterable[tuple[str, str]], legend: Sequence[tuple[str, str]] = ()
) -> str:
    """The picture as text. Edges between unknown keys and edges that follow from others are left out;
    ``legend`` are pairs of a fill colour and what it means.
    """
    by_key = {box.key: box for box in boxes}
    known = {(a, b) for a, b in edges if a in by_key and b in by_key and a != b}
    direct = _transitive_reduction(list(by_key), _acyclic(list(by_key), known))
    layers, chains = _with_dummies(_rows(by_key, _layers(list(by_key), direct)), direct)
    _order(layers, chains)
    places = _places(layers, chains, by_key)
    return _svg(by_key, places, chains, legend)


def _successors(edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for a, b in sorted(edges):
        found[a].append(b)
    return found


def _acyclic(keys: list[str], edges: _Edges) -> _Edges:
    """The edges without those that close a cycle in a depth-first walk."""
    after = _successors(edges)
    state: dict[str, int] = {}
    kept: _Edges = set()
    for root in keys:
        stack = [(root, iter(after[root]))] if root not in state else []
        state.setdefault(root, 1)
        while stack:
            key, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[key] = 2
                stack.pop()
            elif state.get(following) != 1:
                kept.add((key, following))
                if following not in state:
                    state[following] = 1
                    stack.append((following, iter(after[following])))
    return kept


def _transitive_reduction(keys: list[str], edges: _Edges) -> _Edges:
    """Without the edges a -> c where a path a -> b -> ... -> c says the same."""
    after = _successors(edges)
    reach: dict[str, set[str]] = {}

    def reachable(key: str) -> set[str]:
        if key not in reach:
            reach[key] = set().union(*({b} | reachable(b) for b in after[key]))
        return reach[key]

    for key in keys:
        reachable(key)
    return {(a, c) for a, c in edges if not any(c in reach[b] for b in after[a] if b != c)}


def _layers(keys: list[str], edges: _Edges) -> list[list[str]]:
    """Each node one layer below the lowest of those that need it."""
    after = _successors(edges)
    depth = dict.fromkeys(keys, 0)
    waiting = dict.fromkeys(keys, 0)
    for _, b in edges:
        waiting[b] += 1
    ready = [key for key in keys if waiting[key] == 0]
    while ready:
        key = ready.pop()
        for following in after[key]:
            depth[following] = max(depth[following], depth[key] + 1)
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for key in keys:
        layers[depth[key]].append(key)
    return layers


def _rows(by_key: Mapping[str, Box], layers: list[list[str]]) -> list[list[str]]:
    """Layers that are too wide are cut into several."""
    rows: list[list[str]] = []
    for layer in layers:
        row: list[str] = []
        width = 0.0
        for key in layer:
            needed = by_key[key].width + _GAP_X
            if row and width + needed > _WIDEST:
                rows.append(row)
                row, width = [], 0.0
            row.append(key)
            width += needed
        rows.append(row)
    return rows


_Point = str  # a key, or the name of a dummy


@dataclass(frozen=True)
class _Place:
    """The centre of a point, and half of the height of its layer."""

    x: float
    y: float
    half_height: float


def _with_dummies(layers: list[list[str]], edges: _Edges) -> tuple[list[list[_Point]], list[list[_Point]]]:
    """(layers with a dummy wherever an edge passes one, the points of each edge from top to bottom)."""
    level = {key: index for index, layer in enumerate(layers) for key in layer}
    full: list[list[_Point]] = [list(layer) for layer in layers]
    chains = []
    for a, b in sorted(edges):
        chain = [a]
        for between in range(level[a] + 1, level[b]):
            dummy = f"\0{a}\0{b}\0{between}"
            full[between].append(dummy)
            chain.append(dummy)
        chains.append([*chain, b])
    return full, chains


def _neighbours(chains: list[list[_Point]]) -> tuple[dict[_Point, list[_Point]], dict[_Point, list[_Point]]]:
    above: dict[_Point, list[_Point]] = defaultdict(list)
    below: dict[_Point, list[_Point]] = defaultdict(list)
    for chain in chains:
        for upper, lower in pairwise(chain):
            above[lower].append(upper)
            below[upper].append(lower)
    return above, below


def _order(layers: list[list[_Point]], chains: list[list[_Point]]) -> None:
    """Sort each layer by the mean position of its neighbours, down and up in turn; the best order stays."""
    above, below = _neighbours(chains)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below)
    for sweep in range(_SWEEPS):
        beside, order = (above, layers[1:]) if sweep % 2 == 0 else (below, layers[-2::-1])
        for layer in order:
            position = {point: i for other in layers for i, point in enumerate(other)}
            centres = {
                point: sum(position[p] for p in beside[point]) / len(beside[point])
                if beside[point]
                else position[point]
                for point in layer
            }
            layer.sort(key=centres.__getitem__)
        crossings = _crossings(layers, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _crossings(layers: list[list[_Point]], below: Mapping[_Point, list[_Point]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        position = {point: i for i, point in enumerate(lower)}
        ends = [sorted(position[p] for p in below[point] if p in position) for point in upper]
        seen: list[int] = []
        for targets in ends:
            count += sum(1 for target in targets for other in seen if other > target)
            seen += targets
    return count


def _places(
    layers: list[list[_Point]], chains: list[list[_Point]], by_key: Mapping[str, Box]
) -> dict[_Point, _Place]:
    """The centre of every point: each pulled towards its neighbours, never over the one beside it."""
    above, below = _neighbours(chains)
    width = {p: by_key[p].width if p in by_key else _DUMMY_WIDTH for layer in layers for p in layer}
    x: dict[_Point, float] = {}
    for layer in layers:
        at = 0.0
        for point in layer:
            x[point] = at + width[point] / 2
            at += width[point] + _GAP_X
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            _settle(layer, x, width, above if sweep % 2 == 0 else below)
    left = min((x[p] - width[p] / 2 for p in x), default=0.0)
    places = {}
    top = float(_MARGIN)
    for layer in layers:
        height = max((by_key[p].height for p in layer if p in by_key), default=_LINE)
        for point in layer:
            places[point] = _Place(x[point] - left + _MARGIN, top + height / 2, height / 2)
        top += height + _GAP_Y
    return places


def _settle(
    layer: list[_Point],
    x: dict[_Point, float],
    width: Mapping[_Point, float],
    beside: Mapping[_Point, list[_Point]],
) -> None:
    wanted = [
        sum(x[p] for p in beside[point]) / len(beside[point]) if beside[point] else x[point]
        for point in layer
    ]
    gaps = [0.0] + [(width[a] + width[b]) / 2 + _GAP_X for a, b in pairwise(layer)]
    # Shift so that only "not left of the one before" is left to fulfil, then pool neighbours that collide.
    offset = [sum(gaps[: i + 1]) for i in range(len(layer))]
    pools: list[tuple[float, int]] = []
    for position, shift in zip(wanted, offset, strict=True):
        pools.append((position - shift, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    settled = [mean for mean, count in pools for _ in range(count)]
    for point, mean, shift in zip(layer, settled, offset, strict=True):
        x[point] = mean + shift


def _svg(
    by_key: Mapping[str, Box],
    places: Mapping[_Point, _Place],
    chains: list[list[_Point]],
    legend: Sequence[tuple[str, str]],
) -> str:
    right = max((places[key].x + box.width / 2 for key, box in by_key.items()), default=0.0)
    right = max(right, sum(len(text) * _CHARACTER + 40 for _, text in legend))
    bottom = max((places[key].y + box.height / 2 for key, box in by_key.items()), default=0.0)
    width, height = right + _MARGIN, bottom + _MARGIN + (_LINE + 12 if legend else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
        f'font-size="11">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#888888"/></marker></defs>',
    ]
    parts += [_edge(chain, places, by_key) for chain in chains]
    parts += [_box(box, places[key].x, places[key].y) for key, box in by_key.items()]
    at = float(_MARGIN)
    for fill, text in legend:
        y = height - _MARGIN - _LINE / 2
        parts.append(
            f'<rect x="{at:.0f}" y="{y:.0f}" width="14" height="11" fill="{fill}" stroke="#555555"/>'
        )
        parts.append(f'<text x="{at + 20:.0f}" y="{y + 10:.0f}">{escape(text)}</text>')
        at += len(text) * _CHARACTER + 40
    return "\n".join([*parts, "</svg>"]) + "\n"


def _edge(chain: list[_Point], places: Mapping[_Point, _Place], by_key: Mapping[str, Box]) -> str:
    """A line that is straight within layers, beside the boxes there, and bends only between them."""
    first, last = places[chain[0]], places[chain[-1]]
    x, y = first.x, first.y + by_key[chain[0]].height / 2
    path = [f"M{x:.1f} {y:.1f}V{first.y + first.half_height:.1f}"]
    y = first.y + first.half_height
    tip = last.y - by_key[chain[-1]].height / 2 - 1
    for place in map(places.__getitem__, chain[1:]):
        top = min(place.y - place.half_height, tip)
        middle = (y + top) / 2
        path.append(f"C{x:.1f} {middle:.1f} {place.x:.1f} {middle:.1f} {place.x:.1f} {top:.1f}")
        x, y = place.x, place.y + place.half_height
        path.append(f"V{y if place is not last else tip:.1f}")
    return f'<path d="{"".join(path)}" fill="none" stroke="#888888" marker-end="url(#arrow)"/>'


def _box(box: Box, x: float, y: float) -> str:
    left, top = x - box.width / 2, y - box.height / 2
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    parts = [
        f"<g><title>{escape(box.tooltip or box.lines[0])}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4" '
        f"fill={quoteattr(box.fill)} stroke={quoteattr(box.stroke)}{dashes}/>",
    ]
    for number, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if number == 0 else ' fill="#444444"'
        baseline = top + _PADDING + 9 + number * _LINE
        parts.append(
            f'<text x="{x:.1f}" y="{baseline:.1f}" text-anchor="middle"{weight}>{escape(line)}</text>'
        )
    return "".join([*parts, "</g>"])
