"""The MI commands: the same answers as nested results on gdb's machine interface."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pygdbmi.gdbmiparser import parse_response

from dualdbg.system.patience import patient
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.support import require

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from publishing import publish, stop
values = [1, 'two', {'three': 3.5, 'none': None}, 'text with "quotes"\\n and \\u00e9 \\0']
publish(values=id(values))
stop()
"""


class Machine:
    """One gdb that speaks MI; ``ask`` sends a command and reads up to its result."""

    def __init__(self, program: list[str | Path], tmp_path: Path, charset: str) -> None:
        gdb = require(shutil.which("gdb"), "gdb")
        self.published = tmp_path / "published.json"
        self._process = subprocess.Popen(
            [gdb, "-nx", "-q", "--interpreter=mi3", "--args", *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"DUALDBG_TEST_PUBLISHED": str(self.published), "HOME": str(tmp_path), "LC_ALL": charset},
        )
        self._token = 0
        self.charset = charset
        for command in ("set debuginfod enabled off", "set auto-load off", "set auto-solib-add off"):
            self.ask(f'-interpreter-exec console "{command}"')
        self.ask(f'-interpreter-exec console "source {ENTRY}"')

    def ask(self, command: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._token += 1
        self._process.stdin.write(f"{self._token}{command}\n")
        self._process.stdin.flush()
        for line in self._lines():
            record = parse_response(line)
            if record["type"] == "result" and record.get("token") == self._token:
                return record
        pytest.fail(f"gdb ended before it answered {command}")

    def run_until_stop(self) -> None:
        self.ask("-exec-run")
        for line in self._lines():
            if line.startswith("*stopped"):
                return

    def _lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            assert "Traceback" not in line, line
            yield line.rstrip("\n")

    def end(self) -> None:
        self.ask("-interpreter-exec console kill")
        self._process.communicate("-gdb-exit\n", timeout=patient(120))


@pytest.fixture(params=["C.UTF-8", "C"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    program = [Path(sys.executable).resolve(), "-S", "-c", CODE, HERE / "targets"]
    found = Machine(program, tmp_path, request.param)
    found.run_until_stop()
    yield found
    found.end()


@pytest.mark.smoke
def test_python_object(machine: Machine) -> None:
    address = json.loads(machine.published.read_text())["addresses"]["values"]
    answer = machine.ask(f"-dualdbg-pyobject {address} --limit 3")
    assert answer["message"] == "done", answer
    payload = answer["payload"]
    assert payload["kind"] == payload["type"] == "list"
    assert payload["total"] == "4"
    assert [(c["name"], c["type"], c["text"]) for c in payload["children"]] == [
        ("[0]", "int", "1"),
        ("[1]", "str", "'two'"),
        ("[2]", "dict", "{'three': 3.5, 'none': None}"),
    ]
    rest = machine.ask(f"-dualdbg-pyobject {address} --offset 3")["payload"]["children"]
    assert [(c["name"], c["text"]) for c in rest] == [
        (
            "[3]",
            '\'text with "quotes"\\n and ' + ("é" if machine.charset == "C.UTF-8" else "\\xe9") + " \\x00'",
        )
    ]
    third = machine.ask(f"-dualdbg-pyobject {payload['children'][2]['address']}")["payload"]
    assert [(c["name"], c["text"]) for c in third["children"]] == [("'three'", "3.5"), ("'none'", "None")]


def test_one_json_text(machine: Machine) -> None:
    address = json.loads(machine.published.read_text())["addresses"]["values"]
    answer = machine.ask(f"-dualdbg-pyobject {address} --json")
    assert json.loads(answer["payload"]["json"])["total"] == 4


def test_errors(machine: Machine) -> None:
    for command in (
        "-dualdbg-pyobject 0x10",
        "-dualdbg-tensor",
        "-dualdbg-ivalue-stack $sp",
        "-dualdbg-jit-frame",
    ):
        answer = machine.ask(command)
        assert answer["message"] == "error", command
        assert answer["payload"]["msg"]


def test_every_command_has_one(machine: Machine) -> None:
    commands = machine.ask("-dualdbg-torch-help")["payload"]["commands"]
    names = {row["name"]: row["mi"] for row in commands}
    assert names["ivalue-stack"] == "-dualdbg-ivalue-stack"
    for mi in names.values():
        assert machine.ask(f"-info-gdb-mi-command {mi}")["payload"]["command"]["exists"] == "true"
