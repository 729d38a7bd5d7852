"""Keeps the panes up to date: at every stop it reads what they show from the session, the most important first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..console.console import Console
from ..console.names import package_path
from ..console.selection import Selection
from ..errors import CommandError, DualdbgError, WrongState
from ..model import (
    BreakpointChanged,
    Detached,
    Event,
    Exited,
    Frame,
    Language,
    NativeFrame,
    Progress,
    PythonFrame,
    Resumed,
    Stack,
    State,
    Stop,
    Stopped,
    Tasks,
    Thread,
    Value,
)
from ..session.inspect.disassembly import Code
from ..session.inspect.memory import Memory
from ..system.in_thread import in_thread
from .model import breakpoint_marks, source_text
from .model.changes import scope_of
from .model.goto_target import Spot
from .model.machine_code import listing_of
from .model.source_text import SourceText
from .model.status_text import stack_note, thread_note
from .panes.all import Views
from .panes.memory import WINDOW


def with_state(listed: Thread, seen: Thread | None) -> Thread:
    """A thread of the list, with what its stack says. ``seen`` is None when its stack was not read."""
    if seen is None:
        return listed
    return replace(
        listed,
        state=seen.state,
        holds_gil=seen.holds_gil,
        waits_for_gil=seen.waits_for_gil,
        python_name=listed.python_name or seen.python_name,
    )


_PREFIX = {"Parameter": "Parameter ", "ndarray": "ndarray "}  # facts that the text of the value does not give


def described(values: Sequence[Value]) -> Sequence[Value]:
    """The same values; the types of tensors that debugpy holds say ``float32 [2, 3]``."""
    return [
        replace(value, type=f"{_PREFIX.get(value.type, '')}{value.data['dtype']} {value.data['sizes']}")
        if value.language is Language.PYTHON and _is_tensor(value.data)
        else value
        for value in values
    ]


def _is_tensor(data: Any) -> bool:
    return isinstance(data, dict) and {"dtype", "sizes"} <= data.keys()


_TOGETHER = 0.1  # seconds that a new stop may wait to be drawn as a whole
_PATIENCE = 0.15  # seconds that a step may run before the panes show that the target runs
_MOST_STATES = 64  # threads whose stacks are looked at for the list
_BEFORE, _AFTER = 40, 120  # instructions around the current one


class StopLoader:
    """Reads from the session for the panes. When the stop ends while it reads, it ends silently."""

    def __init__(
        self,
        console: Console,
        views: Views,
        is_shown: Callable[[str], bool],
        note: Callable[[str, str], None],
        changed: Callable[[], None],
        complain: Callable[[DualdbgError], None],
        batch: Callable[[], AbstractContextManager[None]],
        defect: Callable[[Exception], None],
    ) -> None:
        self.console = console
        self.session = console.session
        self.views = views
        self.thread: Thread | None = None  # the stop's thread, with what was learned of it
        self.stack: Stack | None = None
        self.frame: Frame | None = None
        self.work = ""
        self.complete = asyncio.Event()  # everything that is shown belongs to the current stop
        self.assembly = False
        self._is_shown = is_shown
        self._note = note
        self._changed = changed
        self._complain = complain
        self._batch = batch
        self._defect = defect
        self._drawing = ExitStack()  # holds back what is drawn
        self._code = Code(self.session)
        self._memory = Memory(self.session)
        self._sources: dict[str, tuple[float, SourceText]] = {}
        self._numbers: dict[int, int] = {}  # thread -> the frame that was selected in it at this stop
        self._wanted = asyncio.Event()
        self._closed = False
        self._loading: asyncio.Future[None] | None = None
        self._placed: object = None  # the place of the frame that the source pane was last led to
        self._listed: tuple[Sequence[Thread], int | None, Tasks] = ((), None, Tasks())  # what is shown
        self._task = asyncio.get_running_loop().create_task(self._load_for_ever(), name="loader")
        self._colouring: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End all that it does, and wait for that."""
        self._closed = True
        self._drawing.close()
        for task in (self._task, *self._colouring):
            task.cancel()
        await asyncio.gather(self._task, *self._colouring, return_exceptions=True)

    def begin(self) -> None:
        """Show a process in the middle of its run."""
        stop = self.session.stop
        if stop is not None and self.console.stopped:
            self._draw_together()
            self.thread = stop.thread
            self.reload()
        elif self.session.ended.is_set():
            self._show_ended()
        else:
            self._clear("The target runs.")
        self.show_breakpoints()

    # -- what happens -----------------------------------------------------------------------------

    def event(self, event: Event) -> None:
        """An event of the session, in the order in which they come."""
        if isinstance(event, Stopped):
            self._draw_together()
            self.thread = event.stop.thread
            self._numbers.clear()
            self.views.variables.new_stop()
            self.views.registers.new_stop()
            self.reload()
        elif isinstance(event, Resumed):
            self.complete.clear()
            asyncio.get_running_loop().call_later(_PATIENCE, self._show_running, event.epoch)
            return
        elif isinstance(event, BreakpointChanged):
            self.show_breakpoints()
        elif isinstance(event, (Exited, Detached)):
            self._show_ended()
        elif isinstance(event, Progress):
            part = "" if event.fraction is None else f" {event.fraction:.0%}"
            self.work = "" if event.done else f"{event.what}{part}"
        self._changed()

    def _draw_together(self) -> None:
        """What belongs to one stop is drawn at once, where it does not take long."""
        self._drawing.close()
        self._drawing.enter_context(self._batch())
        asyncio.get_running_loop().call_later(_TOGETHER, self._drawing.close)

    def reload(self) -> None:
        """Read again what the panes show."""
        self.complete.clear()
        self._wanted.set()

    def to_frame(self) -> None:
        """Lead the source pane to the selected frame, wherever the user has gone since, and read all again."""
        self._placed = None
        self.reload()

    def select(self, tid: int, number: int | None = None) -> None:
        """Select another frame, or another thread with the frame that was last selected in it at this stop."""
        if number is None:
            number = self._numbers.get(tid, 0)
        self._numbers[tid] = number
        self.console.selection = Selection(tid, number)
        self.console.listing = None
        self.to_frame()

    def _show_running(self, epoch: int) -> None:
        if self.session.epoch == epoch and self.session.state is State.RUNNING and not self._closed:
            self.thread = self.stack = self.frame = None
            self._clear("The target runs.")
            self._changed()

    def _show_ended(self) -> None:
        self.thread = self.stack = self.frame = None
        self._clear("The target has ended." if self.session.exit is not None else "Detached.")
        self.show_breakpoints()

    def _clear(self, why: str) -> None:
        views = self.views
        views.source.leave()
        views.stack.clear(why)
        views.variables.clear(why)
        views.registers.clear(why)
        self._listed = (), None, Tasks()
        self.show_processes()
        for name in ("stack", "threads"):
            self._note(name, "")

    # -- reading ----------------------------------------------------------------------------------

    async def _load_for_ever(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            stop = self.session.stop
            if stop is None:
                continue
            self._loading = asyncio.ensure_future(self._load(stop))
            try:
                await asyncio.wait({self._loading})
            finally:
                self._loading.cancel()
            if self._loading.cancelled():
                continue
            error = self._loading.exception()
            if isinstance(error, DualdbgError):
                if self._is_current(stop):
                    self._complain(error)
            elif isinstance(error, Exception):
                self._defect(error)
            self._changed()

    def give_up(self) -> bool:
        """Stop reading, because the user does not want to wait; False when nothing is being read."""
        if self._loading is None or self._loading.done():
            return False
        self._loading.cancel()
        return True

    def _is_current(self, stop: Stop) -> bool:
        return self.session.stop is stop and not self._wanted.is_set()

    async def _load(self, stop: Stop) -> None:
        first = Selection(stop.thread.tid, stop.number)
        selection = self.console.selection or first
        if stop.frame is not None and selection == first:
            await self._show_place(stop.frame, first)
        self.show_breakpoints()
        self._changed()
        stack = await self.session.inspector.stack(selection.tid)
        if not self._is_current(stop):
            return
        frames = stack.visible()
        number = min(selection.number, max(len(frames) - 1, 0))
        self.stack, self.frame = stack, frames[number] if frames else None
        self.views.stack.show_stack(stack, number)
        self._note("stack", stack_note(stack, number))
        if self.frame is not None:
            await self._show_place(self.frame, Selection(selection.tid, number))
            await self._tell_what_led_there(frames[number + 1 :])
            await self._show_variables(stop, selection.tid, self.frame, len(frames) - number)
        if self._is_current(stop):
            await self._show_threads(stop, selection.tid)
        for name, show in (("registers", self._show_registers), ("memory", self._show_memory)):
            if self._is_current(stop) and self._is_shown(name):
                await show(stop, selection.tid)
        if self._is_current(stop):
            self.complete.set()
            self._changed()
            self._drawing.close()
            await self._show_thread_states(stop, selection.tid)

    async def _show_variables(self, stop: Stop, tid: int, frame: Frame, depth: int) -> None:
        try:
            values: Sequence[Value] = await self.session.inspector.variables(tid, frame)
            if self.session.state is State.PYTHON_STOPPED:
                values = described(values)
            values = [*await self.views.variables.watches.values(self.session, tid, frame), *values]
        except DualdbgError as error:
            if self._is_current(stop):
                self.views.variables.clear(error.message)
            return
        nothing = "No variables."
        if isinstance(frame, NativeFrame) and frame.line is None:
            nothing = "No variables: this function has no debug info."
        if self._is_current(stop):
            await self.views.variables.show_values(scope_of(tid, frame, depth), values, nothing)

    async def _show_threads(self, stop: Stop, tid: int) -> None:
        threads = await self.session.inspector.thread_list.all()
        if self._is_current(stop):
            self._list(threads, tid)

    async def _show_thread_states(self, stop: Stop, tid: int) -> None:
        """Show what each thread is doing. That takes a look at its stack, so it is done only for a visible list."""
        if not self._is_shown("threads"):
            return
        listed = await self.session.inspector.thread_list.all()
        if len(listed) > _MOST_STATES or not self._is_current(stop):
            return
        threads, tasks = await self.session.inspector.threads_and_tasks()
        known = {thread.tid: thread for thread in threads}
        if self._is_current(stop):
            self._list([with_state(thread, known.get(thread.tid)) for thread in listed], tid, tasks)

    def _list(self, threads: list[Thread], tid: int, tasks: Tasks = Tasks()) -> None:  # noqa: B008
        self._listed = threads, tid, tasks
        self.show_processes()
        self._note("threads", thread_note(threads))
        stop = self.session.stop
        for thread in threads:
            if stop is not None and thread.tid == stop.thread.tid and thread.holds_gil is not None:
                self.thread = thread

    def show_processes(self) -> None:
        """The processes where there are several, and the threads of this one."""
        self.views.threads.show_threads(*self._listed, self.console.views, self.console.current)

    async def _show_registers(self, stop: Stop, tid: int) -> None:
        frame = self.frame
        if not isinstance(frame, NativeFrame):
            self.views.registers.clear("Registers belong to native frames.")
            return
        values = await self._code.registers(tid, frame, "general")
        if self._is_current(stop):
            self.views.registers.show_registers(scope_of(tid, frame, 0), values)

    async def _show_memory(self, stop: Stop, tid: int) -> None:
        address = self.views.memory.address
        if address is None and isinstance(self.frame, NativeFrame):
            address = self.frame.sp
        if address is not None:
            await self.show_memory(address)

    async def show_memory(self, address: int) -> None:
        """Raises DualdbgError when the target cannot be asked now."""
        data = await self._memory.read(address, WINDOW)
        self.views.memory.show_memory(address, data, self.session.epoch)
        self._note("memory", f"{address:#x}")

    def show_breakpoints(self) -> None:
        """Show the breakpoints in their pane, and their marks at the source that is shown."""
        rows = self.session.breakpoints.all()
        self.views.breakpoints.show_breakpoints(rows)
        self._note("breakpoints", str(len(rows)) if rows else "")
        source = self.views.source
        file = source.source.path if source.source is not None else None
        source.mark(breakpoint_marks.marks_of(rows, file))

    # -- source -----------------------------------------------------------------------------------

    async def _show_place(self, frame: Frame, selection: Selection) -> None:
        """Show the source of a frame; without source its machine code; without that the reason.

        Only where that is another place than before: who has gone elsewhere since stays there when the panes are read
        again, because a command may have changed a value or named a function.
        """
        native = isinstance(frame, NativeFrame)
        source = None
        if frame.file is not None and not (native and self.assembly):
            source = await self._source(frame.file)
        found = None if source is None else source.path
        place = (self.session.epoch, selection, frame.line, getattr(frame, "pc", None), found, self.assembly)
        if place == self._placed:
            return
        self._placed = place
        innermost = selection.number == 0
        if source is not None:
            self.views.source.show_source(source, frame.line, innermost)
            self._note("source", package_path(source.path))
            self.show_breakpoints()
        elif isinstance(frame, NativeFrame):
            await self.show_code(frame.pc, frame.pc, innermost)
        elif isinstance(frame, PythonFrame):
            self.views.source.show_message(f"There is no source of {frame.file or frame.function}.")
            self._note("source", "")

    async def _tell_what_led_there(self, outer: Sequence[Frame]) -> None:
        """Beside machine code of a frame: the line of the innermost Python frame that has led there."""
        led = next((frame for frame in outer if isinstance(frame, PythonFrame) and frame.line), None)
        source = await self._source(led.file) if led is not None and led.file is not None else None
        if led is None or self.views.source.listing is None:
            return
        place = f"{led.function} {Path(led.file).name if led.file else '?'}:{led.line}"
        lines = source.lines if source is not None else []
        text = lines[led.line - 1].strip() if led.line is not None and led.line <= len(lines) else ""
        self.views.source.tell_above(f"{place}  {text}".rstrip())

    async def show_file(self, path: str, line: int | None) -> bool:
        """Show a file that the user asked for; False when it cannot be read."""
        source = await self._source(path)
        if source is None:
            return False
        here = self.frame.line if self.frame is not None and self.frame.file == path else None
        number = self.console.selection.number if self.console.selection is not None else 0
        self.views.source.show_source(source, here, number == 0)
        if line is not None:
            self.views.source.go_to(line)
        self._note("source", package_path(path))
        self.show_breakpoints()
        return True

    async def show_code(self, address: int, current: int | None, innermost: bool) -> None:
        """The instructions around an address."""
        rows = await self._code.around(address, _BEFORE, _AFTER)
        listing = listing_of(rows, address)
        self.views.source.show_listing(listing, address, current, innermost)
        title = listing.title
        self._note("source", f"{title or hex(address)} (no source)" if not self.assembly else title)
        self.show_breakpoints()

    async def find_function(self, name: str) -> Spot:
        """Where a function of the target is. Raises CommandError when there is no such function."""
        stop, selection = self.session.stop, self.console.selection
        if stop is None or selection is None or self.frame is None:
            raise CommandError(f"{name} is not in this file", "a stopped target knows its functions")
        value = await self.session.inspector.evaluate(f"&{name}", selection.tid, self.frame, Language.NATIVE)
        address = _address_in(value)
        if address is None:
            raise CommandError(f"{name} is no function: {value.value}", "give FILE:LINE or an address")
        return Spot(address=address)

    async def address_of(self, text: str) -> int:
        """An address, or what an expression of the native language points to."""
        try:
            return int(text, 0)
        except ValueError:
            pass
        selection = self.console.selection
        if selection is None or self.frame is None:
            raise WrongState("the target runs", "pause it first: press Ctrl-C")
        value = await self.session.inspector.evaluate(text, selection.tid, self.frame, Language.NATIVE)
        address = _address_in(value)
        if address is None:
            raise CommandError(f"{text} is no address: {value.value}", f"&{text} is where it is")
        return address

    async def _source(self, path: str) -> SourceText | None:
        stamp = await in_thread(source_text.stamp, path)
        known = self._sources.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        source = await in_thread(source_text.read, path)
        if source is not None and stamp is not None:
            self._sources[path] = stamp, source
            task = asyncio.get_running_loop().create_task(self._colour(stamp, source))
            self._colouring.add(task)
            task.add_done_callback(self._colouring.discard)
        return source

    async def _colour(self, stamp: float, source: SourceText) -> None:
        coloured = await in_thread(source_text.coloured, source)
        self._sources[source.path] = stamp, coloured
        self.views.source.recolour(coloured)


def _address_in(value: Value) -> int | None:
    """The first address in a value's text, or a whole number."""
    match = re.search(r"0x[0-9a-fA-F]+", value.value) or re.fullmatch(r"-?\d+", value.value)
    return int(match.group(), 0) if match is not None else None
