"""The factor by which the user raises every time limit, for slow machines."""

from __future__ import annotations

import os

VARIABLE = "DUALDBG_PATIENCE"
MOST = 1000.0


def factor() -> float | None:
    """What ``DUALDBG_PATIENCE`` says: 1 where it says nothing, None for what is no number from 1 to 1000."""
    try:
        found = float(os.environ.get(VARIABLE) or 1)
    except ValueError:
        return None
    return found if 1.0 <= found <= MOST else None
