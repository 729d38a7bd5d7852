"""What every action of the dashboard needs: the session, the panes, and ways to say and to ask something."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.segment import Segment
from textual.app import App
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import Worker

from ..console.commands.information import INFO_WORDS
from ..console.commands.registry import Command, find_command, split_line
from ..console.completion import Completions, FunctionNames, Names, breakpoint_numbers
from ..console.console import Console, Quit
from ..console.highlight import highlight
from ..console.history import history_path, read_history
from ..console.printer import Printer
from ..console.reports import ErrorReport, OfProcess, Report
from ..console.style import Style
from ..console.value_names import names_at_end
from ..errors import DualdbgError
from ..model import Notice, Progress, State
from ..session.inferiors import Process
from ..session.session import Session
from ..system.source_files import source_line
from ..system.terminal_text import visible, visible_text
from . import settings
from .model.layout_presets import PRESETS
from .model.looks import fit
from .panes.all import Views
from .panes.breakpoints import BreakpointsView
from .panes.memory import MemoryView
from .panes.program import ProgramView
from .panes.prompt import PromptView
from .panes.registers import RegistersView
from .panes.source import SourceView
from .panes.stack import StackView
from .panes.threads import ThreadsView
from .panes.variables import VariablesView
from .stop_loader import StopLoader
from .terminal.pty import ProgramTerminal
from .widgets.line_view import component_style
from .widgets.search_bar import SearchBar
from .widgets.workspace import Workspace


class StatusLine(Widget):
    """``text`` gives the state; ``state`` is the CSS class of its colours; ``work`` is what is going on."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"status--work"}

    text: reactive[str] = reactive("starting")
    work: reactive[str] = reactive("")

    def set_state(self, state: str) -> None:
        """Take the colours of a state."""
        self.set_classes(f"-{state}")

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        work = f" {self.work} " if self.work else ""
        text = fit(visible(f" {self.text}"), max(width - len(work), 0))
        look = component_style(self, "status--work")
        return Strip(
            [Segment(f"{text:<{max(width - len(work), 0)}}", base), Segment(work, base + look)]
        ).crop(0, width)


Subscribe = Callable[["Session | Process"], None]
Start = Callable[[Subscribe], Awaitable[Session]]
"""Starts a run; it calls its argument with its session, and each process that joins, before anything happens in it."""

STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)
_BATCH = 1 / 30  # seconds in which what is said is collected


@dataclass(frozen=True)
class Wishes:
    """What the caller wants of the dashboard: prompt commands for the first stop, names to complete, files to use.

    ``opening`` makes, in a thread, the text that the log of the prompt begins with.
    """

    commands: Sequence[str] = ()
    names: Names = lambda _text: ()
    state: Path | None = None
    keys: Path | None = None
    history: Path | None = None
    opening: Callable[[], str] = lambda: ""


