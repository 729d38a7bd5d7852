"""What the protocol's own inspector says, without a browser: lists, pages, prompts and calls, by both transports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.patience import patient
from tests import rows
from tests.cli.driver import environment
from tests.mcp.driver import COMMAND, over_http
from tests.npm import npm_package
from tests.support import require

pytestmark = [pytest.mark.processes, pytest.mark.slow]

VERSION = "2.12.0"

Inspect = Callable[..., Any]


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The command of the inspector, downloaded the first time."""
    node = require(shutil.which("node"), "node (apt-get install nodejs npm)")
    final = npm_package("@modelcontextprotocol/inspector", VERSION)
    return [node, str(final / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]


@pytest.fixture(params=["stdio", "http"])
def inspect(request: pytest.FixtureRequest, inspector: list[str], tmp_path: Path) -> Any:
    """Asks a server of ours by each transport, and reads the answer."""
    if request.param == "stdio":
        yield lambda *words, status=0: ask([*inspector, *COMMAND], words, tmp_path, status)
        return
    token = tmp_path / "token"
    with over_http(token) as (_, port):
        header = f"Authorization: Bearer {token.read_text().strip()}"
        command = [*inspector, f"http://127.0.0.1:{port}/mcp", "--transport", "http", "--header", header]
        yield lambda *words, status=0: ask(command, words, tmp_path, status)


def ask(command: list[str], words: tuple[str, ...], home: Path, status: int = 0) -> Any:
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
    assert done.returncode == status, done
    return json.loads(done.stdout) if status == 0 else done.stdout + done.stderr


def test_the_inspector_finds_nothing_wrong(inspect: Inspect) -> None:
    """``--strict`` checks the schemas of tools for what some clients cannot read; the inspector checks each answer
    against the schema of its tool."""
    tools = inspect("--method", "tools/list", "--strict")["tools"]
    assert {"run", "attach", "stacks", "diagnose", "end"} <= {tool["name"] for tool in tools}
    (page,) = inspect("--method", "resources/read", "--uri", "dualdbg://docs/agents.md")["contents"]
    assert page["text"].startswith("# Agents")


# What the server says is the same by each transport.
@pytest.mark.parametrize("inspect", rows.some(["stdio", "http"], 1), indirect=True)
def test_the_inspector_lists_pages_and_prompts(inspect: Inspect) -> None:
    pages = inspect("--method", "resources/list")["resources"]
    assert "dualdbg://docs/agents.md" in [page["uri"] for page in pages]
    assert len(inspect("--method", "prompts/list")["prompts"]) == 3
    asked = ("--method", "prompts/get", "--prompt-name", "why-it-hangs", "--prompt-args", "target=4711")
    assert "4711" in json.dumps(inspect(*asked))


@pytest.mark.parametrize("inspect", rows.some(["stdio", "http"], 1), indirect=True)
def test_the_inspector_calls_tools(inspect: Inspect) -> None:
    call = ("--method", "tools/call", "--tool-name")
    begun = inspect(*call, "run", "--tool-args-json", json.dumps({"code": "print(1)", "stop_on_entry": True}))
    assert begun["structuredContent"]["state"] == "python-stopped", begun
    looked = inspect(*call, "stacks", "--tool-arg", f"pid={os.getpid()}")
    assert looked["structuredContent"]["processes"][0]["pid"] == os.getpid()
    assert "session" in str(inspect(*call, "stack", "--tool-arg", "session=s99", status=5))


def test_the_inspector_without_the_token(inspector: list[str], tmp_path: Path) -> None:
    with over_http(tmp_path / "token") as (_, port):
        command = [*inspector, f"http://127.0.0.1:{port}/mcp", "--transport", "http"]
        done = subprocess.run(
            [*command, "--method", "tools/list", "--header", "Authorization: Bearer wrong"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**environment(), "HOME": str(tmp_path)},
            timeout=patient(300),
        )
        assert done.returncode and not done.stdout, done
        assert json.loads(done.stderr)["error"]["code"] == "auth_required"
