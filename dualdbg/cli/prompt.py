"""The interactive prompt: one line editor on the session's own event loop, with history, completion and search."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, DynamicCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import display_completions_like_readline
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.shortcuts import CompleteStyle

from ..console.commands.information import INFO_WORDS
from ..console.commands.registry import Command
from ..console.completion import Completions, FunctionNames, Names, breakpoint_numbers
from ..console.console import Console, Quit
from ..console.history import history_path
from ..console.value_names import names_at_end, wants_value
from ..model import Reason
from ..system.private_files import open_to_append
from .pager import QUESTION, Pager
from .sinks import Sink

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


_NAME = "dualdbg"
_ENOUGH = "q"  # the rest of an answer is not wanted


class Prompt:
    """Reads commands and runs them, until the session is over."""

    def __init__(self, console: Console, show: Sink, spec_names: Names) -> None:
        self._console = console
        self._show = show
        self._pager = Pager(_size)
        self._functions = FunctionNames(lambda: console.session)
        self._preparing: asyncio.Task[None] | None = None
        completer = PromptCompleter(
            self._spec_names(spec_names),
            INFO_WORDS,
            lambda: breakpoint_numbers(console.session),
            lambda text: names_at_end(console, text),
        )
        self._editor: PromptSession[str] = PromptSession(
            history=open_history(),
            completer=DynamicCompleter(lambda: None if console.interaction is not None else completer),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=completer.key_bindings(),
            reserve_space_for_menu=0,
            enable_suspend=True,
            output=_output(),
        )
        self._asker: PromptSession[str] = PromptSession(history=InMemoryHistory(), output=_output())
        self._more: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), output=_output(), key_bindings=_keys_of_pager(), erase_when_done=True
        )
        self._last: tuple[str, Command] | None = None
        self._interrupts = 0  # Ctrl-C presses in a row

    def _spec_names(self, operators: Names) -> Names:
        return lambda text: [*operators(text), *self._functions(text)]

    async def run(self) -> None:
        """Run until the session is over. Raises Quit when the user wants to leave."""
        try:
            await self._settle()
            while not self._console.ended:
                line = await self._read()
                if line is not None:
                    self._interrupts = 0
                    await self._by_screens(line)
                if line is not None or self._console.current.ended:
                    await self._settle()
        finally:
            if self._preparing is not None:
                self._preparing.cancel()
                await asyncio.gather(self._preparing, return_exceptions=True)

    async def _settle(self) -> None:
        await self._console.settle()
        if self._preparing is None or self._preparing.done():
            self._preparing = asyncio.create_task(self._functions.prepare())
        stop = self._console.session.stop
        if stop is not None and stop.reason is Reason.PAUSE:
            self._interrupts = 1

    async def _by_screens(self, line: str) -> None:
        """Run a line. What it answers comes a screen at a time, where the terminal has one."""
        if not self._console.pagination or os.environ.get("TERM") == "dumb":  # Emacs scrolls by itself
            await self._execute(line)
            return
        self._show.pager = self._pager
        self._pager.begin()
        try:
            await self._execute(line)
            while self._pager.holds:
                answer = await self._ask(self._more, QUESTION)
                if answer == "":
                    self._show.write(self._pager.more())
                else:
                    self._show.write(self._pager.news() if answer == _ENOUGH else self._pager.rest())
        finally:
            self._show.write(self._pager.rest())
            self._pager.end()
            self._show.pager = None

    async def _execute(self, line: str) -> None:
        if line.strip() or self._console.interaction is not None:
            command = await self._console.execute(line)
            self._last = (line, command) if command is not None and command.repeats else None
        elif self._last is not None:
            text, command = self._last
            # `list 20` goes on with what follows, `next 3` is done again.
            await self._console.execute(command.name if command.name == "list" else text)

    async def _read(self) -> str | None:
        """One line; None when there is nothing to run. The end of the session ends the wait."""
        self._console.begin_line()
        try:
            return await self._ask(self._editor, self._text())
        except _Interrupted as interrupted:
            if self._console.at_stops is not None and self._console.at_stops.give_up():
                return None
            if self._console.interaction is not None:
                self._console.interaction.give_up()
                return None
            if interrupted.text.strip():
                self._interrupts = 0  # it cancels the line, and no more
                return None
            self._interrupts += 1
            if self._interrupts > 1 and await self._confirm_quit():
                raise Quit from None
        except EOFError:
            if self._console.interaction is not None:
                self._console.interaction = None
            elif await self._confirm_quit():
                raise Quit from None
        return None

    def _text(self) -> str:
        """Of several processes it has the number of the one that a command works on.

        While the commands of a breakpoint are typed it is gdb's, and Python's while Python is typed.
        """
        if self._console.at_stops is not None and self._console.at_stops.is_reading:
            return ">"
        if self._console.interaction is not None:
            return self._console.interaction.prompt
        several = len(self._console.views) > 1
        return f"({_NAME} {self._console.current.process.number}) " if several else f"({_NAME}) "

    async def _ask(self, editor: PromptSession[str], text: str) -> str | None:
        ended = asyncio.ensure_future(self._console.until_current_ends())
        with patch_stdout(raw=True):
            reading = asyncio.ensure_future(_read_line(editor, text))
            try:
                await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    await self._console.flush()
                    return None
                return reading.result()
            finally:
                ended.cancel()
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def _confirm_quit(self) -> bool:
        """Ask. Only y leaves: a program may be lost. Ctrl-C and Ctrl-D, which have led here, mean no."""
        fate = "the program ends with it" if self._console.session.end_target else "the program runs on"
        try:
            answer = await self._ask(self._asker, f"Quit? {fate} (y or n) ")
        except (_Interrupted, EOFError):
            return False
        finally:
            self._interrupts = 0
        return answer is not None and answer.strip().lower() in ("y", "yes")


class _Interrupted(Exception):
    """Ctrl-C at the prompt, with this text on the line.

    (A task that raises KeyboardInterrupt itself ends the event loop.)
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


async def _read_line(editor: PromptSession[str], text: str) -> str:
    try:
        # The command line itself handles signals and unforeseen errors.
        return await editor.prompt_async(text, handle_sigint=False, set_exception_handler=False)
    except KeyboardInterrupt:
        raise _Interrupted(editor.default_buffer.text) from None


def _size() -> Size:
    columns, rows = shutil.get_terminal_size()
    return Size(rows=rows, columns=columns)


def _keys_of_pager() -> KeyBindings:
    """One key answers: Enter and the space bar go on."""
    answers = {" ": "", "q": _ENOUGH, "Q": _ENOUGH, "c-c": _ENOUGH, "c-d": _ENOUGH, "c": "c", "C": "c"}
    bindings = KeyBindings()

    def bind(key: str, answer: str) -> None:
        @bindings.add(key)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=answer)

    for key, answer in answers.items():
        bind(key, answer)

    @bindings.add(Keys.Any)
    def _(_event: KeyPressEvent) -> None:
        """Nothing is typed here."""

    return bindings


def _output() -> Output:
    """A terminal that is never asked where its cursor is: a late answer would become input of the target."""
    return Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False)


def open_history() -> History:
    """The history file under the user's state folder (XDG Base Directory); in memory where none can be written."""
    path = history_path()
    try:
        os.close(open_to_append(path))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
