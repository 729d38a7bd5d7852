"""Completion at the prompt, in prompt_toolkit's words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import display_completions_like_readline

from ..console.completion import Completions, Names
from ..console.value_names import wants_value

_MOST = 200  # candidates that are shown at once


class PromptCompleter(Completer):
    """Completes a line. ``spec_names`` gives what a breakpoint can be set on, ``numbers`` which there are.

    ``value_names`` gives what may stand at the end of a line with an expression, and how many of its last characters
    that replaces.
    """

    def __init__(
        self,
        spec_names: Names,
        info_words: Iterable[str],
        numbers: Callable[[], Iterable[int]],
        value_names: Callable[[str], Awaitable[tuple[list[str], int]]],
    ) -> None:
        self._completions = Completions(spec_names, info_words, numbers)
        self._value_names = value_names
        self._names: tuple[str, tuple[list[str], int]] = ("", ([], 0))  # of this line

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        candidates = self._completions.candidates(document.text_before_cursor)
        found = [*islice(candidates, _MOST)]
        line, (names, length) = self._names
        if line == document.text_before_cursor:
            found += [(name, length) for name in names[:_MOST]]
        return (Completion(text, start_position=-start) for text, start in found)

    def key_bindings(self) -> KeyBindings:
        """Tab, which asks the target first where the line needs that: prompt_toolkit's own waits for nobody."""
        bindings = KeyBindings()

        async def ask(event: KeyPressEvent, line: str) -> None:
            self._names = line, await self._value_names(line)
            if event.current_buffer.document.text_before_cursor == line:
                display_completions_like_readline(event)

        @bindings.add("tab")
        def complete(event: KeyPressEvent) -> None:
            line = event.current_buffer.document.text_before_cursor
            if wants_value(line):
                event.app.create_background_task(ask(event, line))
            else:
                display_completions_like_readline(event)

        return bindings
