"""pydevd passes breakpoints that are set while a generator waits. Report: docs/upstream/generator-waits.

Runs in the target, from Python 3.12 on.

pydevd has the lines of a function told where the function begins, and of those that are on a stack when a breakpoint
is set. One that waits is in neither: it has begun, and is on no stack (``_start_method_event`` and
``update_monitor_events`` in _pydevd_sys_monitoring.py, which asks for the event of one that goes on and has no
callback for it). It is found where it goes on, with a value or with an exception.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable


def telling(
    pydevd: Any, debugger: Any, set_events: Callable[..., Any], disable: Callable[[], Any]
) -> Callable[..., Any]:
    """The function that pydevd calls for ``sys.monitoring.set_events``, so that those that go on are looked at, too.

    ``disable``: the answer of what need not be looked at again.
    """
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    known = (
        pydevd.threading._active
    )  # pydevd looks there; a thread that Python did not start may not be in it yet

    def looked_at(code: CodeType) -> bool:
        """Have the lines of what goes on told, if a breakpoint is in it. False: it need not be looked at again."""
        if debugger.pydb_disposed:
            return False
        thread = pydevd.threading.get_ident()
        frame = sys._getframe(2)
        return thread not in known or pydevd.pydevd_sys_monitoring.enable_code_tracing(thread, code, frame)

    def resumed(code: CodeType, offset: int) -> Any:
        return None if looked_at(code) else disable()

    def thrown(code: CodeType, offset: int, error: BaseException) -> None:
        looked_at(code)  # this event cannot be disabled at a place

    def set_and_tell(tool: int, events: int) -> None:
        wanted = events & monitoring.events.PY_RESUME
        monitoring.register_callback(tool, monitoring.events.PY_RESUME, resumed if wanted else None)
        monitoring.register_callback(tool, monitoring.events.PY_THROW, thrown if wanted else None)
        set_events(tool, events | monitoring.events.PY_THROW if wanted else events)

    return set_and_tell
