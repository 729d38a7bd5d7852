"""The options of dualdbg that stand before any command."""

from __future__ import annotations

import sys

from .. import __version__
from ..errors import UsageError
from .arguments import Parser

SHELLS = ("bash", "zsh", "fish")


def make_parser() -> Parser:
    """The parser of these options; commands are not in it."""
    parser = Parser(prog="dualdbg", usage="dualdbg COMMAND [OPTIONS]", allow_abbrev=False)
    add = parser.add_argument
    add("-V", "--version", action="store_true", help="print the version")
    add("--verbose", action="store_true", help="with --version: those of all that takes part, too")
    add("--completion", choices=SHELLS, metavar="SHELL", help="print the completion of commands and options")
    return parser


def main(words: list[str]) -> int:
    """Do what the options ask for; returns the exit status. Raises UsageError."""
    given = make_parser().parse_args(words)
    if given.completion is not None:
        if given.version or given.verbose:
            raise UsageError("--completion goes with no other option", "dualdbg --completion bash")
        from .shell_completion import completion

        sys.stdout.write(completion(given.completion))
        return 0
    if not given.version:
        raise UsageError("--verbose goes with --version", "dualdbg --version --verbose")
    if given.verbose:
        from ..system.terminal_text import visible_text
        from .versions import version_lines

        sys.stdout.write(visible_text(version_lines()))
    else:
        print(f"dualdbg {__version__}")
    return 0
