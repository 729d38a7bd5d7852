"""Panes and layouts: which panes are shown, where, and how large; and what is remembered of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from textual import events
from textual.theme import Theme
from textual.widget import Widget

from .. import settings
from ..base import Base
from ..model.arrangement import Axis, grow
from ..model.layout_presets import AUTOMATIC, PANES, PRESETS, suitable
from ..widgets.pane import Pane, PaneTitle


class Arranging(Base):
    """The layout is a preset with the sizes that the user has dragged. The user or the terminal's size chooses it."""

    _preset = ""

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        self.arrange()
        self.refresh_status()
        self.screen.refresh(layout=True)  # draw everything again: what was drawn meanwhile has the old size

    def arrange(self) -> None:
        """Show the layout that the user chose, or the one that suits the size."""
        layout = self.settings.layout
        preset = suitable(self.size.width, self.size.height) if layout == AUTOMATIC else layout
        if preset != self._preset:
            self._preset = preset
            focused, before = self.focused_pane(), self.workspace.shown()
            self.workspace.arrangement = self.settings.arrangement(preset)
            if focused is not None:
                self.workspace.show_pane(focused)
            self._read_new(before)

    def _read_new(self, before: Sequence[str]) -> None:
        """Panes have come into sight: what they show is read, for nothing is read for those that nobody sees."""
        if self.loader is not None and not set(self.workspace.shown()) <= set(before):
            self.loader.reload()

    # -- panes ------------------------------------------------------------------------------------

    def focused_pane(self) -> str | None:
        """The name of the pane that gets the keys, if one does."""
        node = self.focused
        while node is not None and not isinstance(node, Pane):
            node = cast("Widget | None", node.parent)
        return node.name_ if isinstance(node, Pane) else None

    def show_pane(self, name: str, read: bool = True) -> None:
        """Bring a pane to the front and go there; with ``read`` its contents are read again."""
        if name in self.workspace.shown():
            self._focus_pane(name)
            return
        before = self.workspace.shown()
        self.workspace.show_pane(name)
        self._focus_pane(name)
        if read:
            self._read_new(before)

    def _focus_pane(self, name: str) -> None:
        content: Widget = self.workspace.panes[name].content
        for pane in self.workspace.panes.values():
            pane.mark(pane.name_ == name)  # before the messages of the focus, which come a frame later
        # At once, and not by focus(): the next key may be there already.
        self.screen.set_focus(self.views.prompt.line if content is self.views.prompt else content)

    def action_pane(self, name: str) -> None:
        self.show_pane(name)

    def action_pane_number(self, number: int) -> None:
        self.show_pane(list(PANES)[number - 1])

    def action_pane_by(self, by: int) -> None:
        """Go to the next visible pane; from a zoomed pane, to the next one that shares its place."""
        workspace = self.workspace
        names = workspace.shown()
        if workspace.zoomed is not None:
            names = workspace.place_of(workspace.zoomed).panes
        focused = self.focused_pane()
        at = names.index(focused) if focused in names else -1 if by > 0 else 0
        self.show_pane(names[(at + by) % len(names)])

    def on_pane_title_clicked(self, message: PaneTitle.Clicked) -> None:
        self.show_pane(message.pane)

    # -- layouts ----------------------------------------------------------------------------------

    def action_zoom(self) -> None:
        workspace, before = self.workspace, self.workspace.shown()
        workspace.zoomed = None if workspace.zoomed is not None else self.focused_pane()
        self._read_new(before)

    def action_layout(self) -> None:
        names = [AUTOMATIC, *PRESETS]
        self.choose_layout(names[(names.index(self.settings.layout) + 1) % len(names)])

    def action_automatic_layout(self) -> None:
        self.choose_layout(AUTOMATIC)

    def choose_layout(self, name: str) -> None:
        """Take a preset of the layout, or AUTOMATIC, and remember it."""
        self._preset = ""
        self.settings = replace(self.settings, layout=name)
        before = self.workspace.shown()
        self.workspace.zoomed = None
        self.arrange()
        self._read_new(before)
        self._remember()
        shown = f"{name} ({self._preset})" if name == AUTOMATIC else f"{name}, in every size"
        self.notify(f"Layout: {shown}", timeout=2)

    def reset_layout(self) -> None:
        """Put the preset back, without what was dragged."""
        kept = {name: node for name, node in self.settings.arrangements.items() if name != self._preset}
        self.settings = replace(self.settings, arrangements=kept)
        self.choose_layout(self.settings.layout)

    def action_grow(self, axis: Axis, by: int) -> None:
        pane = self.focused_pane()
        if pane is not None:
            workspace = self.workspace
            workspace.arrangement = grow(workspace.arrangement, pane, axis, by, workspace.box)
            self.on_workspace_changed()

    def on_workspace_changed(self) -> None:
        arrangements = {**self.settings.arrangements, self._preset: self.workspace.arrangement}
        self.settings = replace(self.settings, arrangements=arrangements)
        self._remember()

    # -- colours ----------------------------------------------------------------------------------

    def theme_chosen(self, theme: Theme) -> None:
        """Remember a theme that the user has chosen."""
        if theme.name != self.settings.theme:
            self.settings = replace(self.settings, theme=theme.name)
            self._remember()

    def switch_brightness(self) -> None:
        """Change between the dark and the light theme."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def _remember(self) -> None:
        settings.save(self.state_path, self.settings)
