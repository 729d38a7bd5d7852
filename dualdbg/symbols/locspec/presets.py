"""Presets: named lists of breakpoint specs, those that ship with dualdbg (presets.toml) and the user's own."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...errors import SpecError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = Path(__file__).with_name("presets.toml")
_PREFIX = "preset:"


@dataclass(frozen=True)
class Preset:
    """``breakpoints`` are specs in the order in which a call meets them; they may name further presets.

    ``inlined`` are specs that only a debug build can bind, because the release wheels have inlined the
    functions: not finding them is no fault. ``about`` is one line for people.
    """

    name: str
    breakpoints: tuple[str, ...]
    about: str = ""
    inlined: tuple[str, ...] = ()


def shipped() -> dict[str, Preset]:
    """The presets that come with dualdbg, by name."""
    with open(_FILE, "rb") as file:
        tables: dict[str, dict[str, Any]] = tomllib.load(file)
    return {
        name: Preset(name, tuple(table["breakpoints"]), table["about"], tuple(table.get("inlined", ())))
        for name, table in tables.items()
    }


class OwnPreset(Protocol):
    """A preset as the configuration has it."""

    @property
    def breakpoints(self) -> tuple[str, ...]:
        """The specs of its breakpoints."""

    @property
    def about(self) -> str:
        """What it is for, in a few words."""


def available(own: Mapping[str, OwnPreset]) -> dict[str, Preset]:
    """Every preset by name; the user's ``own`` ones replace shipped ones of the same name."""
    return {**shipped(), **{name: Preset(name, one.breakpoints, one.about) for name, one in own.items()}}


def expand(name: str, presets: Mapping[str, Preset]) -> list[str]:
    """The specs of a preset, presets that it names included, each once; those of ``inlined`` come last.

    :raises SpecError: the preset does not exist, or it contains itself.
    """
    inlined: list[str] = []
    specs = _expand(name, presets, (), inlined)
    return list(dict.fromkeys(specs + inlined))


def only_in_debug_builds(presets: Mapping[str, Preset]) -> frozenset[str]:
    """The specs that presets list as inlined in release builds."""
    return frozenset(spec for preset in presets.values() for spec in preset.inlined)


def _expand(
    name: str, presets: Mapping[str, Preset], outer: tuple[str, ...], inlined: list[str]
) -> list[str]:
    if name in outer:
        chain = " -> ".join((*outer, name))
        raise SpecError(f"preset {name!r} contains itself: {chain}", "take it out of the configuration file")
    preset = presets.get(name)
    if preset is None:
        near = difflib.get_close_matches(name, presets, 3, 0.5)
        hint = f"nearest: {', '.join(near)}" if near else f"presets: {', '.join(presets)}"
        raise SpecError(f"there is no preset named {name!r}", hint)
    inlined.extend(preset.inlined)
    specs = []
    for spec in preset.breakpoints:
        if spec.startswith(_PREFIX):
            specs += _expand(spec.removeprefix(_PREFIX), presets, (*outer, name), inlined)
        else:
            specs.append(spec)
    return specs
