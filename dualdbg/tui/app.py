"""The dashboard: the whole debugger in a terminal, a front end on one session."""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Footer

from ..console.commands.general import INFO_WORDS
from ..console.commands.registry import Command, find_command, split_line
from ..console.completion import Completions, Names
from ..console.console import Console, Quit
from ..console.highlight import highlight
from ..console.history import add_to_history, history_path, read_history
from ..console.printer import Printer
from ..console.reports import ErrorReport, Report
from ..console.style import Style
from ..errors import CommandError, DualdbgError
from ..model import Breakpoint, Event, NativeFrame, Notice, Progress, State
from ..session.session import Session
from . import marks, palette, settings, words
from .arrangement import grow
from .follower import Follower
from .goto import understand
from .keys import NAMES, bindings, leaving
from .lines import LineView
from .pane import Pane, PaneTitle
from .panes.all import Views
from .panes.breakpoints import BreakpointsView
from .panes.memory import MemoryView
from .panes.program import ProgramView
from .panes.prompt import CommandLine, PromptView
from .panes.registers import RegistersView
from .panes.source import SourceView
from .panes.stack import StackView
from .panes.threads import ThreadsView
from .panes.variables import VariablesView
from .presets import AUTOMATIC, PANES, PRESETS, suitable
from .screens.detail import Detail
from .search_bar import SearchBar
from .status_line import StatusLine
from .terminal.pty import ProgramTerminal
from .workspace import Workspace

Start = Callable[[Callable[[Session], None]], Awaitable[Session]]
"""Starts a session; it calls its argument with the session before anything happens in it."""

_BATCH = 1 / 30  # seconds in which what is said is collected
_STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)


@dataclass(frozen=True)
class Wishes:
    """What the caller wants of the dashboard: prompt commands for the first stop, names to complete, files to use."""

    commands: Sequence[str] = ()
    names: Names = lambda _text: ()
    state: Path | None = None
    keys: Path | None = None
    history: Path | None = None


