"""The transcripts in the docs: runs each command again, and says where a page shows something else.

    python scripts/transcripts.py [PAGE...]            compare; exit status 1 where something differs
    python scripts/transcripts.py --write [PAGE...]    put what the commands print now into the pages

With ``--dualdbg COMMAND`` that is run in the place of this checkout's, and with ``--python PATH`` the programs run
under that interpreter: so scripts/wheel-journey walks a page with a wheel that is installed.

A transcript is a block behind a line `<!-- transcript -->`: indented by four spaces, a command behind `$ `, then what
it prints. Commands run in the root of the project. Numbers of processes, addresses, versions and the folders of an
interpreter may be others. A line `...` stands for any lines: for what the program prints while dualdbg says something
too, of which either may come first.

A block behind `<!-- transcript at a terminal, typed: go -->` has what a user sees who types what is behind each prompt
of ours, and `go` for the program, each when all above it is on the screen.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dualdbg.tui.terminal.parser import Parser  # noqa: E402
from dualdbg.tui.terminal.screen import Screen  # noqa: E402

SECONDS = 300.0
MARK = "<!-- transcript"
_MARK = re.compile(r"<!-- transcript(?P<terminal> at a terminal(?:, typed: (?P<typed>[^>]*?))?)? -->")
_PROMPT = re.compile(r"(\(dualdbg(?: \d+)?\))(?: (.*))?")
_ROWS, _COLUMNS = 400, 100
_SILENCE = 0.5  # seconds without output after which the screen is looked at
INDENT = "    "
ANY = "..."
_STANDARD_LIBRARY = (
    f"/usr/lib/python{sys.version_info[0]}.{sys.version_info[1]}"  # in the place of this interpreter's
)
# Told of what takes long, so that a slower machine says it more often.
_PROGRESS = re.compile(r"\.\.\. reading memory for ")
# What differs from run to run, and from one machine to the next.
_VARIES = (
    (re.compile(r"\b0x[0-9a-f]{4,}\b"), "ADDRESS"),
    (re.compile(r"\b(Process|thread) \d+\b"), r"\1 NUMBER"),
    (re.compile(r"\bPython 3\.\d+\.\d+\w*, gdb \d+\.\d+\b"), "Python VERSION, gdb VERSION"),
    (re.compile(r"\.cpython-3\d+t?-[\w-]+\.so\b"), ".so"),
    (re.compile(r"/usr/lib/python3\.\d+t?/"), "LIBRARY/"),
    (re.compile(r"\S*/site-packages/"), "PACKAGES/"),
    (re.compile(r"build/samples/cpython-\w+-\w+/"), "build/samples/BUILD/"),
    (re.compile(r"(asyncio/\w+\.py):\d+"), r"\1:LINE"),
    (re.compile(r" *-?\d+\.\d{4}(?=[\],])"), "RANDOM"),  # of a tensor that is printed
    (re.compile(r"\b[\d.]+ (?:ns|µs|ms|s|min)\b"), "TIME"),
    (re.compile(r"^( +[\d,]+ +)[\d,]+(?=  )"), r"\1RATE"),  # of a trace: hits, and hits a second
    (re.compile(r" +"), " "),
)


@dataclass(frozen=True)
class Transcript:
    """A block of a page: its command and the lines behind it; ``begin`` and ``end`` are lines of the page, from 0."""

    begin: int
    end: int
    command: str
    shown: tuple[str, ...]
    terminal: bool = False
    typed: tuple[str, ...] = ()  # for the program


@dataclass(frozen=True)
class Runner:
    """What ``dualdbg`` stands for in a page, and the interpreter of the programs; None is this checkout's, and what
    dualdbg takes by itself."""

    dualdbg: str | None = None
    python: str | None = None

    def command(self, line: str) -> list[str]:
        """The words to run for a line of a page."""
        _, *words = shlex.split(line)
        if self.python is not None and words[:1] == ["run"]:
            words[1:1] = ["--python", self.python]
        ours = [sys.executable, "-m", "dualdbg"] if self.dualdbg is None else [self.dualdbg]
        return [*ours, *words]

    def environment(self) -> dict[str, str]:
        """Lines come when they are printed, as on a terminal; an installed dualdbg sees nothing of the checkout."""
        plain = {"COLUMNS": str(_COLUMNS), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        return {**os.environ, **plain, **({"PYTHONPATH": str(ROOT)} if self.dualdbg is None else {})}


def transcripts(text: str) -> Iterator[Transcript]:
    """The transcripts of a page. Raises ValueError for a mark without a command behind it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        mark = _MARK.fullmatch(line.strip())
        if mark is None:
            continue
        begin = next(at for at in range(number + 1, len(lines) + 1) if at == len(lines) or lines[at].strip())
        end = begin
        while end < len(lines) and (lines[end].startswith(INDENT) or not lines[end].strip()):
            end += 1
        while end > begin and not lines[end - 1].strip():
            end -= 1
        block = [one[len(INDENT) :] for one in lines[begin:end]]
        if not block or not block[0].startswith("$ dualdbg "):
            raise ValueError(f"line {number + 1}: no command of dualdbg behind the mark")
        typed = tuple(word.strip() for word in (mark["typed"] or "").split(",") if word.strip())
        command, *shown = block
        yield Transcript(
            begin, end, command.removeprefix("$ "), tuple(shown), mark["terminal"] is not None, typed
        )


