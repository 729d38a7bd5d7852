"""What earlier samples of a process have learnt: the next one makes it stand still for less time, and works less."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ..model import NativeFrame, Stack
from ..stacks.roles import RoleRules
from ..symbols.address_space import AddressSpace
from ..symbols.source_lines import Line
from .cpython.reader import Interpreter, find_interpreter
from .linux.procfs import read_rank
from .unwind.unwinder import Unwinder

_MOST_PAGES = 256  # that are copied at once: 1 MiB takes 0.1 ms
_MOST_STACKS = 10_000

Place = tuple[int, bool]  # an address of code, and whether a call returns to it


@dataclass(frozen=True)
class Code:
    """What the files say of an address of code: its function and file, and where it stands in the source, calls that
    are inlined there first."""

    function: str | None
    library: str | None
    language: str | None = None
    lines: tuple[Line, ...] = ()


@dataclass
class Learnt:
    """What the files of a process say, as far as it was needed; true for as long as the same files are mapped.

    ``stacks``: what was made of the frames of a thread, and its native frames.
    """

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

    ``pages`` is empty where the next sample has to find them out. ``interpreter``, ``rank`` (with the number of
    ranks) and ``learnt`` are those of the program and the files at the last :meth:`refresh`.
    """

    image: AddressSpace
    pages: frozenset[int] = frozenset()
    interpreter: Interpreter | None = None
    rank: tuple[int | None, int | None] = (None, None)
    learnt: Learnt = field(default_factory=Learnt)
    version: int = -1
    _seen: frozenset[int] = frozenset()

    def refresh(self) -> None:
        """Read the map again. Other files: what the old ones have said is forgotten."""
        self.image.refresh()
        if self.version != self.image.version:
            self.version = self.image.version
            self.pages = frozenset()
            self.interpreter = find_interpreter(self.image.modules)
            self.rank = read_rank(self.image.pid)
            self.learnt = Learnt()

    def learn(self, loaded: Collection[int]) -> None:
        """A sample has read these pages one by one. Those that no earlier one has read make the next sample a slow
        one too: a program that is on its way to elsewhere would be held twice for each sample."""
        more = self._seen.union(loaded)
        is_news = len(more) > len(self._seen)
        self._seen = more if len(more) <= _MOST_PAGES else frozenset(loaded)
        self.pages = frozenset() if is_news else self._seen
