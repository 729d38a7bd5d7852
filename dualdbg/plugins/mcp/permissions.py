"""What a client of this server may have done: decided by who starts the server, on its command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import CommandError, UsageError
from ...model import BreakpointKind, BreakpointSpec
from ...symbols.locspec.breakpoint_spec import parse_spec
from ...system.folders import expanded

_PLAIN = re.compile(r"[\w.>\[\]*&:\s-]+")  # names, members, elements: nothing that calls or assigns


class NotPermitted(CommandError):
    """The server was started so that this is not done. Asking again does not help."""


@dataclass(frozen=True)
class Permissions:
    """``read_only``: nothing is run, stopped or evaluated. ``programs``: what may be run, files and folders; None: all.

    With ``programs`` nothing else may bring in code: no expression of the client is run, no other interpreter and no
    variable of the environment is given to the program.
    """

    read_only: bool = False
    programs: tuple[Path, ...] | None = None

    @property
    def runs_expressions(self) -> bool:
        """Whether an expression of the client may run code in the program."""
        return self.programs is None and not self.read_only

    @property
    def how_to_begin(self) -> str:
        """The calls that begin a session here."""
        return "attach(core=…)" if self.read_only else "run or attach"

    def check_program(self, program: Path, cwd: Path) -> None:
        """Raises NotPermitted unless this file may be run in this folder. Links are followed."""
        for place in (program, cwd):
            if not self._has(place):
                raise NotPermitted(
                    f"{place} is not among the programs that may be run here: {self._named()}",
                    "whoever started dualdbg mcp can add it with --allow PATH",
                )

    def check_unlisted(self, what: str) -> None:
        """Raises NotPermitted where ``programs`` are listed: ``what`` would bring in code that is not."""
        if self.programs is not None:
            raise NotPermitted(
                f"{what} is not given here: only listed programs may be run, {self._named()}",
                "leave it away; whoever started dualdbg mcp has listed them with --allow",
            )

    def check_interpreter(self) -> None:
        """Raises NotPermitted where no interpreter of the client's choice is started."""
        if self.read_only:
            raise NotPermitted(
                "this server only looks: it starts no interpreter that is named", "leave python away"
            )
        self.check_unlisted("python")

    def check_specs(self, texts: Sequence[str]) -> None:
        """Raises NotPermitted for a breakpoint that would run an expression, where none is run."""
        if not self.runs_expressions:
            for text in texts:  # whether a name is an operator does not matter here
                self._check_spec(parse_spec(text, lambda _: True))

    def _check_spec(self, spec: BreakpointSpec) -> None:
        if spec.condition is not None or spec.log is not None:
            self.check_unlisted("a condition or a log text of a breakpoint")
        if spec.kind is BreakpointKind.WATCH and not _PLAIN.fullmatch(spec.subject):
            self.check_unlisted("a watched expression with more than names, members and elements")

    def _has(self, place: Path) -> bool:
        real = place.resolve()
        return any(real == listed or listed in real.parents for listed in self.programs or ())

    def _named(self) -> str:
        return ", ".join(map(str, self.programs or ()))


def allowed(names: Sequence[str]) -> tuple[Path, ...] | None:
    """The files and folders that ``--allow`` names; None where it names nothing.

    Raises UsageError for one that is not there.
    """
    places = [expanded(name) for name in names]
    missing = next((place for place in places if not place.exists()), None)
    if missing is not None:
        raise UsageError(f"mcp: --allow {missing}: there is no such file or folder")
    return tuple(place.resolve() for place in places) or None
