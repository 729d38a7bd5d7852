"""An editor is told that types of PyTorch are being compiled, and asks for the values again when that is over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dap.client import Client

pytestmark = [pytest.mark.torch]

PROGRAM = """\
import torch
for number in range(4):
    torch.relu(torch.tensor([1.5, -2.0]))
"""
COMPILER = """\
#!/bin/sh
while [ ! -e {folder}/go ]; do sleep 0.05; done
echo 'types.cpp:1:1: error: out of luck' >&2
exit 1
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, for the adapter that starts after this."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_progress_and_its_end(
    cache: Path, client: Client, program: Callable[[str], Path], tmp_path: Path
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILER.format(folder=tmp_path))
    compiler.chmod(0o755)
    client.supports["supportsInvalidatedEvent"] = True
    client.start({"program": str(program(PROGRAM))}, functions=["at::native::relu"])
    thread = client.stopped()["threadId"]
    client.evaluate("-exec set dualdbg layouts types-object")
    client.evaluate(f"-exec set dualdbg compiler {compiler}")

    def argument() -> str:
        (row,) = client.scope(client.stack(thread)[0], "Arguments").values()
        return str(row["value"])

    assert "is being compiled (" in argument()
    started = client.event("progressStart")
    assert started["title"].startswith("compiling the types of PyTorch")
    client.go("next", thread)
    client.stopped()
    client.go("continue", thread)
    client.stopped()
    assert "is being compiled (" in argument()
    (tmp_path / "go").touch()
    assert client.event("progressEnd")["progressId"] == started["progressId"]
    assert client.event("invalidated") == {"areas": ["variables"]}
    assert "out of luck" in argument()
    client.request("disconnect", {"terminateDebuggee": True})
