"""What the session knows of functions without debug info at which breakpoints stop: for conditions and log texts.

What reads arguments is loaded when there is such a breakpoint: that takes a while.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Set, Tuple

import gdb
from dualdbg_shared.requests.arguments import Passing, TeachArguments

from .registry import answers


class Known(NamedTuple):
    """What is known of the function that begins at ``entry``: a :class:`placing.Passing` as the session has sent it."""

    entry: int
    what: Dict[str, Any]

    @property
    def names(self) -> Set[str]:
        """The names of its arguments."""
        own = {"this"} if self.what.get("this") else set()
        return own | {name for name, _ in self.what["parameters"]}


_known: Dict[int, Known] = {}  # by the address at which a breakpoint stops


@answers(TeachArguments)
def teach_arguments(address: int, entry: int, what: Passing) -> None:
    _known[address] = Known(entry, what._asdict())


def forget_arguments() -> None:
    """The process runs another program: nothing that was known is true of it."""
    _known.clear()


def value_of(expression: str, frame: gdb.Frame) -> "Optional[Tuple[Any, str]]":
    """The value of an expression about arguments, and its text; None where it is none, or gdb has names here.

    Raises GdbError where it has no value.
    """
    known = _known.get(frame.pc())
    if known is None or frame.function() is not None:
        return None
    from . import passed_expressions

    return passed_expressions.evaluate(expression, known, frame)
