"""One stack of native frames and Python frames, and how sure it is.

An evaluation-loop frame of the interpreter stands for one run of Python frames: in CPython 3.11 and later a loop runs
many Python frames and the outermost of them is its entry frame (Include/internal/pycore_frame.h); in 3.10 and earlier
each Python frame has a loop of its own. Where both sides have the same number of runs, they belong together in order.
"""

from __future__ import annotations

from ..model import Frame, NativeFrame, PythonFrame, Quality, Stack
from .roles import RoleRules, assign_roles, is_base, is_evaluation_loop


def merge(
    thread: int,
    native: list[NativeFrame],
    python: list[PythonFrame],
    rules: RoleRules,
    trouble: str | None = None,
) -> Stack:
    """The stack of ``thread`` from both sides, each innermost first.

    ``trouble`` says why one side could not be read, if so; it becomes the note.
    """
    if not python:
        loops = sum(map(is_evaluation_loop, native))
        note = trouble or ("the Python frames could not be read" if loops else None)
        quality = Quality.NATIVE_ONLY
        return Stack(thread, tuple(assign_roles(list(native), rules)), quality, note)
    if not native:
        frames = tuple(assign_roles(list(python), rules))
        return Stack(thread, frames, Quality.PYTHON_ONLY, trouble)
    runs = _runs(python)
    merged, note = _interleave(native, runs)
    note = trouble or note
    quality = Quality.FULL if note is None else Quality.PARTIAL
    return Stack(thread, tuple(assign_roles(merged, rules)), quality, note)


def _runs(python: list[PythonFrame]) -> list[list[PythonFrame]]:
    """The Python frames of each evaluation loop, innermost loop first; a run ends with its entry frame."""
    runs: list[list[PythonFrame]] = []
    current: list[PythonFrame] = []
    for frame in python:
        current.append(frame)
        if frame.entry:
            runs.append(current)
            current = []
    if current:
        runs.append(current)
    return runs


def _interleave(native: list[NativeFrame], runs: list[list[PythonFrame]]) -> tuple[list[Frame], str | None]:
    loops = [index for index, frame in enumerate(native) if is_evaluation_loop(frame)]
    difference = len(loops) - len(runs)
    note = None
    if difference == 0:
        pairs = dict(zip(loops, runs, strict=True))
        leftover: list[list[PythonFrame]] = []
    elif any(is_base(frame) for frame in native[-3:]):
        # The native stack is whole: count from the outermost frame. A loop without a run has not made its first frame
        # yet, or has just left it.
        count = min(len(loops), len(runs))
        pairs = dict(zip(loops[len(loops) - count :], runs[len(runs) - count :], strict=True))
        leftover = runs[: len(runs) - count]
        note = _note(difference)
    else:
        # The native stack was cut short at its outer end: count from the innermost frame.
        count = min(len(loops), len(runs))
        pairs = dict(zip(loops[:count], runs[:count], strict=True))
        leftover = runs[count:]
        note = f"the native stack ends early, in {_name(native[-1])}: " + _note(difference)
    merged: list[Frame] = []
    at_innermost = note is not None and not note.startswith("the native stack ends")
    if at_innermost:
        merged += [frame for run in leftover for frame in run]
    for index, frame in enumerate(native):
        if index in pairs:
            merged += pairs[index]
        else:
            merged.append(frame)
    if not at_innermost:
        merged += [frame for run in leftover for frame in run]
    return merged, note


def _note(difference: int) -> str:
    if difference > 0:
        many = f"{difference} evaluation loops have" if difference > 1 else "one evaluation loop has"
        return f"{many} no Python frame (a frame is being made or has just ended)"
    many = f"{-difference} runs of Python frames have" if difference < -1 else "one run of Python frames has"
    return f"{many} no evaluation loop in the native stack"


def _name(frame: NativeFrame) -> str:
    return frame.function or f"{frame.pc:#x}"
