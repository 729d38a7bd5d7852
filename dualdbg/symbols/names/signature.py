"""What is passed to a function, as far as names and tables tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, and its C++ type as the demangler writes it."""

    name: str
    type: str


@dataclass(frozen=True)
class Relays:
    """Functions that may do nothing but pass on some of their arguments; by the code of one it is proven.

    ``functions``: their addresses in the process. ``arguments``: which of theirs, counted from 0, are the arguments of
    the function that is looked at. ``needed``: without that proof nothing is known of how it is called.
    """

    functions: tuple[int, ...]
    arguments: tuple[int, ...]
    needed: bool


@dataclass(frozen=True)
class Signature:
    """The parameters of a function, in order; ``member``: ``this`` comes before them.

    ``hidden``: a first argument says where the result is to be made. ``result``: its C++ type, ``void`` for none; None
    where that is not known. ``table``: constructors of bases, where these have virtual ones, get a table behind
    ``this``. Of those three None means that it is not known. ``this``: the class, where ``this`` is to be shown.
    ``by_address``: classes among the types of which names tell that their copy is not trivial. ``by_name``: nothing but
    the mangled name tells it. ``vtable``: the linkage name of the table of its class, where ``member`` is not known: a
    function in it is virtual, and gets ``this``. ``callers_fill``: callers pass every parameter, even one that is not
    used. ``constructs``: it is a constructor. ``relays``: what may prove how it is called.
    """

    parameters: tuple[Parameter, ...]
    hidden: bool | None
    member: bool | None = False
    result: str | None = None
    table: bool | None = False
    this: str | None = None
    by_address: tuple[str, ...] = ()
    by_name: bool = False
    vtable: str | None = None
    callers_fill: bool = True
    constructs: bool = False
    relays: Relays | None = None
