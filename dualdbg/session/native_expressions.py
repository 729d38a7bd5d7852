"""Whether a native expression only looks. One that assigns or calls would change what the program computes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import SpecError

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ASSIGNS = re.compile(r"<<=|>>=|\+\+|--|(?<![=!<>])=(?!=)")
_CALLS = re.compile(r"(\.|->)?(?<![\w$])([A-Za-z_][\w:]*)\s*\(")
_NAMES = re.compile(r"(?<![\w$.>])[A-Za-z_]\w*")
_WORDS = {
    "and", "or", "not", "in", "is", "true", "false", "True", "False", "None", "null", "nullptr", "nullopt", "NULL"
}  # fmt: skip
_WANTED = re.compile(r"(?<![\w$.>:])call\s*(\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))")
# Methods of the C++ library whose values gdb_scripts/dualdbg_helpers/containers.py reads from memory.
_READ = {
    "at", "back", "begin", "c_str", "contains", "count", "data", "empty", "end", "front", "get", "has_value", "length",
    "load", "size", "value",
}  # fmt: skip
CALLS = (
    "functions of the program are called at each hit: they can change it, each takes milliseconds, and one that does "
    "not end within 5 s is undone"
)
_NO_CALLS = {
    "sizeof", "alignof", "decltype", "typeof", "if", "and", "or", "not", "int", "long", "char", "bool",
}  # fmt: skip


def names_in(expression: str) -> set[str]:
    """The names in an expression, without those of members and of gdb's own variables."""
    return set(_NAMES.findall(_QUOTED.sub('""', expression))) - _WORDS


def _without_wanted_calls(expression: str) -> str:
    """An expression without texts, and without what is in the brackets of ``call(...)``."""
    return _WANTED.sub("0", _QUOTED.sub('""', expression))


def calls_in(expression: str, allowed: bool) -> bool:
    """Whether functions of the program are called for an expression: by ``call(...)``, or as all are ``allowed`` to."""
    if _WANTED.search(_QUOTED.sub('""', expression)) is not None:
        return True
    return allowed and next(_calls(_without_wanted_calls(expression)), None) is not None


def _calls(plain: str) -> Iterator[re.Match[str]]:
    """The calls of functions in an expression, but for those of which the value is read from memory."""
    return (call for call in _CALLS.finditer(plain) if call[2] not in (_READ if call[1] else _NO_CALLS))


def check_expression(expression: str, may_call: bool = False, is_operator: bool = False) -> None:
    """Raises SpecError for a condition, or an expression of a log text, that would write or call.

    gdb's own functions (``$_streq``) may be called: they only look. ``may_call``: all may. ``is_operator``: it is about
    the arguments of an operator of PyTorch.
    """
    found = _ASSIGNS.search(_QUOTED.sub('""', expression))
    if found is not None:
        raise SpecError(
            f"{expression!r} would change the program: it has {found.group()!r} in it",
            "a breakpoint only looks; a condition compares with ==, !=, <, >",
        )
    call = None if may_call else next(_calls(_without_wanted_calls(expression)), None)
    if call is not None:
        raise SpecError(
            f"{expression!r} would call {call[2]} in the program",
            "without a call a tensor has sizes, strides, ndim, numel, dtype, device, layout: if self.ndim == 2"
            if is_operator and call[1]
            else f"call({call[2]}(...)) or `set calls on` allows it; without a call there are == of texts, elements "
            '(v[0], m["key"]), v.size(), o.has_value()',
        )
