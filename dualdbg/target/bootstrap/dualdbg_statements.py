"""Runs in the target: statements as Python's prompt runs them, which shows the value of each expression.

CPython 3.8 and later.
"""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Iterator


def compiled(text: str, file: str, flags: int = 0) -> CodeType:
    """The code of any number of statements. Each expression among them is handed to ``sys.displayhook``, also in a
    loop, but not within a function or a class. Raises SyntaxError.
    """
    statements = ast.Interactive(ast.parse(text, file).body)
    code: CodeType = compile(statements, file, "single", flags, dont_inherit=True)
    return code


@contextmanager
def displayed(show: Callable[[Any], object]) -> Iterator[None]:
    """Meanwhile ``show`` gets the values that Python's prompt would show: all but None.

    ``builtins._`` stays as it is, as with pdb: programs have ``gettext`` there.
    """

    def hook(value: Any) -> None:
        if value is not None:
            show(value)

    before, sys.displayhook = sys.displayhook, hook
    try:
        yield
    finally:
        if sys.displayhook is hook:  # else the statements have set another one
            sys.displayhook = before


def write(text: str) -> None:
    """A line of the program's standard output, with escapes for what its encoding does not have."""
    try:
        print(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        print(text.encode(encoding, "backslashreplace").decode(encoding))
