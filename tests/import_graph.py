"""Which modules of a package import which, type imports and late ones included; and the circles among them.

``python -m tests.import_graph dualdbg/dap`` prints the imports and the circles of a folder.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support import ROOT

Graph = Mapping[str, set[str]]


def graph(folder: Path, root: Path = ROOT) -> Graph:
    """For each module below ``folder``, named from ``root`` on, those below it that an import statement names.

    Statements count wherever they stand: in a function, or under ``TYPE_CHECKING``. A package stands for its
    ``__init__.py``; an import of a submodule is no import of that.
    """
    files = {_name(path, root): path for path in sorted(folder.rglob("*.py"))}
    return {
        name: {one for one in _imported(name, path, files) if one != name} for name, path in files.items()
    }


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for one in node.names:
                # `from package import name`: the submodule of that name where there is one, else the package.
                found = next((it for it in (f"{module}.{one.name}", module) if it in known), None)
                if found is not None:
                    yield found


def circles(graph: Graph) -> list[list[str]]:
    """The sets of two and more modules each of which leads to all the others, the largest first."""
    reached = {name: _reachable(graph, name) for name in graph}
    found = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted((list(one) for one in found), key=lambda one: (-len(one), one))


def _reachable(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += graph[name]
    return reached


def main(folders: list[str]) -> None:
    for folder in folders:
        found = graph(ROOT / folder)
        for name, imported in found.items():
            print(f"{name}: {' '.join(sorted(imported))}")
        for circle in circles(found):
            print(f"circle of {len(circle)}: {' '.join(circle)}")


if __name__ == "__main__":
    main(sys.argv[1:])
