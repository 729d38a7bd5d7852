"""``dualdbg ps``: the Python processes of this user, and what dualdbg could do with each."""

from __future__ import annotations

import json
import sys

from ...console.style import Style
from ..arguments import Parser


def main(words: list[str]) -> int:
    options = make_parser().parse_args(words)
    from ...snapshot.linux.processes import python_processes
    from ..process_table import table, to_json

    processes = python_processes(options.everybody)
    if options.json:
        sys.stdout.write("".join(json.dumps(to_json(process)) + "\n" for process in processes))
    else:
        sys.stdout.write(table(processes, Style.of(sys.stdout)))
    return 0


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(prog="dualdbg ps", description="Lists Python processes.")
    parser.add_argument("--everybody", action="store_true", help="also those of other users")
    parser.add_argument("--json", action="store_true", help="one JSON object a process")
    return parser