class Dashboard(App[None]):
    """Runs one session. ``failure`` is why it could not be started, once the dashboard has ended."""

    CSS_PATH = "dashboard.tcss"
    TITLE = "dualdbg"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(self, start: Start, terminal: ProgramTerminal | None, wishes: Wishes = Wishes()) -> None:
        super().__init__()
        self._start = start
        self.terminal = terminal
        self._wishes = wishes
        self._state_path = wishes.state or settings.state_path()
        self.settings = settings.load(self._state_path)
        self._history = wishes.history or history_path()
        self.failure: DualdbgError | None = None
        self.console_: Console | None = None
        self.follower: Follower | None = None
        self._printer = Printer(Style(80, True))
        self._said: list[str] = []
        self._saying = False
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._last: tuple[str, Command] | None = None
        self._stepping = False
        self._preset = AUTOMATIC
        self._quitting = False
        completions = Completions(wishes.names, INFO_WORDS)
        self.views = Views(
            SourceView(),
            StackView(),
            ThreadsView(),
            VariablesView(self._children),
            BreakpointsView(),
            RegistersView(),
            MemoryView(),
            ProgramView(terminal),
            PromptView(completions.candidates, read_history(self._history)),
        )
        self.workspace = Workspace(self.views.panes(), PRESETS["small"])
        self.search_bar = SearchBar()
        self.status = StatusLine()

    # -- the screen -------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield self.workspace
        yield self.search_bar
        yield self.status
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        if self.settings.theme in self.available_themes:
            self.theme = self.settings.theme
        self.theme_changed_signal.subscribe(self, self._theme_chosen)
        own = settings.load_keys(self._wishes.keys or settings.keys_path(), NAMES)
        self.set_keymap(own)
        self.views.program.kept = leaving(own)
        self.views.program.takes_keys = lambda: self._state is State.RUNNING
        self.arrange()
        if self.terminal is not None:
            self.terminal.listen()
        self.views.source.focus()
        self.run_worker(self._run(), name="session", exit_on_error=True)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.arrange)

    def arrange(self) -> None:
        """The layout that the user chose, or the one that suits the size."""
        layout = self.settings.layout
        preset = suitable(self.size.width, self.size.height) if layout == AUTOMATIC else layout
        if preset != self._preset:
            self._preset = preset
            focused = self._focused_pane()
            self.workspace.arrangement = self.settings.arrangement(preset)
            if focused is not None:
                self.workspace.show_pane(focused)

    def note(self, pane: str, text: str) -> None:
        self.workspace.panes[pane].note = text

    def _focused_pane(self) -> str | None:
        node = self.focused
        while node is not None and not isinstance(node, Pane):
            node = node.parent  # type: ignore[assignment]
        return node.name_ if isinstance(node, Pane) else None

    def show_pane(self, name: str, focus: bool = True) -> None:
        self.workspace.show_pane(name)
        if focus:
            self.call_after_refresh(self._focus_pane, name)
        if self.follower is not None:
            self.follower.reload()

    def _focus_pane(self, name: str) -> None:
        content: Widget = self.workspace.panes[name].content
        (self.views.prompt.line if content is self.views.prompt else content).focus()

    # -- the session ------------------------------------------------------------------------------

    @property
    def _state(self) -> State:
        return self.console_.session.state if self.console_ is not None else State.STARTING

    async def _run(self) -> None:
        try:
            await self._start(self._subscribe)
        except DualdbgError as error:
            self.failure = error
            self.exit()
            return
        if self.terminal is not None:
            self.terminal.started()
        assert self.console_ is not None
        for command in self._wishes.commands:
            await self.console_.settle()
            if not self.console_.ended:
                await self._execute(command)
        while True:
            await self._execute(await self._lines.get())

    async def close_session(self) -> None:
        """After the dashboard has ended: the engines go, and what the session decides of the target happens."""
        if self.follower is not None:
            await self.follower.close()
        if self.console_ is not None:
            await self.console_.session.close()
            await self.console_.close()

    def _subscribe(self, session: Session) -> None:
        self.console_ = console = Console(session, self._show)
        self.follower = Follower(
            console,
            self.views,
            lambda pane: pane in self.workspace.shown(),
            self.note,
            self._refresh_status,
            self._complain,
        )
        console.on_event = self._event

    def _event(self, event: Event) -> None:
        assert self.follower is not None
        self._stepping = False
        self.follower.event(event)

    def _children(self, reference: int) -> Awaitable[Sequence[Any]]:
        assert self.console_ is not None
        return self.console_.session.inspector.children(reference)

    def _refresh_status(self) -> None:
        console, follower = self.console_, self.follower
        if console is None or follower is None:
            return
        session = console.session
        self.status.text = words.status(
            session.state,
            session.stop,
            session.exit,
            follower.thread,
            self.size.width - 2 - len(follower.work),
        )
        self.status.work = follower.work
        self.status.set_state(_STATES.get(session.state, "ended"))

    # -- what is said -----------------------------------------------------------------------------

    def _show(self, report: Report) -> None:
        if isinstance(report, Progress):
            return
        width = max(self.views.prompt.log_.size.width, 20)
        if self._printer.style.width != width:
            colour = not self.no_color
            self._printer = Printer(
                Style(width, colour),
                lambda file, line: linecache.getline(file, line) or None,
                highlight if colour else lambda _file, _first, lines: lines,
            )
        self.say(self._printer.render(report))
        if isinstance(report, ErrorReport):
            self.notify(_both(report.message, report.hint), severity="error", markup=False)
        elif isinstance(report, Notice) and report.level in ("warning", "error"):
            severity = "error" if report.level == "error" else "warning"
            self.notify(_both(report.message, report.hint), severity=severity, markup=False)  # type: ignore[arg-type]

    def say(self, text: str) -> None:
        """Text for the log of the prompt; much of it in a short time is shown together."""
        if text:
            self._said.append(text)
            if not self._saying:
                self._saying = True
                self.set_timer(_BATCH, self._say_all)

    def _say_all(self) -> None:
        self._saying = False
        self.views.prompt.log_.say("".join(self._said))
        self._said.clear()

    def _complain(self, error: DualdbgError) -> None:
        self._show(ErrorReport(error.message, error.hint))

    # -- commands ---------------------------------------------------------------------------------

    async def _execute(self, line: str) -> None:
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
        self._last = (line, command) if command is not None and command.repeats else None
        if self.follower is not None and console.stopped:
            self.follower.show_breakpoints()
            if console.selection != before or not self._looks_only(line):
                self.follower.reload()

    def _looks_only(self, line: str) -> bool:
        """Whether a command can have changed nothing that is shown."""
        try:
            return find_command(split_line(line)[0]).area in ("general", "sources", "threads", "execution")
        except DualdbgError:
            return True

    def act(self, work: Awaitable[Any]) -> None:
        """Run something the user asked for by a key; a failure is shown."""

        async def guarded() -> None:
            try:
                await work
            except DualdbgError as error:
                self._complain(error)
            if self.follower is not None:
                self.follower.show_breakpoints()

        self.run_worker(guarded())

    def on_prompt_view_entered(self, message: PromptView.Entered) -> None:
        text = message.line.strip()
        if text:
            add_to_history(self._history, text)
            self.say(f"\x1b[1m(dualdbg) {text}\x1b[0m\n")
        self._lines.put_nowait(message.line)

    # -- actions: running -------------------------------------------------------------------------

    def action_run(self, command: str) -> None:
        if self._state in _STOPPED and not self._stepping:
            self._stepping = True
            self.act(self._resume(command))

    async def _resume(self, command: str) -> None:
        assert self.console_ is not None
        session = self.console_.session
        try:
            if command == "continue":
                await session.resume()
            else:
                await session.step(command)
        except DualdbgError:
            self._stepping = False
            raise

    def action_until(self) -> None:
        place = self.views.source.place()
        if place is None or self.console_ is None or self._state not in _STOPPED:
            return
        file, line = place
        self.act(self.console_.session.step("until", f"*{line:#x}" if file is None else f"{file}:{line}"))

    def action_pause(self) -> None:
        if self._state is State.RUNNING and self.console_ is not None:
            self.act(self.console_.session.pause())

    def action_interrupt(self) -> None:
        focused = self.focused
        if focused is self.views.program and self.terminal is not None and self._state is State.RUNNING:
            self.terminal.send("\x03")  # the terminal's own way: a program in raw mode reads it as a key
        elif isinstance(focused, CommandLine) and focused.selected_text:
            focused.action_copy()
        elif self._state is State.RUNNING:
            self.action_pause()
        else:
            self.notify("The target is stopped already. q leaves.", timeout=3)

    def action_frame(self, by: int) -> None:
        follower, console = self.follower, self.console_
        if follower is None or console is None or follower.stack is None or console.selection is None:
            return
        number = console.selection.number + by
        if 0 <= number < len(follower.stack.visible()):
            follower.select(console.selection.tid, number)

    # -- actions: breakpoints ---------------------------------------------------------------------

    def action_breakpoint(self) -> None:
        self.views.source.toggle()

    def on_source_view_toggled(self, message: SourceView.Toggled) -> None:
        if self.console_ is not None:
            self.act(self._toggle(message.file, message.line))

    async def _toggle(self, file: str | None, line: int) -> None:
        assert self.console_ is not None
        table = self.console_.session.breakpoints
        there = marks.at(table.all(), file, line)
        for one in there:
            await table.remove(one.id)
        if not there:
            frame = self.follower.frame if self.follower is not None else None
            python = frame is not None and frame.file == file and not isinstance(frame, NativeFrame)
            spec = marks.address_spec(line) if file is None else marks.line_spec(file, line, python)
            await table.add_spec(spec)

    def on_breakpoints_view_wished(self, message: BreakpointsView.Wished) -> None:
        if self.console_ is None:
            return
        table, one = self.console_.session.breakpoints, message.breakpoint
        if message.what == "add":
            self._ask("Break at:", lambda text: self._lines.put_nowait(f"break {text}"))
        elif one is None:
            return
        elif message.what == "toggle":
            self.act(table.enable(one.id, not one.enabled))
        elif message.what == "remove":
            self.act(table.remove(one.id))
        else:
            self._ask(f"Breakpoint {one.id}:", lambda text: self.act(self._edit(one, text)), spec_text(one))

    async def _edit(self, one: Breakpoint, text: str) -> None:
        assert self.console_ is not None
        table = self.console_.session.breakpoints
        await table.add(text, temporary=one.spec.temporary)
        await table.remove(one.id)

    # -- actions: looking -------------------------------------------------------------------------

    def on_stack_view_selected(self, message: StackView.Selected) -> None:
        if self.follower is not None and self.follower.stack is not None:
            self.follower.select(self.follower.stack.thread, message.number)

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        view = message.view
        row = getattr(view, "current", None)
        if isinstance(view, ThreadsView) and row is not None and self.follower is not None:
            self.follower.select(row.thing)
        elif isinstance(view, StackView):
            self.show_pane("source")
        elif isinstance(view, VariablesView) and view.branch is not None:
            value = view.branch.value
            self.push_screen(Detail(".".join(view.branch.path), value.type, value.value))
        elif isinstance(view, RegistersView) and row is not None:
            self._show_memory_at(row.thing.value)
        elif isinstance(view, BreakpointsView) and row is not None and self.follower is not None:
            location = row.thing
            if location.file is not None:
                self.act(self.follower.show_file(location.file, location.line))
            elif location.address is not None:
                self.act(self.follower.show_code(location.address, None, False))

    def on_memory_view_wanted(self, message: MemoryView.Wanted) -> None:
        if self.follower is not None:
            self.act(self.follower.show_memory(message.address))

    def _show_memory_at(self, text: str) -> None:
        try:
            address = int(text, 16)
        except ValueError:
            return
        self.views.memory.address = address
        self.show_pane("memory")

    def action_assembly(self) -> None:
        if self.follower is not None:
            self.follower.assembly = not self.follower.assembly
            self.follower.reload()

    # -- actions: panes ---------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        self.show_pane(name)

    def action_pane_number(self, number: int) -> None:
        self.show_pane(list(PANES)[number - 1])

    def action_pane_by(self, by: int) -> None:
        visible = self.workspace.shown()
        focused = self._focused_pane()
        at = visible.index(focused) if focused in visible else -1
        if self.workspace.zoomed is not None:
            visible = self.workspace.place_of(self.workspace.zoomed).panes
            at = visible.index(self.workspace.zoomed)
        self.show_pane(visible[(at + by) % len(visible)])

    def on_pane_title_clicked(self, message: PaneTitle.Clicked) -> None:
        self.show_pane(message.pane)

    def action_zoom(self) -> None:
        workspace = self.workspace
        workspace.zoomed = None if workspace.zoomed is not None else self._focused_pane()

    def action_layout(self) -> None:
        names = [AUTOMATIC, *PRESETS]
        self.choose_layout(names[(names.index(self.settings.layout) + 1) % len(names)])

    def choose_layout(self, name: str) -> None:
        self._preset = ""
        self.settings = replace(self.settings, layout=name)
        self.workspace.zoomed = None
        self.arrange()
        self._remember()
        self.notify(f"Layout: {name}", timeout=2)

    def reset_layout(self) -> None:
        """The layout as it came, without what was dragged."""
        kept = {name: node for name, node in self.settings.arrangements.items() if name != self._preset}
        self.settings = replace(self.settings, arrangements=kept)
        self.choose_layout(self.settings.layout)

    def action_grow(self, axis: str, by: int) -> None:
        pane = self._focused_pane()
        if pane is not None:
            workspace = self.workspace
            workspace.arrangement = grow(workspace.arrangement, pane, axis, by, workspace.box)  # type: ignore[arg-type]
            self.on_workspace_changed()

    def on_workspace_changed(self) -> None:
        arrangements = {**self.settings.arrangements, self._preset: self.workspace.arrangement}
        self.settings = replace(self.settings, arrangements=arrangements)
        self._remember()

    def _theme_chosen(self, theme: Theme) -> None:
        if theme.name != self.settings.theme:
            self.settings = replace(self.settings, theme=theme.name)
            self._remember()

    def _remember(self) -> None:
        settings.save(self._state_path, self.settings)

    # -- actions: search, places, the palette -----------------------------------------------------

    def _ask(self, question: str, answered: Callable[[str], None], text: str = "") -> None:
        """A question in the line at the bottom; an empty answer and escape are none."""
        back = self.focused

        def entered(answer: str | None) -> None:
            if back is not None:
                back.focus()
            if answer:
                answered(answer)

        self.search_bar.ask(question, entered, text=text)

    def _searched(self) -> LineView | None:
        focused = self.focused
        return focused if isinstance(focused, LineView) else None

    def action_search(self) -> None:
        view = self._searched() or self.views.source

        def typed(text: str) -> None:
            view.search(text)

        def entered(text: str | None) -> None:
            view.focus()
            if text is None:
                view.search("")
            elif not view.search(text):
                self.notify(f"{text!r} is not there.", markup=False, timeout=3)

        self.search_bar.ask("/", entered, typed)

    def action_found(self, by: int) -> None:
        view = self._searched() or self.views.source
        if view.found:
            view.search(view.found, forward=by > 0, again=True)

    def action_go(self) -> None:
        in_memory = self._focused_pane() == "memory"
        question = (
            "Memory at (an address or an expression):"
            if in_memory
            else "Go to (file:line, function, address):"
        )
        self._ask(question, lambda text: self.act(self._go_memory(text) if in_memory else self._go(text)))

    async def _go(self, text: str) -> None:
        follower, console = self.follower, self.console_
        if follower is None or console is None:
            return
        spot = understand(text, self.views.source.source, follower.stack, (Path.cwd(),))
        if spot is None:
            spot = await follower.find_function(text)
        if spot.file is not None:
            if not await follower.show_file(spot.file, spot.line):
                raise CommandError(f"{spot.file} cannot be read", "")
        elif spot.address is not None:
            await follower.show_code(spot.address, None, False)
        self.show_pane_only("source")

    async def _go_memory(self, text: str) -> None:
        if self.follower is not None:
            await self.follower.show_memory(await self.follower.address_of(text))

    def show_pane_only(self, name: str) -> None:
        """Bring a pane to the front without reading anything again."""
        self.workspace.show_pane(name)
        self.call_after_refresh(self._focus_pane, name)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        return palette.commands(self)

    def keymap_of(self, name: str) -> str:
        return self._keymap.get(name, NAMES[name]).replace(",", ", ")

    def offer_command(self, command: Command) -> None:
        """A command of the prompt: run, or put into the line when it wants to know more."""
        if command.usage and not command.usage.startswith("["):
            self.views.prompt.line.value = f"{command.name} "
            self.show_pane("prompt")
        else:
            self.show_pane("prompt")
            self.on_prompt_view_entered(PromptView.Entered(command.name))

    def switch_brightness(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def toggle_help(self) -> None:
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def action_clear_prompt(self) -> None:
        self.views.prompt.log_.clear()

    # -- leaving ----------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leave; a target that would end with us is asked about."""
        session = self.console_.session if self.console_ is not None else None
        if session is None or session.ended.is_set() or self._quitting or session.end_target is None:
            self.exit()
            return
        self._quitting = True

        def answered(text: str | None) -> None:
            self._quitting = False
            if text is not None and text.strip().lower() in ("", "y", "yes"):
                self.exit()
            elif back is not None:
                back.focus()

        back = self.focused
        self.search_bar.ask("Quit? The program ends with it (y, or n)", answered)


def spec_text(one: Breakpoint) -> str:
    """A breakpoint as a user would type it."""
    spec = one.spec
    parts = [spec.text]
    parts += [f"if {spec.condition}"] if spec.condition else []
    parts += [f"hits {spec.hits}"] if spec.hits else []
    parts += [f"thread {spec.thread}"] if spec.thread else []
    return " ".join(parts)


def _both(message: str, hint: str) -> str:
    return f"{message}\n{hint}" if hint else message


_STATES = {
    State.STARTING: "running",
    State.RUNNING: "running",
    State.PYTHON_STOPPED: "python",
    State.NATIVE_STOPPED: "native",
}
