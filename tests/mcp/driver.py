"""A server of ours with the SDK's client at its other end, for a test that is a coroutine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from dualdbg.patience import patient
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
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *map(str, options)], env=environment(env), cwd=cwd
    )
    with open(os.devnull, "w") as nowhere:
        async with Client(stdio_client(server, errlog=nowhere)) as client:
            yield Tools(client)


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
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            yield process, int(line.rpartition(":")[2].partition("/")[0])
            process.send_signal(signal.SIGTERM)
            assert process.wait(patient(60)) == 128 + signal.SIGTERM
        finally:
            process.kill()