class Base(App[None]):
    """``failure`` is why the session could not be started, or the error that ended the dashboard."""

    def __init__(self, start: Start, terminal: ProgramTerminal | None, wishes: Wishes | None = None) -> None:
        super().__init__()
        self.start_session = start
        self.terminal = terminal
        self.wishes = wishes or Wishes()
        self.state_path = self.wishes.state or settings.state_path()
        self.settings = settings.load(self.state_path)
        self.history_file = self.wishes.history or history_path()
        self.failure: Exception | None = None
        self.console_: Console | None = None
        self.loader: StopLoader | None = None
        self._printer = Printer(Style(80, True))
        self._said: list[str] = []
        self._saying = False
        self._acting: list[Worker[None]] = []  # the work that keys have asked for
        self._last: tuple[str, Command] | None = None
        # What was typed, and not yet run. None: look what is due at a stop.
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.functions = FunctionNames(lambda: self.session)
        completions = Completions(self._spec_names, INFO_WORDS, lambda: breakpoint_numbers(self.session))
        self.views = Views(
            SourceView(),
            StackView(),
            ThreadsView(),
            VariablesView(self._children),
            BreakpointsView(),
            RegistersView(),
            MemoryView(),
            ProgramView(terminal),
            PromptView(completions.candidates, self._value_names, read_history(self.history_file)),
        )
        self.workspace = Workspace(self.views.panes(), PRESETS["small"])
        self.search_bar = SearchBar()
        self.status = StatusLine()

    def _spec_names(self, text: str) -> list[str]:
        return [*self.wishes.names(text), *sorted(self.functions(text))]

    async def _value_names(self, line: str) -> tuple[list[str], int]:
        return await names_at_end(self.console_, line) if self.console_ is not None else ([], 0)

    # -- the session ------------------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        """The session of the current process; None until there is one."""
        return self.console_.session if self.console_ is not None else None

    @property
    def state(self) -> State:
        """The state of the current process."""
        return self.console_.session.state if self.console_ is not None else State.STARTING

    def _children(self, reference: int) -> Awaitable[Sequence[Any]]:
        assert self.console_ is not None
        return self.console_.session.inspector.children(reference)

    def act(self, work: Awaitable[Any]) -> None:
        """Run something that the user asked for by a key; a failure is shown."""

        async def guarded() -> None:
            try:
                await work
            except DualdbgError as error:
                self.complain(error)
            if self.loader is not None:
                self.loader.show_breakpoints()

        worker = self.run_worker(guarded())
        self._acting = [one for one in (*self._acting, worker) if not one.is_finished]

    def cancel(self) -> bool:
        """Give up what takes long: a command, the work of a key, the reading of the panes. False when nothing does."""
        acting = [one for one in self._acting if not one.is_finished]
        for one in acting:
            one.cancel()
        commanded = self.console_ is not None and self.console_.cancel()
        read = self.loader is not None and self.loader.give_up()
        if (acting or read) and not commanded:  # a command says so itself
            self.show(Notice("warning", "given up"))
        return bool(acting) or commanded or read

    async def execute(self, line: str) -> None:
        """One line of the prompt; an empty one does the last step again."""
        console = self.console_
        assert console is not None
        if not line.strip():
            if self._last is None:
                return
            text, repeated = self._last
            line = repeated.name if repeated.name == "list" else text
        before = console.selection
        try:
            command = await console.execute(line)
        except Quit:
            self.exit()
            return
        self.turned()
        self._last = (line, command) if command is not None and command.repeats else None
        if self.loader is not None and console.stopped:
            self.loader.show_breakpoints()
            if console.selection != before or not _only_looks(line):
                self.loader.reload()

    # -- what is said and asked -------------------------------------------------------------------

    def show(self, report: Report) -> None:
        """Show a report of the session or of a command in the log, and over the panes when the log is not visible."""
        inner = report.report if isinstance(report, OfProcess) else report
        if isinstance(inner, Progress):
            return
        width = max(self.views.prompt.log_.room, 20)
        if self._printer.style.width != width:
            colour = not self.no_color
            self._printer = Printer(
                Style(width, colour),
                source_line,
                highlight if colour else lambda _file, _first, lines: lines,
            )
        self.say(self._printer.render(report))
        if "prompt" in self.workspace.shown():
            return
        if isinstance(inner, ErrorReport) or (isinstance(inner, Notice) and inner.level == "error"):
            self.notify(_both(inner.message, inner.hint), severity="error", markup=False)
        elif isinstance(inner, Notice) and inner.level == "warning":
            self.notify(_both(inner.message, inner.hint), severity="warning", markup=False)

    def say(self, text: str) -> None:
        """Text for the log of the prompt; much of it in a short time is shown together."""
        if text:
            self._said.append(text)
            if not self._saying:
                self._saying = True
                self.set_timer(_BATCH, self.say_all)

    def say_all(self) -> None:
        """Show what was collected."""
        self._saying = False
        if self._said:
            self.views.prompt.log_.say("".join(self._said))
            self._said.clear()

    def complain(self, error: DualdbgError) -> None:
        """Show an error in the log."""
        self.show(ErrorReport(error.message, error.hint))

    def refresh_status(self) -> None:
        """Draw the status line again."""
        raise NotImplementedError

    def turned(self) -> None:
        """The panes go to the process that is the current one now."""
        raise NotImplementedError

    def ask(self, question: str, answered: Callable[[str], None], text: str = "") -> None:
        """Ask in the line at the bottom. Nothing happens for an empty answer or escape."""
        back = self.focused

        def entered(answer: str | None) -> None:
            if back is not None:
                back.focus()
            if answer:
                answered(answer)

        self.search_bar.ask(question, entered, text=text)


def _only_looks(line: str) -> bool:
    """Whether a command only looks, so that nothing on the screen can have changed."""
    try:
        return find_command(split_line(line)[0]).area in ("general", "sources", "threads", "run_control")
    except DualdbgError:
        return True


def _both(message: str, hint: str) -> str:
    return visible_text(f"{message}\n{hint}" if hint else message)
