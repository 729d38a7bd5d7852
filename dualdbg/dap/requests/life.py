"""The beginning and the end of a client's session: initialize, cancel, disconnect, terminate, restart."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

from ...backends.events import NativeExited
from ...errors import CommandError
from ...model import State
from ..adapter import within
from ..arguments import Arguments
from ..capabilities import CAPABILITIES
from ..client import Client
from ..paths import PathMap
from ..registry import ANY, Body, Stage, request

if TYPE_CHECKING:
    from ...session.session import Session
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
    if session is not None and session.state not in _ENDED:
        if not ends:
            await session.detach()
        elif not adapter.launched:
            await _kill(adapter, session)
    await adapter.end()
    if arguments.flag("restart") and adapter.took_program:
        adapter.offer.taken = adapter.took_program = False  # the client comes again
    return None


@request("terminate", (Stage.CONFIGURING, Stage.LIVE, Stage.ENDED), urgent=True)
async def terminate(adapter: Adapter, arguments: Arguments) -> Body:
    """End the program; with ``onTerminate`` set to KeyboardInterrupt it has the time to end by itself first."""
    session = adapter.session_or_none
    if session is None or session.state in _ENDED:
        if (
            adapter.children is not None
        ):  # they outlived the program, and the session lasts as long as they do
            await adapter.children.end(kill=True)
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
    await _kill(adapter, session)
    return None


async def _kill(adapter: Adapter, session: Session) -> None:
    """End the program, also one that was attached to: the user has asked for that."""
    held = session.state is State.NATIVE_STOPPED and session.end_target is None
    if session.end_target is None:
        session.end_target = partial(os.kill, session.pid, signal.SIGKILL)
    if held:  # gdb reports no end of what it kills itself, and nobody else waits for an attached process
        session.report(NativeExited(signal="SIGKILL"))
    await session.kill()


@request("restart", (Stage.LIVE, Stage.ENDED))
async def restart(adapter: Adapter, arguments: Arguments) -> Body:
    """Run the program again, with the same breakpoints; new arguments may come along."""
    if adapter.start is None:
        raise CommandError("nothing was started here", "send launch or attach first")
    await adapter.start.again(adapter, arguments.object("arguments"))
    return None
