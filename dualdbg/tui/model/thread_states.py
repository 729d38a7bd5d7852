"""The state of a thread, from the list of threads together with its stack. Pure."""

from __future__ import annotations

from dataclasses import replace

from ...model import Thread


def with_state(listed: Thread, seen: Thread | None) -> Thread:
    """A thread of the list, with what its stack says. ``seen`` is None when its stack was not read."""
    if seen is None:
        return listed
    return replace(
        listed,
        state=seen.state,
        holds_gil=seen.holds_gil,
        waits_for_gil=seen.waits_for_gil,
        python_name=listed.python_name or seen.python_name,
    )
