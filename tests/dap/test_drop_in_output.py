"""What a program writes, where users of debugpy look for it: consoles, terminals, logs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dap.client import Client, Message, StdioAdapter
from tests.dap.test_launch import Terminals, finish, terminals

__all__ = ["terminals"]

Write = Callable[..., Path]


def test_output_of_a_terminal_comes_to_the_editor_too(
    client: Client, program: Write, terminals: Terminals
) -> None:
    path = program(
        "import os, sys\n"
        "print('from Python', flush=True)\n"
        "os.write(1, 'from C: ë\\n'.encode())\n"
        "print('to stderr', file=sys.stderr)\n"
    )
    asked = {"program": str(path), "console": "integratedTerminal", "redirectOutput": True}
    client.start(asked)
    client.wait_output("from C: ë\n")
    client.wait_output("to stderr\n")
    terminals.read_until(b"to stderr")
    assert finish(client) == 0
    said = {
        category: "".join(row["output"] for row in client.events("output") if row["category"] == category)
        for category in ("stdout", "stderr")
    }
    assert said == {"stdout": "from Python\nfrom C: ë\n", "stderr": "to stderr\n"}
    shown = terminals.text.replace(b"\r\n", b"\n").decode()
    assert re.search("from Python\nfrom C: ë\n", shown)


def test_output_of_a_debug_console_comes_once(client: Client, program: Write) -> None:
    path = program("import os\nprint('from Python', flush=True)\nos.write(1, b'from C\\n')\n")
    client.start({"program": str(path), "redirectOutput": True, "debugOptions": ["RedirectOutput"]})
    assert finish(client) == 0
    assert client.output == "from Python\nfrom C\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "one\ntwo\n"),
        ({"redirectOutput": False}, ""),
        ({"console": "integratedTerminal"}, "one\n"),
        pytest.param({"externalConsole": True}, "one\n", marks=pytest.mark.exhaustive),
        ({"console": "integratedTerminal", "redirectOutput": True}, "one\ntwo\n"),
    ],
)
def test_what_an_expression_prints_comes_once(
    options: Message, told: str, client: Client, program: Write, terminals: Terminals
) -> None:
    """A terminal has it too. Of what the console's expressions print there the client is told, as by debugpy."""
    path = program("pass\n")
    client.start({"program": str(path), **options}, lines={path: [1]})
    stop = client.stopped()
    client.evaluate("print('one', flush=True)", client.stack(stop["threadId"])[0])
    client.evaluate("print('two', flush=True)", client.stack(stop["threadId"])[0], "watch")
    client.go("continue", stop["threadId"])
    assert finish(client) == 0
    assert client.output == told


def test_output_that_is_not_wanted(client: Client, program: Write, tmp_path: Path) -> None:
    """Nothing of it comes, and the program does not wait for anybody who reads it."""
    written = tmp_path / "written"
    path = program(
        f"import os\nprint('x' * 300_000, flush=True)\nos.write(1, b'from C\\n')\nopen({str(written)!r}, 'w')\n"
    )
    client.start({"program": str(path), "redirectOutput": False})
    assert finish(client) == 0
    assert client.output == "" and written.exists()


@pytest.mark.parametrize("console", ["internalConsole", "integratedTerminal"])
def test_logs_where_debugpy_would_leave_them(
    console: str, program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tmp_path / "logs"
    monkeypatch.setenv("DEBUGPY_LOG_DIR", os.path.relpath(logs))
    path = program(
        "import os\nprint(os.getpid(), [name for name in os.environ if name.startswith('PYDEVD')])\n"
    )
    adapter = StdioAdapter()
    monkeypatch.delenv("DEBUGPY_LOG_DIR")  # an editor's terminal has an environment of its own
    terminal = Terminals(adapter.client)
    try:
        adapter.client.start(
            {"program": str(path), "console": console, "redirectOutput": True, "cwd": str(tmp_path)}
        )
        pid = adapter.client.wait_output(r"(\d+) \[\]")[1]
        assert finish(adapter.client) == 0
    finally:
        adapter.close()
        terminal.close()
    ours = [f"{name}-{adapter.process.pid}.log" for name in (
        "debugpy.adapter", "debugpy.launcher", "debugpy.server", "dualdbg.gdb"
    )]  # fmt: skip
    found = {file.name: file for file in logs.iterdir()}
    assert sorted(found) == sorted([*ours, f"debugpy.pydevd.{pid}.log"])
    assert all(file.stat().st_size and file.stat().st_mode & 0o777 == 0o600 for file in found.values())
    assert '"launch"' in found[ours[0]].read_text()


@pytest.mark.parametrize("as_text", [True, False])
def test_arguments_that_the_terminals_shell_expands(
    client: Client, program: Write, terminals: Terminals, as_text: bool
) -> None:
    """`args` as one text is given to the shell of the terminal as it is, as a list to the program as it is."""
    path = program("import json, sys\nprint(json.dumps([sys.argv, sys.executable]), flush=True)\n", "a b.py")
    client.supports["supportsArgsCanBeInterpretedByShell"] = True
    args = "'a  b' $((1 + 2))" if as_text else ["a  b", "$((1 + 2))"]
    client.start({"program": str(path), "args": args, "console": "integratedTerminal"})
    terminals.read_until(b'"]')
    argv, python = json.loads(re.search(rb'\[\[.*"\]', terminals.text)[0])
    assert argv == [str(path), "a  b", "3" if as_text else "$((1 + 2))"]
    words = terminals.asked[0]["args"]
    assert words[0] == python
    assert any("a b.py" in word for word in words)
    assert terminals.asked[0].get("argsCanBeInterpretedByShell", False) is as_text
    assert finish(client) == 0


def test_much_output_of_a_terminal_at_once(
    client: Client, program: Write, terminals: Terminals, tmp_path: Path
) -> None:
    path = program("import os\nos.write(1, b'x' * 300_000)\nprint('end')\n")
    asked = {"program": str(path), "console": "integratedTerminal", "redirectOutput": True}
    client.start(asked)
    terminals.read_until(b"end")
    assert finish(client) == 0
    assert client.output.count("x") >= 300_000 and client.output.endswith("end\n")
