"""A program in one of the editor's terminals: what its helper there says of the processes below it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from dualdbg.dap.client.conventions import Client
from dualdbg.dap.client.port import ClientPort
from dualdbg.dap.client_terminal import ClientTerminal
from dualdbg.dap.configuration import Configuration
from dualdbg.model import Exit
from dualdbg.system.patience import patient
from dualdbg.target import in_terminal
from dualdbg.target.launcher import Launch
from tests.support import is_running, wait_until
from tests.target.programs import ORPHANS, ORPHANS_END


class Editor:
    """Runs in its terminal what it is asked to."""

    supports = frozenset({"RunInTerminalRequest"})
    console = "integratedTerminal"
    title = "a title"
    redirect_output = False
    program = None
    environment: Mapping[str, str] = os.environ
    process: subprocess.Popen[bytes]

    async def ask(self, command: str, arguments: Any, deadline: float) -> dict[str, Any]:
        self.process = subprocess.Popen(
            arguments["args"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
        )
        return {}


def test_how_a_process_without_a_parent_ended_is_known() -> None:
    async def run() -> list[Exit]:
        editor = Editor()
        terminal = ClientTerminal(cast(ClientPort, editor), cast(Client, editor), cast(Configuration, editor))
        target = await terminal.start_target(Launch(sys.executable, code=ORPHANS), None)
        with editor.process as helper:
            assert helper.stdin is not None and helper.stdout is not None
            children = [int(word) for word in helper.stdout.readline().split()]
            for pid in children:
                target.keep(pid)
            helper.stdin.write(b"go\n")
            helper.stdin.flush()
            assert int(helper.stdout.readline()) == children[2]
            wait_until(lambda: not any(map(is_running, children)), what="their end")
            ends = [await target.how_ended(pid) for pid in children]
            target.kill()
            assert await target.wait() == Exit(signal=9)
            await target.cleared()
            assert await target.how_ended(children[0]) == Exit()
        return ends

    assert asyncio.run(run()) == ORPHANS_END


def test_what_a_terminal_has_in_its_environment_is_not_run_by_the_helper(tmp_path: Path) -> None:
    """An editor's terminal has what the user's shell and the editor have set. The program gets it."""
    for name in ("json", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'a').write({name!r})\n")

    class Terminal(Editor):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "error"}

    async def run() -> Exit:
        editor = Terminal()
        terminal = ClientTerminal(cast(ClientPort, editor), cast(Client, editor), cast(Configuration, editor))
        code = "import os, sys; sys.exit(os.environ['PYTHONPATH'] == sys.argv[1])"
        target = await terminal.start_target(Launch(sys.executable, code=code, args=(str(tmp_path),)), None)
        with editor.process:
            end = await target.wait()
            await target.cleared()
        return end

    assert asyncio.run(run()) == Exit(code=1)
    assert (tmp_path / "trace").read_text() == "sitecustomize"  # by the program's interpreter alone


@pytest.mark.parametrize(
    "sent", [None, b"", b'{"laun'], ids=["nobody listens", "gone at once", "gone in a line"]
)
def test_the_helper_of_a_session_that_is_gone_says_so(tmp_path: Path, sent: bytes | None) -> None:
    with socket.socket(socket.AF_UNIX) as place:
        place.bind(str(tmp_path / "place"))
        if sent is not None:
            place.listen()
        with subprocess.Popen(
            [sys.executable, "-I", in_terminal.__file__, str(tmp_path / "place"), "token"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as helper:
            if sent is not None:
                connection, _ = place.accept()
                with connection:
                    connection.sendall(sent)
            said, _ = helper.communicate(timeout=patient(60))
    assert (helper.returncode, said) == (3, "dualdbg: the debug session is over\n")
