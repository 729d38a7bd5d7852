"""The client's methods in dualdbg and the table of commands in gdb agree: names, functions, numbers of arguments."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from dualdbg.backends import gdb_helpers, gdb_probes, gdb_values
from dualdbg.patience import patient
from dualdbg.resources import resource_directory
from dualdbg.session import attaching

PACKAGE = resource_directory("gdb_scripts") / "dualdbg_engine"
SENT_BY_OTHERS = {"leave"}  # by the guard of an attached session, session/attaching.py


def table() -> dict[str, tuple[str, str]]:
    tree = ast.parse((PACKAGE / "table.py").read_text())
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    value = next(node.value for node in assigned if ast.unparse(node.targets[0]) == "COMMANDS")
    found: dict[str, tuple[str, str]] = ast.literal_eval(value)
    return found


def sent() -> dict[str, tuple[str, int]]:
    """What the client sends: by name, the method that does and the number of arguments."""
    trees = [ast.parse(Path(one.__file__).read_text()) for one in (gdb_helpers, gdb_probes, gdb_values)]
    found = {}
    for method in (node for tree in trees for node in ast.walk(tree)):
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for call in ast.walk(method):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            if call.func.attr in ("_helper", "_tell", "_order"):
                # The first makes facts of the answer.
                name, *arguments = call.args[call.func.attr == "_helper" :]
                assert isinstance(name, ast.Constant), f"{method.name}: the name is computed"
                assert not any(isinstance(one, ast.Starred) for one in arguments), (
                    f"{method.name}: uncountable"
                )
                found[name.value] = method.name, len(arguments)
    return found


def function(module: str, name: str) -> ast.FunctionDef:
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    return next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name)


def test_the_client_sends_what_the_table_has_and_no_less() -> None:
    assert set(sent()) | SENT_BY_OTHERS == set(table())


@pytest.mark.parametrize("name", sorted(table()))
def test_each_name_is_that_of_a_function_which_takes_what_is_sent(name: str) -> None:
    module, wanted = table()[name]
    assert wanted == name.replace("-", "_")
    arguments = function(module, wanted).args
    most = len(arguments.args)
    least = most - len(arguments.defaults)
    if name not in SENT_BY_OTHERS:
        method, count = sent()[name]
        assert method == wanted
        assert least <= count <= most, (name, count, least, most)


def test_the_guard_of_an_attached_session_sends_a_name_of_the_table() -> None:
    for name in SENT_BY_OTHERS:
        assert f'dualdbg-engine ["{name}"]' in attaching._REPAIR


def test_gdb_finds_every_function() -> None:
    """In the real gdb, from the file that the session sources; the helpers' modules are read too."""
    code = (
        "python import dualdbg_engine.table as t;"
        " print(sorted(n for n in t.COMMANDS if not callable(t.function_of(n))), len(t.COMMANDS))"
    )
    entry = PACKAGE.parent / "dualdbg_session.py"
    done = subprocess.run(
        ["gdb", "-nx", "-nh", "-q", "-batch", "-ex", f"source {entry}", "-ex", code],
        capture_output=True,
        text=True,
        timeout=patient(120),
    )
    assert done.stdout.strip() == f"[] {len(table())}", done.stdout + done.stderr
