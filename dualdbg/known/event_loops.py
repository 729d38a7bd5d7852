"""Which functions are an event loop of asyncio, or of uvloop. Pure."""

from __future__ import annotations

_FILE, _FUNCTION = "/asyncio/base_events.py", "run_forever"
_UVLOOP = "/uvloop/"
_CALLS = ("/asyncio/events.py", "_run")  # Handle._run: a callback, or the next step of a task
_WAITS = ("/asyncio/base_events.py", "_run_once")
_CELLS = ("/ipykernel/", "/IPython/")


def is_event_loop(function: str | None, file: str | None, library: str | None) -> bool:
    """Whether a frame with this function, of this source file or native library, runs an event loop."""
    if library is not None:
        return _UVLOOP in library
    return (file or "").endswith(_FILE) and (function or "").rpartition(".")[2] == _FUNCTION


def is_turn_of_a_loop(function: str | None, file: str | None) -> bool | None:
    """Of the innermost frame of asyncio's own loop in a thread: whether the loop has called what stands inside it. It
    has not where it waits itself; None for a frame of something else."""
    name = (function or "").rpartition(".")[2]
    if (file or "").endswith(_CALLS[0]) and name == _CALLS[1]:
        return True
    return False if (file or "").endswith(_WAITS[0]) and name == _WAITS[1] else None


def runs_what_is_typed(file: str | None) -> bool:
    """Whether code of this file runs cells within its event loop: that others wait meanwhile is how it works."""
    return any(part in (file or "") for part in _CELLS)
