"""Where a client of debugpy says to stop: names of functions, templates, cells, conditions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.dap.client import Client, Message
from tests.dap.test_launch import finish

Write = Callable[..., Path]


def test_function_breakpoints_on_bare_python_names(client: Client, program: Write) -> None:
    program("def far(n):\n    return n\n", "helpers.py")
    program("def late(n):\n    return n\n", "plugin.py")
    path = program(
        "import helpers, importlib\nclass Model:\n    def step(self, n):\n        return n\n"
        "Model().step(1)\nhelpers.far(2)\nimportlib.import_module('plugin').late(3)\n"
    )
    names = ["step", "far", "late"]
    answers = client.start({"program": str(path)}, functions=names)["functions"]
    for name, answer in zip(names, answers, strict=True):
        stop = client.stopped(reason="function breakpoint")
        assert stop["hitBreakpointIds"] == [answer["id"]]
        assert client.stack(stop["threadId"])[0]["name"].rpartition(".")[2] == name
        assert "library" not in answer.get("message", "")
        client.go("continue", stop["threadId"])
    assert finish(client) == 0


@pytest.mark.parametrize("first", [True, False])
def test_a_breakpoint_on_the_line_of_entry_is_a_breakpoint(
    client: Client, program: Write, first: bool
) -> None:
    path = program("x = 1\ny = 2\n")
    answer = client.start({"program": str(path), "stopOnEntry": True}, lines={path: [1 if first else 2]})
    stop = client.stopped(reason="breakpoint" if first else "entry")
    assert stop.get("hitBreakpointIds", []) == ([answer[str(path)][0]["id"]] if first else [])
    client.go("continue", stop["threadId"])
    if not first:
        client.go("continue", client.stopped(reason="breakpoint")["threadId"])
    assert finish(client) == 0


def test_a_breakpoint_in_a_template(client: Client, program: Write, tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="Jinja2 comes with PyTorch")
    page = program("<p>\n{% for n in numbers %}\n<b>{{ n }}</b>\n{% endfor %}\n", "templates/page.html")
    path = program(
        "import jinja2\nloader = jinja2.FileSystemLoader('templates')\n"
        "print(jinja2.Environment(loader=loader).get_template('page.html').render(numbers=[7]))\n"
    )
    asked = {"program": str(path), "cwd": str(tmp_path), "jinja": True}
    answer = client.start(asked, lines={page: [3]})[str(page)]
    stop = client.stopped(reason="breakpoint")
    assert stop["hitBreakpointIds"] == [answer[0]["id"]]
    rows = client.stack(stop["threadId"])
    assert (rows[0]["name"], rows[0]["line"], rows[0]["source"]["path"]) == ("template", 3, str(page))
    assert any(row["name"] == "<module>" and row["line"] == 3 for row in rows)
    assert client.scope(rows[0])["n"]["value"] == "7"
    client.go("continue", stop["threadId"])
    assert finish(client) == 0


def test_a_library_that_brings_a_name_does_not_make_the_program_wait(
    client: Client, program: Write, native_samples: Path
) -> None:
    """gdb holds it meanwhile, and debugpy is mute: nothing is waited for."""
    path = program(
        f"import sys, time\nsys.path.insert(0, {str(native_samples)!r})\nbegan = time.monotonic()\n"
        "import sample_pybind\nprint('import took', time.monotonic() - began, flush=True)\nsample_pybind.add(1, 2)\n"
    )
    client.start({"program": str(path)}, functions=["PyInit_sample_pybind", "no_such_name"])
    client.go("continue", client.stopped(reason="function breakpoint")["threadId"])
    assert finish(client) == 0
    assert float(client.wait_output(r"import took ([\d.]+)")[1]) < SECONDS_OF_DEBUGPY


SECONDS_OF_DEBUGPY = 15.0  # it would be waited for 20 s


def test_a_condition_for_the_python_function_of_a_name_is_not_one_for_the_native_one(
    client: Client, program: Write
) -> None:
    path = program(
        "import ctypes\nlibc = ctypes.CDLL(None)\ndef labs(n):\n    return n\n"
        "libc.labs(2)\nlabs(1)\nlibc.labs(2)\nlabs(None)\nlabs(3)\n"
    )
    wanted = {"name": "labs", "condition": "n is not None and n >= 0"}
    client.start({"program": str(path)}, functions=[wanted])
    for value in ("1", "3"):
        stop = client.stopped(reason="function breakpoint")
        assert client.scope(client.stack(stop["threadId"])[0])["n"]["value"] == value
        client.go("continue", stop["threadId"])
    assert finish(client) == 0


def test_a_function_is_looked_for_anew_in_the_program_after_exec(client: Client, program: Write) -> None:
    second = program("\n\n\ndef main():\n    return 1\nmain()\n", "second.py")
    path = program(
        f"import os, sys\ndef main():\n    os.execv(sys.executable, ['python', {str(second)!r}])\nmain()\n"
    )
    client.start({"program": str(path)}, functions=["main"])
    lines = []
    for _ in range(2):
        stop = client.stopped(reason="function breakpoint")
        frame = client.stack(stop["threadId"])[0]
        lines.append((Path(frame["source"]["path"]).name, frame["line"]))
        client.go("continue", stop["threadId"])
    assert lines == [("program.py", 2), ("second.py", 4)]
    assert finish(client) == 0


CELLS = """\
def cells():
    a = 1
    b = 2

