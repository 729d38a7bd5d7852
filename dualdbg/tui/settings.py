"""What the dashboard remembers between sessions, and what the user has configured."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..shared.trust import is_out_of_reach
from ..system.folders import NOWHERE, state_folder, user_folder
from ..system.private_files import new_file
from .model.arrangement import Node, all_panes, from_data, to_data
from .model.layout_presets import AUTOMATIC, PANES, PRESETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULT_THEME = "textual-dark"


@dataclass(frozen=True)
class Settings:
    """``layout`` is a preset's name or AUTOMATIC; ``arrangements`` are presets as the user has dragged them."""

    layout: str = AUTOMATIC
    arrangements: Mapping[str, Node] = field(default_factory=dict)
    theme: str = DEFAULT_THEME

    def arrangement(self, preset: str) -> Node:
        """The panes of a preset, as the user has dragged them if that was done."""
        return self.arrangements.get(preset, PRESETS[preset])


def state_path() -> Path:
    """Where the dashboard remembers (XDG Base Directory Specification)."""
    return state_folder() / "dashboard.json"


def keys_path() -> Path:
    """Where the user configures keys."""
    folder = user_folder("XDG_CONFIG_HOME", ".config")
    return (folder if is_out_of_reach(folder) else NOWHERE) / "dashboard.toml"


def load(path: Path) -> Settings:
    """What was remembered; the default for every value that is missing or not understood."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Settings()
    if not isinstance(data, dict):
        return Settings()
    layout = data.get("layout", AUTOMATIC)
    theme = data.get("theme", DEFAULT_THEME)
    arrangements = {}
    stored = data.get("arrangements")
    for name, tree in stored.items() if isinstance(stored, dict) else ():
        node = _sound(tree)
        if name in PRESETS and node is not None:
            arrangements[name] = node
    return Settings(
        layout if layout == AUTOMATIC or layout in PRESETS else AUTOMATIC,
        arrangements,
        theme if isinstance(theme, str) else DEFAULT_THEME,
    )


def save(path: Path, settings: Settings) -> None:
    """Remember the settings. A file that cannot be written must not disturb a session: then nothing is remembered."""
    data = {
        "layout": settings.layout,
        "theme": settings.theme,
        "arrangements": {name: to_data(node) for name, node in settings.arrangements.items()},
    }
    try:
        fresh = path.with_suffix(f".{secrets.token_hex(8)}")
        with open(new_file(fresh), "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
        fresh.replace(path)
    except OSError:
        pass


def _sound(tree: Any) -> Node | None:
    try:
        node = from_data(tree)
    except ValueError:
        return None
    panes = all_panes(node)
    return node if set(panes) <= set(PANES) and len(set(panes)) == len(panes) else None


def load_keys(path: Path, known: Mapping[str, str]) -> dict[str, str]:
    """The user's own keys: ``[keys]`` of the file, name of an action to keys with commas between them.

    Raises ConfigError for a file that cannot be read, and for an unknown action.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "mend it or move it away") from error
    keys = table.get("keys", {})
    if not isinstance(keys, dict):
        raise ConfigError(f"{path}: keys is no table", 'for example: [keys] and then continue = "f8"')
    for name, value in keys.items():
        if name not in known or not isinstance(value, str) or not value.strip():
            raise ConfigError(
                f"{path}: {name} = {value!r} is not understood",
                f'an action and its keys, for example continue = "f8"; actions: {", ".join(known)}',
            )
    return dict(keys)
