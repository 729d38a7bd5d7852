"""Completion in the user's shell, made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import shtab

from . import general
from .arguments import Parser
from .main import command_module, summaries


def command_parsers() -> dict[str, Parser]:
    """The parser of each command by the command's name, in the order of the help."""
    modules = {name: command_module(name) for name in summaries()}
    return {name: module.make_parser() for name, module in modules.items() if module is not None}


def actions_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of a command's own commands (``vscode init``) by name; empty for most."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


_VALUES = {"PATH": shtab.FILE, "FILE": shtab.FILE, "DIR": shtab.DIR, "SCRIPT": shtab.FILE, "CORE": shtab.FILE}
_PROGRAMS = ("run", "dap")  # their parsers do not see the program, which they take from the words before


def completion(shell: str) -> str:
    """The script that ``shell`` (one of :data:`general.SHELLS`) reads."""
    root = argparse.ArgumentParser(prog="dualdbg", parents=[general.make_parser()], add_help=False)
    commands = root.add_subparsers(metavar="COMMAND")
    known = summaries()
    for name, parser in command_parsers().items():
        if name in _PROGRAMS:
            parser.add_argument("program", nargs="*", metavar="SCRIPT")
        for one in (parser, *actions_of(parser).values()):
            _say_what_values_are(one)
        commands.add_parser(name, parents=[parser], add_help=False, help=known[name])
    _say_what_values_are(root)
    return shtab.complete(root, shell)


def _say_what_values_are(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        action.choices = action.choices or getattr(
            action, "offered", None
        )  # words of a value that is checked later
        kind = _VALUES.get(action.metavar) if isinstance(action.metavar, str) else None
        if kind is not None and action.choices is None:
            action.complete = kind  # type: ignore[attr-defined]
