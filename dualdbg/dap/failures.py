"""What a client hears of a failure that nobody foresaw."""

from __future__ import annotations

import sys
import traceback

from ..errors import DualdbgError, EngineError


def internal_error() -> DualdbgError:
    """The exception that is being handled, as an error to tell; its traceback goes to stderr, which editors log."""
    traceback.print_exc(file=sys.stderr)
    kind, value, _ = sys.exc_info()
    name = kind.__name__ if kind else "error"
    return EngineError(f"something went wrong in dualdbg: {name}: {value}", "its log has the details")
