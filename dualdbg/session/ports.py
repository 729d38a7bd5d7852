"""What the parts of a session need of it and of each other: small Protocols, so that no part gets all of it.

What they need of the engines is in :mod:`dualdbg.session.engines`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ..backends.python import Answer, PythonRequest
from ..model import Stack
from ..snapshot.cpython.held_process import Attachment
from ..symbols.address_space import AddressSpace
from .inspect.stack_reader import StackReader

T = TypeVar("T")


class Halting(Protocol):
    """Halts the target for a moment."""

    async def interrupted(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of ``work``, which is run while gdb holds the target.

        Raises WrongState when the target stopped for another reason before that. ``work`` was not run then.
        """
        ...


class AskingPython(Protocol):
    """Asks debugpy."""

    @property
    def hears_python(self) -> bool:
        """Whether debugpy is there, mute or not."""
        ...

    async def ask(
        self,
        request: PythonRequest[Answer],
        deadline: float = ...,
        late: Callable[[Answer], str] | None = ...,
    ) -> Answer:
        """The answer within ``deadline`` seconds. Raises WrongState when a native stop comes first.

        ``late`` makes of an answer that comes after it what the user sees.
        """
        ...


class HeldThreads(Protocol):
    """The threads of a target that gdb holds. A ``tid`` is an OS thread id."""

    @property
    def reader(self) -> StackReader:
        """Reads the stacks."""

    async def gdb_thread(self, tid: int) -> int:
        """gdb's number of a thread. Raises CommandError when there is no such thread."""
        ...

    async def attachment(self, tid: int) -> Attachment:
        """Whether the thread may run Python code where it stands."""

    async def stack_while_held(self, tid: int) -> Stack:
        """The merged stack of the thread, while gdb holds the target."""


class Reads(HeldThreads, AskingPython, Protocol):
    """Threads while gdb holds the target, and debugpy's answers while it does not."""


class Stacks(Reads, Protocol):
    """The same, and the merged stacks of a stopped target."""

    async def stack(self, tid: int | None = ...) -> Stack:
        """The merged stack of a thread, by default the one that stopped. Raises WrongState when the target runs."""
        ...


class Mapped(Protocol):
    """Knows the files that are mapped into the target."""

    @property
    def image(self) -> AddressSpace:
        """The files by address."""
