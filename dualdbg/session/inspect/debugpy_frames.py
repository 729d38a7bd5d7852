"""The frames that debugpy names, joined with the merged stack of native and Python frames; pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from ...backends.python import StackFrame
from ...known.file_endings import PYTHON_ENDINGS
from ...model import Frame, PythonFrame, Role


def without_chained(named: list[PythonFrame]) -> tuple[list[PythonFrame], list[PythonFrame]]:
    """The frames of a thread, and those that exceptions came from which led to the one that it stopped at.

    pydevd puts them behind the others, and marks their names (pydevd_net_command_factory_xml.py).
    """
    first = next(
        (at for at, frame in enumerate(named) if frame.function.startswith("[Chained Exc: ")), len(named)
    )
    return named[:first], named[first:]


def is_frame(frame: Frame, named: PythonFrame) -> bool:
    """Whether a frame of the merged stack is the one that debugpy named."""
    return isinstance(frame, PythonFrame) and frame.engine_id == named.engine_id


def debugpy_frame(row: StackFrame) -> PythonFrame:
    """A row of debugpy's stack as a frame."""
    return PythonFrame(row.function, row.file, row.line, engine_id=row.id, columns=row.columns)


def with_templates(frames: tuple[Frame, ...], named: list[PythonFrame]) -> tuple[Frame, ...]:
    """The same frames with those of templates, which debugpy alone knows, each above the code that renders it."""
    result = list(frames)
    for index, one in enumerate(named):
        if one.file is None or PurePath(one.file).suffix[1:] in ("", *PYTHON_ENDINGS):
            continue
        below = {row.engine_id for row in named[index + 1 :]}
        at = next(
            (at for at, row in enumerate(result) if isinstance(row, PythonFrame) and row.engine_id in below),
            0,
        )
        if one.engine_id not in {row.engine_id for row in result if isinstance(row, PythonFrame)}:
            result.insert(at, one)
    return tuple(result)


def with_engine_ids(frames: tuple[Frame, ...], named: list[PythonFrame]) -> tuple[Frame, ...]:
    """The same frames; those that debugpy named get debugpy's ids. Both lists begin with the innermost frame."""
    waiting = list(reversed(named))
    result: list[Frame] = []
    # From the outermost on: a function that is just returning is not among debugpy's, and may be a recursion.
    for frame in reversed(frames):
        if isinstance(frame, PythonFrame):
            for index, candidate in enumerate(waiting):
                if same_frame(frame, candidate):
                    frame = replace(frame, engine_id=candidate.engine_id, columns=candidate.columns)
                    del waiting[: index + 1]
                    break
        result.append(frame)
    return tuple(reversed(result))


def from_the_stop_on(frames: tuple[Frame, ...], named: list[PythonFrame]) -> tuple[Frame, ...]:
    """The same frames; those above the frame at which debugpy stopped are folded away.

    A function that is just returning to that frame is still on the stack, and does not concern the user. Nor does what
    calls debugpy: where an editor has given that frame another file and line, it is the innermost of the user's Python.
    """
    ids = [frame.engine_id if isinstance(frame, PythonFrame) else None for frame in frames]
    if not named:
        return frames
    if named[0].engine_id in ids:
        top = ids.index(named[0].engine_id)
    else:
        own = (isinstance(frame, PythonFrame) and frame.role is not Role.PLUMBING for frame in frames)
        top = next((at for at, is_own in enumerate(own) if is_own), 0)
    return (*(_folded(frame) for frame in frames[:top]), *frames[top:])


def _folded(frame: Frame) -> Frame:
    return frame if frame.role is Role.PLUMBING else replace(frame, role=Role.PLUMBING)


def same_frame(frame: PythonFrame, named: PythonFrame) -> bool:
    """Whether a frame that was read from memory may be the one that debugpy names: it has the function and the line."""
    if frame.line != named.line or frame.file is None or named.file is None:
        return False
    if PurePath(frame.file).name != PurePath(named.file).name:
        return False
    return frame.function.rsplit(".", 1)[-1] == named.function.rsplit(".", 1)[-1]
