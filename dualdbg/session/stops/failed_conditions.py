"""What a stop says of breakpoints that stop no more: of a condition without a value, of a function that was left."""

from __future__ import annotations

from collections.abc import Sequence


def condition_failed(id: int, condition: str, why: str) -> str:
    """The sentence, for the breakpoint of number ``id``, which is off from now on."""
    why = why.removeprefix("gdb: ").rstrip(".")
    return f"the condition {condition!r} cannot be evaluated: {why}; breakpoint {id} is off now"


def was_left(names: Sequence[str]) -> str:
    """The sentence for watched expressions whose function was left."""
    return f"the function of {', '.join(names) or 'a watchpoint'} was left: it is watched no more"
