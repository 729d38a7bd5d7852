"""``dualdbg vscode start-for-two``: a program that two debuggers attach to, with no picker and no password."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.protocol import dap
from dualdbg.vscode.folder import set_member
from dualdbg.vscode.jsonc import parse
from tests.support import ROOT, require


def value(path: Path) -> object:
    node = parse(path.read_text(), "test")
    assert node is not None
    return node.value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '{\n    "dualdbg.pid": 7\n}\n'),
        ("// mine\n", '// mine\n{\n    "dualdbg.pid": 7\n}\n'),
        ('{ "dualdbg.pid": 123456, /* mine */ }', '{ "dualdbg.pid": 7, /* mine */ }'),
        ('{\n  "a": 1 // one\n}\n', '{\n  "a": 1, // one\n  "dualdbg.pid": 7\n}\n'),
    ],
)
def test_set_member(tmp_path: Path, before: str | None, after: str) -> None:
    path = tmp_path / ".vscode" / "settings.json"
    if before is not None:
        path.parent.mkdir()
        path.write_text(before)
    set_member(path, "dualdbg.pid", 7)
    assert path.read_text() == after


@pytest.mark.smoke
def test_program_waits_for_both_and_its_id_is_in_the_settings(tmp_path: Path) -> None:
    """As VS Code does it, with gdb where cppdbg would be: both attach at the same time."""
    gdb = require(shutil.which("gdb"), "gdb")
    settings = tmp_path / ".vscode" / "settings.json"
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\nprint('ran', os.getpid(), __name__, sys.argv[1:], sys.path[0], flush=True)\n"
    )
    port = free_port()
    words = ["--port", str(port), "--settings", str(settings), "--python", sys.executable, str(program), "-x"]
    started = subprocess.Popen(
        [sys.executable, "-m", "dualdbg", "vscode", "start-for-two", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert started.stdout is not None and started.stderr is not None
    try:
        ready = started.stderr.readline()  # the task's problem matcher waits for the same line
        assert ready == f"dualdbg: waiting for an editor on 127.0.0.1:{port}, process {started.pid}\n"
        assert value(settings) == {"dualdbg.pid": started.pid}
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            for seq, command in enumerate(("initialize", "attach", "configurationDone"), 1):
                client.sendall(dap.encode(dap.request(seq, command, {"adapterID": "test"})))
            assert "TracerPid:\t0\n" in Path(f"/proc/{started.pid}/status").read_text()
            done = subprocess.run(
                [gdb, "-nx", "-q", "-batch", "-p", str(started.pid), "-ex", "continue"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert "exited normally" in done.stdout, done.stdout + done.stderr
        output, errors = started.communicate(timeout=60)
        assert output == f"ran {started.pid} __main__ ['-x'] {tmp_path}\n", errors
        assert started.returncode == 0
    finally:
        started.kill()
        started.communicate()


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    for words, why in (
        (["none.py"], "there is no file none.py"),
        (["--python", "/none/python", __file__], "/none/python cannot be started: No such file"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "dualdbg", "vscode", "start-for-two", *words],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode in (2, 3)
        assert why in done.stderr


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])
