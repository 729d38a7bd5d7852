"""All that is told of a job, whatever it is told as."""

from __future__ import annotations

from dataclasses import dataclass

from .answers import Missing
from .gathering import Job
from .verdict import Judgement


@dataclass(frozen=True)
class JobReport:
    """A job and what was seen in it. ``via``: whose nodes were asked, as it was typed; None for files. ``nodes``: so
    many were asked; ``missing`` are those without an answer. ``interrupted``: Ctrl-C came before all had answered."""

    job: Job
    judgement: Judgement
    via: str | None = None
    nodes: int = 0
    missing: tuple[Missing, ...] = ()
    interrupted: bool = False

    @property
    def answered(self) -> tuple[int, int]:
        """So many nodes or files had something, of so many."""
        if self.via is None:
            return self.job.files - self.job.unread, self.job.files
        return self.nodes - sum(len(row.nodes) for row in self.missing), self.nodes
