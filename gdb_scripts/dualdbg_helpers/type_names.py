"""Takes names of types apart, as the demangler writes them. Pure."""

from __future__ import annotations

import re
from typing import Optional, Tuple

_NAME = re.compile(r"\w+(?:::\w+)*<")
EXPRESSION = re.compile(r"\bdecltype ?\((?!nullptr\))|[{}]|->")  # its type is not read


def template(kind: str) -> Optional[Tuple[str, str]]:
    """The name and the arguments of a type that is an instance of a template, and nothing within one: what
    ``C::value_type`` is (a number, a reference, a class) no name tells.
    """
    match = _NAME.match(kind)
    if match is None or EXPRESSION.search(kind):
        return None
    depth, nested = 0, 0
    for at, letter in enumerate(kind):
        nested += (letter in "([") - (letter in ")]")
        depth += 0 if nested else (letter == "<") - (letter == ">")
        if letter == ">" and not depth and not nested:
            return (kind[: match.end() - 1], kind[match.end() : at]) if at + 1 == len(kind) else None
    return None
