"""Reads a subcommand's options, and separates them from the program and its arguments."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ..config import Asked
from ..errors import UsageError

SEPARATOR = "--"


class Parser(argparse.ArgumentParser):
    """argparse with the errors of dualdbg."""

    def error(self, message: str) -> NoReturn:
        command = self.prog.split()[1:]  # none: the options before any command
        text = f"{command[-1]}: {message}" if command else message
        raise UsageError(text, f"{self.prog} --help lists the options")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """As ``parse_args``, with options between the other words too: ``stacks 17 --json 18``."""
        return self.parse_intermixed_args(words)


def seconds(text: str, most: float = 1e9, or_zero: bool = False) -> float:
    """A number of seconds, as argparse has it of an option."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 < number <= most or (or_zero and number == 0)):
        limit = f", {most:g} at most" if most < 1e9 else ""
        least = "from 0" if or_zero else "above 0"
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds {least}{limit}")
    return number


def whole_number(text: str, most: int = 10**9) -> int:
    """A whole number from 1 on, as argparse has it of an option."""
    if not (text.isdecimal() and text.isascii() and len(text) < 12 and 1 <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 to {most}")
    return int(text)


def add_session_options(parser: argparse.ArgumentParser, *, runs: bool = True) -> None:
    """The options of every command with a session; :func:`asked` reads them. ``runs``: the program can run."""
    add = parser.add_argument
    if runs:
        add("-b", "--break", dest="breakpoints", metavar="SPEC", action="append", default=[],
            help="stop there: randn (an operator), a C or C++ function, FILE:LINE; repeatable")  # fmt: skip
        add("--all-code", action="store_true", help="stop in the Python code of libraries too")
    what = "what gdb reads: full, lazy or PATTERN=whole|unwind|skip; repeatable, the last that fits decides"
    add("--symbols", metavar="POLICY", action="append", default=[], help=what)
    add("--config", metavar="FILE", help="the configuration (default: the nearest dualdbg.toml of yours)")
    add("--gdb", metavar="PATH", help="the gdb to use")
    add("--log-dir", metavar="DIR", help="write every message of both engines there")


def add_fix_ptrace(parser: argparse.ArgumentParser, until: str) -> None:
    """The option that allows us to change a setting of the system. ``until`` says for how long."""
    parser.add_argument(
        "--fix-ptrace",
        action="store_true",
        help=f"where Yama's ptrace_scope forbids it: set it to 0 with sudo until {until}, and then back",
    )


def asked(given: argparse.Namespace) -> Asked:
    """What was said with the options of :func:`add_session_options`."""
    return Asked(
        breakpoints=tuple(getattr(given, "breakpoints", ())),
        symbols=tuple(given.symbols),
        just_my_code=False if getattr(given, "all_code", False) else None,
        gdb=given.gdb,
        log_dir=Path(given.log_dir) if given.log_dir else None,
    )


@dataclass(frozen=True)
class Program:
    """What the user wants to run: at most one of the first three is given."""

    script: str | None = None
    module: str | None = None
    code: str | None = None
    args: tuple[str, ...] = ()


def split_program(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], Program]:
    """Our options, and the program with its arguments.

    Where options stand before the program, everything after it belongs to the program, as with python. Without such
    options, options of dualdbg may follow the program, up to the first other word or to ``--``.
    """
    ours, rest = _options(parser, words)
    if rest[:1] == [SEPARATOR]:
        rest = rest[1:]
    program, rest = _program(rest, parser.prog.split()[-1])
    if not ours:
        ours, rest = _options(parser, rest)
        if rest[:1] == [SEPARATOR]:
            rest = rest[1:]
    return ours, Program(program.script, program.module, program.code, tuple(rest))


def option_of_ours(parser: argparse.ArgumentParser, words: Sequence[str]) -> str | None:
    """The first of these words that is an option of the parser, without its value; None where none is."""
    found = next((word for word in words if _action(parser, word) is not None), None)
    return found.partition("=")[0] if found is not None else None


def _options(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of ``parser`` at the beginning, and the words from the first other word on."""
    at = 0
    while at < len(words):
        action = _action(parser, words[at])
        if action is None:
            break
        has_value = "=" in words[at] if words[at].startswith("--") else len(words[at]) > 2
        at += 2 if action.nargs is None and not has_value else 1
    return list(words[:at]), list(words[at:])


def _action(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    """The option that a word begins with: ``--break``, ``--break=x``, ``-b``, ``-bx``."""
    if not word.startswith("-") or word in ("-", SEPARATOR):
        return None
    known = parser._option_string_actions
    name = word.partition("=")[0] if word.startswith("--") else word[:2]
    return known.get(name)


def _program(words: Sequence[str], command: str) -> tuple[Program, list[str]]:
    if not words:
        return Program(), []
    first, *rest = words
    option = first[:2]
    if option in _EXAMPLES:
        value = first[2:] or (rest.pop(0) if rest else None)
        if value is None:
            what, example = _EXAMPLES[option]
            example = f"for example: dualdbg {command} {option} {example}"
            raise UsageError(f"{command}: {option} wants {what}", example)
        return (Program(module=value) if option == "-m" else Program(code=value)), rest
    if first.startswith("-") and first != "-":
        hint = _for_the_interpreter(words, command) or f"dualdbg {command} --help lists the options"
        raise UsageError(f"{command}: there is no option {first}", hint)
    return Program(script=first), rest


# The options of python, but for -c and -m (python --help).
_OF_PYTHON = re.compile(r"-[BEIOPSbdiqsuvx]+|-[WX].*", re.DOTALL)


def _for_the_interpreter(words: Sequence[str], command: str) -> str:
    """What to type where the first word is an option of python; nothing where it is none."""
    if not _OF_PYTHON.fullmatch(words[0]):
        return ""
    import shlex  # here: a start without a mistake needs neither

    from ..shared.python_command import read, without_site

    options = read(["python", *words]).options
    told = (
        f"python's own options go with it: dualdbg {command} --native /PATH/OF/python {shlex.join(options)} …"
    )
    without = without_site(options)
    return told + (
        f"\n{without} keeps the debugger out of Python: C code alone can be stopped then" if without else ""
    )


_EXAMPLES = {"-m": ("a module", "package.module"), "-c": ("code", '"import torch"')}


def check_script(program: Program, folder: str | None, command: str = "run") -> None:
    """Raises UsageError where the program is a script that does not exist. ``folder``: where it is to run."""
    if program.script is None or program.script == "-" or (Path(folder or ".") / program.script).exists():
        return
    where = f" in {folder}" if folder else ""
    hint = f"dualdbg {command} SCRIPT, -m MODULE or -c CODE"
    path = shutil.which(program.script)
    if path is not None:
        raise UsageError(f"{program.script} is a command, not a script", f"{hint}; its file is {path}")
    raise UsageError(f"there is no script {program.script}{where}", hint)


def read_address(option: str, text: str) -> tuple[str, int]:
    """``[HOST:]PORT``; an IPv6 host stands in brackets. Raises UsageError.

    ``option`` is who wants it: ``dap: --listen``.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isdecimal() or int(port) > 65535:
        command, _, flag = option.partition(": ")
        raise UsageError(
            f"{command}: {text!r} is no address to listen on",
            f"for example {flag} 5678, or {flag} 127.0.0.1:5678",
        )
    return host or "127.0.0.1", int(port)
