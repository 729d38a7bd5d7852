"""launch, attach and configurationDone: from a configuration to a running program."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...errors import CommandError, TargetError, UsageError, WrongState
from ...session.session import Session
from ..adapter import Adapter, StartedFrom
from ..adopt import adopt
from ..client.arguments import Arguments
from ..client.paths import PathMap
from ..client_terminal import ClientTerminal
from ..configuration import Configuration, read_configuration
from ..registry import request
from ..stages import CONFIGURABLE, Stage
from ..start import start, start_attached, start_plain
from ..streams import DebugConsole, NoConsole, OwnTerminal, Streams
from ..waits import first_of
from .post_mortem import open_core


@request("launch", (Stage.INITIALIZED,), aside=True)
async def launch(adapter: Adapter, arguments: Arguments) -> None:
    configuration = read_configuration(arguments)
    _refuse_others(adapter)
    if configuration.core is not None:
        await open_core(adapter, configuration)
        return
    if configuration.program is None:
        raise UsageError("launch: nothing to run is given", "give program, module or code")
    adapter.launched = True
    adapter.debuggee.start_method = "launch"
    await _begin(adapter, StartedFrom(configuration))


@request("attach", (Stage.INITIALIZED,), aside=True)
async def attach(adapter: Adapter, arguments: Arguments) -> None:
    """Attach to a process, a core file, a child of another session, or the program that the server was started with."""
    configuration = read_configuration(arguments)
    if configuration.child is not None:
        await _begin(adapter, StartedFrom(configuration))
        return
    _refuse_others(adapter)
    if configuration.core is not None:
        await open_core(adapter, configuration)
        return
    if configuration.process_id is not None:
        await _begin(adapter, StartedFrom(configuration))
        return
    wanted = _merged(adapter.offer.take_program(), configuration)
    adapter.took_program = True
    if adapter.offer.running is not None:  # an earlier client has let go of it
        wanted = replace(wanted, process_id=adapter.offer.running.pid)
    else:
        adapter.debuggee.start_method = "launch"
    try:
        await _begin(adapter, StartedFrom(wanted, own_terminal=True))
    except BaseException:
        adapter.offer.taken = adapter.took_program = False
        raise


@request("configurationDone", CONFIGURABLE, capabilities=("supportsConfigurationDoneRequest",))
async def configuration_done(adapter: Adapter, arguments: Arguments) -> None:
    if adapter.configured.is_set():
        raise WrongState("configurationDone came a second time", "")
    adapter.debuggee.stage = Stage.LIVE
    adapter.configured.set()


async def start_again(adapter: Adapter, arguments: Arguments) -> None:
    """End the program and run it once more; ``arguments`` may hold a changed configuration. Raises DualdbgError."""
    before = adapter.started_from
    if before is None:
        raise CommandError("nothing was started here", "send launch or attach first")
    if before.configuration.child is not None:
        raise CommandError("a child process cannot be started again", "restart the session of its program")
    if arguments.values:
        before = replace(before, configuration=read_configuration(arguments))
    running = adapter.offer.running if adapter.took_program else None
    if running is not None:  # this client has attached to it; it is the server that starts programs
        before = replace(before, configuration=replace(before.configuration, process_id=None))
        adapter.offer.running = None
    adapter.started_from = before
    await adapter.end(tell=False)
    if running is not None:
        running.kill()
        await running.cleared()
    adapter.told_over = False
    adapter.debuggee.stage = Stage.STARTING
    try:
        await _run(adapter, before)
    except BaseException:
        adapter.over()
        raise
    adapter.debuggee.stage = Stage.LIVE


def _refuse_others(adapter: Adapter) -> None:
    """Raises CommandError where a client may only come for a child."""
    if adapter.offer.only_children:
        raise CommandError(
            "only child processes of a program that is debugged are to be had here",
            'start a session of your own: "request": "launch"',
        )


def _merged(offered: Configuration, asked: Configuration) -> Configuration:
    """The server's program, with what the client wants of its debugging."""
    return replace(
        offered,
        just_my_code=False if offered.just_my_code is False else asked.just_my_code,
        breakpoints=(*offered.breakpoints, *asked.breakpoints),
        mappings=(*asked.mappings, *offered.mappings),
        stop_on_entry=offered.stop_on_entry or asked.stop_on_entry,
        debugpy={**offered.debugpy, **asked.debugpy},
        follow=asked.follow,
        follow_by_default=asked.follow_by_default,
        type=asked.type,
        gdb_commands=(*offered.gdb_commands, *asked.gdb_commands),
        gdb_arguments=(*offered.gdb_arguments, *asked.gdb_arguments),
        notes=asked.notes,
    )


async def _begin(adapter: Adapter, wanted: StartedFrom) -> None:
    adapter.debuggee.stage = Stage.STARTING
    adapter.started_from = wanted
    try:
        await _run(adapter, wanted)
    except asyncio.CancelledError:
        adapter.over()
        raise
    except BaseException:
        if adapter.debuggee.stage is not Stage.ENDED:
            adapter.debuggee.stage = Stage.INITIALIZED
        raise
    if adapter.debuggee.stage is not Stage.ENDED:  # the program may have run to its end by now
        adapter.debuggee.stage = Stage.LIVE


async def _run(adapter: Adapter, wanted: StartedFrom) -> None:
    """Start it, and return when it runs. Raises DualdbgError."""
    configuration = wanted.configuration
    adapter.client.paths = PathMap(configuration.mappings, adapter.client.uris)
    for note in configuration.notes:
        adapter.connection.output("console", f"dualdbg: {note}\n")

    async def configure(session: Session) -> None:
        await _configure(adapter, session)

    if configuration.child is not None:
        await adopt(adapter, configuration, configure)
    elif configuration.process_id is not None:
        await start_attached(adapter, configuration, configure)
    elif configuration.no_debug:
        await start_plain(adapter, configuration, _streams(adapter, wanted))
    else:
        await start(adapter, configuration, _streams(adapter, wanted), configure)


def _streams(adapter: Adapter, wanted: StartedFrom) -> Streams:
    if wanted.own_terminal:
        return OwnTerminal()
    if wanted.configuration.console == "internalConsole":
        told = wanted.configuration.redirect_output is not False
        return DebugConsole(adapter.connection) if told else NoConsole()
    return ClientTerminal(adapter.connection, adapter.client, wanted.configuration)


async def _configure(adapter: Adapter, session: Session) -> None:
    """Before the first line of the program runs: the client sets its breakpoints."""
    with suppress(OSError):  # it has ended
        adapter.client.paths = adapter.client.paths.inside(str(Path(f"/proc/{session.pid}/cwd").readlink()))
    if adapter.configured.is_set():  # started again: the breakpoints are known
        await adapter.breakpoints.set_again()
        return
    adapter.debuggee.stage = Stage.CONFIGURING
    adapter.connection.event("initialized")
    await first_of(adapter.configured, session.ended)
    if not adapter.configured.is_set():
        raise TargetError("the program has ended before it was let run")
