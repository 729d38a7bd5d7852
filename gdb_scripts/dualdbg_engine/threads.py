"""Threads, their frames and their registers; also the architecture."""

from __future__ import annotations

from typing import Any, Iterable

import gdb
from dualdbg_helpers import cython_frames
from dualdbg_shared.console_text import plain
from dualdbg_shared.requests.threads import (
    FrameRow,
    IsInFront,
    ListThreads,
    PrintRegisters,
    ReadArchitecture,
    ReadFaultAddress,
    ReadFrames,
    ReadRegisters,
    ReadSignalCode,
    ReadSignalHandling,
    RegisterText,
    SelectFrame,
    SignalHandling,
    WasSentByTerminal,
)
from dualdbg_shared.toolchains.cython import is_cython_authors

from . import cython_lines, source_lines
from .blocks import is_same, shown_function
from .deletions import when_gone
from .registry import answers
from .stack_protector import behind_guard

WORD = 0xFFFFFFFFFFFFFFFF
_SI_KERNEL = 0x80  # asm-generic/siginfo.h: sent by the kernel, as the terminal's Ctrl-C is
_ARCHITECTURES = {"i386:x86-64": "x86-64"}


@answers(ReadArchitecture)
def architecture() -> str:
    name = str(gdb.selected_inferior().architecture().name()).partition(":intel")[0]
    return _ARCHITECTURES.get(name, name)


@answers(ListThreads)
def threads() -> dict[int, int]:
    return {
        thread.num: os_thread(thread) for thread in gdb.selected_inferior().threads() if thread.is_valid()
    }


def os_thread(thread: gdb.InferiorThread) -> int:
    """The OS thread id of a thread."""
    return int(thread.ptid[1] or thread.ptid[0])


# By the address of breakpoints, and by breakpoint: the inlined function that it is on.
_shown_at: dict[int, dict[gdb.Breakpoint, tuple[int, int, str]]] = {}
_gone: list[tuple[int, gdb.Breakpoint]] = []  # of these the breakpoints that were deleted since the last stop


def show_while(point: gdb.Breakpoint, address: int, block: gdb.Block) -> None:
    """As long as a breakpoint is there, show at this address the function of ``block``, not what was inlined at its
    beginning. A thread that stands there then is shown so until it runs.
    """
    _shown_at.setdefault(address, {})[point] = (block.start, block.end, block.function.name)
    when_gone(point, lambda: _gone.append((address, point)))


def _stopped_anew(event: Any) -> None:
    while _gone:
        address, point = _gone.pop()
        del _shown_at[address][point]
        if not _shown_at[address]:
            del _shown_at[address]


gdb.events.stop.connect(_stopped_anew)


def newest_frame() -> gdb.Frame:
    """The innermost frame of the selected thread; at a breakpoint on a function that of this function, though code of
    others was inlined there.
    """
    newest = gdb.newest_frame()
    wanted = list(_shown_at.get(newest.pc(), {}).values())
    frame: gdb.Frame | None = newest if wanted else None
    while frame is not None:
        block = function_block(frame)
        if block is not None and (block.start, block.end, block.function.name) == wanted[-1]:
            return frame
        frame = frame.older() if frame.type() == gdb.INLINE_FRAME else None
    return newest


def hides_inlined() -> bool:
    """Whether gdb shows the selected thread in front of an inlined function at the beginning of which it stands."""
    newest = gdb.newest_frame()
    shown, inner = function_block(newest), shown_function(newest.pc())
    return shown is not None and inner is not None and not is_same(shown, inner)


def function_block(frame: gdb.Frame) -> gdb.Block | None:
    """The block of a frame's function."""
    try:
        block: gdb.Block | None = frame.block()
    except RuntimeError:  # no debug info
        return None
    while block is not None and block.function is None:
        block = block.superblock
    return block


def find_thread(number: int) -> gdb.InferiorThread:
    """The thread of this number. Raises GdbError when there is none."""
    for thread in gdb.selected_inferior().threads():
        if thread.num == number:
            return thread
    raise gdb.GdbError("there is no thread %d" % number)


def select_innermost(number: int) -> gdb.Frame:
    """Select the innermost frame of a thread."""
    find_thread(number).switch()
    frame = newest_frame()
    frame.select()
    return frame


def find_frame(number: int, level: int) -> gdb.Frame:
    """A frame of a thread, counted from the innermost, 0. Raises GdbError when the stack is shorter."""
    find_thread(number).switch()
    frame = newest_frame()
    for _ in range(level):
        older = frame.older()
        if older is None:
            raise gdb.GdbError("there is no frame %d" % level)
        frame = older
    return frame


@answers(SelectFrame)
def select_frame(gdb_thread: int, level: int) -> None:
    find_frame(gdb_thread, level).select()


@answers(IsInFront)
def is_in_front(gdb_thread: int) -> bool:
    frame: gdb.Frame | None = select_innermost(gdb_thread)
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    function = frame.function() if frame is not None else None
    return frame is not None and function is not None and frame.pc() < int(function.value().address)


