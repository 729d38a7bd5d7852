"""Whether a native expression only looks. One that assigns or calls would change what the program computes. Pure."""

from __future__ import annotations

import re

from ..errors import SpecError

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ASSIGNS = re.compile(r"<<=|>>=|\+\+|--|(?<![=!<>])=(?!=)")
_CALLS = re.compile(r"(\.|->)?(?<![\w$])([A-Za-z_][\w:]*)\s*\(")
_NAMES = re.compile(r"(?<![\w$.>])[A-Za-z_]\w*")
_WORDS = {
    "and", "or", "not", "in", "is", "true", "false", "True", "False", "None", "null", "nullptr", "nullopt", "NULL"
}  # fmt: skip
_NO_CALLS = {"sizeof", "alignof", "decltype", "typeof", "if", "and", "or", "not"}


def names_in(expression: str) -> set[str]:
    """The names in an expression, without those of members and of gdb's own variables."""
    return set(_NAMES.findall(_QUOTED.sub('""', expression))) - _WORDS


def check_expression(expression: str) -> None:
    """Raises SpecError for a condition, or an expression of a log text, that would write or call.

    gdb's own functions (``$_streq``) may be called: they only look.
    """
    plain = _QUOTED.sub('""', expression)
    found = _ASSIGNS.search(plain)
    if found is not None:
        raise SpecError(
            f"{expression!r} would change the program: it has {found.group()!r} in it",
            "a breakpoint only looks; a condition compares with ==, !=, <, >",
        )
    for call in _CALLS.finditer(plain):
        if call[2] not in _NO_CALLS:
            raise SpecError(
                f"{expression!r} would call {call[2]} in the program",
                "without a call a tensor has sizes, strides, ndim, numel, dtype, device, layout: if self.ndim == 2"
                if call[1]
                else 'gdb\'s own functions do not: $_streq(text, "a"), $_strlen(text), $_regex(text, "a.*")',
            )
