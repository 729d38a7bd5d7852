"""What a function has returned, read at the instruction to which it returned.

A step that leaves the function asks for it. What reads values is loaded when there is a result: that takes a while.
"""

from __future__ import annotations

from typing import Dict, Optional

import gdb
from dualdbg_helpers import language
from dualdbg_shared.requests.breakpoints import ReadStepResult, StepResult

from .registry import answers
from .threads import find_thread

_noted: "Optional[Dict[str, str]]" = None


class Reading:
    """How the result of the function is read in which a thread stands innermost, once that has returned.

    ``kind``: its C++ type as far as the session knows it, where debug info does not; ``declared``: whether that type is
    what really comes back, which is not certain of a compiler's clone. ``call``: what is known of the
    call, the fields of :class:`result_rows.Call`.
    """

    def __init__(self, number: int, kind: "str | None", declared: bool, call: "tuple[int, ...]" = ()) -> None:
        global _noted
        _noted = None
        find_thread(number).switch()
        frame = gdb.newest_frame()
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
        symbol = frame.function() if kind is None else None
        self._kind = kind
        self._declared = declared
        self._call = call
        self._type: "Optional[gdb.Type]" = symbol.type.target() if symbol is not None else None
        frame.select()
        self._language = language.current()

    def note(self, frame: gdb.Frame) -> None:
        """The function has returned to ``frame``, just now."""
        global _noted
        from . import result_rows

        call = result_rows.Call(*self._call)
        _noted = result_rows.row(frame, self._kind, self._type, self._language, self._declared, call)


@answers(ReadStepResult)
def step_result() -> "Optional[StepResult]":
    return StepResult(**_noted) if _noted is not None else None
