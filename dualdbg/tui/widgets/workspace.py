"""The part of the screen where the panes are: places them as the arrangement says, and lets it be dragged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ..model.arrangement import (
    Box,
    Divider,
    Geometry,
    Node,
    PaneSlot,
    drag,
    geometry,
    places,
    show,
    shown_panes,
)
from ..model.looks import LOOKS
from .pane import Pane

_MOST_DIVIDERS = 8


class _PlacePanes(Layout):
    """Tells Textual where the children of the workspace go."""

    name = "panes"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        assert isinstance(parent, Workspace)
        boxes = parent.boxes(size)
        return [
            WidgetPlacement(Region(box.x, box.y, box.width, box.height), NULL_OFFSET, Spacing(), child)
            for child in children
            if (box := boxes.get(child)) is not None
        ]


class PaneDivider(Widget):
    """The line between two columns; it can be dragged."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"look--{name}" for name in LOOKS}
    divider: Divider | None = None

    def render_line(self, y: int) -> Strip:
        from rich.segment import Segment

        return Strip([Segment("│", self.rich_style)])


class Workspace(Widget):
    """Holds every pane; shows those that the arrangement shows."""

    class Changed(Message):
        """The user has changed the arrangement."""

    def __init__(self, panes: Iterable[Pane], arrangement: Node) -> None:
        super().__init__(id="workspace")
        self.panes = {pane.name_: pane for pane in panes}
        self._arrangement = arrangement
        self._zoomed: str | None = None
        self._lines = [PaneDivider() for _ in range(_MOST_DIVIDERS)]
        self._geometry = Geometry((), ())
        self._placing = _PlacePanes()
        self._dragged: Divider | None = None
        self._from = 0

    def compose(self) -> Iterable[Widget]:
        yield from self.panes.values()
        yield from self._lines

    @property
    def layout(self) -> Layout:
        """What places the panes; Textual asks for it."""
        return self._placing

    def on_mount(self) -> None:
        self._update()

    # -- the arrangement ------------------------------------------------------------------------

    @property
    def arrangement(self) -> Node:
        """Which panes are shown, and where."""
        return self._arrangement

    @arrangement.setter
    def arrangement(self, node: Node) -> None:
        self._arrangement = node
        self._update()

    @property
    def zoomed(self) -> str | None:
        """The pane that has all the room, if one does."""
        return self._zoomed

    @zoomed.setter
    def zoomed(self, pane: str | None) -> None:
        self._zoomed = pane
        self._update()

    @property
    def box(self) -> Box:
        """The whole of its place."""
        return Box(0, 0, self.size.width, self.size.height)

    def show_pane(self, name: str) -> None:
        """Bring a pane to the front of its place."""
        if self._zoomed is not None:
            self._zoomed = name
        self.arrangement = show(self._arrangement, name)

    def place_of(self, name: str) -> PaneSlot:
        """The place that a pane shares; one of its own where it is in none."""
        return next((place for place in places(self._arrangement) if name in place.panes), PaneSlot.of(name))

    def shown(self) -> tuple[str, ...]:
        """The names of the panes that are in sight."""
        return (self._zoomed,) if self._zoomed is not None else shown_panes(self._arrangement)

    def _tree(self) -> Node:
        if self._zoomed is None:
            return self._arrangement
        place = self.place_of(self._zoomed)
        return PaneSlot(place.panes, self._zoomed)

    def _update(self) -> None:
        if not self.is_mounted:
            return
        visible = self.shown()
        for name, pane in self.panes.items():
            pane.display = name in visible
            pane.tabs = self.place_of(name).panes
        for pane in self.panes.values():
            pane.refresh(layout=True)  # a child's request is what makes Textual ask our layout again

    def boxes(self, size: Size) -> dict[Widget, Box]:
        """Where every child goes in this much room."""
        self._geometry = geometry(self._tree(), Box(0, 0, size.width, size.height))
        result: dict[Widget, Box] = {
            self.panes[place.shown]: box for place, box in self._geometry.places if place.shown in self.panes
        }
        vertical = [divider for divider in self._geometry.dividers if divider.axis == "columns"]
        for line, divider in zip(self._lines, vertical, strict=False):
            line.divider = divider
            result[line] = divider.box
        return result

    # -- dragging -------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.screen_offset - self.region.offset
        self._dragged = self._divider_at(offset.x, offset.y)
        if self._dragged is not None:
            self._from = offset.x if self._dragged.axis == "columns" else offset.y
            self.capture_mouse()
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged is None:
            return
        offset = event.screen_offset - self.region.offset
        at = offset.x if self._dragged.axis == "columns" else offset.y
        if at != self._from:
            self.arrangement = drag(self._arrangement, self._dragged, at - self._from, self.box)
            self._from = at

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragged is not None:
            self._dragged = None
            self.release_mouse()
            self.post_message(self.Changed())

    def _divider_at(self, x: int, y: int) -> Divider | None:
        for divider in self._geometry.dividers:
            box = divider.box
            if box.x <= x < box.x + box.width and box.y <= y < box.y + box.height:
                return divider
        return None
