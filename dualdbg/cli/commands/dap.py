"""``dualdbg dap``: the debug adapter that editors speak to."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...config import working_directory
from ...errors import DualdbgError, UsageError
from ...system.folders import here
from ...system.log_names import DEBUGPY_LOG_DIR, DebugpysLogs, LogFolder
from .. import streams
from ..arguments import Parser, Program, check_script, read_address, split_program

if TYPE_CHECKING:
    from ...dap.configuration import Configuration


def main(words: list[str]) -> int:
    parser = make_parser()
    ours, program = split_program(parser, words)
    given = parser.parse_args(ours)
    wanted = program.script is not None or program.module is not None or program.code is not None
    if wanted and given.listen is None:
        raise UsageError("dap: a program needs --listen: without it the editor says what to run")
    check_script(program, given.cwd)
    if given.secret_file is not None and given.listen is None:
        raise UsageError("dap: --secret-file needs --listen: nobody else can come to standard input")
    for number, name in enumerate(("input", "output")):
        if given.listen is None and streams.were_closed(number):
            raise UsageError(
                f"dap: standard {name} is closed: no editor is at the other end",
                "an editor starts dualdbg dap by itself; by hand: dualdbg dap --listen PORT",
            )
    from ...dap.offer import Offer
    from ...dap.presentation.bodies import UNKNOWN_CODE
    from ...dap.server import serve_socket, serve_stdio
    from ...system.secret_file import read_secret
    from ..event_loop import run

    offer = Offer(
        program=_configuration(given, program) if wanted else None,
        log_dir=_logs(given.log_dir),
        secret=read_secret(given.secret_file) if given.secret_file is not None else None,
    )
    if given.listen is None:
        ended_by = run(serve_stdio(offer))
    else:
        ended_by = run(serve_socket(*read_address("dap: --listen", given.listen), offer, _say_ready))
    if ended_by is not None:
        return 128 + ended_by  # as a shell shows it
    if wanted and offer.exit_code == UNKNOWN_CODE:
        return DualdbgError.exit_status
    return (offer.exit_code or 0) if wanted else 0


def _logs(given: str | None) -> LogFolder | None:
    """Where logs are kept: the user's folder, or else the one that debugpy's own adapter would take."""
    if given:
        return Path(given)
    folder = os.environ.get(DEBUGPY_LOG_DIR)
    return DebugpysLogs(here() / folder, os.getpid()) if folder else None


def _say_ready(host: str, port: int) -> None:
    """The line that a VS Code task waits for (vscode_templates/*/tasks.json)."""
    print(f"dualdbg: waiting for an editor on {host}:{port}", file=sys.stderr, flush=True)


def _configuration(given: argparse.Namespace, program: Program) -> Configuration:
    from ...dap.configuration import Configuration
    from ...dap.configuration import Program as Wanted

    return Configuration(
        program=Wanted(program.script, program.module, program.code, program.args, python=given.python),
        cwd=given.cwd or str(working_directory()),
        stop_on_entry=given.stop_on_entry,
        just_my_code=False if given.all_code else None,
        config=given.config,
        breakpoints=tuple(given.breakpoints),
        symbols=tuple(given.symbols),
        gdb=given.gdb,
    )


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg dap",
        allow_abbrev=False,
        usage="dualdbg dap [--log-dir DIR]\n"
        "       dualdbg dap --listen [HOST:]PORT [--secret-file FILE] [OPTIONS] [SCRIPT | -m MODULE | -c CODE [ARGS…]]",
        description="A debug adapter (Debug Adapter Protocol) on standard input and output, or on a port. With a "
        "program, a client attaches to it: it starts on this terminal, and the server ends with it.",
    )
    add = parser.add_argument
    add(
        "--listen",
        metavar="[HOST:]PORT",
        help="wait for editors there (loopback by default; port 0: a free one)",
    )
    add(
        "--secret-file",
        metavar="FILE",
        help="serve only clients whose launch or attach has the first line of FILE as its secret; made if not there",
    )
    add(
        "--log-dir", metavar="DIR", help="keep every message of the editor and both engines there, with times"
    )
    add(
        "-b",
        "--break",
        dest="breakpoints",
        metavar="SPEC",
        action="append",
        default=[],
        help="a breakpoint; repeatable",
    )
    add(
        "--symbols",
        metavar="POLICY",
        action="append",
        default=[],
        help="what gdb reads of the libraries; repeatable",
    )
    add("--stop-on-entry", action="store_true", help="stop before the first line of the program")
    add("--all-code", action="store_true", help="stop in the Python code of libraries too")
    add("--python", metavar="PATH", help="the interpreter")
    add("--cwd", metavar="DIR", help="where the program is to run")
    add("--config", metavar="FILE", help="the configuration (default: the nearest dualdbg.toml of yours)")
    add("--gdb", metavar="PATH", help="the gdb to use")
    return parser
