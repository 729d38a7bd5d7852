"""The graph of libraries as text for Graphviz and as a picture."""

from __future__ import annotations

from .dependencies import Graph, Node
from .policy import Load, human_size, is_standard_module
from .svg_graph import Box, draw

_FILLS = {Load.WHOLE: "#d5f0d5", Load.UNWIND: "#dde8f8", Load.SKIP: "#eeeeee"}
_MISSING = "#f8d5d5"
_STANDARD = "Python's standard library"
_MEANINGS = {
    Load.WHOLE: "gdb reads all of it",
    Load.UNWIND: "gdb reads its frame table",
    Load.SKIP: "gdb reads nothing",
}


def to_dot(graph: Graph) -> str:
    """The graph in Graphviz' language, every edge included."""
    lines = ["digraph libraries {", "  node [shape=box, style=filled, fontname=monospace];"]
    for node in graph.nodes.values():
        label = "\\n".join(map(_quoted_text, _lines(node)))
        colour = ', color="#c00000"' if node.problems else ""
        lines.append(f'  {_quoted(node.path)} [label="{label}", fillcolor="{_FILLS[node.load]}"{colour}];')
    for name in graph.missing():
        lines.append(f'  {_quoted(name)} [label="{_quoted_text(name)}\\nmissing", fillcolor="{_MISSING}"];')
    lines += [f"  {_quoted(a)} -> {_quoted(b)};" for a, b in graph.edges()]
    return "\n".join([*lines, "}"]) + "\n"


def to_svg(graph: Graph) -> str:
    """The graph as a picture. An edge that follows from two others is left out.

    The extension modules of Python's standard library are one box: a process has dozens of them.
    """
    standard = [node for node in graph.nodes.values() if is_standard_module(node.path) and not node.problems]
    shared = {node.path: _STANDARD for node in standard} if len(standard) > 1 else {}
    boxes = [
        Box(
            key=node.path,
            lines=_lines(node),
            fill=_FILLS[node.load],
            stroke="#c00000" if node.problems else "#555555",
            tooltip="\n".join([node.path, f"build-id {node.build_id or 'none'}", *node.problems]),
        )
        for node in graph.nodes.values()
        if node.path not in shared
    ]
    if shared:
        total = human_size(sum(node.size for node in standard))
        lines = (_STANDARD, f"{len(standard)} modules, {total}")
        boxes.append(Box(_STANDARD, lines, _FILLS[Load.UNWIND], tooltip="\n".join(shared)))
    boxes += [Box(name, (name, "missing"), _MISSING, "#c00000", dashed=True) for name in graph.missing()]
    edges = [(shared.get(a, a), shared.get(b, b)) for a, b in graph.edges()]
    legend = [(_FILLS[load], _MEANINGS[load]) for load in Load]
    return draw(boxes, edges, [*legend, (_MISSING, "missing")])


def _lines(node: Node) -> tuple[str, ...]:
    facts = [human_size(node.size)]
    if node.has_debug_info or node.debug_file:
        facts.append("debug info")
    elif node.has_symtab:
        facts.append("symbols")
    else:
        facts.append("stripped")
    if node.problems:
        facts.append(f"{len(node.problems)} problem{'s' if len(node.problems) > 1 else ''}")
    return node.name, ", ".join(facts)


def _quoted(text: str) -> str:
    return f'"{_quoted_text(text)}"'


def _quoted_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
