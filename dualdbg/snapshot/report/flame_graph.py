"""A profile as a flame graph: one SVG that fetches nothing and runs nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ...system.terminal_text import visible
from .profile import Node, Profile, tree

_WIDTH, _ROW, _MARGIN = 1200.0, 17, 10
_LETTER = 6.6  # width of a letter of the font
_NARROWEST = 0.3  # what is narrower is not drawn, nor what is above it
_COLOURS = {
    "process": "#c9c9c9",
    "thread": "#d9d9d9",
    "python": "#8fd19e",
    "native": "#8fc4e8",
    "glue": "#e3e3e3",
}
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width:.0f}" height="{height}" '
    'viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, monospace" font-size="11">\n'
    '<rect width="100%" height="100%" fill="#ffffff"/>\n'
    '<text x="{margin}" y="18" font-size="14" fill="#222">{title}</text>\n'
)


def flame_graph(profile: Profile, title: str) -> str:
    """The outermost place is at the bottom; as wide as it is part of the samples. Rectangles have their text as title.

    Python is green, native code blue, binding layers grey.
    """
    root = tree(profile)
    height = (root.depth() + 1) * _ROW + 3 * _MARGIN + 10
    parts = [_HEAD.format(width=_WIDTH + 2 * _MARGIN, height=height, margin=_MARGIN, title=_text(title))]
    parts += _drawn(root, height - _MARGIN - _ROW)
    return "".join(parts) + "</svg>\n"


def _drawn(root: Node, bottom: int) -> Iterator[str]:
    if not root.count:
        return
    scale = _WIDTH / root.count
    waiting: list[tuple[Node, float, int]] = [(root, float(_MARGIN), bottom)]
    while waiting:
        node, x, y = waiting.pop()
        yield _rectangle(node, x, y, node.count * scale, node.count / root.count)
        for each in sorted(node.inner.values(), key=lambda one: one.spot.name):
            if each.count * scale >= _NARROWEST:
                waiting.append((each, x, y - _ROW))
            x += each.count * scale


def _rectangle(node: Node, x: float, y: int, width: float, share: float) -> str:
    told = f"{node.spot.name}: {node.count} samples, {share:.1%}"
    if node.spot.file is not None:
        told += f"\n{node.spot.file}"
    letters = int((width - 4) / _LETTER)
    name = node.spot.name
    shown = name if len(name) <= letters else f"{name[: letters - 2]}.." if letters > 4 else ""
    label = f'<text x="{x + 2:.1f}" y="{y + 12}" fill="#111">{_text(shown)}</text>' if shown else ""
    colour = _COLOURS[node.spot.kind]
    return (
        f'<g><title>{_text(told)}</title><rect x="{x:.1f}" y="{y}" width="{max(width - 0.4, 0.2):.1f}" '
        f'height="{_ROW - 1}" rx="1" fill="{colour}"/>{label}</g>\n'
    )


def _text(text: str) -> str:
    return escape("\n".join(visible(line) for line in text.split("\n")))
