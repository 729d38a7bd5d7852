"""Reading a subcommand's options, and telling them from the program and its own arguments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ..errors import UsageError

SEPARATOR = "--"


class Parser(argparse.ArgumentParser):
    """argparse with our own way to complain."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog.split()[-1]}: {message}", f"{self.prog} --help lists the options")


@dataclass(frozen=True)
class Program:
    """What the user wants to run: at most one of the first three is given."""

    script: str | None = None
    module: str | None = None
    code: str | None = None
    args: tuple[str, ...] = ()


def split_program(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], Program]:
    """Our options, and the program with its arguments.

    Where options stand before the program, all that follows it is the program's own, unread, as with python.
    Where none does, options of ours may follow the program, up to the first word that is none, or to ``--``.
    """
    ours, rest = _options(parser, words)
    if rest[:1] == [SEPARATOR]:
        rest = rest[1:]
    program, rest = _program(rest)
    if not ours:
        ours, rest = _options(parser, rest)
        if rest[:1] == [SEPARATOR]:
            rest = rest[1:]
    return ours, Program(program.script, program.module, program.code, tuple(rest))


def _options(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words up to the first that is no option of ``parser``, and what is left."""
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


def _program(words: Sequence[str]) -> tuple[Program, list[str]]:
    if not words:
        return Program(), []
    first, *rest = words
    option = first[:2]
    if option in _EXAMPLES:
        value = first[2:] or (rest.pop(0) if rest else None)
        if value is None:
            what, example = _EXAMPLES[option]
            raise UsageError(f"run: {option} wants {what}", f"for example: dualdbg run {option} {example}")
        return (Program(module=value) if option == "-m" else Program(code=value)), rest
    if first.startswith("-") and first != "-":
        raise UsageError(f"run: there is no option {first}", "dualdbg run --help lists the options")
    return Program(script=first), rest


_EXAMPLES = {"-m": ("a module", "package.module"), "-c": ("code", '"import torch"')}
