"""A client comes for a child process of another client's program."""

from __future__ import annotations

from .adapter import Adapter
from .admission import ChildIsGone
from .configuration import Configuration
from .subprocesses.child import Configure
from .subprocesses.relay import Elsewhere
from .waits import first_of


async def adopt(adapter: Adapter, configuration: Configuration, configure: Configure) -> None:
    """The client comes for a child; ``configure`` is awaited before the child runs, and the call returns then.

    Raises ChildIsGone when the child does not exist or cannot be debugged any more, Elsewhere when another adapter has
    it.
    """
    token = configuration.child or ""
    child = adapter.offer.children.pop(token, None)
    if child is None and configuration.connect is not None and not _is_here(adapter, configuration.connect):
        raise Elsewhere(configuration.connect)
    if child is None or child.given_up.is_set():
        raise ChildIsGone()
    adapter.debuggee.name = child.process.title
    adapter.debuggee.start_method = "attachForSuspendedLaunch"
    adapter.connection.event("capabilities", {"capabilities": {"supportsRestartRequest": False}})
    adapter.begin(child.session, child.events)
    child.client_session, child.configure = adapter, configure

    async def end() -> None:
        await child.end(kill=False)
        await child.session.close()
        await adapter.caught_up()

    adapter.end_session = end
    child.taken.set()
    await first_of(child.configured, child.given_up, child.session.ended)
    if not child.configured.is_set():
        raise ChildIsGone(child.why or "the child process has ended")


def _is_here(adapter: Adapter, address: tuple[str, int]) -> bool:
    """Whether the client came to this adapter by the address of the child."""
    offer = adapter.offer
    return offer.only_children or (offer.address is not None and offer.address[1] == address[1])
