"""``dualdbg libs``: the native libraries of a process or of ``import torch``, and what gdb will read of each."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import configuration, notices
from ...errors import SymbolError, TargetGone, UsageError
from ...system.terminal_text import cleaned, visible
from ...target.interpreter import default_python
from ..arguments import Parser
from ..main import tell

if TYPE_CHECKING:
    from ...symbols.gdb_feed.dependencies import Graph, Node

_NEXT = "dualdbg ps lists the processes"


def main(words: list[str]) -> int:
    given = make_parser().parse_args(words)
    if given.pid is not None and given.python is not None:
        raise UsageError("libs: a process and --python exclude each other", "give one of the two")
    from ...symbols.gdb_feed.graph_pictures import to_dot
    from ...symbols.gdb_feed.policy import Policy

    policy = Policy.parse((*_configured(given.config), *given.symbols))
    if given.pid is not None:
        graph = _of_process(given.pid, policy)
    else:
        graph = _of_torch(given.python or default_python(os.environ.get), policy)
    if given.svg is not None:
        _draw(graph, Path(given.svg))
    elif given.dot:
        sys.stdout.write(to_dot(cleaned(graph)))
    elif given.json:
        sys.stdout.write(json.dumps(as_data(graph)) + "\n")
    else:
        sys.stdout.write(as_text(graph))
    return 0


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg libs",
        allow_abbrev=False,
        description="The native libraries of a process, or of `import torch`: who needs whom, what is known of each, "
        "what gdb will read of it and why.",
    )
    parser.add_argument("pid", nargs="?", type=_pid, metavar="PID", help="a process that runs")
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
    parser.add_argument(
        "--config", metavar="FILE", help="the configuration (default: the nearest dualdbg.toml of yours)"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dot", action="store_true", help="the graph for Graphviz")
    how.add_argument("--svg", metavar="FILE", help="the graph as a picture, drawn by Graphviz")
    how.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _pid(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the number of a process; --dot and --json write to standard output: "
            "dualdbg libs --dot > graph.dot; --svg FILE draws a picture"
        )
    return int(text)


def _configured(named: str | None) -> tuple[str, ...]:
    config = configuration(named)
    for notice in notices(config):
        tell(notice.message, notice.hint)
    return config.symbols


def _of_process(pid: int, policy: Any) -> Graph:
    from ...symbols.address_space import AddressSpace
    from ...symbols.gdb_feed.dependencies import graph_of_process

    try:
        Path(f"/proc/{pid}/maps").read_bytes()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise TargetGone(f"there is no process {pid}", _NEXT) from error
    except OSError as error:
        raise SymbolError(
            f"the memory map of process {pid} cannot be read: {error.strerror}",
            "it belongs to someone else: try as that user, or with sudo",
        ) from error
    return graph_of_process((module.path for module in AddressSpace(pid).refresh()), policy)


def _of_torch(python: str, policy: Any) -> Graph:
    from ...symbols.cache import cache_directory
    from ...symbols.gdb_feed.dependencies import graph_of_files
    from ...target import interpreter

    facts = interpreter.inspect(interpreter.find(python), cache=cache_directory())
    if facts.torch is None:
        raise SymbolError(f"{python} has no PyTorch", "name the interpreter that has it with --python PATH")
    extension = Path(facts.torch) / f"_C{facts.extension_suffix}"
    if not extension.exists():
        raise SymbolError(f"there is no {extension}", "is the PyTorch there complete? reinstall it")
    return graph_of_files([os.path.realpath(facts.executable), str(extension)], os.environ, policy)


def _draw(graph: Graph, path: Path) -> None:
    """Graphviz draws the picture; where it is not installed its text is written instead, and that is an error."""
    from ...symbols.gdb_feed.graph_pictures import can_draw, draw, to_dot

    dot = to_dot(graph, summary=True)
    if not can_draw():
        text = path.with_suffix(".dot")
        _write(text, dot.encode())
        raise SymbolError(
            f"{path} cannot be drawn without Graphviz; the graph is in {text}",
            f"apt-get install graphviz, then the same again, or: dot -Tsvg -o {path} {text}",
        )
    _write(path, draw(dot))
    sys.stdout.write(f"written to {visible(str(path))}\n")


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise SymbolError(f"cannot write {path}: {error.strerror}", "give another file") from error


def as_text(graph: Graph) -> str:
    """The libraries in the order in which they are loaded; under each, what it needs and what is wrong."""
    from ...symbols.gdb_feed.policy import human_size

    graph = cleaned(graph)
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
