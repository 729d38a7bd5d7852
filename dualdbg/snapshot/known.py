"""What earlier samples of a process have learnt: the next one makes it stand still for less time, and works less."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field

from ..model import NativeFrame, Stack
from ..stacks.roles import RoleRules
from ..symbols.address_space import AddressSpace, Module
from ..symbols.source_lines import Line
from .cpython.reader import Interpreter, find_interpreter
from .linux.procfs import ProcessFacts, read_rank
from .resting import Resting
from .unwind.unwinder import Unwinder

_MOST_PAGES = 256  # that are copied at once: 1 MiB takes 0.1 ms
_MOST_STACKS = 10_000
_CALM = 8  # looks at the map after which no more files are expected to be loaded

Place = tuple[int, bool]  # an address of code, and whether a call returns to it


@dataclass(frozen=True)
class Code:
    """What the files say of an address of code: its function and file, and where it stands in the source, calls that
    are inlined there first."""

    function: str | None
    library: str | None
    language: str | None = None
    lines: tuple[Line, ...] = ()
    bias: int | None = None  # of the file


@dataclass
class Learnt:
    """What the files of a process say, as far as it was needed; true for as long as the same files are mapped.

    ``stacks``: what was made of the frames of a thread, and its native frames.
    """

    modules: list[Module] = field(default_factory=list)
    unwinder: Unwinder | None = None
    rules: RoleRules | None = None
    code: dict[Place, Code] = field(default_factory=dict)
    stacks: dict[object, tuple[Stack, list[NativeFrame]]] = field(default_factory=dict)

    def keep(self, key: object, stack: tuple[Stack, list[NativeFrame]]) -> None:
        """What was made of the frames that ``key`` has."""
        if len(self.stacks) >= _MOST_STACKS:
            self.stacks.clear()
        self.stacks[key] = stack


@dataclass
class Known:
    """What earlier samples of a process have learnt: its files, and which pages have the stacks of its Python.

    ``pages`` is empty where the next sample has to find them out. ``facts``, ``interpreter``, ``rank`` (with the number
    of ranks) and ``learnt`` are those of the program and the files at the last :meth:`refresh`. ``may_defer``: to look
    at the map takes longer than the stop, so where nothing was loaded for some samples the caller will do it for many
    at once. Samples that were taken while :attr:`defers` count when :meth:`refresh` has said that the files are the
    same. ``resting``: threads that need not be held.
    """

    image: AddressSpace
    may_defer: bool = False
    pages: frozenset[int] = frozenset()
    facts: ProcessFacts | None = None
    interpreter: Interpreter | None = None
    rank: tuple[int | None, int | None] = (None, None)
    learnt: Learnt = field(default_factory=Learnt)
    resting: Resting = field(init=False)
    version: int = -1
    _calm: int = 0
    _seen: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.resting = Resting(self.image.pid)

    @property
    def defers(self) -> bool:
        """Whether the next sample trusts the map of an earlier one."""
        return self.may_defer and self._calm >= _CALM

    def refresh(self) -> bool:
        """Read the map again; whether the files are those of before, and the process has not ended. What others have
        said is forgotten."""
        self.image.refresh()
        if self.version == self.image.version and os.path.exists(f"/proc/{self.image.pid}"):
            self._calm += 1
            return True
        self._calm = 0
        self.version = self.image.version
        self.pages = frozenset()
        self.facts = None
        self.interpreter = find_interpreter(self.image.modules)
        self.rank = read_rank(self.image.pid)
        self.learnt = Learnt()
        self.resting.forget()
        return False

    def learn(self, loaded: Collection[int]) -> None:
        """A sample has read these pages one by one. Those that no earlier one has read make the next sample a slow
        one too: a program that is on its way to elsewhere would be held twice for each sample."""
        more = self._seen.union(loaded)
        is_news = len(more) > len(self._seen)
        self._seen = more if len(more) <= _MOST_PAGES else frozenset(loaded)
        self.pages = frozenset() if is_news else self._seen
