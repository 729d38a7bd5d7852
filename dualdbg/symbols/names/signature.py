"""What is passed to a function, as far as names and tables tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, and its C++ type as the demangler writes it."""

    name: str
    type: str


@dataclass(frozen=True)
class Signature:
    """The parameters of a function, in order; ``member``: ``this`` comes before them.

    ``hidden``: a first argument says where the result is to be made. ``result``: its C++ type, ``void`` for none; None
    where that is not known. ``table``: constructors of bases, where these have virtual ones, get a table behind
    ``this``. Of those three None means that it is not known. ``this``: the class, where ``this`` is to be shown.
    ``by_address``: classes among the types of which names tell that their copy is not trivial. ``by_name``: nothing but
    the mangled name tells it.
    """

    parameters: tuple[Parameter, ...]
    hidden: bool | None
    member: bool | None = False
    result: str | None = None
    table: bool | None = False
    this: str | None = None
    by_address: tuple[str, ...] = ()
    by_name: bool = False
