"""What gdb is told and what it says stands in the backends alone: above are methods, enums and dataclasses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dualdbg
from dualdbg.backends import gdb_events

PACKAGE = Path(dualdbg.__file__).parent
ABOVE = ("session", "console", "dap", "tui", "cli")
# MI commands; -enable-pretty-printing and -gdb-set come from users' launch.json, in the form of another extension.
MI_COMMAND = re.compile(
    r"-(exec|data|break|stack|var|target|thread|interpreter|list|symbol|file|catch|environment)-[a-z]"
)
REASONS = {reason for reason in gdb_events._CAUSES if "-" in reason}
COMMAND_LINE = re.compile(r"(handle|catch|condition|add-symbol-file|remove-symbol-file|generate-core-file) ")


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """The string constants of a module with their lines, docstrings left out."""
    tree = ast.parse(path.read_text())
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.lineno, node.value


def built_of(path: Path) -> Iterator[tuple[int, str]]:
    """The beginnings of the texts that a module gives to what asks gdb."""
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "ask_gdb"
        ):
            for text in node.args:
                first = text.values[0] if isinstance(text, ast.JoinedStr) else text
                if isinstance(first, ast.Constant):
                    yield node.lineno, str(first.value)


@pytest.mark.parametrize("folder", ABOVE)
def test_what_is_asked_of_gdb_in_its_own_words_the_user_has_typed(folder: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text!r}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for line, text in built_of(path)
    ]
    assert not found, found


@pytest.mark.parametrize("folder", ABOVE)
def test_no_command_and_no_word_of_gdbs_stands_above_the_backends(folder: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text!r}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for line, text in strings_of(path)
        if MI_COMMAND.match(text) or text in REASONS or (folder == "session" and COMMAND_LINE.match(text))
    ]
    assert not found, found


def test_the_search_finds_what_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        '"""-exec-doc"""\nask("-exec-continue")\nask(f"-break-after {number}")\nx = "signal-received"\n'
    )
    found = sorted(
        (line, text) for line, text in strings_of(path) if MI_COMMAND.match(text) or text in REASONS
    )
    assert found == [(2, "-exec-continue"), (3, "-break-after "), (4, "signal-received")]
