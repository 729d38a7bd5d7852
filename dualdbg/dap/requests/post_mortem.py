"""A core file: requests that only look are answered as at any native stop, all others here."""

from __future__ import annotations

from ...protocol import dap_types as dap
from ...session.post_mortem import open_core as open_session
from ...session.session import Session
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..client.paths import PathMap
from ..configuration import Configuration
from ..registry import lost_post_mortem, post_mortem
from ..stages import Stage
from ..start import session_options

_NOTHING_RUNS = "this is a core file: the program has ended"


async def open_core(adapter: Adapter, wanted: Configuration) -> None:
    """Read the core of a configuration. The client configures next; then it hears of one stop, the crash."""
    assert wanted.core is not None
    adapter.debuggee.stage = Stage.STARTING
    program = wanted.program.script if wanted.program is not None else None
    there = program if program is not None and not program.endswith(".py") else None

    def subscribe(session: Session) -> None:
        adapter.begin(session)
        adapter.end_session = session.close

    adapter.debuggee.name = wanted.core
    await adapter.pump.quiet.acquire()  # until the client has configured
    try:
        options = session_options(wanted, adapter.offer.log_dir)
        await open_session(wanted.core, options, there, subscribe=subscribe)
    except BaseException:
        adapter.pump.quiet.release()
        adapter.end_session = None
        adapter.forget()
        adapter.debuggee.stage = Stage.INITIALIZED
        raise
    adapter.client.paths = PathMap(wanted.mappings, adapter.client.uris)
    adapter.debuggee.stage = Stage.POST_MORTEM
    for note in wanted.notes:
        adapter.connection.output("console", f"dualdbg: {note}\n")
    adapter.connection.event("capabilities", {"capabilities": lost_post_mortem()})
    adapter.connection.event("initialized")


@post_mortem("configurationDone")
async def configuration_done(adapter: Adapter, arguments: Arguments) -> None:
    if not adapter.configured.is_set():
        adapter.configured.set()
        adapter.background(_tell(adapter))


async def _tell(adapter: Adapter) -> None:
    """After the answer: tell the client what happened, the one stop."""
    adapter.pump.quiet.release()


@post_mortem(
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setInstructionBreakpoints",
    "setDataBreakpoints",
    "setExceptionBreakpoints",
)
async def set_breakpoints(adapter: Adapter, arguments: Arguments) -> dap.SetBreakpointsResponseBody:
    """Editors send all their breakpoints to every session. Each is answered, and none is bound."""
    row: dap.Breakpoint = {"verified": False, "message": _NOTHING_RUNS, "reason": "failed"}
    return {"breakpoints": [row for _ in arguments.objects("breakpoints")]}


@post_mortem("dataBreakpointInfo")
async def data_breakpoint_info(adapter: Adapter, arguments: Arguments) -> dap.DataBreakpointInfoResponseBody:
    return {"dataId": None, "description": _NOTHING_RUNS}


@post_mortem("stepInTargets", "gotoTargets")
async def targets(adapter: Adapter, arguments: Arguments) -> dap.StepInTargetsResponseBody:
    """The same body for both: there are none."""
    return {"targets": []}


@post_mortem("terminate", "disconnect")
async def terminate(adapter: Adapter, arguments: Arguments) -> None:
    adapter.over()
    await adapter.end()
