"""What a stop says of a condition without a value, and of a function that was left, whose watchpoints stop no more."""

from __future__ import annotations

from collections.abc import Sequence


def condition_failed(id: int, condition: str, why: str) -> str:
    """The sentence, for the breakpoint of number ``id``, which stops for that reason this once."""
    why = why.removeprefix("gdb: ").rstrip(".")
    after = f"breakpoint {id} stays on, and such hits do not stop again"
    return f"the condition {condition!r} cannot be evaluated: {why}; {after}"


def was_left(names: Sequence[str]) -> str:
    """The sentence for watched expressions whose function was left."""
    return f"the function of {', '.join(names) or 'a watchpoint'} was left: it is watched no more"
