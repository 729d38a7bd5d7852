"""The layouts that come with the dashboard, and the choice of one by the terminal's size."""

from __future__ import annotations

from .arrangement import Node, PaneSlot, columns, rows

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
        (PaneSlot.of("source", "stack", "variables", "threads", "breakpoints", *_MACHINE), 3),
        (PaneSlot.of("prompt", "program"), 2),
    ),
    "small": rows(
        (
            columns(
                (PaneSlot.of("source", *_MACHINE), 5), (PaneSlot.of("stack", "threads", "breakpoints"), 4)
            ),
            3,
        ),
        (columns((PaneSlot.of("prompt", "program"), 5), (PaneSlot.of("variables"), 4)), 2),
    ),
    "medium": columns(
        (rows((PaneSlot.of("source"), 3), (PaneSlot.of("prompt", "program"), 2)), 3),
        (
            rows(
                (PaneSlot.of("stack", "threads"), 2),
                (PaneSlot.of("variables"), 2),
                (PaneSlot.of("breakpoints", *_MACHINE), 1),
            ),
            2,
        ),
    ),
    "large": columns(
        (
            rows((PaneSlot.of("stack"), 3), (PaneSlot.of("threads"), 1), (PaneSlot.of("breakpoints"), 1)),
            3,
        ),
        (
            rows(
                (PaneSlot.of("source"), 3),
                (columns((PaneSlot.of("prompt"), 1), (PaneSlot.of("program"), 1)), 2),
            ),
            5,
        ),
        (rows((PaneSlot.of("variables"), 3), (PaneSlot.of(*_MACHINE), 2)), 3),
    ),
    "source and program": rows((PaneSlot.of("source"), 3), (PaneSlot.of("program", "prompt"), 2)),
    "native": columns(
        (
            rows(
                (PaneSlot.of("source"), 3), (PaneSlot.of("memory"), 1), (PaneSlot.of("prompt", "program"), 2)
            ),
            3,
        ),
        (
            rows(
                (PaneSlot.of("stack", "threads", "breakpoints"), 2),
                (PaneSlot.of("registers"), 2),
                (PaneSlot.of("variables"), 2),
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
