"""The frames of asyncio's tasks that a user wants to see: as in a stack. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..model import PythonFrame, Role, Tasks
from .roles import RoleRules, assign_roles


def with_visible_frames(found: Tasks, rules: RoleRules) -> Tasks:
    """The tasks without frames of the interpreter's own and of the debugger. A task that runs may be held in them."""
    return replace(
        found, tasks=tuple(replace(task, frames=_visible(task.frames, rules)) for task in found.tasks)
    )


def _visible(frames: tuple[PythonFrame, ...], rules: RoleRules) -> tuple[PythonFrame, ...]:
    rows = assign_roles(list(frames), rules)
    return tuple(row for row in rows if isinstance(row, PythonFrame) and row.role is not Role.PLUMBING)
