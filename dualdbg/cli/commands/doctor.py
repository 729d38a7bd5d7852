"""``dualdbg doctor``: what stands in the way of a session here, one line each, and a real session at the end."""

from __future__ import annotations

import json
import os
import sys

from ...console.style import Style
from ...symbols.cache import cache_directory
from ...symbols.elf.elf_file import ElfFile
from ...system.terminal_text import cleaned
from ...target.doctor import Finding, Status, examine
from ...target.interpreter import default_python
from ..arguments import Parser

_TROUBLE_STATUS = 3
_MARKS = {
    Status.OK: ("ok", "python"),
    Status.WARNING: ("warning", "warning"),
    Status.ERROR: ("error", "error"),
}


def main(words: list[str]) -> int:
    given = make_parser().parse_args(words)
    python = given.python or default_python(os.environ.get)
    style = Style.of(sys.stdout)
    worst = Status.OK
    for finding in findings(python, given.gdb):
        worst = max(worst, finding.status, key=list(Status).index)
        sys.stdout.write(_json_line(finding) if given.json else _line(finding, style))
        sys.stdout.flush()
    return _TROUBLE_STATUS if worst is Status.ERROR else 0


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg doctor",
        allow_abbrev=False,
        description="Says what stands in the way of a session here, one line each; a real session is the last.",
    )
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter (default: as dualdbg run chooses it)"
    )
    parser.add_argument("--gdb", metavar="PATH", help="the gdb to use")
    parser.add_argument("--json", action="store_true", help="write one JSON object a line")
    return parser


def findings(python: str, gdb: str | None) -> list[Finding]:
    """All that is looked at, a session last; that one is left out where it would fail for a reason given before."""
    found = examine(python, gdb, cache_directory(), _section_names)
    needed = {"gdb", "ptrace", "python", "debugpy"}
    if any(row.status is Status.ERROR and row.area in needed for row in found):
        return found  # a session would fail for the reason that was just given
    from ..event_loop import run
    from ..trial import try_session

    return [*found, run(try_session(python, gdb))]


def _section_names(path: str) -> list[str]:
    return [section.name for section in ElfFile.open(path).sections]


def _line(finding: Finding, style: Style) -> str:
    finding = cleaned(finding)
    word, kind = _MARKS[finding.status]
    text = f"{style.paint(kind, f'{word:<8}')}{finding.area:<8} {finding.text}\n"
    return text + (f"{'':<17}{finding.fix}\n" if finding.fix else "")


def _json_line(finding: Finding) -> str:
    return json.dumps({"event": "finding", **finding.to_json()}) + "\n"
