"""The dashboard: the whole debugger in a terminal, a front end on one session."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from types import FrameType
from typing import Any, ClassVar, cast

from textual import _ansi_sequences
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.message_pump import MessagePump
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from ..console.commands.registry import Command
from ..console.console import Console
from ..console.history import add_to_history
from ..errors import ConfigError, DualdbgError
from ..model import State
from ..system.in_thread import in_thread
from . import command_palette, settings
from .actions.breaking import Breaking
from .actions.looking import Looking
from .base import STOPPED, Start, Wishes
from .model import status_text
from .model.global_keys import NAMES, ONLY_RUNNING, ONLY_STOPPED, bindings, first, leaving, shown_key
from .panes.prompt import PromptView
from .terminal.keys import NAMED
from .terminal.pty import ProgramTerminal
from .widgets.keys_line import KeysLine

_ROUNDS = 2  # what a widget tells itself when it gets a key comes behind the first


class KeyDone(Message):
    """Follows a key from the widget up to the app, behind everything that is done with the key on its way."""


class KeysInTurn:
    """``give`` gives a key to what ``target`` says, or has it done by itself."""

    def __init__(self, give: Callable[[Event], Awaitable[None]], target: Callable[[], MessagePump]) -> None:
        self._give = give
        self._target = target
        self._waiting: deque[Event] = deque()
        self._busy: MessagePump | None = None
        self._rounds = 0

    async def add(self, event: Event) -> None:
        """A key, or a text that was pasted, has come."""
        self._waiting.append(event)
        await self._go_on()

    async def done(self) -> None:
        """A :class:`KeyDone` has arrived at the app."""
        self._follow(self._busy)
        await self._go_on()

    async def _go_on(self) -> None:
        while self._waiting and (self._busy is None or not self._busy.is_running):
            event, target = self._waiting.popleft(), self._target()
            await self._give(event)
            self._rounds = _ROUNDS
            self._follow(target if event.is_forwarded else None)

    def _follow(self, target: MessagePump | None) -> None:
        """The next round behind the key, if there is one."""
        again = target is not None and self._rounds > 0 and target.post_message(KeyDone())
        self._busy = target if again else None
        self._rounds -= 1


def resume_only_after_suspension() -> None:
    """Let SIGCONT restart the driver only after a SIGTSTP has stopped it.

    SIGCONT also comes without a SIGTSTP: with the hangup of a terminal (setpgid(2), exit of a session leader), or from
    a program that had frozen us. The driver would then read the keyboard a second time, and never end.
    """
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    suspended = False

    def on_suspend(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        suspended = True
        if callable(suspend):
            suspend(number, frame)

    def on_resume(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        if suspended and callable(resume):
            suspended = False
            resume(number, frame)

    signal.signal(signal.SIGTSTP, on_suspend)
    signal.signal(signal.SIGCONT, on_resume)


_CHARACTERS = {**NAMED, **{digit: digit for digit in "0123456789"}}  # by the key's name
_ALT = Enum("_ALT", {name: f"alt+{name}" for name in _CHARACTERS})  # type: ignore[misc]  # mypy wants a literal


def alt_is_alt() -> None:
    """Take escape and a digit for alt and that digit, which is what xterm sends (ctlseqs, "Alt and Meta Keys").

    Textual's table has what a Mac's keyboard has on Option and a digit instead: ¡ for 1, £ for 3; so does it for ``-``
    and ``=``. Such a letter would be typed in the prompt, or come to the program. The letters themselves, from a
    keyboard that has them, are other bytes, and stay what they are.
    """
    table = cast("dict[str, Any]", _ansi_sequences.ANSI_SEQUENCES_KEYS)
    for key, character in zip(_ALT, _CHARACTERS.values(), strict=True):
        table[f"\x1b{character}"] = (key,)


__all__ = ["Dashboard", "Start", "Wishes"]


class DashboardScreen(Screen[None]):
    """A screen that is not drawn as a whole when the focus moves: the two widgets concerned draw themselves."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)


