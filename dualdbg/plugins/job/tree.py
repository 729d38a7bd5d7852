"""The stacks of all ranks of a job as one prefix tree, outermost frame first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...snapshot.report.fold import ranges


@dataclass(frozen=True)
class Place:
    """One frame as a place in the program, equal on all ranks. ``offset`` is the offset in the page of native code
    that has no name: the page itself may differ from rank to rank."""

    kind: str
    function: str | None
    file: str | None = None
    line: int | None = None
    library: str | None = None
    offset: int | None = None


@dataclass
class Node:
    """The ranks that have a thread through this place, and the ranks that have a thread which ends here."""

    ranks: set[int] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)
    children: dict[Place, Node] = field(default_factory=dict)

    def add(self, ranks: Iterable[int], stack: Iterable[Place]) -> None:
        """Takes in a stack that each of these ranks has. It begins with the outermost frame."""
        node, ranks = self, set(ranks)
        node.ranks |= ranks
        for place in stack:
            below = node.children.get(place)
            if below is None:
                below = node.children[place] = Node()
            below.ranks |= ranks
            node = below
        node.ends |= ranks

    def merge(self, other: Node) -> None:
        """Takes in all of ``other``, which is left as it was. The order and the grouping of merges do not matter."""
        pending = [(self, other)]
        while pending:
            mine, theirs = pending.pop()
            mine.ranks |= theirs.ranks
            mine.ends |= theirs.ends
            for place, child in theirs.children.items():
                pending.append((mine.children.setdefault(place, Node()), child))

    def ordered(self) -> list[tuple[Place, Node]]:
        """The children, those of the fewest ranks first; of as many, that with the lowest ranks."""
        return sorted(self.children.items(), key=lambda item: (len(item[1].ranks), sorted(item[1].ranks)))


@dataclass(frozen=True)
class Row:
    """Places one below the other that the same ranks go through, without a branch. ``depth`` counts branches."""

    depth: int
    ranks: str
    count: int
    places: tuple[Place, ...]


def rows(root: Node) -> Iterator[Row]:
    """The tree from top to bottom, the odd ones first."""
    pending = [(0, place, node) for place, node in reversed(root.ordered())]
    while pending:
        depth, place, node = pending.pop()
        chain = [place]
        while len(node.children) == 1 and not node.ends:
            ((place, node),) = node.children.items()
            chain.append(place)
        yield Row(depth, ranges(list(node.ranks)).replace(", ", ","), len(node.ranks), tuple(chain))
        pending += [(depth + 1, place, child) for place, child in reversed(node.ordered())]
