"""Which frames of a stack matter to a step: who called whose code, and what is only on the way. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...known.runtime_functions import is_runtime_function
from ...model import NativeFrame, PythonFrame, Role, Stack
from ...shared.libraries import is_runtime, is_system, is_system_source
from ...stacks.roles import RoleRules, is_c_api, is_evaluation_loop
from ...system.source_files import last_components


def same_line(one: PythonFrame, other: PythonFrame) -> bool:
    """Whether both frames stand at the same line of the same file."""
    return one.line == other.line and _same_file(one.file, other.file)


def is_not_below(one: PythonFrame | None, other: PythonFrame) -> bool:
    """Whether ``one`` stands at or above the line of ``other`` in the same function."""
    if one is None or one.line is None or other.line is None:
        return False
    return one.function == other.function and one.line <= other.line and _same_file(one.file, other.file)


def _same_file(one: str | None, other: str | None) -> bool:
    """Whether two frames are of one file. CPython 3.8 has a script as it was typed, debugpy its whole path."""
    if one is None or other is None or one == other:
        return one == other
    short, long = sorted((one, other), key=len)
    return not short.startswith("/") and long.endswith("/" + last_components(short))


def calls_operators(frame: PythonFrame) -> bool:
    """Whether this is PyTorch's Python code between a line and the operator of ``torch.ops`` that it calls."""
    return frame.file is not None and frame.file.endswith("/torch/_ops.py")


def is_header(frame: NativeFrame) -> bool:
    """Whether this is code of the C++ library that a binding layer calls on its way."""
    if frame.file is None or frame.role is Role.GLUE:
        return False
    return frame.file.startswith("/usr/") or "/include/" in frame.file


def is_of_system(frame: NativeFrame) -> bool:
    """Whether the line is one of the C++ library's or of another one that is installed."""
    return is_system_source(frame.file or "")


def is_of_python(frame: NativeFrame) -> bool:
    """Whether the line is one of Python's headers."""
    return "/include/python3" in (frame.file or "")


def is_inlined_in_users(stack: Stack) -> bool:
    """Whether the innermost frame was inlined into a function of the user, perhaps by way of others."""
    for inner, outer in zip(stack.frames, stack.frames[1:], strict=False):
        if not isinstance(inner, NativeFrame) or not inner.inlined or not isinstance(outer, NativeFrame):
            return False
        if outer.role is Role.USER and not is_header(outer):
            return True
    return False


def caller_of_python(stack: Stack) -> NativeFrame | None:
    """The native frame of the user that called the innermost Python function. None where Python called it."""
    seen_python = False
    for frame in stack.visible():
        if isinstance(frame, PythonFrame):
            if seen_python:
                return None
            seen_python = True
        elif seen_python and not is_foreign(frame):
            return frame
    return None


def is_foreign(frame: NativeFrame) -> bool:
    """Whether this is code between the user's functions: of a binding layer, of the C++ library, of the system."""
    library = frame.library or ""
    if is_runtime_function(frame.function, frame.file):
        return True
    return frame.role is not Role.USER or is_header(frame) or is_system(library) or is_runtime(library)


def frames_with_native_callers(stack: Stack) -> int:
    """How many Python functions are on a stack, where native code of the user has called one of them; else 0."""
    python = [at for at, frame in enumerate(stack.frames) if isinstance(frame, PythonFrame)]
    below = stack.frames[python[0] :] if python else ()
    called = any(isinstance(frame, NativeFrame) and not is_foreign(frame) for frame in below)
    return len(python) if called else 0


def handler_frame(stack: Stack) -> NativeFrame | None:
    """Where ``__cxa_begin_catch`` was called from, which is innermost."""
    native = [frame for frame in stack.frames if isinstance(frame, NativeFrame)]
    return next((frame for frame in native[1:] if not is_runtime(frame.library)), None)


def is_between(frame: NativeFrame) -> bool:
    """Whether ``step`` goes through this code without a stop: a binding layer's, the C++ library's, the system's or
    that of Python.h.
    """
    if frame.role is not Role.USER or is_of_python(frame):
        return True
    library = frame.library or ""
    named = is_runtime_function(frame.function, frame.file)
    if frame.inlined and is_c_api(frame.function):  # of Python.h, with a line of the source that calls it
        return True
    return named or is_system(library) or is_runtime(library)


def user_below(stack: Stack) -> NativeFrame | None:
    """The native frame of the user to which such code, which is innermost, returns. None where it is Python code."""
    for frame in stack.frames[1:]:
        if isinstance(frame, PythonFrame):
            return None
        if not is_between(frame):
            return frame
    return None


def frame_that_ends(stack: Stack, end: int | None) -> NativeFrame | None:
    """The innermost frame of the function whose canonical address is ``end``: what was inlined there comes first."""
    native = _calls(stack)
    first = 0
    for at, (frame, caller) in enumerate(pairwise(native), 1):
        if frame.inlined:
            continue
        if caller.sp == end:
            return native[first]
        first = at
    return None


def native_caller(stack: Stack, glue_too: bool = False) -> NativeFrame | None:
    """The next native frame of the user below the innermost one. None where a Python frame comes first."""
    for frame in stack.visible()[1:]:
        if isinstance(frame, PythonFrame):
            return None
        if glue_too or not is_foreign(frame):
            return frame
    return None


def direct_caller(stack: Stack) -> NativeFrame | None:
    """The native frame that called the innermost function, whose code it is or not."""
    return next((caller for frame, caller in pairwise(_calls(stack)) if not frame.inlined), None)


def _calls(stack: Stack) -> list[NativeFrame]:
    """The native frames, and those of evaluation loops for the Python frames that they run: who called whom."""
    frames = (frame.evaluator if isinstance(frame, PythonFrame) else frame for frame in stack.frames)
    return [frame for frame in frames if frame is not None]


def caller_outside(stack: Stack) -> NativeFrame | None:
    """The next native frame of the user outside of the innermost function and of all into which that was inlined. None
    where a Python frame comes first.
    """
    direct = direct_caller(stack)
    for frame in stack.visible()[1:] if direct is not None else ():
        if isinstance(frame, PythonFrame):
            return None
        if direct is not None and frame.level >= direct.level and not is_foreign(frame):
            return frame
    return None


def is_inlined_in(caller: NativeFrame, stack: Stack) -> bool:
    """Whether the innermost function was inlined into that of ``caller``, perhaps by way of others: it has no call."""
    native = [frame for frame in stack.frames if isinstance(frame, NativeFrame)]
    return all(frame.inlined for frame in native if frame.level < caller.level)


def functions_within(stack: Stack) -> tuple[str | None, ...]:
    """The innermost native function and those into which it was inlined, the outermost first: they share a frame."""
    names: list[str | None] = []
    for frame in stack.frames:
        if not isinstance(frame, NativeFrame):
            return ()
        names.append(frame.function)
        if not frame.inlined:
            break
    return tuple(reversed(names))


def innermost_native(stack: Stack) -> NativeFrame | None:
    """The innermost frame, shown or not, where it is native."""
    top = stack.frames[0] if stack.frames else None
    return top if isinstance(top, NativeFrame) else None


def exit_to_python(frames: Sequence[NativeFrame], rules: RoleRules) -> NativeFrame | None:
    """The evaluation loop to which the native code above the innermost Python frame returns in the end.

    ``frames`` are all native frames of the thread, the innermost first. None where the interpreter itself is innermost,
    or where no Python code is below.
    """
    if not frames or rules.is_interpreter(frames[0]):
        return None
    return next((frame for frame in frames if is_evaluation_loop(frame)), None)
