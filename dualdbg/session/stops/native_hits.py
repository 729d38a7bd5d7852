"""Which of the user's breakpoints a native stop is a hit of: by thread, condition, count, and call of an operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...backends import events as engine
from ...errors import CommandError
from ...model import BreakpointKind, Layer
from ...shared.libraries import is_foreign
from ...shared.requests.breakpoints import EvaluateCondition, ReadLastBreakpoint
from ...shared.requests.threads import ListThreads
from ...stacks.roles import is_evaluation_loop, is_our_call
from ...symbols.locspec.outermost import calls_on
from ...symbols.torch.nested_calls import Arrival, continues_call, layer_of
from ..breakpoints.cxx_exceptions import read_catch, read_throw
from ..breakpoints.operator_namesakes import is_function
from .facts import Met
from .failed_conditions import condition_failed

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable
    from ..engines import NativeEngine
    from ..inspect.inspector import Inspector


class NativeHits:
    """Asks the table, and gdb where a suffix needs a look at the target, which gdb holds."""

    def __init__(
        self,
        native: NativeEngine,
        breakpoints: BreakpointTable,
        inspector: Inspector,
        pid: int,
    ) -> None:
        self._native = native
        self._breakpoints = breakpoints
        self._inspector = inspector
        self._pid = pid
        self.of_gdb: set[int] = set()  # set by the user with gdb's own commands
        # The last arrival that counted, by breakpoint, thread and layer.
        self._reported: dict[tuple[int, int, Layer | None], Arrival] = {}

    async def ask_gdb(self, command: str) -> str:
        """gdb's answer to a command of the user. The breakpoints that it sets are the user's. gdb holds the target."""
        before = await self._native.ask(ReadLastBreakpoint())
        try:
            return await self._native.user_command(command)
        finally:
            self.of_gdb.update(range(before + 1, await self._native.ask(ReadLastBreakpoint()) + 1))

    async def at_breakpoint(self, event: engine.NativeStopped) -> Met:
        """The user's breakpoints that stop here, at a breakpoint or watchpoint, and what is to be said of it.

        Where the user has set it in gdb itself there is no number for it, only what gdb says.
        """
        assert event.gdb_breakpoint is not None
        if event.cause is engine.StopCause.WATCHPOINT_GONE:
            return await self._breakpoints.watch_is_over(event.gdb_breakpoint)
        table, numbers = self._breakpoints, {one.number for one in event.watched}
        if event.gdb_breakpoint in self.of_gdb or numbers & self.of_gdb:
            return (), _told_by_gdb(event)
        if await table.own_business(event) or await self.is_ours(event):
            return (), None
        ids = {id for number in numbers for id in table.native_owners(number)}
        ids.update(table.native_owners_there(event.gdb_breakpoint))
        return await self._met(event, sorted(ids), self._changes(event))

    async def at_signal(self, event: engine.NativeStopped) -> tuple[Met, bool]:
        """The same at a signal. The second value: whether the user has breakpoints on the signal at all."""
        asked = self._breakpoints.on_signal(event.signal or "")
        return await self._met(event, asked), bool(asked)

    def _changes(self, event: engine.NativeStopped) -> str | None:
        """What the user's watchpoints have met, each told by what the user has written."""
        told = []
        for one in event.watched:
            for id in self._breakpoints.native_owners(one.number)[:1]:
                spec = self._breakpoints.get(id).spec
                told.append(_change(one, spec.text if spec.kind is BreakpointKind.DATA else spec.subject))
        return "; ".join(dict.fromkeys(told)) or None

    async def _met(
        self, event: engine.NativeStopped, ids: Sequence[int], description: str | None = None
    ) -> Met:
        """Which of the breakpoints stop here by their suffixes, and what is to be said of it."""
        table = self._breakpoints
        thread = event.gdb_thread or 1
        hit: list[int] = []
        for id in ids:
            row = table.find(id)
            if row is None:
                continue
            spec = row.spec
            if spec.thread is not None and not await self._is_thread(event, spec.thread):
                continue
            if spec.outermost is not None and await self._is_inner(event, spec.outermost):
                continue
            if spec.kind is BreakpointKind.OPERATOR and await self._continues_call(event, id):
                continue
            watches = spec.kind in (BreakpointKind.WATCH, BreakpointKind.DATA)
            if spec.condition is not None and not watches:  # gdb has evaluated the condition of a watchpoint
                try:
                    condition = table.as_allowed(spec.condition)
                    if not await self._native.ask(EvaluateCondition(thread, condition)):
                        continue
                except CommandError as error:
                    if not await table.native_condition_failed(id):
                        continue
                    failed = condition_failed(id, spec.condition, error.message)
                    description = f"{description}; {failed}" if description else failed
                    hit.append(id)
                    continue
            if spec.kind in (BreakpointKind.THROW, BreakpointKind.CATCH):
                catches = spec.kind is BreakpointKind.CATCH
                function, _ = table.image.describe(event.pc or 0)
                thrown = await (
                    read_catch(self._native, thread)
                    if catches
                    else read_throw(self._native, thread, function)
                )
                if spec.subject and not thrown.is_a(spec.subject):
                    continue
                stack = await self._inspector.stack_while_held(await self._tid(event))
                description = thrown.told(stack, "caught" if catches else "thrown")
            await table.count_passed_over(id)
            if not table.count_hit(id):
                continue
            if spec.log is not None:
                await self._inspector.write_log(spec.log, thread, table.as_allowed)
                continue
            hit.append(id)
        await table.were_hit(hit)
        return tuple(hit), description if hit else None

    async def is_ours(self, event: engine.NativeStopped) -> bool:
        """Whether it is debugpy or we who came here. What they call does not concern the user.

        That is known by the thread, else by the stack. Only code that is not the program's own is called by both.
        """
        tid = await self._tid(event)
        if tid in self._inspector.thread_list.ours:
            return True
        module = self._breakpoints.image.module_at(event.pc) if event.pc is not None else None
        if module is None or is_foreign(module.path):
            return False
        stack = await self._inspector.stack_while_held(tid)
        return is_our_call(list(stack.frames), self._inspector.reader.rules)

    async def _tid(self, event: engine.NativeStopped) -> int:
        """The OS thread id of the thread of a stop, which gdb may not have known before."""
        if event.thread is not None:
            return event.thread
        return (await self._native.ask(ListThreads())).get(event.gdb_thread or 1, self._pid)

    async def _is_thread(self, event: engine.NativeStopped, wanted: str) -> bool:
        """Whether the thread of a stop has this OS thread id, or this name: the system's or Python's."""
        tid = await self._tid(event)
        if wanted.isdigit():
            return tid == int(wanted)
        if self._inspector.thread_name(tid) == wanted:
            return True
        return (await self._inspector.thread(tid)).python_name == wanted

    async def _is_inner(self, event: engine.NativeStopped, function: str) -> bool:
        """Whether the thread is in a call of the function that was made within another call of it."""
        stack = await self._inspector.stack_while_held(await self._tid(event))
        return calls_on(stack.frames, function) > 1

    async def _continues_call(self, event: engine.NativeStopped, id: int) -> bool:
        """Whether this arrival at an operator's kernel belongs to a call that was reported already."""
        thread = event.gdb_thread or 1
        image = self._breakpoints.image
        frames = await self._inspector.reader.native_frames(await self._tid(event), thread)
        if len(frames) < 2:
            return False
        outer = []
        for frame in frames[1:]:
            if is_evaluation_loop(frame):
                break
            outer.append(image.function_start(frame.pc + (not frame.is_call)) or frame.pc)
        function = image.function_start(frames[0].pc + 1) or frames[0].pc
        starts = {}
        row = self._breakpoints.get(id)
        for place in row.locations:
            if place.address is not None and not is_function(row.spec, place):
                starts[image.function_start(place.address + 1) or place.address] = layer_of(place.function)
        layer = starts.get(function)
        if layer is None:
            return False
        # With @all the breakpoint is in other layers too.
        kernels = [start for start, its in starts.items() if its is layer]
        now = Arrival(thread, function, frames[0].sp or 0, frames[1].pc)
        if continues_call(now, outer, kernels, self._reported.get((id, thread, layer))):
            return True
        self._reported[id, thread, layer] = now
        return False


def _told_by_gdb(event: engine.NativeStopped) -> str:
    """What gdb says of a breakpoint that the user has set in gdb; of a watchpoint also the values before and after."""
    if not event.watched:
        return f"gdb's breakpoint {event.gdb_breakpoint}"
    return "; ".join(
        f"gdb's watchpoint {one.number}, {_change(one, one.expression)}" for one in event.watched
    )


def _change(one: engine.WatchedValue, name: str) -> str:
    """What a watchpoint has met: the values before and after, of a read the value."""
    name = name.removeprefix("-location ")
    if one.new is None:
        return name
    return f"{name}: {one.old} -> {one.new}" if one.old is not None else f"{name}: {one.new}"
