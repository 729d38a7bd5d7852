"""What one module of dualdbg takes from another says, in a docstring, what it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT

# The schema of the Debug Adapter Protocol says what these are for; scripts/dap_types.py makes them from it.
GENERATED = "protocol/dap_types.py"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def imported_names(module: str, tree: ast.Module, *, is_package: bool) -> Iterator[tuple[str, str]]:
    """The (module, name) pairs that ``module`` imports with `from ... import ...`, wherever the statement stands."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        source = node.module or ""
        if node.level:
            parts = module.split(".")
            kept = parts[: len(parts) - node.level + is_package]
            source = ".".join([*kept, source] if source else kept)
        for alias in node.names:
            yield source, alias.name


def undocumented(package: Path) -> list[str]:
    """What another module of ``package`` imports and no docstring explains: public functions and classes."""
    paths = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    trees = {module: ast.parse(path.read_text()) for module, path in paths.items()}
    imported = {
        pair
        for module, tree in trees.items()
        for pair in imported_names(module, tree, is_package=paths[module].name == "__init__.py")
    }
    return [
        f"{paths[module].relative_to(package.parent)}:{node.lineno}: {node.name}"
        for module, tree in trees.items()
        for node in tree.body
        if not paths[module].match(GENERATED)
        and isinstance(node, Definition)
        and not node.name.startswith("_")
        and (module, node.name) in imported
        and ast.get_docstring(node) is None
    ]


def test_what_another_module_imports_has_a_docstring() -> None:
    assert undocumented(ROOT / "dualdbg") == []


def test_the_search_finds_what_is_imported_and_only_that(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "q").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(
        "def bare(): ...\ndef told():\n    'Says it.'\ndef alone(): ...\nclass Kind: ...\ndef _own(): ...\n"
    )
    (package / "q" / "__init__.py").write_text("from .b import deep\n")
    (package / "q" / "b.py").write_text("from ..a import bare, told, _own\nasync def deep(): ...\n")
    (package / "c.py").write_text("def late():\n    from p.a import Kind\n")
    assert undocumented(package) == ["p/a.py:1: bare", "p/a.py:5: Kind", "p/q/b.py:2: deep"]
