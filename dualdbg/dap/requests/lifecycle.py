"""The beginning and the end of a client's session: initialize, cancel, disconnect, terminate, restart."""

from __future__ import annotations

import os
import signal

from ...errors import CommandError
from ...model import State
from ...protocol.dap_types import Capabilities
from ...session.state import OVER
from ...system.patience import patient
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..registry import capabilities, request
from ..stages import ANY, Stage
from ..waits import within
from .launch import start_again

_GRACE = patient(5.0)  # seconds that a program has to end by itself after an interrupt


@request("initialize", (Stage.NEW,))
async def initialize(adapter: Adapter, arguments: Arguments) -> Capabilities:
    adapter.client.introduce(arguments)
    adapter.debuggee.stage = Stage.INITIALIZED
    return capabilities()


@request("cancel", ANY, urgent=True, capabilities=("supportsCancelRequest",))
async def cancel(adapter: Adapter, arguments: Arguments) -> None:
    number = arguments.number("requestId", None)
    if number is not None:
        adapter.cancel(number)


@request("disconnect", ANY, urgent=True, capabilities=("supportTerminateDebuggee",))
async def disconnect(adapter: Adapter, arguments: Arguments) -> None:
    """Unless the client says it, a program that was launched here ends, and one that was attached to lives on.

    A client that is to come again (``restart``) wants the server's program from its beginning.
    """
    again = arguments.flag("restart") and adapter.took_program
    ends = arguments.flag("terminateDebuggee", adapter.launched or again)
    session = adapter.debuggee.session_or_none
    if session is not None and session.state not in OVER:
        if not ends:
            await session.detach()
        elif not adapter.launched:
            await session.kill(also_attached=True)
    elif adapter.plain is not None and not ends:
        adapter.plain.detach()
        adapter.plain = None
    await adapter.end()
    if again:
        # The client comes again, and the program begins again.
        adapter.offer.taken = adapter.took_program = adapter.offer.program_done = False
        adapter.offer.running = None


@request(
    "terminate",
    (Stage.CONFIGURING, Stage.LIVE, Stage.ENDED),
    urgent=True,
    capabilities=("supportsTerminateRequest",),
)
async def terminate(adapter: Adapter, arguments: Arguments) -> None:
    """End the program. With ``onTerminate`` set to KeyboardInterrupt it first has some time to end by itself."""
    session = adapter.debuggee.session_or_none
    if session is None or session.state in OVER:
        if adapter.plain is not None:
            adapter.ending = True
            adapter.plain.kill()
        if adapter.children is not None:
            # The children outlived the program, and the session lasts as long as they do.
            await adapter.children.end(kill=True)
        return
    if adapter.started_from is not None and adapter.started_from.configuration.interrupt_first:
        if session.state is not State.RUNNING:
            raise CommandError(
                "a stopped program cannot be interrupted", "continue first, or stop it twice to kill it"
            )
        os.kill(session.pid, signal.SIGINT)
        await within(_GRACE, session.ended.wait(), False)
        return
    adapter.ending = True
    if adapter.children is not None:
        adapter.children.end_with_program()
    await session.kill(also_attached=True)
    if adapter.children is not None:
        await adapter.children.end(kill=True)


@request("restart", (Stage.LIVE, Stage.ENDED), capabilities=("supportsRestartRequest",))
async def restart(adapter: Adapter, arguments: Arguments) -> None:
    """Run the program again, with the same breakpoints; new arguments may come along."""
    await start_again(adapter, arguments.object("arguments"))
    return