@answers(ReadFrames)
def frames(gdb_thread: int, limit: int) -> list[FrameRow]:
    selected = gdb.selected_thread()
    thread = find_thread(gdb_thread)
    if selected is None or selected.num != thread.num:
        thread.switch()
    rows: list[FrameRow] = []
    frame: gdb.Frame | None = newest_frame()
    is_call = False
    while frame is not None and len(rows) < limit:
        is_signal = frame.type() == gdb.SIGTRAMP_FRAME
        rows.append(_frame_row(frame, is_call and not is_signal))
        # What was inlined was not called: it stands where the frame around it does.
        if frame.type() != gdb.INLINE_FRAME:
            is_call = not is_signal
        try:
            frame = frame.older()
        except gdb.error:
            break
    return rows


def _frame_row(frame: gdb.Frame, is_call: bool) -> FrameRow:
    position = frame.find_sal()
    table = position.symtab
    function = frame.function()
    file = table.fullname() if table is not None else None
    line = position.line if table is not None and position.line else None
    if function is not None and is_cython_authors(function.name):
        if cython_frames.is_innermost(frame):
            file, line = cython_lines.line_of_cython(frame.pc(), file, line)
    elif function is not None and frame.newer() is None and frame.type() == gdb.NORMAL_FRAME:
        file, line = source_lines.line_at_entry(frame.pc(), function, file, line)
    elif function is not None and is_call and frame.level() == 1:
        file, line = source_lines.line_of_throw(frame.pc() - 1, function, file, line)
    return FrameRow(
        pc=frame.pc(),
        is_call=is_call,
        sp=_stack_pointer(frame),
        function=_name(frame, function),
        file=file,
        line=line,
        inlined=frame.type() == gdb.INLINE_FRAME,
        source_language=_source_language(frame, table),
        between=_is_between(frame),
    )


def _is_between(frame: gdb.Frame) -> bool:
    """Whether the innermost function was inlined, and stands at instructions of it that the compiler has moved among
    those around it; or stands at the code of a stack protector.
    """
    if frame.newer() is not None:
        return False
    if frame.type() != gdb.INLINE_FRAME:
        return bool(behind_guard(frame.pc()) != frame.pc())
    block = function_block(frame)
    return block is not None and source_lines.is_moved(frame.pc(), block)


def _name(frame: gdb.Frame, function: gdb.Symbol | None) -> str | None:
    """Of what was inlined from Rust the linkage name: gdb's own counts the ``impl`` of a module, and names no type."""
    if function is None:
        name = frame.name()
    elif frame.type() == gdb.INLINE_FRAME and "{impl#" in function.print_name:
        name = function.linkage_name
    else:
        name = function.print_name
    return str(name) if name is not None else None


def _source_language(frame: gdb.Frame, table: gdb.Symtab | None) -> str | None:
    """What debug info says that the source is written in; None without it, and in a gdb before 13."""
    if table is None or not hasattr(frame, "language"):
        return None
    return str(frame.language())


def _stack_pointer(frame: gdb.Frame) -> int | None:
    try:
        return int(frame.read_register("sp")) & WORD
    except (gdb.error, ValueError):
        return None


@answers(ReadRegisters)
def registers(gdb_thread: int, names: Iterable[str]) -> dict[str, int]:
    find_thread(gdb_thread).switch()
    frame = gdb.newest_frame()
    return {name: int(frame.read_register(name)) & WORD for name in names}


@answers(PrintRegisters)
def frame_registers(gdb_thread: int, level: int, group: str) -> list[RegisterText]:
    frame = find_frame(gdb_thread, level)
    rows = []
    for register in frame.architecture().registers(group):
        try:
            rows.append(RegisterText(register.name, _register_text(frame.read_register(register))))
        except (gdb.error, ValueError) as error:
            rows.append(RegisterText(register.name, "<%s>" % error))
    return rows


@answers(ReadSignalHandling)
def signal_handling(name: str) -> SignalHandling:
    row = plain(gdb.execute("info signals %s" % name, to_string=True)).splitlines()[-1]
    return SignalHandling(*(word == "Yes" for word in row.split()[1:4]))


@answers(ReadSignalCode)
def signal_code() -> int:
    return int(_signal()["si_code"])


@answers(WasSentByTerminal)
def was_sent_by_terminal() -> bool:
    return signal_code() == _SI_KERNEL


@answers(ReadFaultAddress)
def fault_address() -> int | None:
    if not 0 < signal_code() < _SI_KERNEL:
        return None
    return int(_signal()["_sifields"]["_sigfault"]["si_addr"]) & WORD


def _signal() -> gdb.Value:
    information = gdb.convenience_variable("_siginfo")
    if information is None:
        raise gdb.GdbError("no signal stopped the thread")
    return information


def _register_text(value: gdb.Value) -> str:
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR) and value.type.sizeof <= 8:
        return hex(int(value) & WORD)
    text: str = value.format_string(max_elements=16)
    return text