for name in ("<cell1>", "<cell2>"):
    exec(compile("# a cell\\na = 1\\nb = 2\\n", name, "exec"), {})
"""


def test_lines_of_a_file_stand_for_code_of_another_name(client: Client, program: Write) -> None:
    """A notebook's cells: stops, stacks and steps are told in the lines that the client shows."""
    path = program(CELLS)
    asked = {"line": 2, "endLine": 3, "runtimeSource": {"path": "<cell1>"}, "runtimeLine": 2}
    client.initialize()
    client.initialized(client.send("launch", {"program": str(path)}))
    client.set_lines(path, [2])
    client.request("setPydevdSourceMap", {"source": {"path": str(path)}, "pydevdSourceMaps": [asked]})
    client.request("configurationDone")
    thread = client.stopped(reason="breakpoint")["threadId"]
    top = client.stack(thread)[0]
    assert (top["source"]["path"], top["line"]) == (str(path), 2)
    client.go("next", thread)
    client.stopped(reason="step")
    assert client.stack(thread)[0]["line"] == 3
    client.go("continue", thread)
    assert finish(client) == 0


def test_what_runs_there_is_told_and_a_map_without_cells_maps_none(client: Client, program: Write) -> None:
    path = program("x = 1\ny = 2\n")
    client.start({"program": str(path)}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    client.request("setPydevdSourceMap", {"source": {"path": str(path)}})
    assert client.evaluate("x + 1", client.stack(thread)[0])["result"] == "2"
    told = client.request("debugpySystemInfo")
    assert told["debugpy"]["version"] == version("debugpy")
    assert told["process"]["executable"] == sys.executable
    assert told["python"]["version"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")


def test_files_that_a_client_has_not_traced(client: Client, program: Write) -> None:
    """A breakpoint in one of them does not stop."""
    other = program("def back(call):\n    call()\n", "untraced.py")
    path = program("import untraced\ndef call():\n    return 1\nuntraced.back(call)\n")
    client.initialize()
    client.initialized(client.send("launch", {"program": str(path), "justMyCode": False}))
    client.set_lines(path, [3])
    client.set_lines(other, [2])
    client.request(
        "setDebuggerProperty", {"dontTraceStartPatterns": [], "dontTraceEndPatterns": ["untraced.py"]}
    )
    client.request("configurationDone")
    thread = client.stopped(reason="breakpoint")["threadId"]
    assert client.stack(thread)[0]["source"]["name"] == "program.py"
    client.go("continue", thread)
    assert finish(client) == 0


def test_a_condition_that_fails_is_told_and_does_not_stop(client: Client, program: Write) -> None:
    """At each hit; a name that is not defined once, for it may come to be."""
    path = program("for i in range(3):\n    x = i\ny = 1\n")
    rows: list[int | Message] = [{"line": 2, "condition": "1 / 0"}, {"line": 3, "condition": "unheard_of"}]
    client.start({"program": str(path)}, lines={path: rows})
    assert finish(client) == 0
    told = [row["output"] for row in client.events("output") if row["category"] == "important"]
    assert len(told) == 3 and all(f"{path}:2: the condition" in text for text in told)
    assert all("ZeroDivisionError: division by zero" in text for text in told)
    assert f"{path}:3: the condition of a breakpoint cannot be evaluated: NameError: " in client.output
    assert client.events("stopped") == []


def test_of_two_conditions_one_may_fail(client: Client, program: Write) -> None:
    path = program("for i in range(3):\n    x = i\n")
    rows: list[int | Message] = [{"line": 2, "condition": "1 / 0"}, {"line": 2, "condition": "i == 2"}]
    answer = client.start({"program": str(path)}, lines={path: rows})[str(path)]
    for _ in range(3):
        stop = client.stopped(reason="breakpoint")
        frame = client.stack(stop["threadId"])[0]
        if client.evaluate("i", frame)["result"] == "2":
            assert stop["hitBreakpointIds"] == [answer[1]["id"]]
            break
        client.go("continue", stop["threadId"])
    else:
        pytest.fail("the other condition did not stop")