def now(one: Transcript, runner: Runner = Runner()) -> list[str]:
    """What the command prints now. Raises TimeoutExpired."""
    return on_terminal(one, runner) if one.terminal else printed(one.command, runner)


def _plain(text: str) -> str:
    # Of samples gdb has the path with more slashes (samples/cached_build.py).
    return re.sub(rf"{re.escape(str(ROOT))}/+", "", text).replace(
        sysconfig.get_path("stdlib"), _STANDARD_LIBRARY
    )


def on_terminal(one: Transcript, runner: Runner = Runner()) -> list[str]:
    """What stands on a terminal where the lines that the block says are typed, up to the prompt after the last."""
    import pexpect  # which the environment of an installed wheel has not

    words = runner.command(one.command)
    screen = Screen(_COLUMNS, _ROWS)
    parser = Parser(screen)
    child = pexpect.spawn(
        words[0],
        words[1:],
        cwd=str(ROOT),
        env={**runner.environment(), "TERM": "xterm"},
        encoding="utf-8",
        dimensions=(_ROWS, _COLUMNS),
    )
    kept = ""

    def lines() -> list[str]:
        rows = [_plain(row.text()).rstrip() for row in screen.rows]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def read_until(last: str) -> bool:
        """Read until this stands in the last line, masked, and nothing follows. False where it never does."""
        nonlocal kept
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                kept = parser.feed(kept + child.read_nonblocking(65536, timeout=_SILENCE))
            except pexpect.TIMEOUT:
                if masked((lines() or [""])[-1]) == masked(last):
                    return True
            except pexpect.EOF:
                return False
        return False

    try:
        shown = one.shown
        for number, line in enumerate(shown):
            prompt = _PROMPT.fullmatch(line)
            if prompt is not None and prompt[2]:
                wanted, text = prompt[1], prompt[2]
            elif line in one.typed:
                wanted, text = shown[number - 1], line
            else:
                continue
            if not read_until(wanted):
                return lines()
            child.send(f"{text}\r")
        read_until(shown[-1])
        return lines()
    finally:
        child.close(force=True)


def printed(command: str, runner: Runner = Runner()) -> list[str]:
    """What a command prints without a terminal. Raises TimeoutExpired."""
    done = subprocess.run(
        runner.command(command),
        cwd=ROOT,
        env=runner.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
    )
    text = _plain(done.stdout.decode("utf-8", "replace"))
    return [line.rstrip() for line in text.rstrip().splitlines() if not _PROGRESS.match(line)]


def masked(line: str) -> str:
    """A line without what may differ."""
    for pattern, text in _VARIES:
        line = pattern.sub(text, line)
    return line.rstrip()


def is_as_shown(shown: tuple[str, ...], lines: list[str]) -> bool:
    """Whether these lines were printed. ``...`` among what is shown stands for any lines, or none."""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == ANY:
            parts.append([])
        else:
            parts[-1].append(masked(line))
    rest = [masked(line) for line in lines]
    if len(parts) == 1:
        return rest == parts[0]
    first, *middle, last = parts
    if rest[: len(first)] != first or (last and rest[-len(last) :] != last):
        return False
    rest = rest[len(first) : len(rest) - len(last)]
    for part in middle:
        at = next((at for at in range(len(rest) + 1) if rest[at : at + len(part)] == part), None)
        if at is None:
            return False
        rest = rest[at + len(part) :]
    return True


def check(page: Path, write: bool, runner: Runner = Runner()) -> bool:
    """Compare a page, or write it anew. Returns whether it showed what is printed."""
    text = page.read_text()
    lines = text.splitlines()
    right = True
    for one in reversed([*transcripts(text)]):
        lines_now = now(one, runner)
        if is_as_shown(one.shown, lines_now):
            continue
        right = False
        if write:
            lines[one.begin : one.end] = [
                f"{INDENT}{line}".rstrip() for line in (f"$ {one.command}", *lines_now)
            ]
            continue
        print(f"{page.name}:{one.begin + 1}: {one.command}")
        print("\n".join(difflib.unified_diff(one.shown, lines_now, "the page", "now", lineterm="")))
    if write and not right:
        page.write_text("\n".join(lines) + "\n")
    return right


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="compare the transcripts in the docs with what is printed now"
    )
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="put what is printed now into the pages")
    parser.add_argument(
        "--dualdbg", metavar="COMMAND", help="an installed dualdbg, instead of this checkout's"
    )
    parser.add_argument("--python", metavar="PATH", help="the interpreter of the programs")
    given = parser.parse_args()
    runner = Runner(given.dualdbg, given.python)
    pages = given.pages or [
        page for page in sorted((ROOT / "docs").rglob("*.md")) if MARK in page.read_text()
    ]
    right = [check(page, given.write, runner) for page in pages]
    return 0 if given.write or all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
