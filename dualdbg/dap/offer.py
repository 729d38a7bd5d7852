"""What a server offers its clients: only to listen to what they ask for, or one program of its own to attach to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import WrongState
from .configuration import Configuration

if TYPE_CHECKING:
    from .children import Child


@dataclass
class Offer:
    """Shared by the clients of one server.

    ``program`` was given on the server's command line; it is started when a client attaches, on the server's own
    terminal. ``program_done``: it ended, or the client let go of it; ``exit_code`` is how it ended. ``log_dir``
    keeps every message. ``address`` is where the server listens, if it does. ``children`` wait for a client of their
    own, by the word that it has to know; ``only_children``: there is nothing else to be had here.
    """

    program: Configuration | None = None
    log_dir: Path | None = None
    exit_code: int | None = None
    taken: bool = False
    program_done: bool = False
    clients: int = 0
    address: tuple[str, int] | None = None
    children: dict[str, Child] = field(default_factory=dict)
    only_children: bool = False

    def take_program(self) -> Configuration:
        """The program, for the one client that debugs it. Raises WrongState when there is none, or it is taken."""
        if self.program is None:
            raise WrongState(
                "there is no program here to attach to",
                "give processId, or start the server with a program: dualdbg dap --listen PORT SCRIPT",
            )
        if self.taken:
            raise WrongState("another client debugs this program", "end that session first")
        self.taken = True
        return self.program
