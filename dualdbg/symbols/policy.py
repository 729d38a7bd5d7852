"""How much of a library gdb is given: a table of rules, first match wins, that the user can override."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatch
from pathlib import PurePath

from ..errors import UsageError
from .library import Library


class Load(str, Enum):
    """What gdb gets of a library."""

    WHOLE = "whole"  # every symbol and all debug info
    UNWIND = "unwind"  # only what unwinding needs; names come from our own search
    SKIP = "skip"  # nothing


@dataclass(frozen=True)
class Decision:
    """What is loaded, and the rule that says so."""

    load: Load
    reason: str


@dataclass(frozen=True)
class Override:
    """A user's own rule: ``pattern`` is matched against the file name and the whole path."""

    pattern: str
    load: Load


SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
_INTERPRETER = ("libpython", "python3", "python.")


def _is_interpreter(library: Library) -> bool:
    name = PurePath(library.path).name
    return name.startswith(_INTERPRETER) or name == "python"


def _is_system(library: Library) -> bool:
    return library.path.startswith(SYSTEM_FOLDERS) and "-packages/" not in library.path


_RULES: tuple[tuple[Callable[[Library], bool], Load, str], ...] = (
    (_is_interpreter, Load.UNWIND, "the interpreter"),
    (_is_system, Load.UNWIND, "a system library"),
    (lambda library: library.has_debug_info, Load.WHOLE, "it has debug info"),
    (lambda library: True, Load.UNWIND, "it has no debug info"),
)


@dataclass(frozen=True)
class Policy:
    """The table with the user's overrides before it."""

    overrides: tuple[Override, ...] = ()

    def decide(self, library: Library) -> Decision:
        """What to load of ``library``; a pure function of its facts."""
        name = PurePath(library.path).name
        for override in self.overrides:
            if fnmatch(name, override.pattern) or fnmatch(library.path, override.pattern):
                return Decision(override.load, f"asked for with {override.pattern}={override.load.value}")
        for applies, load, reason in _RULES:
            if applies(library):
                return Decision(load, reason)
        raise AssertionError("the last rule applies to every library")


def parse_override(text: str) -> Override:
    """``full``, ``lazy`` or ``PATTERN=whole|unwind|skip``, as given with ``--symbols``.

    Raises UsageError for anything else.
    """
    simple = {"full": Override("*", Load.WHOLE), "lazy": Override("*", Load.UNWIND)}
    if text in simple:
        return simple[text]
    pattern, equals, word = text.rpartition("=")
    try:
        return Override(pattern, Load(word)) if equals and pattern else _refuse(text)
    except ValueError:
        return _refuse(text)


def _refuse(text: str) -> Override:
    raise UsageError(
        f"--symbols {text} cannot be read", "give full, lazy, or PATTERN=whole, PATTERN=unwind, PATTERN=skip"
    )
