"""How clients come: standard input and output of the process that a client has started, or HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import UsageError
from ...system.patience import patient
from ...system.program_client import Pipes, open_pipes, until_signalled
from ...target.peers import is_loopback
from .sessions import Sessions

PATH = "/mcp"
MOST = 4 << 20  # bytes of one message of a client
_TO_LEAVE = patient(5.0)  # seconds for the requests under way, when the server is to end


async def serve_stdio(server: Server[Any], sessions: Sessions) -> signal.Signals | None:
    """Serve the one client that started this process; returns the signal that ended this, if any.

    Raises UsageError when standard input or output is a file or the like, so that no client can be at the other end.
    """
    pipes = await open_pipes(
        "mcp: standard input and output are not pipes or sockets: no client is at the other end",
        "a client starts dualdbg mcp by itself (docs/agents.md); by hand: dualdbg mcp --http PORT --token-file FILE",
        MOST,
    )
    lines = _Lines(pipes)

    async def speak() -> None:
        stream = cast("anyio.AsyncFile[str]", lines)  # it has what the transport uses of one
        async with stdio_server(stream, stream) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        return await until_signalled(_and_end(speak, sessions))
    finally:
        await pipes.close()


async def _and_end(speak: Callable[[], Any], sessions: Sessions) -> None:
    try:
        await speak()
    finally:
        await sessions.close()


class _Lines:
    """The client's pipes as the SDK's transport wants a text file. No thread waits in a read that nothing ends."""

    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            try:
                line = await self._pipes.reader.readline()
            except ValueError:  # longer than any message may be: what follows cannot be told from it
                print(f"dualdbg: a message had more than {MOST} bytes", file=sys.stderr, flush=True)
                return
            if not line:
                return
            yield line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._pipes.writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        with contextlib.suppress(
            ConnectionError
        ):  # the client is gone, and its end of the other pipe says so
            await self._pipes.writer.drain()


async def serve_http(
    server: Server[Any], sessions: Sessions, host: str, port: int, token: str, ready: Callable[[str], None]
) -> signal.Signals | None:
    """Serve clients that know ``token`` until a signal comes, which is returned. ``ready`` is told the address.

    Raises UsageError when the port cannot be had, or is not on loopback.
    """
    listening = _listen(host, port)
    address = _written(listening)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[address, f"localhost:{listening.getsockname()[1]}"],
            allowed_origins=[],  # a web page has an origin; what may be here has none
        ),
        max_request_body_size=MOST,
    )
    config = uvicorn.Config(
        _Admitting(app, token),
        log_config=None,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=round(_TO_LEAVE),
    )
    http = _Http(config)
    ready(f"http://{address}{PATH}")

    async def serve() -> None:
        serving = asyncio.ensure_future(http.serve([listening]))
        try:
            await asyncio.shield(serving)
        finally:
            http.should_exit = True
            await serving

    try:
        return await until_signalled(_and_end(serve, sessions))
    finally:
        listening.close()


class _Http(uvicorn.Server):
    """Signals are ours to take, as with every other front end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(host: str, port: int) -> socket.socket:
    """A socket of loopback. Raises UsageError for any other address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UsageError(f"mcp: {host} is no address: {error.strerror}", "for example --http 8765") from error
    if not is_loopback(str(address[0])):
        raise UsageError(
            f"mcp: {host} is not loopback: what is served there can run programs, and nothing is encrypted",
            "listen on 127.0.0.1, and come from elsewhere by ssh -L",
        )
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # whoever is told the address may come at once
    except OSError as error:
        listening.close()
        raise UsageError(
            f"mcp: cannot listen on {host}:{port}: {error.strerror}",
            "choose another port, or 0 for a free one",
        ) from error
    return listening


def _written(listening: socket.socket) -> str:
    """The address as the Host header of a request has it."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Admitting:
    """Lets requests through that bear the token; every other one is refused before anything of it is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._bears_token(scope):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            words = b"the first line of the file that --token-file names belongs into Authorization: Bearer TOKEN\n"
            await send({"type": "http.response.body", "body": words})
            return
        await self._app(scope, receive, send)

    def _bears_token(self, scope: Scope) -> bool:
        shown = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        kind, _, word = shown[0].partition(b" ") if len(shown) == 1 else (b"", b"", b"")
        return kind.lower() == b"bearer" and secrets.compare_digest(word.strip(), self._token)
