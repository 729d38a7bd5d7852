"""The journeys in an editor: the configuration that each page shows makes the stops that its transcript shows."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import rows
from tests.cli.test_transcripts import script as transcripts
from tests.dap.client import Client, StdioAdapter
from tests.support import ROOT, SAMPLES, require

from .test_init import init, value

PAGES = sorted((ROOT / "docs" / "journeys").glob("*.md"))
WALKED = [page for page in PAGES if "$ dualdbg run " in page.read_text(encoding="utf-8")]
MARK = "<!-- launch.json -->"
KEYS = {"continue": "continue", "next": "next", "step": "stepIn", "finish": "stepOut"}
_PLACE = re.compile(r"  (?P<function>\S.*?)  (?P<where>\S+)$")


@dataclass(frozen=True)
class Walk:
    """What a page types: the breakpoints and options of the command, the commands at the prompt, and where it stops."""

    breakpoints: list[str]
    options: dict[str, Any]
    commands: list[str]
    stops: list[str]


def name_of(page: Path) -> str:
    return page.stem


def configuration(page: Path) -> dict[str, Any]:
    """The configuration of launch.json that the page shows."""
    _, mark, rest = page.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{page.name} shows no configuration"
    return dict(json.loads(rest[: rest.index("\n    }\n") + len("\n    }\n")]))


def walk(page: Path) -> Walk:
    """The transcript of the page that runs a program."""
    one = next(
        one for one in transcripts.transcripts(page.read_text()) if one.command.startswith("dualdbg run")
    )
    words = iter(shlex.split(one.command)[2:])
    breakpoints, commands = [], []
    options: dict[str, Any] = {}
    for word in words:
        if word == "-b":
            breakpoints.append(next(words))
        elif word == "-x":
            commands.append(next(words))
        elif word == "--stop-on-entry":
            options["stopOnEntry"] = True
        elif word == "--all-code":
            options["justMyCode"] = False
        elif word == "--env":
            name, _, value = next(words).partition("=")
            options["env"] = {name: value}
        elif word != "--batch":
            options["program"] = f"${{workspaceFolder}}/{word}"
    return Walk(breakpoints, options, commands, [*stops(one.shown)])


def stops(shown: tuple[str, ...]) -> Iterator[str]:
    """Where the transcript stops: function, and file and line of a Python frame."""
    for at, line in enumerate(shown):
        if line.startswith("* "):
            places = (
                _PLACE.match(row) for row in shown[at + 1 : at + 3] if not row.startswith("  Value returned")
            )
            place = next(filter(None, places))
            yield stop_text(place["function"], place["where"])


def stop_text(function: str, where: str) -> str:
    return f"{function} {Path(where).name}" if re.search(r"\.py:\d+$", where) else function


@pytest.mark.parametrize("page", WALKED, ids=name_of)
def test_the_configuration_is_the_command_of_the_page(page: Path) -> None:
    shown, typed = configuration(page), walk(page)
    assert shown["type"] == "dualdbg" and shown["request"] == "launch"
    assert shown["breakpoints"] == sorted(typed.breakpoints, key=shown["breakpoints"].index)
    assert {name: shown.get(name) for name in typed.options} == typed.options
    assert set(shown) == {"name", "type", "request", "breakpoints", *typed.options}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_each_page_ends_in_vscode_and_in_the_dashboard(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.M)
    assert headings[-2].startswith("Now do it in VS Code") and headings[-1] == "In the dashboard"
    assert "dualdbg run --tui " in text and f"(../images/journey-{page.stem[0]}.svg)" in text


@pytest.fixture
def client() -> Iterator[Client]:
    require(importlib.util.find_spec("torch"), "PyTorch")
    adapter = StdioAdapter()
    yield adapter.client
    errors = adapter.close()
    assert errors == "", errors


def start(client: Client, page: Path) -> None:
    given = configuration(page)
    program = given["program"].replace("${workspaceFolder}", str(ROOT))
    client.start({**given, "program": program, "python": sys.executable, "cwd": str(ROOT)})


def top(client: Client, thread: int) -> tuple[dict[str, Any], str]:
    frame = client.stack(thread, levels=1)[0]
    assert "presentationHint" not in frame  # else VS Code folds it
    source = frame.get("source", {}).get("path", "")
    return frame, stop_text(
        frame["name"], f"{source}:{frame['line']}" if source.endswith(".py") else "native"
    )


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames have no qualified names before CPython 3.11")
# The way through an editor is the same for all pages; of the others the generated files are tried below.
@pytest.mark.parametrize("page", rows.some(WALKED, 1), ids=name_of)
def test_the_editor_stops_where_the_page_stops(page: Path, client: Client) -> None:
    """The page's own commands, in its order: the buttons for those that run, the debug console for the others."""
    typed = walk(page)
    start(client, page)
    thread = client.stopped()["threadId"]
    frame, place = top(client, thread)
    reached = [place]
    for command in typed.commands:
        if command not in KEYS:
            client.evaluate(f"`{command}", frame)
            continue
        client.go(KEYS[command], thread)
        if client.next_event("stopped", "terminated")["event"] == "terminated":
            break
        frame, place = top(client, thread)
        reached.append(place)
    assert reached == typed.stops


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.processes
def test_the_place_of_a_generated_function(client: Client) -> None:
    """Journey 4 runs nothing: the stop is in the function that it names, and the console knows the library."""
    page = next(page for page in PAGES if page not in WALKED)
    start(client, page)
    thread = client.stopped()["threadId"]
    frame, place = top(client, thread)
    assert [place] == configuration(page)["breakpoints"]
    answer = client.evaluate("`info symbol $pc", frame)["result"] + client.output
    assert re.search(r"at::_ops::randn::call in \S*libtorch_cpu\.so", answer)


