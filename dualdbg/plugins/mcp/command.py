"""``dualdbg mcp``: the debugger as tools of the Model Context Protocol."""

from __future__ import annotations

import argparse
import importlib.util
import sys

from ...cli import streams
from ...cli.arguments import Parser, add_session_options, asked, read_address, seconds
from ...errors import UsageError

SUMMARY = "give agents the debugger as tools of the Model Context Protocol"


def main(words: list[str]) -> int:
    parser = make_parser()
    given = parser.parse_args(words)
    if given.token_file is not None and given.http is None:
        raise UsageError("mcp: --token-file needs --http: nobody else can come to standard input")
    if given.http is not None and given.token_file is None:
        raise UsageError(
            "mcp: --http needs --token-file FILE, whose first line the clients have to know",
            "a missing FILE is made with a new token, for you alone",
        )
    for number, name in enumerate(("input", "output")):
        if given.http is None and streams.were_closed(number):
            raise UsageError(
                f"mcp: standard {name} is closed: no client is at the other end",
                "a client starts dualdbg mcp by itself (docs/agents.md)",
            )
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(
            "mcp: the protocol's SDK is not installed beside dualdbg", "pip install 'dualdbg[mcp]'"
        )
    return _serve(given)


def _serve(given: argparse.Namespace) -> int:
    from ...cli.event_loop import run
    from ...cli.main import write_report
    from ...system.secret_file import read_secret
    from .permissions import Permissions, allowed
    from .server import make_server
    from .sessions import Sessions, Settings
    from .transports import serve_http, serve_stdio

    permissions = Permissions(given.read_only, allowed(given.allow))
    sessions = Sessions(Settings(permissions, asked(given), given.config, given.idle))
    server = make_server(sessions, write_report)
    if given.http is None:
        ended_by = run(serve_stdio(server, sessions))
    else:
        address = read_address("mcp: --http", given.http)
        token = read_secret(given.token_file, "mcp", "--token-file")
        ended_by = run(serve_http(server, sessions, *address, token, _say_ready))
    return 0 if ended_by is None else 128 + ended_by  # as a shell shows it


def _say_ready(address: str) -> None:
    print(f"dualdbg: waiting for clients at {address}", file=sys.stderr, flush=True)


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg mcp",
        allow_abbrev=False,
        description="A server of the Model Context Protocol on standard input and output, or with --http on a port of "
        "loopback: sessions, stacks and values as tools for agents. It needs pip install 'dualdbg[mcp]'.",
    )
    add = parser.add_argument
    add("--read-only", action="store_true",
        help="only look: stacks, cores, operators; nothing is run, attached to or evaluated")  # fmt: skip
    add("--allow", metavar="PATH", action="append", default=[],
        help="run only this program, or those in this folder, and no expression; repeatable")  # fmt: skip
    add("--idle", metavar="SECONDS", type=seconds, default=1800.0,
        help="end a session that nobody asks for this long (default: 1800); attached processes go on")  # fmt: skip
    add("--http", metavar="[HOST:]PORT", help="serve streamable HTTP there, on loopback (port 0: a free one)")
    add("--token-file", metavar="FILE",
        help="with --http: serve only who has the first line of FILE as bearer token; made if not there")  # fmt: skip
    add_session_options(parser)
    return parser
