"""The reference of all commands and options, made from their parsers: docs/commands.md, and the man page.

python scripts/command_reference.py            compare; exit status 1 where a file is out of date
python scripts/command_reference.py --write    write the files
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dualdbg import __version__  # noqa: E402
from dualdbg.cli import general  # noqa: E402
from dualdbg.cli.main import summaries  # noqa: E402
from dualdbg.cli.shell_completion import actions_of, command_parsers  # noqa: E402

HEAD = """\
# Commands and options

Every command with its options, made from the program itself by `scripts/command_reference.py`. `dualdbg COMMAND --help`
prints the same; [command-line.md](command-line.md) says how they are used.
"""


@dataclass(frozen=True)
class Row:
    """An argument or an option: how it is written, and what it does."""

    written: str
    help: str


@dataclass(frozen=True)
class Command:
    """A command. ``about`` is the text of its help, ``notes`` what stands below the options."""

    name: str
    usage: str
    summary: str
    about: str
    rows: Sequence[Row]
    notes: str


def commands() -> Iterator[Command]:
    """What stands before a command; then all commands in the order of the help, each before its own commands."""
    yield _command("", "", general.make_parser())
    known = summaries()
    for name, parser in command_parsers().items():
        yield _command(name, known[name], parser)
        for action, own in actions_of(parser).items():
            yield _command(f"{name} {action}", "", own)


def _command(name: str, summary: str, parser: argparse.ArgumentParser) -> Command:
    rows = tuple(_rows(parser))
    positional = [row.written for row in rows if not row.written.startswith("-")]
    usage = parser.usage or " ".join([parser.prog, *positional, "[OPTIONS]"])
    return Command(name, usage, summary, parser.description or "", rows, parser.epilog or "")


def _rows(parser: argparse.ArgumentParser) -> Iterator[Row]:
    for action in sorted(parser._actions, key=lambda action: bool(action.option_strings)):
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            yield Row(str(action.metavar), ", ".join(action.choices))
            continue
        yield Row(_written(action), (action.help or "") % vars(action) + _choices(action))


def _choices(action: argparse.Action) -> str:
    return (
        f"; one of {', '.join(map(str, action.choices))}"
        if action.choices and len([*action.choices]) > 1
        else ""
    )


def _written(action: argparse.Action) -> str:
    choices = [*(action.choices or ())]
    value = action.metavar or (choices[0] if len(choices) == 1 else action.dest.upper())
    if not action.option_strings:
        shapes = {"*": f"[{value}…]", "+": f"{value}…", "?": f"[{value}]", "...": f"[{value}…]"}
        return shapes.get(str(action.nargs), str(value))
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def as_markdown(all_of_them: Sequence[Command]) -> str:
    """The page."""
    parts = [HEAD]
    for command in all_of_them:
        about = f"\n{_prose(command.about)}\n" if command.about else ""
        parts.append(f"## {_title(command)}\n\n    {_indented(command.usage)}\n{about}")
        if command.rows:
            table = "".join(
                f"| `{_cell(row.written)}` | {_cell(_prose(row.help))} |\n" for row in command.rows
            )
            parts.append(f"| option | |\n|---|---|\n{table}")
        if command.notes:
            parts.append(_notes(command.notes) + "\n")
    return "\n".join(parts)


def _title(command: Command) -> str:
    return f"dualdbg {command.name}" if command.name else "Before a command"


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(text: str) -> str:
    """Signs that Markdown would take for its own stand for themselves."""
    for sign in "<>*_[":
        text = text.replace(sign, f"\\{sign}")
    return text


def _notes(text: str) -> str:
    """A text with lines of its own (a list of profiles) stays as it is."""
    return f"    {_indented(text)}" if "\n" in text else _prose(text)


def as_man_page(all_of_them: Sequence[Command]) -> str:
    """The page in the macros of man(7)."""
    lines = [
        f'.TH DUALDBG 1 {_released()} "dualdbg {__version__}"',
        ".SH NAME",
        r"dualdbg \- a debugger for one process with two languages: Python on top, C and C++ below",
        ".SH SYNOPSIS",
        ".B dualdbg",
        "COMMAND [OPTIONS]",
        ".SH DESCRIPTION",
        *_filled(
            "Starts a program or attaches to one, with debugpy inside and gdb outside: one stack, one set of "
            "breakpoints, and steps that cross the boundary of the languages."
        ),
    ]
    for command in all_of_them:
        lines.append(f'.SH "{_roff((command.name or "options").upper())}"')
        parts = [[f".B {_roff(use.strip())}"] for use in command.usage.splitlines()]
        parts += [_filled(command.about)] if command.about else []
        for at, part in enumerate(parts):
            lines += [".PP", *part] if at else part  # a section begins a paragraph by itself
        for row in command.rows:
            lines += [".TP", f".B {_roff(row.written)}", *(_filled(row.help) or [r"\&"])]
        if command.notes:
            as_it_is = [".nf", *map(_roff, command.notes.splitlines()), ".fi"]
            lines += [".PP", *(as_it_is if "\n" in command.notes else _filled(command.notes))]
    lines += [".SH SEE ALSO", ".BR gdb (1)"]
    return "\n".join(lines) + "\n"


def _released() -> str:
    """The day of the last release, of which the changelog tells."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(__version__)}, (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE)
    if found is None:
        sys.exit(f"CHANGELOG.md has no '## {__version__}, YEAR-MONTH-DAY'")
    return found[1]


def _filled(text: str) -> list[str]:
    """A text that roff fills, in lines that can be read in the file too."""
    lines = textwrap.wrap(text, 70, break_long_words=False, break_on_hyphens=False)
    return [_roff(line) for line in lines]


def _roff(text: str) -> str:
    r"""A text that roff prints as it is: a backslash, a hyphen, and a dot or quote at the beginning have a meaning."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "\\[u2026]")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def files() -> dict[Path, str]:
    """What is made, by its path."""
    found = tuple(commands())
    return {
        ROOT / "docs" / "commands.md": as_markdown(found),
        ROOT / "docs" / "dualdbg.1": as_man_page(found),
    }


def out_of_date() -> list[Path]:
    """The files that say something else than the parsers."""
    return [
        path
        for path, text in files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Compare or write; returns the exit status."""
    old = out_of_date()
    if sys.argv[1:] == ["--write"]:
        for path in old:
            path.write_text(files()[path], encoding="utf-8")
            print(f"{path.relative_to(ROOT)} written")
        return 0
    for path in old:
        print(f"{path.relative_to(ROOT)} is out of date: python scripts/command_reference.py --write")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
