"""``dualdbg attach``: gdb on a running process, its stacks at once, Python control as soon as that is possible."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...errors import DualdbgError, UsageError
from ..arguments import Parser, add_fix_ptrace, add_session_options


def main(words: list[str]) -> int:
    options = make_parser().parse_args(words)
    if options.tui and (options.batch or options.json):
        raise UsageError("attach: --tui goes with neither --batch nor --json", "leave one of them away")
    if options.pid is None and not options.tui:
        options.pid = _ask()
    if options.log_dir:
        _check_folder(options.log_dir)
    from ..attach_session import debug, debug_in_dashboard
    from ..event_loop import run

    if options.tui:
        return run(debug_in_dashboard(options))
    if not options.json:
        return run(debug(options))
    from ...console.reports import ErrorReport
    from .. import json_lines

    try:
        return run(debug(options))
    except DualdbgError as error:
        sys.stdout.write(json_lines.line(ErrorReport(error.message, error.hint)))
        return error.exit_status


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg attach",
        description="Attaches to a running process. When dualdbg is left, the process runs on as it was.",
    )
    parser.add_argument(
        "pid", nargs="?", type=_pid, metavar="PID", help="the process; without it you may choose"
    )
    add_session_options(parser)
    parser.add_argument(
        "-x", action="append", default=[], dest="commands", metavar="COMMAND", help="a command"
    )
    parser.add_argument("--batch", action="store_true", help="detach after the last -x command")
    parser.add_argument("--json", action="store_true", help="standard output is one JSON object a line")
    parser.add_argument(
        "--tui", action="store_true", help="show the whole debugger in this terminal (docs/dashboard.md)"
    )
    parser.add_argument(
        "--no-stacks", action="store_true", help="do not show the stacks of all threads first"
    )
    add_fix_ptrace(parser, "gdb has attached")
    return parser


def _pid(text: str) -> int:
    """A process's number. Raises argparse's error for anything else."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a process: dualdbg ps lists them")
    return int(text)


def _ask() -> int:
    from ...snapshot.linux.processes import python_processes
    from ..process_table import choose

    return choose(python_processes() if sys.stdin.isatty() else [], "attach")


def _check_folder(name: str) -> None:
    if Path(name).exists() and not Path(name).is_dir():
        raise UsageError(f"attach: --log-dir {name} is not a folder")