class Dashboard(Breaking, Looking):
    """Runs one session, from its start until the user leaves."""

    CSS_PATH = "dashboard.tcss"
    TITLE = "dualdbg"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {command_palette.Palette}

    _quitting = False

    def __init__(self, start: Start, terminal: ProgramTerminal | None, wishes: Wishes | None = None) -> None:
        super().__init__(start, terminal, wishes)
        self.keys_line = KeysLine()
        self._first = first({})
        self._keys = KeysInTurn(super().on_event, lambda: self.focused or self.screen)

    async def on_event(self, event: Event) -> None:
        """Keys wait for their turn, but those that come before everything else."""
        typed = isinstance(event, Paste) or (isinstance(event, Key) and event.key not in self._first)
        if typed and not event.is_forwarded:
            await self._keys.add(event)
        else:
            await super().on_event(event)

    async def on_key_done(self) -> None:
        """Everything was done with a key: the next one's turn, once the focus has moved if it moves."""
        self.call_later(self._keys.done)

    # -- the screen -------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[None]:
        return DashboardScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield self.workspace
        yield self.search_bar
        yield self.status
        yield self.keys_line

    def on_mount(self) -> None:
        if not self.is_headless:
            resume_only_after_suspension()
            alt_is_alt()
        if self.settings.theme in self.available_themes:
            self.theme = self.settings.theme
        self.theme_changed_signal.subscribe(self, self.theme_chosen)
        try:
            own = settings.load_keys(self.wishes.keys or settings.keys_path(), NAMES)
        except ConfigError as error:
            self.failure = error
            self.exit()
            return
        self.set_keymap(own)
        self._first = first(own)
        if (
            not self.state_path.exists()
        ):  # the first time: said once, where everybody looks for what can be typed
            hint = f"{self.keymap_of('palette').partition(',')[0]}: all that can be done; help: commands"
            self.views.prompt.line.placeholder = hint
            settings.save(self.state_path, self.settings)
        self.views.program.kept = leaving(own)
        self.views.program.takes_keys = lambda: self.state is State.RUNNING
        self.arrange()
        if self.terminal is not None:
            self.terminal.listen()
        self.views.source.focus()
        self.run_worker(self._run(), name="session")

    def _handle_exception(self, error: Exception) -> None:
        """A defect of dualdbg: the caller is told of it; nothing is drawn."""
        if self.is_headless:  # a test is to see where it happened
            super()._handle_exception(error)
            return
        self.failure = self.failure or error
        self.exit(return_code=1)

    # -- the session ------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            opening = await in_thread(self.wishes.opening)
            await self.start_session(self.subscribe)
        except DualdbgError as error:
            self.failure = error
            self.exit()
            return
        if self.terminal is not None:
            self.terminal.started()
        assert self.console_ is not None
        if opening:
            await self.console_.settle()
            self.say("\n")
            self.say_all()
            self.views.prompt.log_.say_from_its_start(opening)
        for command in self.wishes.commands:
            await self.console_.settle()
            self.turned()
            if not self.console_.ended:
                await self.execute(command)
        while True:
            line = await self.lines.get()
            if line is not None:
                await self.execute(line)
            while (due := self.console_.due_line()) is not None:
                await self.execute(due)

    async def close_session(self) -> None:
        """After the dashboard has ended: end the engines, and let the session end the target or let go of it."""
        if self.loader is not None:
            await self.loader.close()
        if self.console_ is not None:
            await self.console_.close_sessions()
            await self.console_.close()

    def refresh_status(self) -> None:
        """Draw the status line again."""
        session, loader = self.session, self.loader
        if session is None or loader is None:
            return
        console = loader.console
        which = f"process {console.current.process.number}: " if len(console.views) > 1 else ""
        room = self.size.width - 2 - len(loader.work) - len(which)
        has_python = session.has_python
        self.status.text = which + status_text.status(
            session.state, session.stop, session.exit, loader.thread, has_python, room
        )
        self.status.work = loader.work
        self.status.set_state(_STATES.get(session.state, "ended"))
        unknown = () if session.state in STOPPED else ONLY_STOPPED
        self.keys_line.hide(unknown if session.state is State.RUNNING else (*unknown, *ONLY_RUNNING))

    # -- the prompt and the palette ---------------------------------------------------------------

    def on_prompt_view_entered(self, message: PromptView.Entered) -> None:
        text = message.line.strip()
        if text:
            add_to_history(self.history_file, text)
            self.say(f"\x1b[1m(dualdbg) {text}\x1b[0m\n")
        self.lines.put_nowait(message.line)

    def on_prompt_view_left(self) -> None:
        self.show_pane("source", read=False)

    def offer_command(self, command: Command) -> None:
        """Run a command of the prompt, or put it into the command line when it needs arguments."""
        self.offer_line(command.name, bool(command.usage) and not command.usage.startswith("["))

    def offer_line(self, line: str, more: bool) -> None:
        """Run a line, or put it into the command line when ``more`` must follow."""
        self.show_pane("prompt", read=False)
        if more:
            self.views.prompt.line.value = f"{line} "
        else:
            self.on_prompt_view_entered(PromptView.Entered(line))

    def action_page_prompt(self, by: int) -> None:
        self.views.prompt.log_.page(by)

    def action_clear_prompt(self) -> None:
        self.views.prompt.log_.clear()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        return command_palette.commands(self)

    def get_key_display(self, binding: Binding) -> str:
        return shown_key(binding.key)

    def keymap_of(self, name: str) -> str:
        """The keys of an action, as they stand on a keyboard."""
        keys = self._keymap.get(name, NAMES[name]).split(",")
        return ", ".join(map(shown_key, keys))

    def toggle_help(self) -> None:
        """Show the keys of the focused pane, or hide them."""
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    # -- leaving ----------------------------------------------------------------------------------

    @staticmethod
    def _all_run_on(console: Console) -> bool:
        return all(view.ended or view.session.end_target is None for view in console.views)

    async def action_quit(self) -> None:
        """Leave; a target that would end with us is asked about."""
        console = self.console_
        if console is None or console.ended or self._quitting or self._all_run_on(console):
            self.exit()
            return
        self._quitting = True
        back = self.focused

        def answered(text: str | None) -> None:
            self._quitting = False
            if text is not None and text.strip().lower() in ("", "y", "yes"):
                self.exit()
            elif back is not None:
                back.focus()

        self.search_bar.ask("Quit? The program ends with it (Enter, or n)", answered)


_STATES = {
    State.STARTING: "running",
    State.RUNNING: "running",
    State.PYTHON_STOPPED: "python",
    State.NATIVE_STOPPED: "native",
}
