"""What a stop says of a breakpoint's condition that has no value."""

from __future__ import annotations


def condition_failed(id: int, condition: str, why: str) -> str:
    """The sentence, for the breakpoint of number ``id``, which is off from now on."""
    why = why.removeprefix("gdb: ").rstrip(".")
    return f"the condition {condition!r} cannot be evaluated: {why}; breakpoint {id} is off now"
