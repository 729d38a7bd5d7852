"""Setting, changing and removing breakpoints."""

from __future__ import annotations

from dataclasses import replace

from ...model import Breakpoint, BreakpointSpec, BreakpointState, NativeFrame, State
from ..base import Base
from ..model import breakpoint_marks
from ..panes.breakpoints import BreakpointsView
from ..panes.source import SourceView

_WATCHES = ("watch", "rwatch", "awatch")
# What of a breakpoint may be another, and it keeps its number, its count and, if it is a watchpoint, its frame.
_SUFFIXES = ("condition", "hits", "hit_condition", "log", "temporary", "thread", "outermost")


def command_of(text: str) -> str:
    """The prompt's command for what was typed where a breakpoint is added: a place, or what is watched."""
    word, _, rest = text.strip().partition(" ")
    return text.strip() if word in _WATCHES and rest and not rest.startswith("if ") else f"break {text}"


def changed_suffixes(old: BreakpointSpec, new: BreakpointSpec) -> dict[str, object] | None:
    """The suffixes that a breakpoint is to have in place of its own; None where more than these is another."""
    fields = {name: getattr(new, name) for name in _SUFFIXES if getattr(new, name) != getattr(old, name)}
    return fields if replace(old, **fields) == new else None


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
            frame = self.loader.frame if self.loader is not None else None
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
            self.ask("Break at, or watch EXPRESSION:", lambda text: self.lines.put_nowait(command_of(text)))
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
        """Change a breakpoint. Where its place is another the new one is set first, and the old one is removed once the
        new one is understood."""
        assert self.session is not None and self.console_ is not None
        table = self.session.breakpoints
        specs = table.read(text)
        fields = changed_suffixes(one.spec, specs[0]) if len(specs) == 1 else None
        if fields is not None:
            await table.change(one.id, **fields)
            return
        frame = await self.console_.python_frame() if self.state is State.PYTHON_STOPPED else None
        added = await table.add(text, frame=frame)
        rejected = [row for row in added if row.state is BreakpointState.REJECTED]
        for row in rejected:  # it was told why
            await table.remove(row.id)
        if not rejected:
            await table.remove(one.id)
