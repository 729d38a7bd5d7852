"""Everything that can be done, for the command palette: actions with their keys, panes, layouts, prompt commands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from ..console.commands.registry import all_commands
from .model.global_keys import KEYS
from .model.layout_presets import AUTOMATIC, PANES, PRESETS

if TYPE_CHECKING:
    from .app import Dashboard


def commands(app: Dashboard) -> Iterator[SystemCommand]:
    """What the palette offers, with the keys of each action."""
    for key in KEYS:
        if not key.name.startswith("pane-") and key.name != "palette":
            shown = app.keymap_of(key.name)
            yield SystemCommand(f"{key.about}", f"keys: {shown}", partial(app.run_action, key.action))
    for number, (name, title) in enumerate(PANES.items(), 1):
        yield SystemCommand(
            f"Pane: {title}", f"keys: {app.keymap_of(f'pane-{number}')}", partial(app.show_pane, name)
        )
    for name in (AUTOMATIC, *PRESETS):
        yield SystemCommand(f"Layout: {name}", "how the panes are arranged", partial(app.choose_layout, name))
    yield SystemCommand("Layout: as it came", "without what was dragged", app.reset_layout)
    yield SystemCommand("Theme", "colours: light, dark, the terminal's own", app.action_change_theme)
    yield SystemCommand("Light or dark", "switch between the two", app.switch_brightness)
    yield SystemCommand("Keys and help", "show or hide the panel of keys", app.toggle_help)
    for row in all_commands():
        usage = f"{row.usage}: " if row.usage else ""
        yield SystemCommand(
            f"Prompt: {', '.join(row.names)}",
            _as_it_is(f"{usage}{row.summary}"),
            partial(app.offer_command, row),
        )
        for word, more in row.forms:
            typed = f"{row.name} {word}"
            yield SystemCommand(
                f"Prompt: {typed}", _as_it_is(row.summary), partial(app.offer_line, typed, more)
            )


def _as_it_is(text: str) -> str:
    """A text that is no markup. Textual's own `escape` leaves brackets with capital letters, which are tags to it."""
    return text.replace("[", r"\[")
