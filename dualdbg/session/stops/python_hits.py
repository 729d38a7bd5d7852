"""Which of the user's breakpoints let a stop of debugpy count, and what the stop says of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from ...backends.events import PythonCause, PythonStopped
from ...symbols.names.demangle import demangle
from ..breakpoints import python_answers as answers
from ..breakpoints.python_watches import Change
from ..breakpoints.throw_origins import ThrowOrigins
from ..loop import Loop
from ..ports import AskingPython
from .facts import Met, PythonHold
from .failed_conditions import condition_failed, was_left

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable


_MANGLED = re.compile(r"\b_[ZR]\w+")


@dataclass
class _Decided:
    """What was decided of a stop, and counted. ``logs``: texts that debugpy has not been asked to write yet.

    ``unanswered``: it was asked for one, and a native stop came before it answered.
    """

    event: PythonStopped
    met: Met | None
    logs: list[tuple[int, str]]
    unanswered: bool = False


class PythonHits:
    """Asks the table, and debugpy where a suffix needs a look at the target."""

    def __init__(
        self, loop: Loop, python: AskingPython, breakpoints: BreakpointTable, origins: ThrowOrigins
    ) -> None:
        self._loop = loop
        self._python = python
        self._breakpoints = breakpoints
        self._origins = origins
        self._raised: dict[int, answers.Raised] = {}  # the last exception of each of debugpy's threads
        self._decided: dict[int, _Decided] = {}  # the last stop of each of them

    async def at_stop(self, hold: PythonHold) -> Met | None:
        """The user's breakpoints that stop here, and what is to be said of it.

        None for an exception that nobody has asked for: the target is to run on. Raises WrongState when a native stop
        came first, and this is asked again. What was counted, or written, is not counted or written again.
        """
        number = hold.event.debugpy_thread
        decided = self._decided.get(number)
        if decided is None or decided.event is not hold.event:
            decided = self._decided[number] = await self._decide(hold)
        await self._write_logs(hold, decided)
        return decided.met

    async def _decide(self, hold: PythonHold) -> _Decided:
        """Raises WrongState before anything is counted."""
        if hold.event.cause is PythonCause.EXCEPTION:
            return await self._at_exception(hold)
        table = self._breakpoints
        await table.python_answered()
        if (
            hold.event.cause is PythonCause.BREAKPOINT
            and not hold.event.breakpoints
            and table.watches.may_stop
        ):
            changes = await table.watches.at_stop(hold)
            if changes is not None:
                return await self._at_watchpoints(hold, changes)
        owners = table.python_owners(hold.event.breakpoints)
        failed = await self._failed_conditions(owners, hold)
        if failed:  # debugpy stops at each such hit
            others = [id for id in await answers.held(self._python, hold, owners) if id not in failed]
            description = self._first_failure(failed)
            owners = list(failed) or others
            if not owners:
                return _Decided(hold.event, None, [])
        else:
            owners, description = await answers.held(self._python, hold, owners), None
        owners = [id for id in owners if table.has(id)]  # one may have been removed while debugpy was asked
        for id in owners:
            table.count_python_hit(id)
        await table.were_hit(owners)
        return _Decided(hold.event, (tuple(owners), description), [])

    async def _write_logs(self, hold: PythonHold, decided: _Decided) -> None:
        """Have the target write the texts that are left, each once."""
        if decided.unanswered:  # debugpy answers in the order in which it is asked
            await answers.ask(self._python, hold, "None")
            decided.unanswered = False
        while decided.logs:
            if not self._loop.native_held.is_set():  # else debugpy is not asked now
                decided.unanswered = True
                id, text = decided.logs.pop(0)
                await answers.write_log(self._python, hold, id, text)
                decided.unanswered = False
            else:
                await answers.ask(self._python, hold, "None")  # raises WrongState

    async def _at_watchpoints(self, hold: PythonHold, changes: list[Change]) -> _Decided:
        """The watchpoints that stop here, and what each has met; none where none counts."""
        table = self._breakpoints
        holding = {
            change.number
            for change in changes
            if (row := table.find(change.number)) is not None
            and change.text is not None
            and change.why_not is None
            and await answers.condition_holds(self._python, hold, replace(row.spec, condition=None))
        }
        # From here on no request is made that a native stop could hold up: so each hit is counted once.
        stopping: list[int] = []
        told: list[str] = []
        left: list[str] = []
        logs: list[tuple[int, str]] = []
        for change in changes:
            row = table.find(change.number)
            if row is None:  # it was deleted while the target was on its way here
                continue
            texts = [] if change.text is None else [change.text]
            if change.why_not is not None and not change.over:
                texts = []
                if table.fails_first(row.id):
                    texts.append(condition_failed(row.id, row.spec.condition or "", change.why_not))
            elif texts and (change.number not in holding or not table.count_hit(row.id)):
                texts = []
            elif texts and row.spec.log is not None:
                logs.append((row.id, row.spec.log))
                texts = []
            if change.over and change.why_not is not None:
                texts.append(f"{row.spec.subject} is watched no more: {change.why_not}")
            elif change.over:
                left.append(row.spec.subject)
            if texts or change.over:
                stopping.append(row.id)
                told += texts
        if left:
            told.append(was_left(left))
        for change in changes:
            if table.has(change.number) and change.over:
                await table.remove(change.number)
        await table.were_hit(stopping)
        return _Decided(hold.event, (tuple(stopping), "; ".join(told)) if stopping else None, logs)

    async def _at_exception(self, hold: PythonHold) -> _Decided:
        table = self._breakpoints
        exception = await answers.raised(self._python, hold)
        if exception.asked:
            return _Decided(hold.event, ((), answers.exception_text(hold)), [])
        number = hold.event.debugpy_thread
        on_its_way = exception.mode == "always" and exception.came_from(self._raised.get(number))
        owners = [] if on_its_way else answers.exception_owners(exception, table.on_exceptions())
        failed = await self._failed_conditions(owners, hold)
        holding = [id for id in owners if id not in failed and await self._holds(id, hold)]
        origin = await self._origins.of(hold)
        # From here on no request is made that a native stop could hold up: so each hit is counted once.
        self._raised[number] = exception
        why = self._first_failure(failed)
        stopping = list(failed)
        logs: list[tuple[int, str]] = []
        for id in holding:
            if not table.has(id) or not table.count_hit(id):
                continue
            spec = table.get(id).spec
            if spec.log is not None:
                logs.append((id, spec.log))
            else:
                stopping.append(id)
        if not stopping and not table.editor_wants(exception.mode):
            return _Decided(hold.event, None, logs)
        await table.were_hit(stopping)
        text = answers.exception_text(hold)
        parts = [text, self._symbol_in_words(text or ""), origin, why]
        return _Decided(
            hold.event, (tuple(stopping), ", ".join(part for part in parts if part) or None), logs
        )

    def _symbol_in_words(self, text: str) -> str | None:
        """Say which function a library lacks that cannot be loaded: the dynamic loader writes its mangled name."""
        mangled = _MANGLED.search(text)
        name = demangle(mangled[0]) if mangled is not None else ""
        if mangled is None or name == mangled[0]:
            return None
        near = self._breakpoints.image.find(re.split("[(<]", name)[0])
        told = dict.fromkeys(f"{PurePath(one.module.path).name} has {one.symbol.name}" for one in near)
        return f"the symbol is {name}: {', '.join(list(told)[:3]) or 'no loaded library has it'}"

    async def _holds(self, id: int, hold: PythonHold) -> bool:
        """Whether a breakpoint on an exception is for this thread, and its condition holds."""
        table = self._breakpoints
        return table.has(id) and await answers.condition_holds(self._python, hold, table.get(id).spec)

    async def _failed_conditions(self, ids: list[int], hold: PythonHold) -> dict[int, str]:
        """The breakpoints whose condition has no value here, and what is to be said of each."""
        failed = {}
        for id in ids:
            condition = self._breakpoints.get(id).spec.condition if self._breakpoints.has(id) else None
            if condition is None:
                continue
            why = await answers.condition_error(self._python, hold, condition)
            if why is not None:
                failed[id] = condition_failed(id, condition, why)
        return failed

    def _first_failure(self, failed: dict[int, str]) -> str | None:
        """A condition without a value stops once and says why: what has been told of ``failed`` is taken out of it."""
        for id in list(failed):
            if not self._breakpoints.has(id) or not self._breakpoints.fails_first(id):
                del failed[id]
        return next(reversed(failed.values()), None) if failed else None
