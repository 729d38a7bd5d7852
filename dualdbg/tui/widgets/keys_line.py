"""The line at the bottom with the keys that work where the user is; a click is as good as the key."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ..model.global_keys import KEYS
from .line_view import component_style

_ORDER = {key.name: order for order, key in enumerate(KEYS)}


class KeysLine(Widget):
    """As many keys as there is room for: first the pane's keys, then the keys that work everywhere."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys--key", "keys--word"}

    def __init__(self) -> None:
        super().__init__()
        self.hidden: tuple[str, ...] = ()
        self._ends: list[tuple[int, ActiveBinding]] = []

    def hide(self, names: tuple[str, ...]) -> None:
        """Actions that mean nothing now, by their names."""
        if names != self.hidden:
            self.hidden = names
            self.refresh()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._updated)

    def _updated(self, _screen: Screen[object]) -> None:
        self.refresh()

    def shown(self) -> list[ActiveBinding]:
        """The keys that have a word, each action once."""
        found: dict[str, ActiveBinding] = {}
        active = self.screen.active_bindings.values()
        for own in (True, False):
            for one in active:
                if one.binding.id in self.hidden:
                    continue
                if one.binding.show and one.enabled and (one.node is not self.app) is own:
                    found.setdefault(one.binding.action, one)
        return sorted(found.values(), key=lambda one: _ORDER.get(one.binding.id or "", -1))

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        key_style = base + component_style(self, "keys--key")
        word_style = base + component_style(self, "keys--word")
        segments: list[Segment] = []
        self._ends = []
        at = 0
        for one in self.shown():
            key, word = self.app.get_key_display(one.binding), f" {one.binding.description}  "
            if at + len(key) + len(word) - 1 > self.size.width:
                break
            segments += [Segment(key, key_style), Segment(word, word_style)]
            at += len(key) + len(word)
            self._ends.append((at, one))
        return Strip(segments).crop_extend(0, self.size.width, base)

    async def on_click(self, event: events.Click) -> None:
        for end, one in self._ends:
            if event.x < end:
                await self.app.run_action(one.binding.action, one.node)
                return
