"""``dualdbg libs``: the native libraries of a process or of ``import torch``, and what gdb will read of each."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SymbolError, TargetGone, UsageError
from ..arguments import Parser
from .run import default_python

if TYPE_CHECKING:
    from ...symbols.dependencies import Graph, Node

_NEXT = "dualdbg ps lists the processes"


def main(words: list[str]) -> int:
    given = _parser().parse_args(words)
    if given.pid is not None and given.python is not None:
        raise UsageError("libs: a process and --python exclude each other", "give one of the two")
    from ...symbols.graph_pictures import to_dot, to_svg
    from ...symbols.policy import Policy

    policy = Policy.parse((*_configured(), *given.symbols))
    if given.pid is not None:
        graph = _of_process(given.pid, policy)
    else:
        graph = _of_torch(given.python or default_python(os.environ.get), policy)
    if given.svg is not None:
        _write(given.svg, to_svg(graph))
    elif given.dot:
        sys.stdout.write(to_dot(graph))
    elif given.json:
        sys.stdout.write(json.dumps(as_data(graph)) + "\n")
    else:
        sys.stdout.write(as_text(graph))
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="dualdbg libs",
        allow_abbrev=False,
        description="The native libraries of a process, or of `import torch`: who needs whom, what is known of each, "
        "what gdb will read of it and why.",
    )
    parser.add_argument("pid", nargs="?", type=int, metavar="PID", help="a process that runs")
    parser.add_argument(
        "--python",
        metavar="PATH",
        nargs="?",
        const=default_python(os.environ.get),
        help="what `import torch` loads in this interpreter; nothing is run (the default, as dualdbg run chooses it)",
    )
    parser.add_argument(
        "--symbols",
        metavar="POLICY",
        action="append",
        default=[],
        help="try a policy, as for dualdbg run: full, lazy, PATTERN=whole|unwind|skip",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dot", action="store_true", help="the graph for Graphviz")
    how.add_argument("--svg", metavar="FILE", help="the graph as a picture")
    how.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _configured() -> tuple[str, ...]:
    from ...config import find_config

    return find_config(Path.cwd()).symbols


def _of_process(pid: int, policy: Any) -> Graph:
    from ...symbols.dependencies import graph_of_process
    from ...symbols.image import ProcessImage

    try:
        Path(f"/proc/{pid}/maps").read_bytes()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise TargetGone(f"there is no process {pid}", _NEXT) from error
    except OSError as error:
        raise SymbolError(
            f"the memory map of process {pid} cannot be read: {error.strerror}",
            "it belongs to someone else: try as that user, or with sudo",
        ) from error
    return graph_of_process((module.path for module in ProcessImage(pid).refresh()), policy)


def _of_torch(python: str, policy: Any) -> Graph:
    from ...symbols.cache import cache_directory
    from ...symbols.dependencies import graph_of_files
    from ...target import interpreter

    facts = interpreter.inspect(interpreter.find(python), cache=cache_directory())
    if facts.torch is None:
        raise SymbolError(f"{python} has no PyTorch", "name the interpreter that has it with --python PATH")
    extension = Path(facts.torch) / f"_C{facts.extension_suffix}"
    if not extension.exists():
        raise SymbolError(f"there is no {extension}", "is the PyTorch there complete? reinstall it")
    return graph_of_files([os.path.realpath(facts.executable), str(extension)], os.environ, policy)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SymbolError(f"cannot write {path}: {error.strerror}", "give another file") from error
    sys.stdout.write(f"written to {path}\n")


def as_text(graph: Graph) -> str:
    """The libraries in the order in which they are loaded; under each, what it needs and what is wrong."""
    from ...symbols.policy import human_size

    rows = [("library", "size", "build-id", "has", "gdb reads", "because")]
    nodes = list(graph.nodes.values())
    for node in nodes:
        build_id = (node.build_id or "none")[:12]
        rows.append((node.name, human_size(node.size), build_id, _has(node), node.load.value, node.reason))
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    lines = [_row(rows[0], widths)]
    for node, row in zip(nodes, rows[1:], strict=True):
        lines.append(_row(row, widths))
        lines.append(f"    {node.path}")
        if node.debug_file:
            lines.append(f"    debug info: {node.debug_file}")
        if node.needs:
            lines.append(f"    needs {', '.join(need.name for need in node.needs)}")
        lines += [f"    problem: {problem}" for problem in node.problems]
    total = human_size(sum(node.size for node in nodes))
    problems = sum(len(node.problems) for node in nodes)
    lines.append(
        f"\n{len(nodes)} libraries, {total}; {problems or 'no'} problem{'' if problems == 1 else 's'}"
    )
    return "\n".join(lines) + "\n"


def _row(row: tuple[str, ...], widths: list[int]) -> str:
    name, size, build_id, has, load, reason = row
    return (
        f"{name:<{widths[0]}}  {size:>{widths[1]}}  {build_id:<{widths[2]}}  {has:<{widths[3]}}  "
        f"{load:<{widths[4]}}  {reason}"
    ).rstrip()


def _has(node: Node) -> str:
    if node.has_debug_info or node.debug_file:
        return "debug info"
    return "symbols" if node.has_symtab else "stripped"


def as_data(graph: Graph) -> dict[str, Any]:
    """The graph as plain JSON types; ``size`` is in bytes."""
    return {
        "roots": list(graph.roots),
        "missing": graph.missing(),
        "libraries": [
            {
                "path": node.path,
                "name": node.name,
                "size": node.size,
                "build_id": node.build_id,
                "symbols": node.has_symtab,
                "debug_info": node.has_debug_info,
                "debug_file": node.debug_file,
                "load": node.load.value,
                "reason": node.reason,
                "needs": [{"name": need.name, "path": need.path, "rule": need.rule} for need in node.needs],
                "problems": list(node.problems),
            }
            for node in graph.nodes.values()
        ],
    }
