"""What may stand at the cursor of a prompt: commands, breakpoint specs, files. Nothing here asks the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from ..errors import CommandError, DualdbgError
from ..model import STEP_LAYERS
from ..session.session import Session
from ..system.folders import expanded
from ..system.in_thread import in_thread
from .commands.registry import Command, all_commands, find_command, split_line

Names = Callable[[str], Iterable[str]]
"""Names (operators, functions) that begin with a text."""


_OPTION = re.compile(r"--[a-z]+")
_LAYERS = [layer.value for layer in STEP_LAYERS]
_SETTINGS = ("step-into", *_LAYERS, "fast", "ask", "calls", "pagination", "on", "off")


class FunctionNames:
    """Native functions and their scopes that a text may go on to, in what is mapped in the current process."""

    def __init__(self, session: Callable[[], Session | None]) -> None:
        self._session = session
        self._prepared: tuple[int, int] | None = None

    def __call__(self, beginning: str) -> set[str]:
        session = self._session()
        return session.breakpoints.image.continuations(beginning) if session is not None else set()

    async def prepare(self) -> None:
        """Have the answers of big libraries made, while the user reads the stop. Call it at each stop."""
        session = self._session()
        if session is None:
            return
        image = session.breakpoints.image
        if self._prepared != (image.pid, image.version):
            self._prepared = image.pid, image.version
            with suppress(DualdbgError):  # there is no thread to be had: names are searched for
                await in_thread(image.prepare_continuations)


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
        for kind in command.completes.split():
            yield from ((candidate, len(word)) for candidate in self._words(kind, command, word))

    def _words(self, kind: str, row: Command, word: str) -> Iterator[str]:
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
