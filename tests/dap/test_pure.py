"""The pure parts of the adapter: configurations, paths, handles, env files, stop reasons."""

from __future__ import annotations

import ast
import asyncio
import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.dap.adapter import Adapter
from dualdbg.dap.client.arguments import Arguments
from dualdbg.dap.client.conventions import Client
from dualdbg.dap.client.paths import Mapping, PathMap
from dualdbg.dap.client.wording import for_an_editor
from dualdbg.dap.configuration import CONDITIONS, Program, read_configuration, read_env_file
from dualdbg.dap.handles import Handles
from dualdbg.dap.options import OPTIONS
from dualdbg.dap.presentation import bodies
from dualdbg.dap.requests.sources import tell_python_modules
from dualdbg.errors import EngineLost, SpecError, StaleHandle, UsageError
from dualdbg.known.generated_code import COMPILED_DEBUG
from dualdbg.model import (
    Breakpoint,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    NativeFrame,
    ProgramLine,
    State,
)
from dualdbg.session.breakpoints.exception_filters import exception_arguments
from dualdbg.symbols.locspec.hit_conditions import check_hit_condition, hit_counts
from tests.support import ROOT


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"program": "a.py", "args": ["x"]}, Program(script="a.py", args=("x",))),
        ({"module": "m", "pythonArgs": ["-O"]}, Program(module="m", flags=("-O",))),
        (
            {"code": ["a", "b"], "python": ["py", "-X", "dev"]},
            Program(code="a\nb", python="py", flags=("-X", "dev")),
        ),
        (
            {"program": "/usr/bin/python3", "args": ["t.py", "1"]},
            Program("t.py", args=("1",), python="/usr/bin/python3"),
        ),
        (
            {"program": "python3.11", "args": ["-X", "dev", "-m", "m", "-v"]},
            Program(module="m", args=("-v",), python="python3.11", flags=("-X", "dev")),
        ),
        ({"program": "python_tool.py", "args": []}, Program(script="python_tool.py")),
        ({}, None),
    ],
    ids=str,
)
def test_what_is_run(values: dict[str, Any], expected: Program | None) -> None:
    assert read_configuration(Arguments("launch", values)).program == expected


def test_names_of_debugpy_and_cppdbg() -> None:
    read = read_configuration(
        Arguments(
            "launch",
            {
                "program": "a.py",
                "environment": [{"name": "A", "value": "1"}],
                "env": {"B": "2", "C": None},
                "stopAtEntry": True,
                "externalConsole": True,
                "miDebuggerPath": "/opt/gdb",
                "MIMode": "gdb",
                "setupCommands": [
                    {"text": "-enable-pretty-printing"},
                    {"text": "-gdb-set a b"},
                    {"text": '-x "y"'},
                ],
                "sourceFileMap": {"/build": "/src", "/b2": {"editorPath": "/s2", "useForBreakpoints": True}},
                "pathMappings": [{"localRoot": "/l", "remoteRoot": "/r"}],
                "gevent": True,
                "django": True,
                "justMyCode": False,
                "onTerminate": "KeyboardInterrupt",
            },
        )
    )
    assert read.env == {"A": "1", "B": "2", "C": None, "GEVENT_SUPPORT": "True"}
    assert read.stop_on_entry and read.console == "externalTerminal" and read.gdb == "/opt/gdb"
    assert [command.text for command in read.gdb_commands] == [
        "-enable-pretty-printing",
        "-gdb-set a b",
        '-x "y"',
    ]
    assert read.mappings == (
        Mapping("/l", "/r"),
        Mapping("/src", "/build", of_compiler=True),
        Mapping("/s2", "/b2", of_compiler=True),
    )
    own = {"django": True, "redirectOutput": False, "isOutputRedirected": False}
    assert read.debugpy == {**own, **CONDITIONS} and not read.just_my_code and read.interrupt_first
    assert read.notes == ()


@given(
    st.dictionaries(
        st.text(max_size=12),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), st.lists, max_leaves=4),
        max_size=6,
    )
)
def test_any_configuration_is_read_or_refused(values: dict[str, Any]) -> None:
    try:
        read_configuration(Arguments("launch", values))
    except (UsageError, SpecError):
        pass


def test_env_files() -> None:
    text = "# c\nA=1\nexport B = 'two $x' \nC=\"${A}-${HOME}\"\nD=a # rest\nE='${A}'\n\nbroken\n=x\nF=${"
    found = read_env_file(text, {"HOME": "/h"}.get)
    assert found == {"A": "1", "B": "two $x", "C": "1-/h", "D": "a", "E": "${A}", "F": "${"}


@pytest.mark.parametrize(
    ("mapping", "local", "remote"),
    [
        (Mapping("/l", "/r"), "/l/a/b.py", "/r/a/b.py"),
        (Mapping("/l/", "/r/"), "/l/a.py", "/r/a.py"),
        (Mapping("C:\\proj", "/srv/proj"), "C:\\proj\\a\\b.py", "/srv/proj/a/b.py"),
        (Mapping("/l", "/r"), "/other/a.py", "/other/a.py"),
        (Mapping("/l", "/r"), "/lx/a.py", "/lx/a.py"),
    ],
)
def test_paths(mapping: Mapping, local: str, remote: str) -> None:
    paths = PathMap((mapping,))
    assert paths.to_target(local) == remote
    assert paths.to_client(remote) == local


