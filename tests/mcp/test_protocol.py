"""The protocol itself: versions, errors, pages, prompts, and that nothing but messages gets into the stream."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema
import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from dualdbg import __version__
from dualdbg.system.patience import patient
from tests import rows, warm
from tests.cli.driver import environment
from tests.mcp.driver import COMMAND, Tools, with_server
from tests.support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.processes

Message = dict[str, Any]


class Raw:
    """The server's streams without a client: a line for each message."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.read: list[Message] = []

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message if id is None else {**message, "id": id}))

    def next(self) -> Message:
        """The next line. Every one has to be a message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended"
        message = json.loads(line)
        assert isinstance(message, dict) and message["jsonrpc"] == "2.0", line
        self.read.append(message)
        return message

    def answer(self, id: int) -> Message:
        while True:
            message = self.next()
            if message.get("id") == id:
                return message

    def begin(self, version: str = "2025-06-18") -> Message:
        info = {"name": "test", "version": "1"}
        self.send("initialize", 1, protocolVersion=version, capabilities={}, clientInfo=info)
        answer = self.answer(1)
        self.send("notifications/initialized")
        return answer


@contextmanager
def raw() -> Iterator[Raw]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with warm.Popen(COMMAND, env=environment(), **pipes) as process:
        try:
            yield Raw(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(patient(60)) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("version", rows.some(["2024-11-05", "2025-11-25", "2025-03-26", "2025-06-18"], 2))
def test_it_speaks_the_versions_of_the_protocol(version: str) -> None:
    with raw() as server:
        told = server.begin(version)["result"]
        assert told["protocolVersion"] == version
        assert told["serverInfo"]["name"] == "dualdbg" and told["serverInfo"]["version"] == __version__
        assert {"tools", "resources", "prompts"} <= told["capabilities"].keys()
        assert "run or attach" in told["instructions"]
        server.send("ping", 2)
        assert server.answer(2)["result"] == {}


def test_what_is_no_request_is_refused_and_the_server_lives() -> None:
    with raw() as server:
        server.begin()
        server.send("no/such/method", 2)
        assert server.answer(2)["error"]["code"] == types.METHOD_NOT_FOUND
        server.write("this is no JSON")
        server.write("[]")
        server.write("\x00\xff{")
        server.send("tools/call", 3, name="stack", arguments={"session": "s1"})
        assert server.answer(3)["result"]["isError"]
        server.send("tools/call", 4, arguments={})
        assert server.answer(4)["error"]["code"] == types.INVALID_PARAMS
        server.send("resources/read", 5, uri="file:///etc/passwd")
        assert server.answer(5)["error"]["code"] == types.INVALID_PARAMS
        server.send("prompts/get", 6, name="why-it-hangs", arguments={})
        assert "wants target" in server.answer(6)["error"]["message"]


def test_nothing_of_the_program_gets_into_the_stream() -> None:
    """It writes to its standard output, to descriptor 1, to what is inherited, and reads its standard input."""
    code = (
        "import os, sys, subprocess\n"
        'print(\'{"jsonrpc": "2.0", "id": 7, "result": {}}\', flush=True)\n'
        "os.write(1, b'raw\\n'); os.write(2, b'raw\\n')\n"
        "subprocess.run(['sh', '-c', 'echo of a child; echo of a child >&2'])\n"
        "for number in range(3, 64):\n"
        "    try:\n        os.write(number, b'into the stream\\n')\n    except OSError:\n        pass\n"
        "print(repr(sys.stdin.read()), flush=True)\n"
    )
    with raw() as server:
        server.begin()
        server.send("tools/call", 2, name="run", arguments={"code": code, "seconds": 60})
        told = server.answer(2)["result"]
        assert told["structuredContent"]["state"] == "exited", told
        server.send(
            "tools/call", 3, name="output", arguments={"session": told["structuredContent"]["session"]}
        )
        output = server.answer(3)["result"]["content"][0]["text"]
        assert "out| {" in output and "out| of a child" in output and "out| ''" in output
        assert all(line.split("|")[0] in ("out", "err") for line in output.splitlines()), output


def test_a_call_is_cancelled_and_leaves_nothing() -> None:
    """The client takes back a call that starts a program and waits for it."""
    with raw() as server:
        server.begin()
        arguments = {"code": "import time; time.sleep(600)", "seconds": 600}
        server.send("tools/call", 2, name="run", arguments=arguments)
        server.send("tools/call", 3, name="stack", arguments={"session": "s1"})
        while "process" not in json.dumps(server.answer(3)["result"]) and "running" not in json.dumps(
            server.read[-1]
        ):
            server.send("tools/call", 3, name="stack", arguments={"session": "s1"})
        server.send("notifications/cancelled", requestId=2, reason="no need")
        server.send("tools/call", 4, name="stack", arguments={"session": "s1"})
        while "no more" not in json.dumps(server.answer(4)["result"]):
            server.send("tools/call", 4, name="stack", arguments={"session": "s1"})


def test_lists_pages_and_prompts() -> None:
    async def work(tools: Tools) -> None:
        listed = (await tools.client.list_tools()).tools
        for tool in listed:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        told = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed]
        assert len(json.dumps(told)) < 40_000, "what a client has to read before it begins"
        to_model = [{name: one[name] for name in ("name", "description", "inputSchema")} for one in told]
        assert len(json.dumps(to_model)) < 16_000, "what a model has to read before it begins"
        assert "FILE:LINE@kernel" in json.dumps([one for one in to_model if one["name"] == "break"])
        pages = (await tools.client.list_resources()).resources
        assert "compiled.md" in [one.name for one in pages]
        wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
            "wheel"
        ]
        assert {f"docs/{one.name}" for one in pages} <= set(wheel["force-include"])
        for page in pages:
            assert (await tools.client.read_resource(page.uri)).contents[0].text.startswith("# ")
        text = (await tools.client.read_resource(pages[1].uri)).contents[0].text
        assert text.startswith("# Breakpoints")
        prompts = (await tools.client.list_prompts()).prompts
        assert [prompt.title for prompt in prompts] == [
            "Find why this hangs",
            "Find why this crashes",
            "Where does this number come from",
        ]
        got = await tools.client.get_prompt("why-it-crashes", {"program": "train.py"})
        assert "train.py" in got.messages[0].content.text
        with pytest.raises(MCPError):
            await tools.client.get_prompt("nonsense")

    with_server(work)
