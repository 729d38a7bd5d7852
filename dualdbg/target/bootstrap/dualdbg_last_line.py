"""Runs in the target: lets ``breakpoint()`` stop where no line follows it.

pydevd makes a step of it: it stops at the next line that the program comes to (_locked_settrace in pydevd.py). Behind
the last one there is none, and the program would end without a stop. Then the stop is on the line of the call itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Optional

_LEAVES = ("RETURN", "RAISE", "RERAISE")  # beginnings of the names of instructions
_ALWAYS = ("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")


def stop_at_once(debugger: Any, pydevd: Any, thread: Any, caller: FrameType) -> None:
    """Stop the current thread where it is, if it is to stop at the next line and there is none."""
    info = thread.additional_info
    steps = debugger.stepping()
    frame = info.pydev_step_stop or caller
    if debugger.get_file_type(frame) is not None:
        frame = steps.visible_caller(debugger, frame)
    last: Optional[FrameType] = frame
    while last is not None and not line_follows(last.f_code, last.f_lasti, last.f_lineno):
        last = steps.visible_caller(debugger, last)
    if frame is None or last is not None:
        return
    info.pydev_step_stop = None
    debugger.set_suspend(thread, pydevd.CMD_STEP_OVER, original_step_cmd=info.pydev_original_step_cmd)
    debugger.do_wait_suspend(thread, frame, "line", None)


def line_follows(code: CodeType, at: int, line: int) -> bool:
    """Whether a line may begin in this code once the instruction at ``at``, of the line ``line``, is done.

    Ways of exceptions do not count.
    """
    import dis

    begins = dict(dis.findlinestarts(code))
    jumps = {*dis.hasjrel, *dis.hasjabs}
    instructions = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
    numbers = {one.offset: number for number, one in enumerate(instructions)}
    waiting = [
        next((number for number, one in enumerate(instructions) if one.offset > at), len(instructions))
    ]
    seen = set()
    while waiting:
        number = waiting.pop()
        if number in seen or number >= len(instructions):
            continue
        seen.add(number)
        one = instructions[number]
        begun = begins.get(one.offset)
        if begun is not None and begun != line:
            return True
        if one.opname.startswith(_LEAVES):
            continue
        if one.opcode in jumps:
            if one.argval <= at:
                return True  # a loop: the line begins anew
            waiting.append(next(place for offset, place in numbers.items() if offset >= one.argval))
        if one.opname not in _ALWAYS:
            waiting.append(number + 1)
    return False
