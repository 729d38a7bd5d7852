"""The beginning and the end of a client's session: initialize, cancel, disconnect, terminate, restart."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import State
from ..adapter import within
from ..arguments import Arguments
from ..capabilities import CAPABILITIES
from ..client import Client
from ..paths import PathMap
from ..registry import ANY, Body, Stage, request

if TYPE_CHECKING:
    from ..adapter import Adapter

_ENDED = (State.EXITED, State.DETACHED, State.LOST)
_GRACE = 5.0  # seconds that a program has to end by itself after an interrupt


@request("initialize", (Stage.NEW,))
async def initialize(adapter: Adapter, arguments: Arguments) -> Body:
    adapter.client = Client.of(arguments)
    adapter.paths = PathMap(uris=adapter.client.uris)
    adapter.stage = Stage.INITIALIZED
    return CAPABILITIES


@request("cancel", ANY, urgent=True)
async def cancel(adapter: Adapter, arguments: Arguments) -> Body:
    number = arguments.number("requestId", None)
    if number is not None:
        adapter.cancel(number)
    return None


@request("disconnect", ANY, urgent=True)
async def disconnect(adapter: Adapter, arguments: Arguments) -> Body:
    """Without saying which, the program ends when it was launched here, and lives when it was attached to."""
    ends = arguments.flag("terminateDebuggee", adapter.launched)
    session = adapter.session_or_none
    if session is not None and session.state not in _ENDED and not ends:
        await session.detach()
    await adapter.end()
    if arguments.flag("restart") and adapter.took_program:
        adapter.offer.taken = adapter.took_program = False  # the client comes again
    return None


@request("terminate", (Stage.CONFIGURING, Stage.LIVE, Stage.ENDED), urgent=True)
async def terminate(adapter: Adapter, arguments: Arguments) -> Body:
    """End the program; with ``onTerminate`` set to KeyboardInterrupt it has the time to end by itself first."""
    session = adapter.session_or_none
    if session is None or session.state in _ENDED:
        return None
    if adapter.start is not None and adapter.start.configuration.interrupt_first:
        if session.state is not State.RUNNING:
            raise CommandError(
                "a stopped program cannot be interrupted", "continue first, or stop it twice to kill it"
            )
        os.kill(session.pid, signal.SIGINT)
        await within(_GRACE, session.ended.wait(), False)
        return None
    adapter.ending = True
    await session.kill()
    return None


@request("restart", (Stage.LIVE, Stage.ENDED))
async def restart(adapter: Adapter, arguments: Arguments) -> Body:
    """Run the program again, with the same breakpoints; new arguments may come along."""
    if adapter.start is None or not adapter.launched:
        raise CommandError("only a program that dualdbg started can be started again", "attach to it again")
    await adapter.start.again(adapter, arguments.object("arguments"))
    return None
