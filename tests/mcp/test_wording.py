"""Answers name calls of tools: what the rest of dualdbg says to people at a prompt is said for who has only tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dualdbg.console.commands.registry import all_commands
from dualdbg.errors import NoSuchThread, SpecError, StaleHandle, UsageError, WrongState
from dualdbg.model import State
from dualdbg.plugins.mcp.registry import all_tools
from dualdbg.plugins.mcp.server import next_call
from dualdbg.plugins.mcp.wording import for_tools
from tests.mcp.driver import Tools, with_server
from tests.support import ROOT

# What there is a tool for. `dualdbg resolve`, `doctor` and options of the server have none.
COMMANDS = re.compile(
    r"\bdualdbg (?:run|attach|core|stacks|ps|trace|ops)\b"
    r"|(?<![\w-])--(?:compiled|compiled-debug|cache|python|native|cwd|all-code|folded|json|env|break)\b"
    r"|(?:^|[:;,(]|\bor|\band) ?type (?!of|name|is|in|unit)[a-z]+\b|\bpress Ctrl-C\b"
    r"|\b(?:info threads|info breakpoints|info libs|threads lists|locals lists|print --repr)\b"
)
# Names of the prompt's commands that hints have as words of English, or that tools have too.
_WORDS = {
    "gdb",
    "process",
    "thread",
    "source",
    "call",
    "help",
    "kill",
    "save",
    "list",
    "set",
    "return",
    "exit",
}
_NAMES = "|".join(
    sorted(
        {name for one in all_commands() for name in one.names if len(name) > 1 and name.isalpha()} - _WORDS
    )
)
# A command where a sentence begins, with its argument or with what it does.
PROMPT = re.compile(
    rf"(?:^|[;:,(] ?|\b(?:or|and|there) )(?:{_NAMES}) "
    rf"(?:[A-Z]{{2,}}\b|\*|(?:(?:and|or) (?:{_NAMES}) )?(?:select|show|list|set|read|stop|let|lead)s?\b|to a\b)"
)
# Front ends that the server does not use; what runs in programs; and doctor, which is a command.
_OTHERS = ("cli", "dap", "tui", "vscode", "pytest_plugin", "job", "bootstrap", "tracing", "doctor.py")
# The prompt's own commands; the printer and the table of a trace are used here too.
_PROMPT = "console/commands/"


def _texts() -> Iterator[tuple[str, str]]:
    """Every text in the code that an answer may be made of, with its place; what is filled in is a ``X``."""
    for path in sorted((ROOT / "dualdbg").rglob("*.py")):
        name = str(path.relative_to(ROOT / "dualdbg"))
        if any(part in _OTHERS for part in Path(name).parts) or name.startswith(_PROMPT):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        silent = {id(row.value) for row in ast.walk(tree) if isinstance(row, ast.Expr)}  # docstrings
        parts = {id(one) for row in ast.walk(tree) if isinstance(row, ast.JoinedStr) for one in row.values}
        for row in ast.walk(tree):
            if id(row) in silent or id(row) in parts:
                continue
            if isinstance(row, ast.JoinedStr):
                text = "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in row.values)
            elif isinstance(row, ast.Constant) and isinstance(row.value, str):
                text = row.value
            else:
                continue
            if " " in text:  # a sentence, and no option of a command that is run
                yield f"{name}:{row.lineno}", text


def test_no_hint_of_any_part_names_a_command_that_is_a_tool() -> None:
    texts = [row for row in _texts() if not row[0].startswith("plugins/mcp/wording.py")]
    for commands, least in ((COMMANDS, 20), (PROMPT, 5)):
        before = {place for place, text in texts if commands.search(text)}
        after = {place: for_tools(text) for place, text in texts if commands.search(for_tools(text))}
        assert len(before) > least  # the test sees them
        assert after == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "dualdbg ps lists the Python processes",
            "stacks(match=WORDS) finds processes by their command line",
        ),
        ("dualdbg core /tmp/core.5", "attach(core='/tmp/core.5')"),
        ("type continue", "continue_until(session='s1') lets it go on"),
        ("type quit", "end(session='s1')"),
        ("info threads lists them", "stacks(session='s1') lists them"),
        ("Try --python /v/bin/python.", "Try python='/v/bin/python'."),
        ("Give a Python interpreter: --python PATH.", "python=PATH names an interpreter."),
        ("dualdbg ops --compiled c.cpp", "operator(compiled='c.cpp')"),
        (
            "print NAME and locals read from memory; continue to a Python stop to evaluate",
            "evaluate without run_code, and variables, read from memory; "
            "at a Python stop, to which continue_until(session='s1') leads, code runs",
        ),
        ("ask again at its next stop", "ask again at its next stop"),
    ],
)
def test_what_is_said_in_its_place(text: str, said: str) -> None:
    assert for_tools(text, "s1") == said


_STOPS, _GOES_ON = "seconds=0, at_time='pause') stops it", "lets it go on"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.RUNNING, _STOPS),
        (State.STARTING, _STOPS),
        (State.PYTHON_STOPPED, _GOES_ON),
        (State.NATIVE_STOPPED, _GOES_ON),
        (State.EXITED, "output(session='s1')"),
        (State.LOST, "output(session='s1')"),
        (None, "begins a session"),
    ],
)
def test_what_to_call_next_is_said_by_what_the_session_does(state: State | None, said: str) -> None:
    for error in (WrongState("the target is running", "type pause"), StaleHandle("old", "bt")):
        assert said in next_call(error, "s1", state)
        assert (_STOPS in next_call(error, "s1", state)) is (said is _STOPS)
        assert (_GOES_ON in next_call(error, "s1", state)) is (said is _GOES_ON)
    assert "it is a core" in next_call(WrongState("no life", ""), "s1", State.NATIVE_STOPPED, of_core=True)


def test_other_errors_have_a_call_of_their_own() -> None:
    assert "dualdbg://docs/breakpoints.md" in next_call(SpecError("no", "help break"), "s1", State.RUNNING)
    assert next_call(NoSuchThread("no", ""), "s1", State.RUNNING) == "stacks(session='s1') has its threads"
    assert next_call(UsageError("no", "its own hint"), None, None) == "its own hint"


# -- the server itself ---------------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("stacks", {"pid": 2**31 - 1}),
    ("stacks", {"match": "no such words in any command line"}),
    ("stacks", {"core": "/etc/passwd"}),
    ("diagnose", {"tree": 2**31 - 1}),
    ("diagnose", {"pid": 2**31 - 1}),
    ("attach", {"pid": 2**31 - 1}),
    ("attach", {"core": "/nowhere"}),
    ("run", {"code": "1", "python": "/nowhere"}),
    ("run", {"code": "1", "python": "/etc"}),
    ("run", {"code": "1", "breakpoints": ["f.py:x"]}),
    ("run", {"code": "1", "breakpoints": ["preset:nothing"]}),
    ("run", {"program": "/nowhere", "native": True}),
    ("operator", {"compiled": "f", "cache": "/nowhere"}),
    ("operator", {"name": "no_such_operator"}),
    ("trace", {"code": "1", "specs": ["f.py:x"]}),
    ("trace", {"code": "1", "specs": ["py:no.such.function"]}),
    ("stack", {"session": "s1"}),
    ("stack", {"session": "s1", "thread": 1}),
    ("step", {"session": "s1"}),
    ("break", {"session": "s1", "remove": [77]}),
    ("break", {"session": "s1", "add": ["watch:py:nothing"]}),
    ("variables", {"session": "s1"}),
    ("evaluate", {"session": "s1", "expression": "1 +"}),
    ("source", {"session": "s1"}),
]


@pytest.mark.processes
def test_an_expression_that_an_engine_refuses_names_the_next_call() -> None:
    async def work(tools: Tools) -> None:
        code = "import time\nsecret = 5\ntime.sleep(0.1)"
        session = (await tools("run", code=code, breakpoints=["clock_nanosleep"])).data["session"]

        async def asked(text: str, **more: Any) -> str:
            return await tools.refused("evaluate", session=session, expression=text, **more)

        assert "language='python'" in (await asked("secret")).partition("\nnext: ")[2]
        assert "language='native'" in (await asked("1 +", language="python")).partition("\nnext: ")[2]
        assert "run_code=true" in (await asked("secret = 6", language="python")).partition("\nnext: ")[2]
        found = await tools("evaluate", session=session, expression="secret", language="python")
        assert found.data["value"]["value"] == "5"

    with_server(work)


@pytest.mark.processes
def test_no_answer_of_the_server_names_a_command() -> None:
    async def work(tools: Tools) -> None:
        await tools("run", code="import time\ntime.sleep(1000)", seconds=10)
        said = {}
        for name, arguments in WRONG:
            answer = await tools.ask(name, **arguments)
            said[f"{name} {arguments}"] = answer.text
            assert answer.failed and "\nnext: " in answer.text, answer.text
        wrong = {call: text for call, text in said.items() if COMMANDS.search(text) or PROMPT.search(text)}
        assert wrong == {}
        assert {name for name, _ in WRONG} <= set(all_tools())

    with_server(work)
