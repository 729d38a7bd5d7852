"""The file that "debugAdapterPath" names, started as Microsoft's extension does: `PYTHON FILE [--log-dir DIR]`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests.dap.client import Client
from tests.support import other_interpreter

FILE = Path(sys.executable).with_name("dualdbg-debug-adapter")
PROGRAM = """\
import os

def main():
    return os.getenv("DUALDBG_BREAK", "not there")

print(main(), flush=True)
os.getsid(0)
"""


def adapter(file: Path, python: str, *words: str, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([python, file, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd)


def arguments(name: str, program: Path) -> dict[str, Any]:
    """A configuration of the template, with the variables of VS Code put in, as the extension sends it."""
    from dualdbg.plugins.vscode.jsonc import parse
    from dualdbg.system.resources import resource_directory

    text = (resource_directory("vscode_templates") / "common/launch.json").read_text()
    node = parse(
        text.replace("${file}", str(program)).replace("${input:dualdbg.breakpoint}", "getsid"), "launch.json"
    )
    assert node is not None
    (chosen,) = (each for each in node.value["configurations"] if each["name"] == name)
    return {**chosen, "python": [sys.executable], "console": "internalConsole"}


@pytest.mark.parametrize("version", ["3.8", "own"])
def test_it_becomes_the_adapter_for_any_interpreter(tmp_path: Path, version: str) -> None:
    """In a project folder whose modules are not to be imported; the program is run by the window's interpreter."""
    python = sys.executable if version == "own" else other_interpreter(version)
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the project')")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = adapter(FILE, str(python), "--log-dir", str(tmp_path / "logs"), cwd=tmp_path)
    assert process.stdin and process.stdout
    client = Client(process.stdout, process.stdin)  # type: ignore[arg-type]
    client.start(
        arguments("dualdbg: this file, stop at ...", program), lines={program: [4]}, command="launch"
    )
    thread = client.stopped(reason="breakpoint")["threadId"]
    assert client.stack(thread)[0]["line"] == 4
    client.go("continue", thread)
    thread = client.stopped(reason="function breakpoint")["threadId"]
    assert "getsid" in client.stack(thread)[0]["name"]
    client.go("continue", thread)
    client.event("terminated")
    assert "not there" in client.output
    client.request("disconnect")
    process.stdin.close()
    assert process.wait(patient(60)) == 0
    process.stdout.close()
    assert any((tmp_path / "logs").iterdir())


def test_without_dualdbg_it_says_what_to_do(tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path / "alone")
    sent = b""
    for number, command in enumerate(("initialize", "launch", "disconnect"), 1):
        body = json.dumps({"seq": number, "type": "request", "command": command}).encode()
        sent += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    process = adapter(tmp_path / "alone", sys.executable, cwd=tmp_path)
    answers = process.communicate(sent, patient(60))[0].decode()
    bodies = [json.loads(each.partition("\r\n\r\n")[2]) for each in answers.split("Content-Length: ")[1:]]
    assert [(each.get("command"), each.get("success")) for each in bodies] == [
        ("initialize", True), (None, None), ("launch", False), ("disconnect", True)
    ]  # fmt: skip
    assert (
        "pip install dualdbg" in bodies[1]["body"]["output"] and "pip install dualdbg" in bodies[2]["message"]
    )
