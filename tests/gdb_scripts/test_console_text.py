"""What Python code in gdb gets as the text of a command is what gdb shows, whoever has called it."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from dualdbg.shared.console_text import plain
from dualdbg.system.resources import resource_directory

SHOWN = """\
The current source language is "auto; currently c".
a\tb \\ grüße
"""
OF_GDB_18 = r"""~"The current source language is \"auto; currently c\".\n"
~"a\tb \\ gr\303\274\303\237e\n"
"""


@pytest.mark.parametrize("text", [SHOWN, OF_GDB_18, OF_GDB_18.replace(r"\303\274\303\237", "üß")])
def test_records_are_read(text: str) -> None:
    assert plain(text) == SHOWN


NOTIFIED = r"""=breakpoint-modified,bkpt={number="5",type="hw watchpoint",what="~\"a\"",cond="n != 2"}
"""


def test_what_mi_is_notified_of_is_no_text_of_the_command() -> None:
    assert plain(NOTIFIED) == ""
    assert plain(NOTIFIED + OF_GDB_18 + NOTIFIED) == SHOWN


@pytest.mark.parametrize("text", ["", "~", '~"half', "=\n", "= 5\n", "=a,b\nother\n", '~"one"\nother\n'])
def test_what_is_none_stays(text: str) -> None:
    assert plain(text) == text


def test_gdb_called_by_mi() -> None:
    lines = [
        f"import sys; sys.path.insert(0, {str(resource_directory('gdb_scripts'))!r})",
        "from dualdbg_shared.console_text import plain",
        "print([row.split()[:2] for row in plain(gdb.execute('info signals SIGSTOP', to_string=True)).splitlines()])",
    ]
    done = subprocess.run(
        ["gdb", "-nx", "-q", "--interpreter=mi3"],
        input="".join(f"python {line}\n" for line in lines) + "-gdb-exit\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[['Signal', 'Stop'], ['SIGSTOP', 'Yes']]" in done.stdout, done


def test_every_text_of_a_command_is_read_as_it_would_be_shown() -> None:
    """gdb 18 answers with MI records under MI: a reader that takes the text as it is finds nothing."""
    raw = []
    for path in sorted((Path(__file__).parents[2] / "gdb_scripts").rglob("*.py")):
        tree = ast.parse(path.read_text())
        fine = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "plain":
                fine.update(map(id, node.args))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or id(node) in fine:
                continue
            if any(word.arg == "to_string" for word in node.keywords):
                raw.append(f"{path.name}:{node.lineno}")
    assert not raw
