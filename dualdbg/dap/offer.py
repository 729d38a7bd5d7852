"""What a server offers its clients: to debug what they name, or one program of the server to attach to."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import WrongState
from ..session.start import StartedTarget
from ..system.log_names import LogFolder
from .configuration import Configuration
from .connection import Connection
from .subprocesses.child import Child

_STRANGERS = 64  # clients that may be connected at once before they have shown that they may debug


@dataclass
class Offer:
    """Shared by the clients of one server.

    ``program`` was given on the server's command line; it is started when a client attaches, on the server's own
    terminal. ``running`` is that program once a client has let go of it: it runs on, others may attach to it, and it
    ends with the server. ``program_done``: it has ended; ``exit_code`` is how. ``log_dir`` keeps every message.
    ``address`` is where the server listens, if it does. ``children`` wait for their clients, by the token that the
    client has to know. ``only_children``: clients may come only for children. ``secret`` is what a
    client at a port has to show; without a secret, the client has to be a program of the same user.
    """

    program: Configuration | None = None
    running: StartedTarget | None = None
    log_dir: LogFolder | None = None
    exit_code: int | None = None
    taken: bool = False
    program_done: bool = False
    clients: int = 0
    address: tuple[str, int] | None = None
    children: dict[str, Child] = field(default_factory=dict)
    only_children: bool = False
    closing: bool = False  # the server was told to end, and its program ends with it
    secret: str | None = None
    strangers: list[Connection] = field(default_factory=list)  # clients that have shown nothing yet

    def receive(self, client: Connection) -> None:
        """A client has come that has shown nothing yet. When there are too many such clients, the oldest has to go."""
        self.strangers = [one for one in self.strangers if not one.gate.is_open and not one.closed.is_set()]
        if not client.gate.is_open:
            self.strangers.append(client)
        if len(self.strangers) > _STRANGERS:
            self.strangers.pop(0).lost()

    def take_program(self) -> Configuration:
        """The program, for the one client that debugs it. Raises WrongState without a program, or when it is taken."""
        if self.program is None:
            raise WrongState(
                "there is no program here to attach to",
                "give processId, or start the server with a program: dualdbg dap --listen PORT SCRIPT",
            )
        if self.program_done:
            raise WrongState("the server's program has ended", "start the server again")
        if self.taken:
            raise WrongState("another client debugs this program", "end that session first")
        self.taken = True
        return self.program
