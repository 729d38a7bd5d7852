"""The graph of libraries as text for Graphviz, and the picture that Graphviz draws of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from xml.sax.saxutils import escape

from ...errors import SymbolError
from ...shared.libraries import is_standard_module
from ...system.in_thread import run
from ...system.patience import patient
from .dependencies import Graph, Node
from .policy import Load, human_size

_FILLS = {Load.WHOLE: "#d5f0d5", Load.UNWIND: "#dde8f8", Load.SKIP: "#eeeeee"}
_MISSING = "#f8d5d5"
_STANDARD = "Python's standard library"
_MEANINGS = {
    Load.WHOLE: "gdb reads all of it",
    Load.UNWIND: "gdb reads its frame table",
    Load.SKIP: "gdb reads nothing",
}
_DRAWING_SECONDS = patient(120.0)  # for each; some hundred libraries take one
_DRAWING = ("tred", "dot")  # tred leaves out the edges that follow from others; both are part of Graphviz


def to_dot(graph: Graph, *, summary: bool = False) -> str:
    """The graph in Graphviz' language, every edge included.

    With ``summary`` the extension modules of Python's standard library are one box: a process has dozens of them.
    """
    standard = [node for node in graph.nodes.values() if is_standard_module(node.path) and not node.problems]
    inside = {node.path for node in standard} if summary and len(standard) > 1 else set()
    lines = [
        "digraph libraries {",
        "  node [shape=box, style=filled, fontname=monospace];",
        f"  label=<{_legend()}>;",
    ]
    lines += [_box(node) for node in graph.nodes.values() if node.path not in inside]
    if inside:
        facts = f"{len(standard)} modules, {human_size(sum(node.size for node in standard))}"
        tooltip = "\n".join(sorted(inside))
        lines.append(
            _statement(
                _STANDARD, label=f"{_STANDARD}\n{facts}", fillcolor=_FILLS[Load.UNWIND], tooltip=tooltip
            )
        )
    for name in graph.missing():
        lines.append(_statement(name, label=f"{name}\nmissing", fillcolor=_MISSING, color="#c00000"))
    edges = [(_STANDARD if a in inside else a, _STANDARD if b in inside else b) for a, b in graph.edges()]
    lines += [f"  {_quoted(a)} -> {_quoted(b)};" for a, b in dict.fromkeys(edges) if a != b or not inside]
    return "\n".join([*lines, "}"]) + "\n"


def can_draw() -> bool:
    """Whether Graphviz is installed."""
    return all(map(shutil.which, _DRAWING))


def draw(dot: str) -> bytes:
    """The picture of a graph in Graphviz' language, as SVG. Raises SymbolError when Graphviz is not there or fails."""
    picture = dot.encode()
    for command in (["tred"], ["dot", "-Tsvg"]):
        try:
            done = run(
                command,
                input=picture,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=_DRAWING_SECONDS,
            )
        except FileNotFoundError as error:
            raise SymbolError(
                f"the graph cannot be drawn: {command[0]} is not installed", "apt-get install graphviz"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise SymbolError(
                f"the graph cannot be drawn: {command[0]} took more than {_DRAWING_SECONDS:g} s",
                "write the graph with --dot, or on a slow machine: DUALDBG_PATIENCE=5 dualdbg …",
            ) from error
        if done.returncode or not done.stdout:  # tred ends with status 0 for any input
            raise SymbolError(
                f"the graph cannot be drawn: {command[0]} says: {done.stderr.decode('utf-8', 'replace').strip()}",
                "write the graph with --dot and look at it with another version of Graphviz",
            )
        picture = done.stdout
    return picture


def _box(node: Node) -> str:
    tooltip = "\n".join([node.path, f"build-id {node.build_id or 'none'}", *node.problems])
    colour = {"color": "#c00000"} if node.problems else {}
    label = "\n".join(_lines(node))
    return _statement(node.path, label=label, fillcolor=_FILLS[node.load], tooltip=tooltip, **colour)


def _statement(name: str, **attributes: str) -> str:
    written = ", ".join(f"{key}={_quoted(value)}" for key, value in attributes.items())
    return f"  {_quoted(name)} [{written}];"


def _legend() -> str:
    """What the colours mean, as one of Graphviz' HTML-like labels."""
    meanings: Mapping[str, str] = {**{_FILLS[load]: _MEANINGS[load] for load in Load}, _MISSING: "missing"}
    cells = "".join(f'<td bgcolor="{fill}">{escape(text)}</td>' for fill, text in meanings.items())
    return f'<table border="0" cellborder="1" cellspacing="8"><tr>{cells}</tr></table>'


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
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
