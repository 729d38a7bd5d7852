"""Completion at the prompt, in prompt_toolkit's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ..console.completion import Completions, Names

_MOST = 200  # candidates that are shown at once


class PromptCompleter(Completer):
    """Completes a line. ``spec_names`` gives what a breakpoint can be set on, ``numbers`` which there are."""

    def __init__(
        self, spec_names: Names, info_words: Iterable[str], numbers: Callable[[], Iterable[int]]
    ) -> None:
        self._completions = Completions(spec_names, info_words, numbers)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        candidates = self._completions.candidates(document.text_before_cursor)
        for count, (text, start) in enumerate(candidates):
            if count == _MOST:
                return
            yield Completion(text, start_position=-start)
