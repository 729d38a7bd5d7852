"""What a client hears of a failure that nobody foresaw."""

from __future__ import annotations

import sys
import traceback

from ..errors import DualdbgError, EngineError
from ..system.shortage import shortage


def internal_error() -> DualdbgError:
    """The exception that is being handled, as an error to tell; its traceback goes to stderr, which editors log.

    Where the machine ran out of something, that is the error, and there is no traceback.
    """
    kind, value, _ = sys.exc_info()
    known = shortage(value) if value is not None else None
    if known is not None:
        return known
    traceback.print_exc(file=sys.stderr)
    name = kind.__name__ if kind else "error"
    return EngineError(f"something went wrong in dualdbg: {name}: {value}", "its log has the details")
