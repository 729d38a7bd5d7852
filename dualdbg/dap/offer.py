"""What a server offers its clients: only to listen to what they ask for, or one program of its own to attach to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import WrongState
from .configuration import Configuration


@dataclass
class Offer:
    """Shared by the clients of one server.

    ``program`` was given on the server's command line; it is started when a client attaches, on the server's own
    terminal. ``program_done``: it ended, or the client let go of it; ``exit_code`` is how it ended. ``log_dir``
    keeps every message.
    """

    program: Configuration | None = None
    log_dir: Path | None = None
    exit_code: int | None = None
    taken: bool = False
    program_done: bool = False
    clients: int = 0

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
