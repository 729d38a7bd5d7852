"""What may stand at the cursor of a prompt: commands, breakpoint specs, files. Nothing here asks the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import CommandError
from .commands.registry import all_commands, find_command, split_line

Names = Callable[[str], Iterable[str]]
"""Names (operators, functions) that begin with a text."""


class Completions:
    """Candidates for a line. ``spec_names`` gives what a breakpoint can be set on."""

    def __init__(self, spec_names: Names, info_words: Iterable[str]) -> None:
        self._spec_names = spec_names
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
            kind = find_command(name).completes
        except CommandError:
            return
        if text[-1].isspace():
            argument += " " if argument else ""
        word = argument.rpartition(" ")[2]
        yield from ((candidate, len(word)) for candidate in self._words(kind, word))

    def _words(self, kind: str, word: str) -> Iterator[str]:
        if kind == "command":
            yield from (row.name for row in all_commands() if row.name.startswith(word))
        elif kind == "info":
            yield from (known for known in self._info_words if known.startswith(word))
        elif kind == "path":
            yield from _paths(word)
        elif kind == "spec":
            yield from self._spec_names(word)
            yield from _paths(word)


def _paths(word: str) -> Iterator[str]:
    """Files and folders that begin with ``word``, as the user wrote the beginning."""
    folder, slash, beginning = word.rpartition("/")
    place = Path(folder + slash or ".").expanduser()
    try:
        entries = sorted(place.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(beginning) and (beginning or not entry.name.startswith(".")):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
