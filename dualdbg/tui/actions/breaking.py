"""Setting, changing and removing breakpoints."""

from __future__ import annotations

from ...model import Breakpoint, NativeFrame
from ..base import Base
from ..model import breakpoint_marks
from ..panes.breakpoints import BreakpointsView
from ..panes.source import SourceView


class Breaking(Base):
    """Breakpoints by key and mouse. What can also be typed goes through the prompt's own command."""

    def action_breakpoint(self) -> None:
        self.views.source.toggle()

    def on_source_view_toggled(self, message: SourceView.Toggled) -> None:
        self.act(self._toggle(message.file, message.line))

    async def _toggle(self, file: str | None, line: int) -> None:
        if self.session is None:
            return
        table = self.session.breakpoints
        there = breakpoint_marks.at(table.all(), file, line)
        for one in there:
            await table.remove(one.id)
        if not there:
            frame = self.follower.frame if self.follower is not None else None
            python = frame is not None and frame.file == file and not isinstance(frame, NativeFrame)
            spec = (
                breakpoint_marks.address_spec(line)
                if file is None
                else breakpoint_marks.line_spec(file, line, python)
            )
            await table.add_spec(spec)

    def on_breakpoints_view_wished(self, message: BreakpointsView.Wished) -> None:
        one = message.breakpoint
        if self.session is None:
            return
        table = self.session.breakpoints
        if message.what == "add":
            self.ask("Break at:", lambda text: self.lines.put_nowait(f"break {text}"))
        elif one is None:
            return
        elif message.what == "toggle":
            self.act(table.enable(one.id, not one.enabled))
        elif message.what == "remove":
            self.act(table.remove(one.id))
        else:
            chosen = one
            self.ask(
                f"Breakpoint {one.id}:", lambda text: self.act(self._edit(chosen, text)), table.text(one.id)
            )

    async def _edit(self, one: Breakpoint, text: str) -> None:
        """Change a breakpoint: the new one is set first, and the old one is removed once the new one is understood."""
        assert self.session is not None
        table = self.session.breakpoints
        await table.add(text)
        await table.remove(one.id)
