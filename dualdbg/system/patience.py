"""How long dualdbg waits for others: ``DUALDBG_PATIENCE`` multiplies every time limit, for slow machines."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..shared.patience import MOST, VARIABLE, factor


def patient(seconds: float) -> float:
    """A time limit of ``seconds`` on a usual machine, as it is here. Raises UsageError for a factor that is none."""
    known = factor()
    if known is None:
        raise UsageError(
            f"{VARIABLE} is {os.environ[VARIABLE]!r}, which is no number from 1 to {MOST:g}",
            f"it multiplies every time limit: {VARIABLE}=5 dualdbg …",
        )
    return seconds * known
