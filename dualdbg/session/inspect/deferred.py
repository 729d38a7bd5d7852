"""What only code of the program can tell, its ``__repr__`` or a property: run on request, within a time limit."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from ...backends.debugpy import CODE_LIMIT
from ...backends.python import OURS
from ...errors import EngineLost, EngineTimeout, EvaluationError
from ...system.patience import patient

Answer = TypeVar("Answer")

__all__ = ["DEADLINE", "OURS", "ran"]

# Seconds to wait for the answer. The target ends Python code earlier.
DEADLINE = CODE_LIMIT + patient(3.0)


async def ran(answer: Awaitable[Answer]) -> Answer:
    """The answer of a request that runs such code. Raises EvaluationError when the code does not return."""
    try:
        return await answer
    except EngineTimeout:
        raise EvaluationError(
            f"the program's code has not returned within {DEADLINE:g} s: it is in native code, which cannot be ended",
            "the thread answers when it returns; interrupt shows where it is once the program runs",
        ) from None
    except EngineLost as error:
        raise EvaluationError(
            f"the program's code has ended the program, or its debugger: {error.message}"
        ) from None
