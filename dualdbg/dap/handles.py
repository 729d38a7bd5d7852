"""Numbers that stand for frames and values while a stop lasts. Those of earlier stops are refused, never reused."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors import EvaluationError, StaleHandle, UsageError
from ..model import Frame, PythonFrame
from ..protocol.dap_types import SetVariableResponseBody, Variable
from .client.arguments import Arguments

Item = TypeVar("Item")

_MAXIMUM = 2**31 - 1  # DAP: "a positive integer up to 2^31-1"


class Handles(Generic[Item]):
    """What the numbers of the current stop stand for; ``what`` names one in messages."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._items: dict[int, Item] = {}
        self._numbers: dict[Hashable, int] = {}
        self._last = 0

    def add(self, item: Item, key: Hashable = None) -> int:
        """A number for ``item``: a new one, or that which an equal item got under the same ``key`` in this stop."""
        known = self._numbers.get(key) if key is not None else None
        if known is not None and self._items[known] == item:
            return known
        number = self._new(item)
        if key is not None:
            self._numbers[key] = number
        return number

    def _new(self, item: Item) -> int:
        self._last = self._last % _MAXIMUM + 1
        self._items[self._last] = item
        return self._last

    def get(self, number: int) -> Item:
        """What a number stands for. Raises StaleHandle for one of an earlier stop, UsageError for an unknown one."""
        if number in self._items:
            return self._items[number]
        if 0 < number <= self._last:
            raise StaleHandle(f"{self._what} {number} belongs to an earlier stop", "ask for the stack again")
        raise UsageError(f"there is no {self._what} {number}")

    def clear(self) -> None:
        """The target runs: every number so far is void, and stays so."""
        self._items.clear()
        self._numbers.clear()


@dataclass(frozen=True)
class FrameHandle:
    """What a frame id stands for: ``frame`` of thread ``tid`` in the stop ``epoch``."""

    tid: int
    frame: Frame
    epoch: int


class Container:
    """What a variables reference stands for."""

    async def rows(self, arguments: Arguments) -> Sequence[Variable]:
        """The children, as ``variables`` is to answer them."""
        raise NotImplementedError

    async def assign(self, name: str, text: str, arguments: Arguments) -> SetVariableResponseBody:
        """Set a child; the answer of ``setVariable``. Raises EvaluationError when it cannot be set."""
        raise EvaluationError(
            f"{name} cannot be set here", "set it at a Python stop, or in a frame with debug information"
        )

    async def watched(self, name: str) -> tuple[str, PythonFrame] | None:
        """The expression of a child of Python, and the frame in which it means that; None where there is none."""
        return None

    async def place(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a child. Raises EvaluationError for a child without memory of its own."""
        raise EvaluationError(f"{name} has no place in memory of its own")


@dataclass
class StopHandles:
    """The numbers that a client knows."""

    frames: Handles[FrameHandle] = field(default_factory=lambda: Handles("frame"))
    variables: Handles[Container] = field(default_factory=lambda: Handles("variables reference"))
    # Of a native frame they are addresses of functions, of a Python frame debugpy's numbers.
    calls: Handles[int] = field(default_factory=lambda: Handles("step-in target"))
    # Of a native frame they are addresses of instructions, of a Python frame debugpy's numbers.
    places: Handles[int] = field(default_factory=lambda: Handles("goto target"))

    def clear(self) -> None:
        """The target runs: every number so far is void."""
        self.frames.clear()
        self.variables.clear()
        self.calls.clear()
        self.places.clear()
