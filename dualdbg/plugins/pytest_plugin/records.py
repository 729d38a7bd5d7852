"""What the parent of the tests processes writes down of a crash or a hang, for the process that reports it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...system.private_files import new_file


@dataclass(frozen=True)
class Record:
    """One crash, hang or unexpected end: of a tests process, or (``is_child``) of a process that descends from it.

    ``what`` and ``phase`` are of the test or the collector, as :class:`.page.Doing` has them. ``owner`` is the tests
    process. ``text`` is the whole report, ``summary`` one line. ``file`` and ``line``: where the user's test stood.
    """

    number: int
    owner: int
    pid: int
    what: str
    phase: int
    summary: str
    text: str
    is_child: bool = False
    file: str | None = None
    line: int | None = None
    seconds: float = 0.0
    output: list[list[str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"incident-{self.number}"

    def write(self, folder: Path) -> None:
        """Make its file, whole or not at all."""
        descriptor = new_file(folder / f".{self.name}")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
        (folder / f".{self.name}").rename(folder / self.name)


def read_all(folder: Path) -> list[Record]:
    """All records, in their order."""
    found = [Record(**json.loads(path.read_text("utf-8"))) for path in folder.glob("incident-*")]
    return sorted(found, key=lambda record: record.number)
