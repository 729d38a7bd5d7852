"""Looking at things: frames, threads, values, memory, places in the source; and searching."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ...console.console import View
from ...errors import CommandError
from ...known.python_files import is_of_a_library
from ...model import Breakpoint, Language, Task
from ...system.folders import here
from ...system.terminal_text import visible, visible_text
from ..model.goto_target import understand
from ..panes.breakpoints import BreakpointsView
from ..panes.memory import MemoryView
from ..panes.registers import RegistersView
from ..panes.stack import StackView
from ..panes.threads import ThreadsView
from ..panes.variables import VariablesView
from ..widgets.line_view import LineView
from ..widgets.row_view import RowsView
from .arranging import Arranging
from .following import Following

_MOST = 20_000  # characters that are drawn


class Detail(ModalScreen[None]):
    """Escape, enter or q close it; y copies the value."""

    CSS = """
    Detail { align: center middle; }
    Detail > VerticalScroll { width: 90%; max-width: 120; height: auto; max-height: 80%; background: $surface;
                              border: round $primary; padding: 0 1; }
    Detail Static { width: 100%; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "Close"),
        Binding("y", "copy", "Copy"),
    ]

    def __init__(self, name: str, type_name: str, text: str) -> None:
        super().__init__()
        self._title = visible(f"{name}: {type_name}" if type_name else name)
        self._text = visible_text(text)
        self._shown = self._text[:_MOST]
        if len(text) > _MOST:
            self._shown += f"\n… {len(text) - _MOST} more characters: y copies them all"

    def compose(self) -> ComposeResult:
        box = VerticalScroll(Static(self._shown, markup=False))
        box.border_title = self._title.replace("[", "\\[")
        box.border_subtitle = "esc closes, y copies"
        yield box

    def action_copy(self) -> None:
        """Copy the value."""
        self.app.copy_to_clipboard(self._text)


class Looking(Following, Arranging):
    """Enter on a line of a pane, g and /."""

    def on_stack_view_selected(self, message: StackView.Selected) -> None:
        if self.loader is not None and self.loader.stack is not None:
            self.loader.select(self.loader.stack.thread, message.number)

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        view = message.view
        row = view.current if isinstance(view, RowsView) else None
        if row is None or self.loader is None:
            return
        if isinstance(row.thing, View):
            self.look_at(row.thing)
        elif isinstance(row.thing, Task):
            self._look_at_task(row.thing)
        elif isinstance(view, ThreadsView):
            self.loader.select(row.thing)
        elif isinstance(view, StackView):
            self.show_pane("source", read=False)
        elif isinstance(view, VariablesView):
            value = row.thing.value
            self.push_screen(Detail(".".join(row.thing.path), value.type, value.value))
        elif isinstance(view, RegistersView):
            self._look_at_memory(row.thing.value)
        elif isinstance(view, BreakpointsView) and not isinstance(row.thing, Breakpoint):
            if row.thing.file is not None:
                self.act(self.loader.show_file(row.thing.file, row.thing.line))
            elif row.thing.address is not None:
                self.act(self.loader.show_code(row.thing.address, None, False))

    def _look_at_task(self, task: Task) -> None:
        """Show the source of the user's own code in which a task stands, and all of its frames."""
        places = [f"{frame.function}  {frame.file}:{frame.line}" for frame in task.frames]
        own = [frame for frame in task.frames if frame.file and not is_of_a_library(frame.file)]
        frame = next(iter(own or task.frames), None)
        if frame is not None and frame.file is not None and self.loader is not None:
            self.act(self.loader.show_file(frame.file, frame.line))
        self.push_screen(Detail(task.name, task.coroutine, "\n".join([task.state.value, *places])))

    def on_variables_view_watched(self, message: VariablesView.Watched) -> None:
        loader, watches = self.loader, self.views.variables.watches
        if loader is None or loader.frame is None:
            self.notify("A stopped target has expressions to watch.", timeout=3)
        elif not message.remove:
            language = loader.frame.language
            self.ask(f"Watch ({language.value}):", lambda text: self._watch(text.strip(), language))
        elif watches.remove(message.remove):
            loader.reload()

    def _watch(self, expression: str, language: Language) -> None:
        if self.loader is not None:
            self.views.variables.watches.add(expression, language)
            self.loader.reload()

    def on_memory_view_wanted(self, message: MemoryView.Wanted) -> None:
        if self.loader is not None:
            self.act(self.loader.show_memory(message.address))

    def _look_at_memory(self, register: str) -> None:
        try:
            self.views.memory.address = int(register, 16)
        except ValueError:  # a register that holds no number: flags, a vector
            return
        self.show_pane("memory")

    def action_assembly(self) -> None:
        """Show the machine code of the frame instead of its source, or the source again."""
        if self.loader is not None:
            self.loader.assembly = not self.loader.assembly
            self.loader.reload()

    def action_here(self) -> None:
        """Back to where the selected frame stands, after looking elsewhere."""
        if self.loader is not None and self.loader.stack is not None:
            self.show_pane("source", read=False)
            self.loader.to_frame()

    # -- places -----------------------------------------------------------------------------------

    def action_go(self) -> None:
        if self.focused_pane() == "memory":
            self.ask("Memory at (an address or an expression):", lambda text: self.act(self._go_memory(text)))
        else:
            self.ask("Go to (file:line, line, function, address):", lambda text: self.act(self._go(text)))

    async def _go(self, text: str) -> None:
        loader = self.loader
        if loader is None:
            return
        spot = understand(text, self.views.source.source, loader.stack, (here(),))
        if spot is None:
            spot = await loader.find_function(text)
        if spot.file is not None:
            if not await loader.show_file(spot.file, spot.line):
                raise CommandError(f"{spot.file} cannot be read", "look at its permissions")
        elif spot.address is not None:
            await loader.show_code(spot.address, None, False)
        self.show_pane("source", read=False)

    async def _go_memory(self, text: str) -> None:
        if self.loader is not None:
            await self.loader.show_memory(await self.loader.address_of(text))

    # -- search -----------------------------------------------------------------------------------

    def _searched(self) -> LineView:
        focused = self.focused
        if isinstance(focused, LineView):
            return focused
        return self.views.prompt.log_ if self.focused_pane() == "prompt" else self.views.source

    def action_search(self) -> None:
        view = self._searched()

        def entered(text: str | None) -> None:
            view.focus()
            if text is None:
                view.search("")
            elif not view.search(text):
                self.notify(f"{text!r} is not there.", markup=False, timeout=3)

        self.search_bar.ask("/", entered, view.search)

    def action_found(self, by: int) -> None:
        view = self._searched()
        if view.found:
            view.search(view.found, forward=by > 0, again=True)
