"""Which hits of a breakpoint stop, in the words of editors. Native breakpoints understand the same words as debugpy.

``5`` and ``== 5`` stop at the fifth hit; ``> 5``, ``>= 5``, ``< 5``, ``<= 5``, ``!= 5`` compare; ``% 3`` stops at
every third (debugpy: pydevd_process_net_command_json.py, _get_hit_condition_expression).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from ...errors import SpecError

_PATTERN = re.compile(r"\s*(==|=|!=|>=|<=|>|<|%)?\s*(\d{1,18})\s*")

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "%": lambda hit, number: hit % number == 0,
}


def check_hit_condition(text: str) -> str:
    """The condition in the form that both engines understand. Raises SpecError when it cannot be read."""
    match = _PATTERN.fullmatch(text)
    if match is None or (match[1] == "%" and int(match[2]) == 0):
        raise SpecError(f"{text!r} does not say which hits are to stop", "for example 5, >= 5 or % 10")
    sign = {"": "==", "=": "=="}.get(match[1] or "", match[1] or "")
    return f"{sign} {int(match[2])}"


def hit_counts(condition: str, hit: int) -> bool:
    """Whether a breakpoint stops at this hit, the first of which is 1."""
    match = _PATTERN.fullmatch(condition)
    assert match is not None, condition  # check_hit_condition has accepted it
    return _COMPARISONS[match[1] or ""](hit, int(match[2]))
