"""Python breakpoints that were set or changed at a native stop, where debugpy is mute: known before Python goes on.

The stopped thread waits for debugpy, in Python code of ours: where it stands, if native code may call Python there,
else where its native code returns into Python. What the other threads reach meanwhile is a matter of luck anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model import NativeFrame, PythonFrame
from ..inspect.inferior_evaluation import NotSound, check_sound

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable
    from ..inspect.inspector import Inspector
    from ..loop import Loop
    from .crossing import Crossing


async def hear(
    loop: Loop, breakpoints: BreakpointTable, inspector: Inspector, crossing: Crossing, tid: int
) -> NativeFrame | None:
    """Let the thread wait for debugpy before the target runs; returns the frame it must return to first, if it must.

    None as well where there is nothing to wait for: debugpy has heard all or is gone, or no Python code is above.
    """
    if breakpoints.unheard is None or not inspector.hears_python:
        return None
    number = await inspector.gdb_thread(tid)
    visible = (await inspector.stack(tid)).visible()
    top = visible[0] if visible else None
    if isinstance(top, PythonFrame):
        if await inspector.holds_gil(tid):
            await wait(breakpoints, crossing, number)
        return None
    try:
        await check_sound(loop.state.stop, inspector, crossing, tid, top)
    except NotSound:
        return await crossing.exit_to_python(number)
    await wait(breakpoints, crossing, number)
    return None


async def wait(breakpoints: BreakpointTable, crossing: Crossing, gdb_thread: int) -> None:
    """The thread holds the GIL, and may run Python code."""
    number = breakpoints.unheard
    if number is not None:
        await crossing.hear(gdb_thread, number)
