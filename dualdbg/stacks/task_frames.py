"""asyncio in stacks: which threads run an event loop, and the frames of tasks that a user wants to see. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..known.event_loops import is_event_loop
from ..model import Frame, NativeFrame, PythonFrame, Role, Tasks
from .roles import RoleRules, assign_roles


def runs_event_loop(frames: Iterable[Frame]) -> bool:
    """Whether a thread with these frames runs an event loop, so that the process has tasks."""
    return any(
        is_event_loop(frame.function, frame.file, frame.library if isinstance(frame, NativeFrame) else None)
        for frame in frames
    )


def with_visible_frames(found: Tasks, rules: RoleRules) -> Tasks:
    """The tasks without frames of the interpreter's own and of the debugger. A task that runs may be held in them."""
    return replace(
        found, tasks=tuple(replace(task, frames=_visible(task.frames, rules)) for task in found.tasks)
    )


def _visible(frames: tuple[PythonFrame, ...], rules: RoleRules) -> tuple[PythonFrame, ...]:
    rows = assign_roles(list(frames), rules)
    return tuple(row for row in rows if isinstance(row, PythonFrame) and row.role is not Role.PLUMBING)
