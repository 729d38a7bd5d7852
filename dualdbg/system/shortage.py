"""What the machine ran out of when a call failed, as an error for the user."""

from __future__ import annotations

from ..errors import DualdbgError
from ..shared import shortages


def shortage(error: BaseException) -> DualdbgError | None:
    """The error for the user where ``error`` tells of a limit, a full disk or the like; None for any other failure."""
    words = shortages.of(error)
    return DualdbgError(*words) if words is not None else None


def no_threads() -> DualdbgError:
    """The error where a thread was needed and could not be started."""
    return DualdbgError(*shortages.of_threads())
