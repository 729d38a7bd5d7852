"""``dualdbg bug-report``: what a report of a bug should have, as Markdown, with nothing secret in it."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...errors import UsageError
from ...system.folders import expanded, temporary_folder, user_folder
from ...system.terminal_text import visible_text
from ...target.interpreter import default_python
from ..arguments import Parser

ENVIRONMENT = (
    "COLORTERM", "CONDA_PREFIX", "DUALDBG_PATIENCE", "LANG", "LC_ALL", "NO_COLOR", "OMP_NUM_THREADS", "PYTHONHASHSEED",
    "TERM", "VIRTUAL_ENV",
)  # fmt: skip
"""The variables that are shown; no other one is read."""

_HEAD = """\
<!-- Read it before you send it: paths and the names of functions and files are in it. -->

What I did, what came, and what I expected:

"""
_REPORTS = 3  # the newest ones of unforeseen errors
_LINES = 200  # of a report or a log: its last
_LONGEST = 1 << 20  # bytes of a file that are looked at
_TEXT = re.compile(r"(?<!\w)(['\"])(?:\\.|(?!\1).)*\1")  # as repr() writes one; not the apostrophe of gdb's


def main(words: list[str]) -> int:
    given = make_parser().parse_args(words)
    folder = expanded(given.log_dir) if given.log_dir is not None else None
    if folder is not None and not folder.is_dir():
        raise UsageError(
            f"bug-report: there is no folder {folder}", "the folder that --log-dir named in a session"
        )
    from .doctor import findings

    python = given.python or default_python(os.environ.get)
    parts = [
        _HEAD,
        _section("Versions", _versions()),
        _section("Environment", environment(os.environ)),
        _section(
            "dualdbg doctor",
            [f"{row.status.value}: {row.area}: {row.text}" for row in findings(python, given.gdb)],
        ),
    ]
    for path in error_reports(_report_folders(folder)):
        parts.append(_section(path.name, last_lines(path)))
    if folder is not None:
        log = last_lines(folder / "session.log")
        parts.append(_section("session.log", log if given.texts else map(without_texts, log)))
    home = expanded("~")
    homes = {str(home), os.path.realpath(home)}
    sys.stdout.write(visible_text(with_short_homes("\n".join(parts), homes)))
    return 0


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg bug-report",
        description="Writes versions, what dualdbg doctor finds, and the last reports of errors that dualdbg did not "
        "foresee, as Markdown. Paths of your home are shortened; variables of the environment are left out but for "
        "a few that are named in docs/security.md, and so is what your programs got and printed.",
    )
    add = parser.add_argument
    add("--log-dir", metavar="DIR", help="the decisions of the session that has logged there, too")
    add(
        "--texts",
        action="store_true",
        help="with --log-dir: keep texts, which the program may have printed or got",
    )
    add("--python", metavar="PATH", help="the interpreter (default: as dualdbg run chooses it)")
    add("--gdb", metavar="PATH", help="the gdb to use")
    return parser


def _versions() -> list[str]:
    from ..versions import versions

    return [f"{name}: {text}" for name, text in versions()]


def environment(environ: Mapping[str, str]) -> list[str]:
    """The variables of :data:`ENVIRONMENT` that are set."""
    return [f"{name}={environ[name]}" for name in ENVIRONMENT if name in environ]


def error_reports(folders: Iterable[Path]) -> list[Path]:
    """The newest reports of unforeseen errors, newest first: files of this user, and no links."""
    found: dict[Path, float] = {}
    for folder in folders:
        for path in folder.glob("dualdbg-error-*.txt"):
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # somebody has removed it since
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                found[path] = status.st_mtime
    return sorted(found, key=lambda path: found[path], reverse=True)[:_REPORTS]


def last_lines(path: Path) -> Sequence[str]:
    """The last lines of a file; where it cannot be read, why."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LONGEST))
            text = file.read(_LONGEST).decode("utf-8", "replace")
    except OSError as error:
        return [f"({path.name} cannot be read: {error.strerror})"]
    return text.splitlines()[-_LINES:]


def without_texts(line: str) -> str:
    """A line of session.log in which each text that came from outside is a sign."""
    return _TEXT.sub("'…'", line)


def with_short_homes(text: str, homes: Iterable[str]) -> str:
    """The text with ``~`` for each of these folders, where a path begins with it."""
    for home in sorted(homes, key=len, reverse=True):
        if home.rstrip("/"):
            text = re.sub(rf"(?<![\w/.-]){re.escape(home.rstrip('/'))}(?![\w.-])", "~", text)
    return text


def _report_folders(log_folder: Path | None) -> list[Path]:
    temporary = temporary_folder()
    folders = [log_folder, user_folder("XDG_CACHE_HOME", ".cache"), temporary]
    return [folder for folder in folders if folder is not None and folder.is_dir()]


def _section(title: str, lines: Iterable[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"### {title}\n\n{body or '    (nothing)'}\n"
