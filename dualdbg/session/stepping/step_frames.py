"""Which frames of a stack matter to a step: who called whose code, and what is only on the way. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...model import NativeFrame, PythonFrame, Role, Stack
from ...stacks.roles import RoleRules, is_evaluation_loop


def same_line(one: PythonFrame, other: PythonFrame) -> bool:
    """Whether both frames stand at the same line of the same file."""
    return (one.file, one.line) == (other.file, other.line)


def is_not_below(one: PythonFrame | None, other: PythonFrame) -> bool:
    """Whether ``one`` stands at or above the line of ``other`` in the same function."""
    if one is None or one.line is None or other.line is None:
        return False
    return (one.file, one.function) == (other.file, other.function) and one.line <= other.line


def calls_operators(frame: PythonFrame) -> bool:
    """Whether this is PyTorch's Python code between a line and the operator of ``torch.ops`` that it calls."""
    return frame.file is not None and frame.file.endswith("/torch/_ops.py")


def is_header(frame: NativeFrame) -> bool:
    """Whether this is code of the C++ library that a binding layer calls on its way."""
    if frame.file is None or frame.role is Role.GLUE:
        return False
    return frame.file.startswith("/usr/") or "/include/" in frame.file


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
        elif seen_python and frame.role is Role.USER:
            return frame
    return None


def native_caller(stack: Stack, glue_too: bool = False) -> NativeFrame | None:
    """The next native frame of the user below the innermost one. None where a Python frame comes first."""
    for frame in stack.visible()[1:]:
        if isinstance(frame, PythonFrame):
            return None
        if glue_too or (frame.role is Role.USER and not is_header(frame)):
            return frame
    return None


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