def test_the_longest_folder_decides_and_drives_have_no_case() -> None:
    paths = PathMap((Mapping("/l", "/r"), Mapping("/l/in", "/elsewhere")))
    assert paths.to_target("/l/in/a") == "/elsewhere/a" and paths.to_client("/elsewhere/a") == "/l/in/a"
    assert PathMap((Mapping("c:\\p", "/r"),)).to_target("C:\\P\\x.py") == "/r/x.py"


def test_uris() -> None:
    paths = PathMap(uris=True)
    assert paths.to_target("file:///a%20b/c.py") == "/a b/c.py"
    assert paths.to_client("/a b/c.py") == "file:///a%20b/c.py"


def test_handles_are_never_used_twice() -> None:
    handles: Handles[str] = Handles("frame")
    first = handles.add("a")
    handles.clear()
    second = handles.add("b")
    assert first != second and handles.get(second) == "b"
    with pytest.raises(StaleHandle):
        handles.get(first)
    with pytest.raises(UsageError):
        handles.get(second + 1)


@given(st.sampled_from(["", "==", "=", "!=", ">", ">=", "<", "<="]), st.integers(0, 50), st.integers(1, 60))
def test_hit_conditions(sign: str, number: int, hit: int) -> None:
    condition = check_hit_condition(f" {sign}{number} ")
    python = {"": "==", "=": "=="}.get(sign, sign)
    assert hit_counts(condition, hit) is eval(f"{hit} {python} {number}")


@pytest.mark.parametrize("text", ["", "x", "5 5", "% 0", ">", "-1", "5.0", "1" * 30])
def test_hit_conditions_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SpecError):
        check_hit_condition(text)


def test_exception_filters_and_options_go_together() -> None:
    assert exception_arguments(["uncaught", "raised", ""], []) == {"filters": ["raised", "uncaught"]}
    both = exception_arguments(["uncaught"], ["KeyError"])
    assert both["filters"] == [] and [row["breakMode"] for row in both["exceptionOptions"]] == [
        "always",
        "unhandled",
    ]


def test_the_page_names_every_option() -> None:
    page = (ROOT / "docs" / "dap.md").read_text()
    assert [option.name for option in OPTIONS if f"`{option.name}`" not in page] == []
    assert [row for row in OPTIONS if not row.hidden and row.description not in page] == []


def _goes_to_gdb(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "console"


def test_hints_are_in_an_editors_words() -> None:
    """Every hint of a part that editors use too: no option of a command that its user has not typed."""
    shared = ("session", "target", "backends", "symbols")
    left = []
    for package in shared:
        for file in (ROOT / "dualdbg" / package).rglob("*.py"):
            tree = ast.parse(file.read_text())
            for_gdb = {id(part) for one in ast.walk(tree) if _goes_to_gdb(one) for part in ast.walk(one)}
            for node in ast.walk(tree):
                if id(node) in for_gdb:
                    continue
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                    words = re.findall(
                        r"--(?:python|gdb|all-code|fix-ptrace)\b|Ctrl-C"
                        r"|\btype (?:continue|quit|pause|detach)\b|^(?:info |threads lists|py |up and )",
                        for_an_editor(node.value),
                    )
                    left += [(file.name, word) for word in words]
    assert left == []
    assert for_an_editor("Give an interpreter: --python PATH.") == 'Give an interpreter: "python": "PATH".'
    assert for_an_editor("pause it first: press Ctrl-C, or type pause") == "pause it first"


def test_a_program_that_ends_while_its_modules_are_asked_for_is_no_news() -> None:
    """As at a restart: they are asked for beside the request for the stack."""

    async def lost(command: str, arguments: dict[str, Any]) -> None:
        raise EngineLost("debugpy is gone: it closed the connection")

    session = SimpleNamespace(state=State.PYTHON_STOPPED, inspector=SimpleNamespace(relay=lost))
    asyncio.run(tell_python_modules(cast(Adapter, SimpleNamespace(session=session))))


def test_what_may_not_stop_is_not_verified() -> None:
    spec = BreakpointSpec("a.cpp:3", BreakpointKind.NATIVE_LINE, "a.cpp", 3)
    row = Breakpoint(1, spec, BreakpointState.UNCERTAIN, message="it may never stop")
    body = bodies.breakpoint(row, Client(), lambda path: {"path": path})
    assert not body["verified"] and body["message"] == "it may never stop"


def test_kernels_of_torch_compile_are_named_with_the_lines_that_they_compute() -> None:
    lines = tuple(ProgramLine("/home/model.py", line, "step", "") for line in (16, 17))
    row = NativeFrame(0, 0x1000, "kernel", "/tmp/kernel.so", computes=lines)
    assert bodies.frame(1, row, None, None, Client())["name"] == "kernel [computes model.py:16-17]"
    given = {"code": "1", "compiledDebug": True, "env": {"INDUCTOR_PROVENANCE": "0"}}
    environment = read_configuration(Arguments("launch", given)).env
    assert environment == {**dict(COMPILED_DEBUG), "INDUCTOR_PROVENANCE": "0"}
