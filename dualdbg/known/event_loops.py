"""Which functions are an event loop of asyncio, or of uvloop. Pure."""

from __future__ import annotations

_FILE, _FUNCTION = "/asyncio/base_events.py", "run_forever"
_UVLOOP = "/uvloop/"


def is_event_loop(function: str | None, file: str | None, library: str | None) -> bool:
    """Whether a frame with this function, of this source file or native library, runs an event loop."""
    if library is not None:
        return _UVLOOP in library
    return (file or "").endswith(_FILE) and (function or "").rpartition(".")[2] == _FUNCTION
