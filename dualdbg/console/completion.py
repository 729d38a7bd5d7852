"""What may stand at the cursor of a prompt: commands, breakpoint specs, files. Nothing here asks the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ..errors import CommandError, SymbolError
from ..folders import expanded
from ..model import STEP_LAYERS
from ..session.session import Session
from .commands.registry import Command, all_commands, find_command, split_line

Names = Callable[[str], Iterable[str]]
"""Names (operators, functions) that begin with a text."""


# A shorter beginning names thousands of functions, and to find them takes longer than a user waits for Tab.
_ENOUGH = 5
_OPTION = re.compile(r"--[a-z]+")
_SETTINGS = ("step-into", *(layer.value for layer in STEP_LAYERS))
_NAME = re.compile(r"[A-Za-z_~][\w:~]*")


def function_names(session: Session, beginning: str) -> list[str]:
    """The native functions of what is mapped in the target whose qualified names have this beginning (0.1 to 0.5 s)."""
    if len(beginning) < _ENOUGH or not _NAME.fullmatch(beginning):
        return []
    names: set[str] = set()
    for module in session.breakpoints.image.modules:
        try:
            found = module.library.find_functions(f"{beginning}*") if module.library is not None else []
        except SymbolError:  # a library that was replaced since it was loaded
            continue
        names.update(symbol.short_name for symbol in found)
    return sorted(name for name in names if name.startswith(beginning))


def breakpoint_numbers(session: Session | None) -> list[int]:
    """The numbers of the breakpoints that there are; none before there is a session."""
    return [row.id for row in session.breakpoints.all()] if session is not None else []


class Completions:
    """Candidates for a line. ``spec_names`` gives what a breakpoint can be set on, ``numbers`` those that there are."""

    def __init__(
        self,
        spec_names: Names,
        info_words: Iterable[str],
        numbers: Callable[[], Iterable[int]] = lambda: (),
    ) -> None:
        self._spec_names = spec_names
        self._numbers = numbers
        self._info_words = sorted(info_words)

    def candidates(self, line: str) -> Iterator[tuple[str, int]]:
        """What may stand at the end of ``line``, and how many of its last characters that replaces."""
        text = line.lstrip()
        if not any(letter.isspace() for letter in text):
            names = sorted(name for row in all_commands() for name in row.names)
            yield from ((name, len(text)) for name in names if name.startswith(text))
            return
        try:
            name, argument = split_line(text)
            command = find_command(name)
        except CommandError:
            return
        if text[-1].isspace():
            argument += " " if argument else ""
        word = argument.rpartition(" ")[2]
        yield from ((candidate, len(word)) for candidate in self._words(command, word))

    def _words(self, row: Command, word: str) -> Iterator[str]:
        kind = row.completes
        if kind == "option":
            yield from (option for option in _OPTION.findall(row.usage) if word and option.startswith(word))
        elif kind == "command":
            yield from (row.name for row in all_commands() if row.name.startswith(word))
        elif kind == "setting":
            yield from (known for known in _SETTINGS if known.startswith(word))
        elif kind == "info":
            yield from (known for known in self._info_words if known.startswith(word))
        elif kind == "breakpoint":
            yield from (text for text in map(str, self._numbers()) if text.startswith(word))
        elif kind == "path":
            yield from _paths(word)
        elif kind == "spec":
            yield from self._spec_names(word)
            yield from _paths(word)


def _paths(word: str) -> Iterator[str]:
    """Files and folders that begin with ``word``, as the user wrote the beginning."""
    folder, slash, beginning = word.rpartition("/")
    place = expanded(folder + slash or ".")
    try:
        entries = sorted(place.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(beginning) and (beginning or not entry.name.startswith(".")):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
