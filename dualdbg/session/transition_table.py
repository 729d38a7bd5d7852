"""The table of transitions: from which phase and grip each leads to which. Pure; the loop checks each entry by it.

``docs/design/states.md`` is made of it (``scripts/state_table.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, TypeVar

from ..model import State
from .state import Grip

_ANY, _SAME = "*", "="
Where = tuple[State, Grip]
_Transition = TypeVar("_Transition", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """One transition. Where it does not begin, it is stale, and neither phase nor grip changes.

    A pattern has a phase and a grip: names with ``|`` between, ``*`` for any, ``=`` for the one before. ``to`` may have
    several patterns.
    """

    ANYWHERE: ClassVar[str] = "* *"
    NOWHERE: ClassVar[str] = "= ="

    name: str
    from_: str
    to: str
    what: str

    def allows(self, before: Where, after: Where) -> bool:
        """Return whether the state may change so."""
        if before == after:
            return True
        begins = before in _places(self.from_, before)
        return begins and any(after in _places(one, before) for one in self.to.split(", "))


ROWS: dict[str, Row] = {}
"""Each transition by its name."""


def transition(from_: str = Row.ANYWHERE, to: str = Row.NOWHERE) -> Callable[[_Transition], _Transition]:
    """Register a transition."""

    def register(function: _Transition) -> _Transition:
        name = function.__name__
        assert name not in ROWS, name
        what = (function.__doc__ or "").split("\n", 1)[0]
        ROWS[name] = Row(name, from_, to, what)
        return function

    return register


def _places(pattern: str, before: Where) -> Iterator[Where]:
    phases, grips = pattern.split()
    return product(
        _named(State, phases, before[0]),
        _named(Grip, grips, before[1]),
    )


def _named(kind: Any, names: str, before: Any) -> list[Any]:
    if names == _ANY:
        return list(kind)
    return [before if name == _SAME else kind[name] for name in names.split("|")]


def check_transition(name: str, before: Where, after: Where) -> None:
    """Raises AssertionError for a change that the table does not have."""
    assert name in ROWS, f"{name} is not a transition"
    assert ROWS[name].allows(before, after), f"{name} has led from {_text(before)} to {_text(after)}"


def _text(where: Where) -> str:
    return " ".join(one.name for one in where)
