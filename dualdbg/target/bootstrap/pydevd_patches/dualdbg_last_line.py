"""pydevd passes a ``breakpoint()`` behind which no line comes. Report: docs/upstream/breakpoint-on-last-line.

Runs in the target.

pydevd makes a step of it: it stops at the next line that the program comes to (_locked_settrace in pydevd.py). Behind
the last one there is none, and the program would end without a stop. So the stop is on the line of the call itself
where it is not sure that there is another one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType
    from typing import Any, Callable, Optional

LINE, RETURN, RAISE = "line", "return", "raise"
# Beginnings of the names of instructions. A generator need not be asked again; 3.8's END_FINALLY may raise.
_RETURNS = ("RETURN", "YIELD_VALUE")
_RAISES = ("RAISE", "RERAISE", "END_FINALLY")
_ALWAYS = (
    "JUMP_FORWARD",
    "JUMP_ABSOLUTE",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
    "SEND",  # as if what is awaited were done
)


def stop_at_once(debugger: Any, pydevd: Any, thread: Any, caller: FrameType) -> None:
    """Stop the current thread where it is, if it is to stop at the next line and may come to none."""
    info = thread.additional_info
    steps = debugger.stepping()
    frame = info.pydev_step_stop or caller
    if debugger.get_file_type(frame) is not None:
        frame = steps.visible_caller(debugger, frame)
    if frame is None or not _may_end(frame, lambda one: steps.visible_caller(debugger, one)):
        return
    info.pydev_step_stop = None
    debugger.set_suspend(thread, pydevd.CMD_STEP_OVER, original_step_cmd=info.pydev_original_step_cmd)
    debugger.do_wait_suspend(thread, frame, "line", None)


def _may_end(frame: Optional[FrameType], caller_of: Callable[[FrameType], Optional[FrameType]]) -> bool:
    """Whether this frame and its callers may all end without another line."""
    while frame is not None:
        ahead = what_follows(frame.f_code, frame.f_lasti, frame.f_lineno)
        if ahead != RETURN:
            return ahead == RAISE
        frame = caller_of(frame)
    return True


def what_follows(code: CodeType, at: int, line: int) -> str:
    """What comes once the instruction at ``at``, of the line ``line``, is done: ``LINE``, another line on every way;
    else ``RAISE``, where an exception may leave the code; else ``RETURN``.

    What is called returns, as far as this goes. A loop in one line is no other line: its end is not told by an event.
    """
    import dis

    jumps = {*dis.hasjrel, *dis.hasjabs}
    instructions = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
    begins = dict(dis.findlinestarts(code))
    lines: list[Optional[int]] = []  # of the instructions; None: of no line of the source
    for one in instructions:
        lines.append(begins.get(one.offset, lines[-1] if lines else None))

    def number_of(offset: int) -> int:
        return next(
            (number for number, one in enumerate(instructions) if one.offset >= offset), len(instructions)
        )

    def after(number: int) -> Iterator[int]:
        one = instructions[number]
        if one.opcode in jumps:
            yield number_of(one.argval)
        if one.opname not in _ALWAYS:
            yield number + 1

    current = number_of(at)
    if instructions[current].opname.startswith(_RETURNS):
        return RETURN  # its variables are deleted
    ahead, seen, waiting = LINE, set(), [*after(current)]
    while waiting:
        number = waiting.pop()
        if number in seen or number >= len(instructions):
            continue
        seen.add(number)
        one = instructions[number]
        back = number <= current
        # Forward a line is told at its first instruction alone, and 3.9's jumps may lead behind that.
        begun = lines[number] if back else begins.get(one.offset)
        if begun not in (None, line):
            continue
        if one.opname.startswith(_RAISES):
            return RAISE
        if back or one.opname.startswith(_RETURNS):
            ahead = RETURN
        else:
            waiting += after(number)
    return ahead
