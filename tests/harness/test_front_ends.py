"""Front ends ask the session, never one of its engines: which of them answers is not theirs to know."""

from __future__ import annotations

import ast
from pathlib import Path

import dualdbg

FRONT_ENDS = ("cli", "console", "dap", "mcp", "tui", "vscode")
ENGINES = {"native", "python"}


def test_no_front_end_reaches_through_the_session_to_an_engine() -> None:
    package = Path(dualdbg.__file__).parent
    found = []
    for path in sorted(path for name in FRONT_ENDS for path in (package / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Attribute) and node.attr in ENGINES):
                continue
            owner = node.value
            if "session" in (getattr(owner, "id", None), getattr(owner, "attr", None)):
                found.append(f"{path.relative_to(package)}:{node.lineno} {ast.unparse(node)}")
    assert not found