def generated(folder: Path, name: str, program: Path, typed: str = "") -> dict[str, Any]:
    """A configuration that `dualdbg vscode init` writes, with VS Code's variables filled in."""
    init(folder)
    text = (folder / ".vscode/launch.json").read_text()
    launch = value(text.replace("${input:dualdbg.breakpoint}", typed).replace("${file}", str(program)))
    entry = next(one for one in launch["configurations"] if one["name"] == name)
    return {**entry, "python": sys.executable, "cwd": str(ROOT), "console": "internalConsole"}


TYPED: tuple[tuple[str, str, dict[str, Any], list[int], list[str]], ...] = (
    # page, what it says to type where VS Code asks, what it says to change, a breakpoint on a line, the buttons
    ("2-jit-script", "preset:jit-script", {"justMyCode": False}, [], ["continue"] * 4),
    ("4-generated", "at::_ops::randn::call", {}, [], []),
    ("1-randn", "randn@all", {}, [3], ["stepIn", "continue", "continue"]),
)
REACHED = {
    "1-randn": [
        "<module> testdebug.py:3",
        "torch::autograd::THPVariable_randn",
        "at::_ops::randn::call",
        "at::native::randn",
    ],
    "2-jit-script": walk(PAGES[1]).stops[:5],
    "4-generated": ["at::_ops::randn::call"],
}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames have no qualified names before CPython 3.11")
@pytest.mark.parametrize(
    ("name", "typed", "changed", "lines", "buttons"),
    rows.some(TYPED, 1),
    ids=[row[0] for row in TYPED],
)
def test_f5_with_the_generated_files(
    tmp_path: Path,
    client: Client,
    name: str,
    typed: str,
    changed: dict[str, Any],
    lines: list[int],
    buttons: list[str],
) -> None:
    page = next(page for page in PAGES if page.stem == name).read_text(encoding="utf-8")
    assert typed in page and "dualdbg: this file, stop at ..." in page
    assert all(json.dumps(key) in page for key in changed)
    program = re.search(r"samples/\w+\.py", page)
    assert program is not None
    path = ROOT / program[0]
    entry = generated(tmp_path, "dualdbg: this file, stop at ...", path, typed)
    client.start({**entry, **changed}, lines={path: list(lines)} if lines else None)
    thread = client.stopped()["threadId"]
    reached = [top(client, thread)[1]]
    for button in buttons:
        client.go(button, thread)
        client.stopped()
        reached.append(top(client, thread)[1])
    assert reached == REACHED[name]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.processes
def test_the_third_journey_with_the_generated_files(tmp_path: Path, client: Client) -> None:
    """A variable of the program, a breakpoint on a line, and the preset set in the debug console."""
    page = next(page for page in PAGES if page.stem == "3-interpreter").read_text(encoding="utf-8")
    added = {"env": {"PYTORCH_JIT_LOG_LEVEL": "profiling_graph_executor_impl"}}
    assert f"`{json.dumps(added)[1:-1]}`" in page and "a breakpoint on line 19" in page
    script = SAMPLES / "jit_script.py"
    client.start({**generated(tmp_path, "dualdbg: this file", script), **added}, lines={script: [19]})
    thread = client.stopped()["threadId"]
    frame, place = top(client, thread)
    assert place == "<module> jit_script.py:19"
    client.evaluate("`break preset:jit-run", frame)
    client.go("continue", thread)
    client.stopped()
    frame, place = top(client, thread)
    assert place.startswith("torch::jit::initJitScriptBindings")
    answer = client.evaluate("`ivalue-stack", frame)["result"] + client.output
    assert re.search(r"\[2\] int: 5", answer)
    client.request("disconnect", {"terminateDebuggee": True})
    assert "[DUMP profiling_graph_executor_impl.cpp:" in client.output
