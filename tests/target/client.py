"""A session reduced to what these tests need: it listens, starts a target, and speaks DAP with its pydevd."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualdbg.model import Exit
from dualdbg.system.patience import patient
from dualdbg.target.calls import MeetingPoint
from dualdbg.target.launcher import Launch, Target, spawn

DEADLINE = patient(120.0)  # seconds; only a hang takes that long


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a program from outside."""

    stdout: str
    stderr: str
    status: int  # as subprocess gives it: negative for a signal


class Client:
    """The connection of one target, after `initialize`."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target = target
        self.seen: list[dict[str, Any]] = []
        self._reader, self._writer = reader, writer
        self._number = 0

    async def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Sends a request and returns its whole response, successful or not."""
        return await self.response(self.send(command, **arguments))

    async def response(self, number: int) -> dict[str, Any]:
        """The whole response to the request of that number."""
        return await self._message(lambda m: m["type"] == "response" and m["request_seq"] == number)

    async def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of that name, or of one that was seen while waiting for something else."""
        message = await self._message(lambda m: m["type"] == "event" and m["event"] == name)
        return dict(message.get("body", {}))

    def send(self, command: str, **arguments: Any) -> int:
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self._number

    async def start(self, breakpoints: Mapping[Path, list[int]] | None = None, **attach: Any) -> None:
        """Attaches, sets breakpoints and lets the program begin; it may be over before that is answered."""
        await self.request("attach", justMyCode=True, **attach)
        for path, lines in (breakpoints or {}).items():
            answer = await self.request(
                "setBreakpoints", source={"path": str(path)}, breakpoints=[{"line": line} for line in lines]
            )
            assert all(each["verified"] for each in answer["body"]["breakpoints"]), answer
        self.send("configurationDone")

    async def stack(self, thread: int) -> list[tuple[str, int]]:
        answer = await self.request("stackTrace", threadId=thread)
        return [(frame["name"], frame["line"]) for frame in answer["body"]["stackFrames"]]

    async def resume(self) -> None:
        """All threads go on. pydevd's answer is not awaited: it comes when one has left its stop, and another thread's
        next stop may hold it there.
        """
        self.send("continue", threadId=1)

    async def hang_up(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionResetError):  # a target that was killed had not read all
            await self._writer.wait_closed()

    async def drain(self) -> None:
        """Reads until pydevd or the end of the process closes the connection."""
        try:
            await self._message(lambda message: False)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass

    async def _message(self, wanted: Any) -> dict[str, Any]:
        for index, message in enumerate(self.seen):
            if wanted(message):
                return self.seen.pop(index)
        while True:
            head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), DEADLINE)
            message = json.loads(await self._reader.readexactly(int(head.split(b":")[1])))
            if wanted(message):
                return dict(message)
            self.seen.append(message)


@asynccontextmanager
async def connected(launch: Launch, **options: Any) -> AsyncIterator[Client]:
    """Starts a target and waits until its pydevd has come and shown its token. Ends it at the end."""
    arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def arrive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.put_nowait((reader, writer))

    point = MeetingPoint(arrive)
    meeting = await point.open()
    target = await spawn(launch, meeting, **options)
    try:
        reader, writer = await asyncio.wait_for(arrived.get(), DEADLINE)
        client = Client(target, reader, writer)
        answer = await client.request("pydevdAuthorize", debugServerAccessToken=meeting.session_token)
        assert answer["body"]["clientAccessToken"] == meeting.target_token
        await client.request("initialize", adapterID="dualdbg", pathFormat="path")
        yield client
        await client.hang_up()
    finally:
        target.kill()
        await target.wait()
        point.close()


async def outcome(target: Target, stdin: bytes = b"") -> Outcome:
    """Feeds and reads a target with three pipes until it ends."""
    assert target.stdin and target.stdout and target.stderr
    target.stdin.write(stdin)
    target.stdin.close()
    stdout, stderr, end = await asyncio.wait_for(
        asyncio.gather(target.stdout.read(), target.stderr.read(), target.wait()), DEADLINE
    )
    return Outcome(stdout.decode(), stderr.decode(), status(end))


def status(end: Exit) -> int:
    if end.code is not None:
        return end.code
    assert end.signal is not None
    return -end.signal


async def run_to_its_end(launch: Launch, stdin: bytes = b"", **options: Any) -> Outcome:
    """What a program does when it runs under the bootstrap, with a debugger that wants nothing of it."""
    async with connected(launch, **options) as client:
        await client.start()
        reading = asyncio.create_task(client.drain())
        result = await outcome(client.target, stdin)
        await asyncio.wait_for(reading, DEADLINE)
        return result
