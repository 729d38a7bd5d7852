"""Decides what an engine's stop means: internal business, something to pass over, or a stop for the user."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from ..backends import events as engine
from ..errors import CommandError
from ..model import BreakpointKind, Layer, Notice, Reason
from ..stacks.roles import is_evaluation_loop
from ..symbols.nested_calls import Arrival, continues_call, layer_of
from .breakpoint_table import condition_failed
from .cxx_exceptions import read_throw

if TYPE_CHECKING:
    from .session import Session

Verdict = tuple[Reason, tuple[int, ...], str | None]

_SI_KERNEL = 0x80  # asm-generic/siginfo.h: sent by the kernel, as the terminal's Ctrl-C is

_HIT_REASONS = {
    "breakpoint-hit",
    "watchpoint-trigger",
    "read-watchpoint-trigger",
    "access-watchpoint-trigger",
}
_STEP_REASONS = {"end-stepping-range", "function-finished", "location-reached"}

_PYTHON_REASONS = {
    "breakpoint": Reason.BREAKPOINT,
    "function breakpoint": Reason.BREAKPOINT,
    "step": Reason.STEP,
    "goto": Reason.STEP,
    "pause": Reason.PAUSE,
    "exception": Reason.EXCEPTION,
    "entry": Reason.ENTRY,
}


class Judge:
    """The rules of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.of_gdb: set[int] = set()  # breakpoints and watchpoints that the user had gdb set by itself
        # The last one of a breakpoint in a thread and a layer.
        self._reported: dict[tuple[int, int, Layer | None], Arrival] = {}

    async def is_internal(self, event: engine.NativeStopped) -> bool:
        """Handle a stop that the user never sees; True when the target may run on."""
        handler = _INTERNAL.get(event.reason)
        if handler is None:
            return False
        await handler(self, event)
        return True

    async def _libraries_changed(self, event: engine.NativeStopped) -> None:
        await self._session.breakpoints.libraries_changed()

    async def _program_replaced(self, event: engine.NativeStopped) -> None:
        await self._session.breakpoints.program_replaced()
        python = self._session.python
        gone = ": its Python side is gone" if python is not None and python.python_version is not None else ""
        self._session.emit(Notice("warning", f"the program replaced itself with another (exec){gone}", ""))

    async def verdict(self, event: engine.NativeStopped) -> Verdict | None:
        """What to tell the user of a stop of gdb's, or None to run on."""
        ended = await self._session.stepper.judge(event)
        if ended is not None:
            return (Reason.STEP, (), self._returned(event)) if ended else None
        if event.reason in _HIT_REASONS:
            return await self._breakpoint(event)
        if event.reason in _STEP_REASONS:
            return Reason.STEP, (), self._returned(event)
        if event.reason == "signal-received":
            if event.signal == "SIGINT" or event.signal == "0":
                return Reason.PAUSE, (), None
            return await self._signal(event)
        if event.reason == "watchpoint-scope":
            return Reason.BREAKPOINT, (), "the function of gdb's watchpoint was left, and it is gone"
        return Reason.PAUSE, (), event.reason or None

    def _returned(self, event: engine.NativeStopped) -> str | None:
        return f"returned {event.return_value}" if event.return_value is not None else None

    async def _breakpoint(self, event: engine.NativeStopped) -> Verdict | None:
        session = self._session
        assert event.gdb_breakpoint is not None
        if event.gdb_breakpoint in self.of_gdb:
            return Reason.BREAKPOINT, (), _told_by_gdb(event)
        if await session.breakpoints.own_business(event) or await self._is_ours(event):
            return None
        hit, description = await self._met(
            event, session.breakpoints.native_owners_there(event.gdb_breakpoint)
        )
        return (Reason.BREAKPOINT, hit, description) if hit else None

    async def _signal(self, event: engine.NativeStopped) -> Verdict | None:
        """A signal that the user asked for, or one that stops in any case."""
        asked = self._session.breakpoints.on_signal(event.signal or "")
        hit, description = await self._met(event, asked)
        if asked and not hit:
            return None
        return Reason.SIGNAL, hit, description or f"{event.signal}, {event.signal_meaning}"

    async def _met(
        self, event: engine.NativeStopped, ids: Sequence[int]
    ) -> tuple[tuple[int, ...], str | None]:
        """Those of the breakpoints whose suffixes let them stop here, and what is to be said of it."""
        session = self._session
        thread = event.gdb_thread or 1
        hit: list[int] = []
        description = None
        for id in ids:
            spec = session.breakpoints.get(id).spec
            if spec.thread is not None and not await self._is_thread(event, spec.thread):
                continue
            if spec.kind is BreakpointKind.OPERATOR and await self._continues_call(event, id):
                continue
            if spec.condition is not None:
                try:
                    if not await session.native.helper("condition-holds", thread, spec.condition):
                        continue
                except CommandError as error:
                    description = await self._condition_failed(id, spec.condition, error)
                    hit.append(id)
                    continue
            if spec.kind is BreakpointKind.THROW:
                thrown = await read_throw(session.native, thread)
                if spec.subject and not thrown.is_a(spec.subject):
                    continue
                description = thrown.told(await session.inspector.stack_while_held(await self._tid(event)))
            await session.breakpoints.count_passed_over(id)
            if not session.breakpoints.count_hit(id):
                continue
            if spec.log is not None:
                await session.inspector.write_log(spec.log, thread)
                continue
            hit.append(id)
        for id in hit:
            if session.breakpoints.get(id).spec.temporary:
                await session.breakpoints.remove(id)
        return tuple(hit), description

    async def _is_ours(self, event: engine.NativeStopped) -> bool:
        """Whether the thread is one of debugpy's own: what it calls is none of the user's business."""
        ours = self._session.inspector.thread_list.ours
        if not ours:
            return False
        tid = event.thread or (await self._session.native.threads()).get(event.gdb_thread or 1)
        return tid in ours

    async def _condition_failed(self, id: int, condition: str, error: CommandError) -> str:
        """A condition without a value stops once and says why."""
        await self._session.breakpoints.enable(id, False)
        return condition_failed(id, condition, error.message)

    async def _tid(self, event: engine.NativeStopped) -> int:
        """The OS thread id of a stop's thread, which gdb may have met just now."""
        threads = await self._session.native.threads()
        return threads.get(event.gdb_thread or 1, self._session.pid)

    async def _is_thread(self, event: engine.NativeStopped, wanted: str) -> bool:
        """Whether the thread of a stop has this OS thread id, or this name: the system's or Python's."""
        tid = await self._tid(event)
        if wanted.isdigit():
            return tid == int(wanted)
        if self._session.inspector.thread_name(tid) == wanted:
            return True
        return (await self._session.inspector.thread(tid)).python_name == wanted

    async def _continues_call(self, event: engine.NativeStopped, id: int) -> bool:
        """Whether this arrival at an operator's kernel belongs to a call that was reported already."""
        session = self._session
        thread = event.gdb_thread or 1
        image = session.breakpoints.image
        frames = await session.inspector.reader.native_frames(thread)
        if len(frames) < 2:
            return False
        outer = []
        for frame in frames[1:]:
            if is_evaluation_loop(frame):
                break
            outer.append(image.function_start(frame.pc) or frame.pc)
        function = image.function_start(frames[0].pc + 1) or frames[0].pc
        starts = {}
        for place in session.breakpoints.get(id).locations:
            if place.address is not None:
                starts[image.function_start(place.address + 1) or place.address] = layer_of(place.function)
        layer = starts.get(function)
        kernels = [start for start, its in starts.items() if its is layer]  # with @all there are others too
        now = Arrival(thread, function, frames[0].sp or 0, frames[1].pc)
        if continues_call(now, outer, kernels, self._reported.get((id, thread, layer))):
            return True
        self._reported[id, thread, layer] = now
        return False

    async def sender_of_signal(self) -> int | None:
        """The process that sent the signal at hand; None when the kernel did, as for the terminal's Ctrl-C."""
        try:
            code = await self._siginfo("si_code")
            return None if code == _SI_KERNEL else await self._siginfo("_sifields._kill.si_pid")
        except CommandError:
            return None

    async def _siginfo(self, field: str) -> int:
        answer = await self._session.native.command(f"-data-evaluate-expression $_siginfo.{field}")
        return int(answer["value"])

    def python_reason(self, event: engine.PythonStopped, paused: bool) -> Reason:
        if paused:
            return Reason.PAUSE
        return _PYTHON_REASONS.get(event.reason, Reason.BREAKPOINT)

    def signal_number(self, name: str | None) -> int | None:
        if name is None:
            return None
        try:
            return signal.Signals[name].value
        except KeyError:
            return None


def _told_by_gdb(event: engine.NativeStopped) -> str:
    """What gdb says of a breakpoint of its own: of a watchpoint the expression, and the values before and after."""
    if event.watched is None:
        return f"gdb's breakpoint {event.gdb_breakpoint}"
    value = event.payload.get("value", {})
    old, new = value.get("old"), value.get("new", value.get("value"))
    change = f"{old} -> {new}" if old is not None else f"{new}"
    return f"gdb's watchpoint {event.gdb_breakpoint}, {event.watched}: {change}"


_INTERNAL: dict[str, Callable[[Judge, engine.NativeStopped], Awaitable[None]]] = {
    "solib-event": Judge._libraries_changed,
    "exec": Judge._program_replaced,
}
