"""Values of either language, one tree model: name, type, text and children that are fetched on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .frames import Language

RETURNED = "(return) "
"""What the name of a result begins with, before that of the function, as debugpy has it."""


@dataclass(frozen=True)
class Value:
    """A value as the user sees it.

    ``reference`` asks the session for the children (0: there are none); it is valid in its epoch only. ``child_count``
    is the number of children where it is known. ``address`` is where the value lives in the target. ``data`` is the
    structure that the text was made from, in plain JSON types, where there is one (a tensor, an IValue). ``layout``
    says where the layout of that came from. ``own_repr``: its class has a ``__repr__`` that was not run for the text.
    ``opaque``: the text of a Python object tells its class and its address alone, what it is lies in its attributes.
    ``children`` are those that came with the value, of ``child_count`` (None: ask for them by ``reference``).
    """

    name: str
    type: str
    value: str
    language: Language
    reference: int = 0
    child_count: int | None = None
    address: int | None = None
    expression: str | None = None
    data: Any = field(default=None, compare=False)
    layout: str | None = None
    own_repr: bool = False
    opaque: bool = False
    children: tuple[Value, ...] | None = field(default=None, compare=False)
