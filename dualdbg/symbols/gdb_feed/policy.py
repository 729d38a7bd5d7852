"""How much of each library gdb gets: all of it, only what unwinding needs, or nothing.

The rules are a table, tried in order; the user's own come first.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

from dualdbg.errors import UsageError

from ...shared.libraries import is_interpreter, is_system

if TYPE_CHECKING:
    from ..objfile import Objfile


class Load(str, Enum):
    """How much of a library gdb reads."""

    WHOLE = "whole"  # every symbol and the debug info
    UNWIND = "unwind"  # its frame table only, or one made of its code; names come from our own search
    SKIP = "skip"  # nothing


@dataclass(frozen=True)
class Facts:
    """What the rules look at. ``has_debug_info`` counts split files too."""

    path: str
    has_debug_info: bool


@dataclass(frozen=True)
class Decision:
    """What is loaded of a library, and why."""

    load: Load
    reason: str


@dataclass(frozen=True)
class Rule:
    """A row of the table: the first whose ``applies`` is true decides."""

    load: Load
    reason: str
    applies: Callable[[Facts], bool]


RULES = (
    Rule(Load.WHOLE, "it has debug info", lambda facts: facts.has_debug_info and not _is_known(facts.path)),
    Rule(Load.UNWIND, "it belongs to the interpreter", lambda facts: is_interpreter(facts.path)),
    Rule(Load.UNWIND, "it belongs to the system", lambda facts: is_system(facts.path)),
    Rule(Load.UNWIND, "it has no debug info", lambda facts: True),
)


def _is_known(path: str) -> bool:
    return is_interpreter(path) or is_system(path)


@dataclass(frozen=True)
class Policy:
    """The table, with the user's overrides before it. The last override that fits decides.

    An override is a pattern (``*``: of file names or, with a ``/``, of whole paths) and what to load.
    """

    overrides: tuple[tuple[str, Load], ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Policy:
        """The policy for the values of ``--symbols``: ``full``, ``lazy`` or ``PATTERN=whole|unwind|skip``. One value
        may hold several entries with commas between them.

        :raises UsageError: an entry has another form.
        """
        entries = [entry.strip() for text in texts for entry in text.split(",")]
        return cls(tuple(_override(entry) for entry in entries if entry))

    def decide(self, library: Objfile, path: str) -> Decision:
        """What to load of ``library``, which the process knows by ``path``: it may be read by another one, where the
        process has another root.
        """
        return self.decide_by(facts_of(library, path))

    def decide_by(self, facts: Facts) -> Decision:
        """:meth:`decide` for a library of which these facts are known."""
        for pattern, load in reversed(self.overrides):
            if fnmatch.fnmatchcase(facts.path if "/" in pattern else PurePath(facts.path).name, pattern):
                return Decision(load, f"you asked for it with {pattern}={load.value}")
        rule = next(rule for rule in RULES if rule.applies(facts))
        return Decision(rule.load, rule.reason)


def facts_of(library: Objfile, path: str) -> Facts:
    return Facts(
        path=path,
        has_debug_info=library.has_debug_info or library.debug_file is not None,
    )


_EVERYTHING = {"full": ("*", Load.WHOLE), "lazy": ("*", Load.UNWIND)}
_LOADS = {load.value: load for load in Load} | {"full": Load.WHOLE, "lazy": Load.UNWIND}


def _override(entry: str) -> tuple[str, Load]:
    if entry in _EVERYTHING:
        return _EVERYTHING[entry]
    pattern, equals, load = entry.rpartition("=")
    if not equals or not pattern or load not in _LOADS:
        raise UsageError(
            f"{entry!r} is no symbol policy",
            "full, lazy, or PATTERN=whole, PATTERN=unwind, PATTERN=skip, for example libtorch_cpu.so=whole",
        )
    return pattern, _LOADS[load]


def human_size(size: int) -> str:
    """Bytes as people read them: 434.2 MB (powers of 1000, as file managers and pip show them)."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
