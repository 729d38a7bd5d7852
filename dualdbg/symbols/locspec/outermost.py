"""The suffix ``outermost FUNCTION``: how many calls of a function, in Python or in C++, are on a stack. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ...model import Frame, NativeFrame, PythonFrame
from ..names.cxx_names import parse


def function_and_files(name: str) -> tuple[str, tuple[str, ...]]:
    """A Python function's own name, and how the path of its file may end: ``package.module.function``.

    Of a bare name any file.
    """
    module, _, function = name.rpartition(".")
    path = module.replace(".", "/")
    return function, (f"/{path}.py", f"/{path}/__init__.py") if module else ("",)


def calls_on(stack: Iterable[Frame], name: str) -> int:
    """The number of calls of a function on a stack."""
    function, files = function_and_files(name)
    count = 0
    for frame in stack:
        if isinstance(frame, PythonFrame):
            count += frame.function.rpartition(".")[2] == function and (frame.file or "").endswith(files)
        elif isinstance(frame, NativeFrame):
            count += frame.function is not None and parse(frame.function).short == name
    return count
