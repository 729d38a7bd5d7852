"""The parsers of all commands, for what is made from them: reference, man page, completion in shells."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from .arguments import Parser
from .main import COMMANDS, command_module


def command_parsers() -> dict[str, Parser]:
    """The parser of each command by the command's name, in the order of the help."""
    return {name: command_module(name).make_parser() for name in COMMANDS}


def actions_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of a command's own commands (``vscode init``) by name; empty for most."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}
