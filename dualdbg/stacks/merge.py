"""One stack of native frames and Python frames, and how sure it is.

An evaluation-loop frame of the interpreter stands for one run of Python frames: in CPython 3.11 and later a loop runs
many Python frames and the outermost of them is its entry frame (Include/internal/pycore_frame.h); in 3.10 and earlier
each Python frame has a loop of its own. Where the address of a loop's own frame is known (``loops``), it says which
native frame a run belongs to; else both sides belong together in order, if they have the same number of runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..known.greenlets import starts_greenlet
from ..model import Frame, NativeFrame, PythonFrame, Quality, Stack
from .loops import bytecode_of, frame_around
from .roles import RoleRules, assign_roles, is_base, is_evaluation_loop

_IN_GREENLET = "of one greenlet, without those that wait"


def merge(
    thread: int,
    native: list[NativeFrame],
    python: list[PythonFrame],
    rules: RoleRules,
    trouble: str | None = None,
) -> Stack:
    """The stack of ``thread`` from both sides, each innermost first.

    ``trouble`` says why one side could not be read, if so; it becomes the note. A stack ends where a greenlet begins.
    """
    start = next((at for at, one in enumerate(native) if starts_greenlet(one.function, one.library)), None)
    if start is not None:
        # On 3.11 and 3.12 the thread's record of an evaluation lies there: greenlet's own, no loop.
        first = replace(native[start], evaluates=False)
        stack = _merged(thread, [*native[:start], first], python, rules, trouble)
        return replace(stack, origin=_IN_GREENLET)
    return _merged(thread, native, python, rules, trouble)


def _merged(
    thread: int,
    native: list[NativeFrame],
    python: list[PythonFrame],
    rules: RoleRules,
    trouble: str | None,
) -> Stack:
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


@dataclass
class _Meeting:
    """Where the two sides meet: frames that take the place of a native one, or go before one, by its position.

    ``note`` says what is not sure.
    """

    instead: dict[int, list[PythonFrame]] = field(default_factory=dict)
    before: dict[int, list[PythonFrame]] = field(default_factory=dict)
    note: str | None = None


def _interleave(native: list[NativeFrame], runs: list[list[PythonFrame]]) -> tuple[list[Frame], str | None]:
    meeting = _by_address(native, runs) or _by_count(native, runs)
    bytecodes = {at: bytecode_of(native, at) for at in meeting.instead}
    merged: list[Frame] = []
    for at in range(len(native) + 1):
        merged += meeting.before.get(at, ())
        if at in meeting.instead:
            innermost, *others = meeting.instead[at]
            runs_it = bytecodes[at]
            merged += [replace(innermost, evaluator=native[at if runs_it is None else runs_it]), *others]
        elif at < len(native) and at not in bytecodes.values():
            merged.append(native[at])
    return merged, meeting.note


def _by_address(native: list[NativeFrame], runs: list[list[PythonFrame]]) -> _Meeting | None:
    """None where the address of no run's loop is known, or the native frames are not those in which the loops are."""
    meeting = _Meeting()
    waiting: list[list[PythonFrame]] = []
    missing = 0
    for run in runs:
        loop = run[-1].loop
        at = frame_around(native, loop) if loop is not None else None
        if at is None:
            waiting.append(run)
            missing += 1
            continue
        meeting.before.setdefault(at, []).extend(frame for one in waiting for frame in one)
        meeting.instead.setdefault(at, []).extend(run)
        waiting = []
    if not meeting.instead:
        return None
    if waiting:
        meeting.before[len(native)] = [frame for run in waiting for frame in run]
    more = len(_loops(native) - meeting.instead.keys())
    if missing and waiting and not _is_whole(native):
        meeting.note = _ends_early(native) + _note(-missing)
    elif missing or more:
        meeting.note = _note(-missing or more)
    return meeting


def _by_count(native: list[NativeFrame], runs: list[list[PythonFrame]]) -> _Meeting:
    loops = sorted(_loops(native))
    difference = len(loops) - len(runs)
    count = min(len(loops), len(runs))
    if difference == 0:
        return _Meeting(dict(zip(loops, runs, strict=True)))
    if _is_whole(native):
        # Count from the outermost frame. A loop without a run has not made its first frame yet, or has just left it.
        pairs = dict(zip(loops[len(loops) - count :], runs[len(runs) - count :], strict=True))
        left = [frame for run in runs[: len(runs) - count] for frame in run]
        return _Meeting(pairs, {0: left}, _note(difference))
    # The native stack was cut short at its outer end: count from the innermost frame.
    pairs = dict(zip(loops[:count], runs[:count], strict=True))
    left = [frame for run in runs[count:] for frame in run]
    return _Meeting(pairs, {len(native): left}, _ends_early(native) + _note(difference))


def _loops(native: list[NativeFrame]) -> set[int]:
    """The positions of the loops, without the frames in which tail-calling ones run their bytecodes."""
    loops = {at for at, frame in enumerate(native) if is_evaluation_loop(frame)}
    return loops - {bytecode_of(native, at) for at in loops}


def _is_whole(native: list[NativeFrame]) -> bool:
    return any(is_base(frame) for frame in native[-3:])


def _ends_early(native: list[NativeFrame]) -> str:
    return f"the native stack ends early, in {_name(native[-1])}: "


def _note(difference: int) -> str:
    if difference > 0:
        many = f"{difference} evaluation loops have" if difference > 1 else "one evaluation loop has"
        return f"{many} no Python frame (a frame is being made or has just ended)"
    many = f"{-difference} runs of Python frames have" if difference < -1 else "one run of Python frames has"
    return f"{many} no evaluation loop in the native stack"


def _name(frame: NativeFrame) -> str:
    return frame.function or f"{frame.pc:#x}"
