"""What commands of the prompt speak of where they name nothing: a frame, and the lines that were listed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Selection:
    """The frame that commands speak of: frame ``number`` (as the stack shows it) of the thread ``tid``."""

    tid: int
    number: int = 0


@dataclass
class Listing:
    """Where ``list`` goes on: the last lines that were shown of a file."""

    file: str
    first: int
    last: int
