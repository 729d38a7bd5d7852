"""Everything that can be done, for the command palette: actions with their keys, panes, layouts, prompt commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.app import SystemCommand
from textual.command import Hit, Hits
from textual.system_commands import SystemCommandsProvider
from textual.types import IgnoreReturnCallbackType

from ..console.commands.registry import all_commands
from .model.global_keys import KEYS
from .model.layout_presets import AUTOMATIC, PANES, PRESETS

if TYPE_CHECKING:
    from .app import Dashboard


@dataclass(frozen=True)
class Entry:
    """What the palette offers: its row there, and the names by which it is asked for."""

    title: str
    help: str
    run: IgnoreReturnCallbackType
    names: tuple[str, ...] = ()
    typed: bool = False
    """Whether its names are typed at the prompt: who types one here means that command."""

    def rank(self, asked: str) -> int:
        """How well it is meant by a text without capitals; 0: at most its letters are in the title, one by one."""
        names = [name.lower() for name in self.names]
        words = re.findall(r"[\w'-]+", " ".join([self.title, *self.names]).lower())
        rules = (
            self.typed and asked in names,
            asked in names or asked == self.title.lower(),
            any(name.startswith(asked) for name in names),
            all(any(word.startswith(part) for word in words) for part in asked.split()),
        )
        return next((len(rules) - at for at, holds in enumerate(rules) if holds), 0)


class Palette(SystemCommandsProvider):
    """The search of the palette: a name as it is typed comes first, then what begins so, then words, then letters."""

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        asked = " ".join(query.lower().split())
        for entry in entries(cast("Dashboard", self.app)):
            rank, likeness = entry.rank(asked), matcher.match(entry.title)
            if rank or likeness > 0:
                score = rank + likeness / (1 + likeness)  # the second is below 1: it only orders equals
                yield Hit(score, matcher.highlight(entry.title), entry.run, help=entry.help)


def commands(app: Dashboard) -> Iterator[SystemCommand]:
    """What the palette offers, with the keys of each action."""
    for entry in entries(app):
        yield SystemCommand(entry.title, entry.help, entry.run)


def entries(app: Dashboard) -> Iterator[Entry]:
    """What the palette offers, with the names of each."""
    for key in KEYS:
        if not key.name.startswith("pane-") and key.name != "palette":
            shown = f"keys: {app.keymap_of(key.name)}"
            yield Entry(key.about, shown, partial(app.run_action, key.action), (key.name, *key.other_names))
    for number, (name, title) in enumerate(PANES.items(), 1):
        shown = f"keys: {app.keymap_of(f'pane-{number}')}"
        yield Entry(f"Pane: {title}", shown, partial(app.show_pane, name), (title,))
    for name in (AUTOMATIC, *PRESETS):
        arrange = partial(app.choose_layout, name)
        yield Entry(f"Layout: {name}", "how the panes are arranged", arrange, (name,))
    yield Entry("Layout: as it came", "without what was dragged", app.reset_layout)
    yield Entry("Theme", "colours: light, dark, the terminal's own", app.action_change_theme)
    yield Entry("Light or dark", "switch between the two", app.switch_brightness)
    yield Entry("Keys and help", "show or hide the panel of keys", app.toggle_help)
    for row in all_commands():
        usage = f"{row.usage}: " if row.usage else ""
        yield Entry(
            f"Prompt: {', '.join(row.names)}",
            _as_it_is(f"{usage}{row.summary}"),
            partial(app.offer_command, row),
            tuple(row.names),
            typed=True,
        )
        for word, more in row.forms:
            typed = f"{row.name} {word}"
            offer = partial(app.offer_line, typed, more)
            yield Entry(f"Prompt: {typed}", _as_it_is(row.summary), offer, (typed,), typed=True)


def _as_it_is(text: str) -> str:
    """A text that is no markup. Textual's own `escape` leaves brackets with capital letters, which are tags to it."""
    return text.replace("[", r"\[")
