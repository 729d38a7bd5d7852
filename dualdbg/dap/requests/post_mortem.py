"""A core file: what a client may only look at is answered as at any native stop, and the rest here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...session.core import open_core as open_session
from ...session.session import Session
from ..arguments import Arguments
from ..configuration import Configuration
from ..paths import PathMap
from ..registry import Body, Stage, post_mortem
from ..start import session_options

if TYPE_CHECKING:
    from ..adapter import Adapter

_NOTHING_RUNS = "this is a core file: the program has ended"
_CANNOT = (
    "supportsRestartRequest",
    "supportsSetVariable",
    "supportsSetExpression",
    "supportsWriteMemoryRequest",
)


async def open_core(adapter: Adapter, wanted: Configuration) -> Body:
    """Read the core of a configuration; the client configures next, and hears of one stop, which is the end."""
    assert wanted.core is not None
    adapter.stage = Stage.STARTING
    program = wanted.program.script if wanted.program is not None else None
    there = program if program is not None and not program.endswith(".py") else None

    def subscribe(session: Session) -> None:
        adapter.begin(session)
        adapter.end_session = session.close

    adapter.process_name = wanted.core
    await adapter.pump.quiet.acquire()  # until the client has configured
    try:
        options = session_options(wanted, adapter.offer.log_dir)
        await open_session(wanted.core, options, there, subscribe=subscribe)
    except BaseException:
        adapter.pump.quiet.release()
        adapter.end_session = None
        adapter.forget()
        adapter.stage = Stage.INITIALIZED
        raise
    adapter.paths = PathMap(wanted.mappings, adapter.client.uris)
    adapter.stage = Stage.POST_MORTEM
    for note in wanted.notes:
        adapter.connection.output("console", f"dualdbg: {note}\n")
    adapter.connection.event("capabilities", {"capabilities": dict.fromkeys(_CANNOT, False)})
    adapter.connection.event("initialized")
    return None


@post_mortem("configurationDone")
async def configuration_done(adapter: Adapter, arguments: Arguments) -> Body:
    if not adapter.configured.is_set():
        adapter.configured.set()
        adapter.background(_tell(adapter))
    return None


async def _tell(adapter: Adapter) -> None:
    """After the answer: what happened, which is the one stop."""
    adapter.pump.quiet.release()


@post_mortem(
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setInstructionBreakpoints",
    "setDataBreakpoints",
    "setExceptionBreakpoints",
)
async def set_breakpoints(adapter: Adapter, arguments: Arguments) -> Body:
    """Editors send all of theirs to every session: each is answered, and none is bound."""
    row = {"verified": False, "message": _NOTHING_RUNS, "reason": "failed"}
    return {"breakpoints": [dict(row) for _ in arguments.objects("breakpoints")]}


@post_mortem("dataBreakpointInfo")
async def data_breakpoint_info(adapter: Adapter, arguments: Arguments) -> Body:
    return {"dataId": None, "description": _NOTHING_RUNS}


@post_mortem("stepInTargets", "gotoTargets")
async def targets(adapter: Adapter, arguments: Arguments) -> Body:
    return {"targets": []}


@post_mortem("terminate", "disconnect")
async def terminate(adapter: Adapter, arguments: Arguments) -> Body:
    adapter.over()
    await adapter.end()
    return None
