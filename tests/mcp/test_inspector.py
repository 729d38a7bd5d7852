"""What the protocol's own inspector says, without a browser: lists, pages, prompts and calls, by both transports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests.cli.driver import environment
from tests.mcp.driver import COMMAND, over_http
from tests.npm import npm_package
from tests.support import require

pytestmark = [pytest.mark.processes, pytest.mark.slow]

VERSION = "2.12.0"


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The command of the inspector, downloaded the first time."""
    node = require(shutil.which("node"), "node (apt-get install nodejs npm)")
    final = npm_package("@modelcontextprotocol/inspector", VERSION)
    return [node, str(final / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]


def ask(command: list[str], words: tuple[str, ...], home: Path, status: int | None = 0) -> Any:
    """What the inspector prints; a test fails where it ends with another status. It keeps its files in ``home``."""
    done = subprocess.run(
        [*command, "--connect-timeout", "120000", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**environment(), "HOME": str(home), "PATH": os.environ["PATH"]},
        cwd=home,
        timeout=patient(300),
    )
    assert done.returncode == status or (status is None and done.returncode and not done.stdout), done
    return json.loads(done.stdout) if status == 0 else done.stdout + done.stderr


def test_inspector_finds_nothing_wrong_over_stdio(inspector: list[str], tmp_path: Path) -> None:
    """``--strict`` checks the schemas of tools for what some clients cannot read; the inspector checks each answer
    against the schema of its tool."""
    words = ("--method", "tools/list", "--strict")
    tools = ask([*inspector, *COMMAND], words, tmp_path)["tools"]
    assert {"run", "attach", "stacks", "diagnose", "end"} <= {tool["name"] for tool in tools}


def test_inspector_finds_nothing_wrong_over_http(inspector: list[str], tmp_path: Path) -> None:
    """What the server says is the same by each transport."""
    token = tmp_path / "token"
    with over_http(token) as (_, port):
        place = [f"http://127.0.0.1:{port}/mcp", "--transport", "http", "--header", "Authorization: Bearer"]

        def inspect(*words: str, word: str = token.read_text().strip(), status: int | None = 0) -> Any:
            command = [*inspector, *place[:-1], f"{place[-1]} {word}"]
            return ask(command, words, tmp_path, status)

        (page,) = inspect("--method", "resources/read", "--uri", "dualdbg://docs/agents.md")["contents"]
        assert page["text"].startswith("# Agents")
        pages = inspect("--method", "resources/list")["resources"]
        assert "dualdbg://docs/agents.md" in [page["uri"] for page in pages]
        assert len(inspect("--method", "prompts/list")["prompts"]) == 3
        asked = ("--method", "prompts/get", "--prompt-name", "why-it-hangs", "--prompt-args", "target=4711")
        assert "4711" in json.dumps(inspect(*asked))

        call = ("--method", "tools/call", "--tool-name")
        program = json.dumps({"code": "print(1)", "stop_on_entry": True})
        begun = inspect(*call, "run", "--tool-args-json", program)
        assert begun["structuredContent"]["state"] == "python-stopped", begun
        looked = inspect(*call, "stacks", "--tool-arg", f"pid={os.getpid()}")
        assert looked["structuredContent"]["processes"][0]["pid"] == os.getpid()
        assert "session" in str(inspect(*call, "stack", "--tool-arg", "session=s99", status=5))
        refused = inspect("--method", "tools/list", word="wrong", status=None)
        assert json.loads(refused)["error"]["code"] == "auth_required"
