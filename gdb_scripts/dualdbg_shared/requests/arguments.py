"""Arguments of functions without debug info: what is known of a call, and what is read by it."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from .base import Request
from .values import NativeVariable


class Passing(NamedTuple):
    """What is known of a call of a function without debug info.

    ``parameters``: name and C++ type of each. ``hidden``: a first argument says where the result is to be made, whose
    type is ``result``; ``member``: then comes ``this``, of the class ``this`` where that is to be shown; ``table``:
    then comes a table of virtual bases. None: not known. ``by_address``: types whose copy is not trivial.
    ``as_written``: types are shown as C++ has them.
    """

    parameters: Sequence[Tuple[str, str]]
    hidden: Optional[bool]
    member: Optional[bool]
    result: Optional[str] = None
    table: Optional[bool] = False
    this: Optional[str] = None
    by_address: Sequence[str] = ()
    as_written: bool = False


class RegisterArgument(NamedTuple):
    """An argument that is one whole number or a pointer; ``register`` counts those of whole numbers from 0 on."""

    name: str
    type: str
    register: int
    size: int
    signed: bool
    pointer: bool


class ReadPassedArguments(Request[List[NativeVariable]], module="passed"):
    """Return the arguments of a frame of a function without debug info, which begins at ``entry``.

    Where a value is not known its text says so.
    """

    gdb_thread: int
    level: int
    entry: int
    what: Passing


class EvaluatePassed(Request[NativeVariable], module="passed_values"):
    """As ``Evaluate``, of an expression about arguments of a function without debug info.

    ``rows``: type and text of each as :class:`ReadPassedArguments` has returned them.
    """

    gdb_thread: int
    level: int
    expression: str
    entry: int
    what: Passing
    rows: Dict[str, Tuple[str, str]]
    style: str
    seconds: Optional[float]

    @property
    def undone(self) -> bool:
        """As :attr:`Request.undone`."""
        return self.seconds is not None


class TeachArguments(Request[None], module="taught"):
    """Conditions and log texts at an address may be about the arguments of the function without debug info there.

    It begins at ``entry``.
    """

    address: int
    entry: int
    what: Passing


class FindRegisterArguments(Request[List[RegisterArgument]], module="traced_arguments"):
    """Return the arguments of the function that begins there which are a whole number or a pointer in a register.

    Where ``what`` is None debug info tells them.
    """

    address: int
    what: Optional[Passing]
