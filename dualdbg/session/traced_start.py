"""How a program is started that is traced and no more: as it would be without us."""

from __future__ import annotations

from dataclasses import replace

from ..target.launcher import Launch, Meeting, Target, spawn
from ..target.terminal import Terminal


def alone(what: Launch) -> Launch:
    """The same program as a native one: nothing of ours runs in its interpreter."""
    if what.native is not None:
        return what
    words = tuple(what.command()[1:])
    return replace(what, native=what.python, script=None, module=None, code=None, flags=(), args=words)


async def spawn_alone(launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None) -> Target:
    """Start a program without anything of ours."""
    return await spawn(launch, None, terminal=terminal)
