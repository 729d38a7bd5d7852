"""The graph as a picture: well-formed, complete, nothing on top of anything else."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

from dualdbg.symbols.dependencies import Graph, Need, Node
from dualdbg.symbols.graph_pictures import to_dot, to_svg
from dualdbg.symbols.policy import Load
from dualdbg.symbols.svg_graph import Box, draw

SVG = "{http://www.w3.org/2000/svg}"
Rectangle = tuple[float, float, float, float]


def boxes_of(svg: str) -> dict[str, Rectangle]:
    """First line of text -> (left, top, right, bottom)."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        rectangle, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert rectangle is not None and text is not None and text.text
        x, y, width, height = (float(rectangle.get(key, "")) for key in ("x", "y", "width", "height"))
        found[text.text] = (x, y, x + width, y + height)
    return found


def edges_of(svg: str) -> list[list[tuple[float, float]]]:
    """The end points of every line."""
    paths = [
        path.get("d", "") for path in ElementTree.fromstring(svg).iter(f"{SVG}path") if path.get("marker-end")
    ]
    ends = []
    for path in paths:
        start = re.match(r"M([\d.-]+) ([\d.-]+)", path)
        last_x = re.findall(r"([\d.-]+) [\d.-]+(?=V|$|C)", path)[-1]
        last_y = re.findall(r"V([\d.-]+)", path)[-1]
        assert start is not None
        ends.append([(float(start[1]), float(start[2])), (float(last_x), float(last_y))])
    return ends


def random_graph(seed: int, nodes: int, edges: int) -> tuple[list[Box], list[tuple[str, str]]]:
    generator = random.Random(seed)
    boxes = [Box(f"n{i}", (f"n{i}" + "x" * generator.randrange(20), "second line")) for i in range(nodes)]
    pairs = [(generator.randrange(nodes), generator.randrange(nodes)) for _ in range(edges)]
    return boxes, [(f"n{a}", f"n{b}") for a, b in pairs]  # cycles and loops included


@pytest.mark.parametrize("seed", range(8))
def test_no_box_covers_another_and_none_is_outside(seed: int) -> None:
    boxes, edges = random_graph(seed, nodes=5 + seed * 6, edges=10 + seed * 9)
    svg = draw(boxes, edges, legend=[("#ffffff", "a meaning")])
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    placed = list(boxes_of(svg).values())
    assert len(placed) == len(boxes)
    for i, (left, top, right, bottom) in enumerate(placed):
        assert left >= 0 and top >= 0 and right <= width and bottom <= height
        for other in placed[:i]:
            assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top


def test_who_needs_stands_above_who_is_needed_and_what_follows_is_left_out() -> None:
    boxes = [Box(key, (key,)) for key in "abcd"]
    svg = draw(
        boxes, [("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("c", "a"), ("a", "a"), ("a", "unknown")]
    )
    placed = boxes_of(svg)
    assert placed["a"][3] < placed["b"][1] < placed["c"][1]
    ends = edges_of(svg)
    assert len(ends) == 3  # a-b, b-c, a-d
    for (x, y), (to_x, to_y) in ends:
        assert any(left <= x <= right and abs(y - bottom) < 1 for left, _, right, bottom in placed.values())
        assert any(left <= to_x <= right and -2 < to_y - top < 1 for left, top, right, _ in placed.values())


def test_nothing_to_draw() -> None:
    assert ElementTree.fromstring(draw([], [])).tag == f"{SVG}svg"


def graph() -> Graph:
    def node(path: str, *needs: str, load: Load = Load.UNWIND, problems: tuple[str, ...] = ()) -> Node:
        found = tuple(Need(n, f"/l/{n}" if n != "libgone.so" else None, "rule") for n in needs)
        return Node(f"/l/{path}", path, 1234, "ab12", True, False, None, load, "why", found, problems)

    nodes = [
        node("a & <b>.so", "libc.so", "libgone.so", load=Load.WHOLE, problems=("libgone.so: not found",)),
        node('quote".so', "libc.so"),
        node("libc.so"),
    ]
    standard = [
        Node(f"/p/lib-dynload/_m{i}.so", f"_m{i}.so", 10, needs=(Need("libc.so", "/l/libc.so", "rule"),))
        for i in (1, 2)
    ]
    return Graph(("/l/a & <b>.so",), {n.path: n for n in [*nodes, *standard]})


def test_the_picture_of_libraries() -> None:
    placed = boxes_of(to_svg(graph()))
    assert set(placed) == {"a & <b>.so", 'quote".so', "libc.so", "libgone.so", "Python's standard library"}


def test_the_text_for_graphviz() -> None:
    """Every statement is of the language's plainest forms, names quoted."""
    head, *lines, tail = to_dot(graph()).splitlines()
    assert (head, tail) == ("digraph libraries {", "}")
    name = r'"(?:[^"\\]|\\.)*"'
    nodes = [line for line in lines if re.fullmatch(rf"  {name} \[label={name}(?:, \w+={name})*\];", line)]
    edges = [line for line in lines if re.fullmatch(rf"  {name} -> {name};", line)]
    assert (len(nodes), len(edges), len(lines)) == (6, 5, 12)
