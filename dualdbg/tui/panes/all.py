"""Every pane's widget, by the name it has in the layouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual.widget import Widget

from ..widgets.pane import Pane
from .breakpoints import BreakpointsView
from .memory import MemoryView
from .program import ProgramView
from .prompt import PromptView
from .registers import RegistersView
from .source import SourceView
from .stack import StackView
from .threads import ThreadsView
from .variables import VariablesView


@dataclass(frozen=True)
class Views:
    """The widgets inside the panes."""

    source: SourceView
    stack: StackView
    threads: ThreadsView
    variables: VariablesView
    breakpoints: BreakpointsView
    registers: RegistersView
    memory: MemoryView
    program: ProgramView
    prompt: PromptView

    def items(self) -> Iterator[tuple[str, Widget]]:
        """The names of the panes with their widgets."""
        for name in self.__dataclass_fields__:
            yield name, getattr(self, name)

    def panes(self) -> list[Pane]:
        """A pane around each widget."""
        return [Pane(name, widget) for name, widget in self.items()]
