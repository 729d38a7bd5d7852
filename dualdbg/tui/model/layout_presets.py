"""The layouts that come with the dashboard, and the choice of one by the terminal's size."""

from __future__ import annotations

from .arrangement import Node, Place, columns, rows

PANES = {
    "source": "Source",
    "stack": "Stack",
    "threads": "Threads",
    "variables": "Variables",
    "breakpoints": "Breakpoints",
    "registers": "Registers",
    "memory": "Memory",
    "program": "Program",
    "prompt": "Prompt",
}
"""Every pane and its title."""

_MACHINE = ("registers", "memory")

PRESETS: dict[str, Node] = {
    "tiny": rows(
        (Place.of("source", "stack", "variables", "threads", "breakpoints", *_MACHINE), 3),
        (Place.of("prompt", "program"), 2),
    ),
    "small": rows(
        (columns((Place.of("source", *_MACHINE), 5), (Place.of("stack", "threads", "breakpoints"), 4)), 3),
        (columns((Place.of("prompt", "program"), 5), (Place.of("variables"), 4)), 2),
    ),
    "medium": columns(
        (rows((Place.of("source"), 3), (Place.of("prompt", "program"), 2)), 3),
        (
            rows(
                (Place.of("stack", "threads"), 2),
                (Place.of("variables"), 2),
                (Place.of("breakpoints", *_MACHINE), 1),
            ),
            2,
        ),
    ),
    "large": columns(
        (
            rows((Place.of("stack"), 3), (Place.of("threads"), 1), (Place.of("breakpoints"), 1)),
            3,
        ),
        (
            rows((Place.of("source"), 3), (columns((Place.of("prompt"), 1), (Place.of("program"), 1)), 2)),
            5,
        ),
        (rows((Place.of("variables"), 3), (Place.of(*_MACHINE), 2)), 3),
    ),
    "source and program": rows((Place.of("source"), 3), (Place.of("program", "prompt"), 2)),
    "native": columns(
        (rows((Place.of("source"), 3), (Place.of("memory"), 1), (Place.of("prompt", "program"), 2)), 3),
        (
            rows(
                (Place.of("stack", "threads", "breakpoints"), 2),
                (Place.of("registers"), 2),
                (Place.of("variables"), 2),
            ),
            2,
        ),
    ),
}

AUTOMATIC = "automatic"


def suitable(width: int, height: int) -> str:
    """The preset for a terminal of this size."""
    if width < 64 or height < 16:
        return "tiny"
    if width < 110 or height < 30:
        return "small"
    return "medium" if width < 180 else "large"
