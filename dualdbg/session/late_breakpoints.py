"""Python breakpoints that were set or changed at a native stop, where debugpy is mute: known before Python goes on.

The stopped thread waits for debugpy, in Python code of ours: where it stands, if native code may call Python there,
else where its native code returns into Python. What the other threads reach meanwhile is a matter of luck anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model import NativeFrame, PythonFrame
from .native_python import NotSound, check_sound

if TYPE_CHECKING:
    from .crossing import Crossing
    from .session import Session


async def hear(session: Session, crossing: Crossing, tid: int) -> NativeFrame | None:
    """Let the thread wait for debugpy before the target runs; returns the frame it must return to first, if it must.

    None as well where there is nothing to wait for: debugpy has heard all or is gone, or no Python code is above.
    """
    if session.breakpoints.unheard is None or session.python is None or not session.python.connected:
        return None
    number = await session.inspector.gdb_thread(tid)
    visible = (await session.inspector.stack(tid)).visible()
    top = visible[0] if visible else None
    if isinstance(top, PythonFrame):
        if await session.inspector.holds_gil(tid):
            await wait(session, crossing, number)
        return None
    try:
        await check_sound(session, tid, top)
    except NotSound:
        return await crossing.exit_to_python(number)
    await wait(session, crossing, number)
    return None


async def wait(session: Session, crossing: Crossing, gdb_thread: int) -> None:
    """The thread holds the GIL, and may run Python code."""
    number = session.breakpoints.unheard
    if number is not None:
        await crossing.hear(gdb_thread, number)
