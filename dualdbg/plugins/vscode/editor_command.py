"""``dualdbg editor``: prints what an editor needs to be told to debug with dualdbg."""

from __future__ import annotations

import argparse
import sys

from ...cli.arguments import Parser
from ...errors import UsageError

SUMMARY = "print a configuration for another editor"


def main(words: list[str]) -> int:
    from .editors import EDITORS, configuration

    parser = make_parser()
    given = parser.parse_args(words)
    if given.editor is None:
        parser.print_help()
        return UsageError.exit_status
    if given.editor in ("vscode", "code"):
        raise UsageError("editor: VS Code has a command of its own", "type: dualdbg vscode init")
    if given.editor not in EDITORS:
        raise UsageError(f"editor: {given.editor!r} is not known", f"one of {', '.join(EDITORS)}")
    sys.stdout.write(configuration(given.editor))
    return 0


def make_parser() -> Parser:
    """The parser of the command line."""
    from .editors import EDITORS

    editors = "\n".join(f"  {name:<6} {editor.where}" for name, editor in EDITORS.items())
    parser = Parser(
        prog="dualdbg editor",
        description="Prints a configuration, with this dualdbg in it, and where it belongs.",
        epilog="editors:\n" + editors + "\n\nVS Code: dualdbg vscode init",
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    editor = parser.add_argument("editor", metavar="EDITOR", nargs="?", help="one of those below")
    editor.offered = tuple(EDITORS)  # type: ignore[attr-defined]  # for completion; `main` says more of other names
    return parser
