"""launch, attach and configurationDone: from a configuration to a running program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import CommandError, TargetError, UsageError, WrongState
from ...session.session import Session
from ..adapter import first_of
from ..arguments import Arguments
from ..children import adopt, refuse_others
from ..configuration import Configuration, read_configuration
from ..paths import PathMap
from ..registry import CONFIGURABLE, Body, Stage, request
from ..start import start, start_attached, start_plain
from ..streams import DebugConsole, OwnTerminal, Streams
from .post_mortem import open_core

if TYPE_CHECKING:
    from ..adapter import Adapter


@dataclass
class StartRequest:
    """How this client's program was started, so that it can be started again."""

    configuration: Configuration
    own_terminal: bool = False

    async def run(self, adapter: Adapter) -> None:
        """Start it, and return when it runs. Raises DualdbgError."""
        adapter.paths = PathMap(self.configuration.mappings, adapter.client.uris)
        for note in self.configuration.notes:
            adapter.connection.output("console", f"dualdbg: {note}\n")
        if self.configuration.child is not None:
            await adopt(adapter, self.configuration, self._configure(adapter))
        elif self.configuration.process_id is not None:
            await start_attached(adapter, self.configuration, self._configure(adapter))
        elif self.configuration.no_debug:
            await start_plain(adapter, self.configuration, self._streams(adapter))
        else:
            await start(adapter, self.configuration, self._streams(adapter), self._configure(adapter))

    def _streams(self, adapter: Adapter) -> Streams:
        if self.own_terminal:
            return OwnTerminal()
        if self.configuration.console == "internalConsole":
            return DebugConsole(adapter.connection)
        from ..terminal import ClientTerminal

        return ClientTerminal(adapter, self.configuration)

    def _configure(self, adapter: Adapter) -> Callable[[Session], Awaitable[None]]:
        async def configure(session: Session) -> None:
            if adapter.configured.is_set():  # started again: the breakpoints are known
                await adapter.breakpoints.set_again()
                return
            adapter.stage = Stage.CONFIGURING
            adapter.connection.event("initialized")
            await first_of(adapter.configured, session.ended)
            if not adapter.configured.is_set():
                raise TargetError("the program has ended before it was let run")

        return configure

    async def again(self, adapter: Adapter, arguments: Arguments) -> None:
        """End the program and run it once more; ``arguments`` may hold a changed configuration."""
        if self.configuration.child is not None:
            raise CommandError(
                "a child process cannot be started again", "restart the session of its program"
            )
        if arguments.values:
            self.configuration = read_configuration(arguments)
        await adapter.end(tell=False)
        adapter.stage = Stage.STARTING
        try:
            await self.run(adapter)
        except BaseException:
            adapter.over()
            raise
        adapter.stage = Stage.LIVE


@request("launch", (Stage.INITIALIZED,), aside=True)
async def launch(adapter: Adapter, arguments: Arguments) -> Body:
    configuration = read_configuration(arguments)
    refuse_others(adapter)
    if configuration.core is not None:
        return await open_core(adapter, configuration)
    if configuration.program is None:
        raise UsageError("launch: nothing to run is given", "give program, module or code")
    adapter.launched = True
    adapter.start_method = "launch"
    await _begin(adapter, StartRequest(configuration))
    return None


@request("attach", (Stage.INITIALIZED,), aside=True)
async def attach(adapter: Adapter, arguments: Arguments) -> Body:
    """Attach to a process, a core file, a child of another session, or the program that the server was started with."""
    configuration = read_configuration(arguments)
    if configuration.child is not None:
        await _begin(adapter, StartRequest(configuration))
        return None
    refuse_others(adapter)
    if configuration.core is not None:
        return await open_core(adapter, configuration)
    if configuration.process_id is not None:
        await _begin(adapter, StartRequest(configuration))
        return None
    offered = adapter.offer.take_program()
    adapter.launched = adapter.took_program = True
    adapter.start_method = "launch"
    try:
        await _begin(adapter, StartRequest(_merged(offered, configuration), own_terminal=True))
    except BaseException:
        adapter.offer.taken = adapter.took_program = False
        raise
    return None


def _merged(offered: Configuration, asked: Configuration) -> Configuration:
    """The server's program, with what the client wants of its debugging."""
    return replace(
        offered,
        just_my_code=asked.just_my_code and offered.just_my_code,
        breakpoints=(*offered.breakpoints, *asked.breakpoints),
        mappings=(*asked.mappings, *offered.mappings),
        stop_on_entry=offered.stop_on_entry or asked.stop_on_entry,
        debugpy={**offered.debugpy, **asked.debugpy},
        follow=asked.follow,
        follow_by_default=asked.follow_by_default,
        type=asked.type,
        gdb_commands=(*offered.gdb_commands, *asked.gdb_commands),
        notes=asked.notes,
    )


async def _begin(adapter: Adapter, wanted: StartRequest) -> None:
    adapter.stage = Stage.STARTING
    adapter.start = wanted
    try:
        await wanted.run(adapter)
    except asyncio.CancelledError:
        adapter.over()
        raise
    except BaseException:
        if adapter.stage is not Stage.ENDED:
            adapter.stage = Stage.INITIALIZED
        raise
    if adapter.stage is not Stage.ENDED:  # it may have run to its end by now
        adapter.stage = Stage.LIVE


@request("configurationDone", CONFIGURABLE)
async def configuration_done(adapter: Adapter, arguments: Arguments) -> Body:
    if adapter.configured.is_set():
        raise WrongState("configurationDone came a second time", "")
    adapter.stage = Stage.LIVE
    adapter.configured.set()
    return None
