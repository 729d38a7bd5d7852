"""``dualdbg core``: the stacks of a process that has ended, from its core file."""

from __future__ import annotations

import argparse
import json
import sys

from ...console.style import Style
from ...errors import UsageError
from ..arguments import Parser, add_session_options
from ..front_end import Interaction


def main(words: list[str]) -> int:
    options = make_parser().parse_args(words)
    if options.tui:
        from ..core_session import debug_in_dashboard
        from ..event_loop import run

        if options.json:
            raise UsageError("core: --tui does not go with --json", "leave one of them away")
        return run(debug_in_dashboard(options))
    interaction = Interaction(options.commands, options.batch, options.json)
    steered = bool(options.commands) or options.batch
    if not (steered and options.json):
        _show_stacks(options)
    if not steered and not interaction.has_prompt:
        return 0
    from ..core_session import debug
    from ..event_loop import run

    return run(debug(options, interaction))


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(prog="dualdbg core", description="Shows the merged stack of every thread in a core file.")
    parser.add_argument("core", metavar="CORE", help="the file that the kernel or gcore wrote")
    parser.add_argument("--exe", metavar="PATH", help="the program, where it has moved since")
    parser.add_argument(
        "--locals", action="store_true", help="show the arguments and locals of Python frames"
    )
    parser.add_argument("--all", action="store_true", help="show the interpreter's own frames too")
    parser.add_argument("--each", action="store_true", help="show every thread, also those with equal stacks")
    parser.add_argument("--tui", action="store_true", help="look at it in the dashboard (docs/dashboard.md)")
    add_session_options(parser, runs=False)
    parser.add_argument(
        "-x",
        action="append",
        default=[],
        dest="commands",
        metavar="COMMAND",
        help="a command of the prompt; repeatable",
    )
    parser.add_argument("--batch", action="store_true", help="end after the last -x command")
    parser.add_argument("--json", action="store_true", help="one JSON object for the process")
    return parser


def _show_stacks(options: argparse.Namespace) -> None:
    from ...snapshot.capture import Wanted
    from ...snapshot.core_file import report_core
    from ...stack_listing import StackListing
    from ...symbols.source_lines import SourceLines
    from ..snapshot_json import process_to_json

    report = report_core(options.core, Wanted(locals=options.locals), options.exe, SourceLines())
    if options.json:
        sys.stdout.write(json.dumps(process_to_json(report)) + "\n")
    else:
        listing = StackListing(Style.of(sys.stdout), options.all)
        sys.stdout.write(listing.processes([report], folded=not options.each))
    sys.stdout.flush()
