"""A server of ours with the SDK's client at its other end, for a test that is a coroutine."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.server.stdio import stdio_server

from dualdbg.system.patience import patient
from tests import warm
from tests.cli.driver import environment

SECONDS = patient(600.0)  # for anything that has to happen; a loaded machine is slow, a hang is for ever
COMMAND = [sys.executable, "-m", "dualdbg", "mcp"]


@dataclass(frozen=True)
class Answer:
    """``data`` is the structured form, ``text`` the one for people."""

    data: dict[str, Any]
    text: str
    failed: bool
    size: int


class Tools:
    """Calls tools; an answer that was not expected to be a refusal, and is one, fails the test."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Answer:
        answer = await self.ask(tool, **arguments)
        assert not answer.failed, answer.text
        return answer

    async def refused(self, tool: str, **arguments: Any) -> str:
        answer = await self.ask(tool, **arguments)
        assert answer.failed, answer.text
        return answer.text

    async def ask(self, tool: str, **arguments: Any) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content if part.type == "text")
        size = len(result.model_dump_json(by_alias=True, exclude_none=True).encode())
        return Answer(result.structured_content or {}, text, result.is_error, size)


@asynccontextmanager
async def served(
    *options: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> AsyncIterator[Tools]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [*COMMAND, *map(str, options)]
    with warm.Popen(command, env=environment(env), cwd=cwd, text=True, **pipes) as process:
        streams = stdio_server(anyio.wrap_file(process.stdout), anyio.wrap_file(process.stdin))
        try:
            async with Client(streams) as client:
                try:
                    yield Tools(client)
                finally:
                    process.stdin.close()
        finally:
            process.kill()


def with_server(
    work: Callable[[Tools], Awaitable[None]], *options: str | Path, env: Mapping[str, str] | None = None
) -> None:
    """Run ``work`` with the tools of a server of its own. Raises what it raises, and not a group of that."""

    async def run() -> BaseException | None:
        async with served(*options, env=env) as tools:
            (outcome,) = await asyncio.gather(asyncio.wait_for(work(tools), SECONDS), return_exceptions=True)
        return outcome

    failure = asyncio.run(run())
    if failure is not None:
        raise failure


@contextmanager
def over_http(token: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server on a free port, and the port."""
    command = [*COMMAND, "--http", "0", "--token-file", str(token)]
    with warm.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            yield process, int(line.rpartition(":")[2].partition("/")[0])
            process.send_signal(signal.SIGTERM)
            assert process.wait(patient(60)) == 128 + signal.SIGTERM
        finally:
            process.kill()
