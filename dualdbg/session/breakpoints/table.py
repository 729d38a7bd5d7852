"""The user's breakpoints: one numbered table over both engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...backends import events as engine
from ...errors import CommandError, SpecError
from ...in_thread import in_thread
from ...model import (
    Breakpoint,
    BreakpointChanged,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    Language,
    Notice,
    Output,
)
from ...symbols.address_space import AddressSpace, Module
from ...symbols.callables.native_entries import Resolved
from ...symbols.locspec.breakpoint_spec import parse_spec, same_place
from ..engines import NativeEngine
from ..loop import Loop
from ..ports import Reads
from ..stops.facts import Met, PythonHold
from . import python_hits, throw_origins
from .ambiguous_names import AmbiguousNames
from .hit_conditions import hit_counts
from .native import NativeBreakpoints
from .python import PythonBreakpoints
from .throw_origins import ThrowOrigins


@dataclass(frozen=True)
class SpecReader:
    """Turns text into specs: presets are expanded, operators are told from functions.

    ``optional`` are the members of presets of which it is no fault when they are not there. ``nearest`` has the names
    that a user may have meant, ``resolve`` what a Python name stands for.
    """

    is_operator: Callable[[str], bool] | None
    expand_preset: Callable[[str], list[str]]
    optional: frozenset[str]
    nearest: Callable[[BreakpointSpec], list[str]]
    resolve: Callable[[str], Resolved]

    def read(self, text: str) -> list[BreakpointSpec]:
        spec = parse_spec(text, self.is_operator)
        if spec.kind is not BreakpointKind.PRESET:
            return [spec]
        return [parse_spec(member, self.is_operator) for member in self.expand_preset(spec.subject)]


def condition_failed(id: int, condition: str, why: str) -> str:
    """What a stop says of a condition that has no value."""
    why = why.removeprefix("gdb: ").rstrip(".")
    return f"the condition {condition!r} cannot be evaluated: {why}; breakpoint {id} is off now"


class BreakpointTable:
    """Breakpoints by the number that the user sees."""

    def __init__(
        self,
        loop: Loop,
        engine: NativeEngine,
        reads: Reads,
        reader: SpecReader,
        native: NativeBreakpoints,
        python: PythonBreakpoints,
        image: AddressSpace,
    ) -> None:
        self._loop = loop
        self._engine = engine
        self._reads = reads
        self._reader = reader
        self._native = native
        self._python = python
        python.settled_late = self._settled_late
        self.image = image
        self._ambiguous = AmbiguousNames(image)
        self._origins = ThrowOrigins(loop, engine, reads, native)
        self._rows: dict[int, Breakpoint] = {}
        self._raised: dict[int, python_hits.Raised] = {}  # the last one of each of debugpy's threads
        self._next_id = 1
        self._optional: set[int] = set()  # members of presets that a release build has inlined

    def all(self) -> list[Breakpoint]:
        return list(self._rows.values())

    def get(self, id: int) -> Breakpoint:
        if id not in self._rows:
            raise CommandError(f"there is no breakpoint {id}", "info breakpoints lists them")
        return self._rows[id]

    def read(self, text: str) -> list[BreakpointSpec]:
        """What ``text`` asks for, presets expanded. Raises SpecError when it cannot be read."""
        return self._reader.read(text)

    # -- the user's changes ---------------------------------------------------------------------

    async def set_python_filters(self, filters: tuple[str, ...], options: tuple[dict[str, Any], ...]) -> None:
        """An editor's choice of Python exceptions, besides the breakpoints of this table."""
        await self._python.set_filters(filters, options)

    async def add(self, text: str, temporary: bool = False) -> list[Breakpoint]:
        """Set the breakpoint(s) that ``text`` asks for. Raises SpecError when it cannot be read."""
        added = []
        specs = self.read(text)
        for spec in specs:
            row = await self.add_spec(replace(spec, temporary=spec.temporary or temporary))
            if spec.text != text and spec.text in self._reader.optional:
                self._optional.add(row.id)
            added.append(row)
        return added

    async def add_spec(self, spec: BreakpointSpec) -> Breakpoint:
        same = next((row for row in self._rows.values() if same_place(row.spec, spec, str(Path.cwd()))), None)
        id = self._next_id
        self._next_id += 1
        self._rows[id] = Breakpoint(id, spec, BreakpointState.PENDING)
        if spec.kind is BreakpointKind.SIGNAL:
            await self._engine.handle_signal(spec.subject, stops=True)
            self._rows[id] = replace(self._rows[id], state=BreakpointState.VERIFIED)
        elif spec.language is Language.PYTHON:
            await self._python.add(id, spec)
            await self._watch_throws()
            if self._python.may_be_native(id):
                self._loop.background(self._look_behind(id, spec.subject))
        else:
            try:
                await self._native.add(id, spec)
            except SpecError:
                del self._rows[id]
                raise
        self._settle(id, announce=True)
        self._tell_meanings(id, self.image.modules)
        self._tell_troubles()
        if spec.kind is BreakpointKind.RAISE:
            self._tell_near_exceptions(id, spec.subject)
        if self._loop.state.stop is not None:  # the program has begun: what is named should be there
            self._loop.background(self._tell_nearest(id))
        if same is not None:
            self._loop.tell(Notice("info", f"breakpoint {id} means the same place as breakpoint {same.id}"))
        return self._rows[id]

    def _tell_near_exceptions(self, id: int, name: str) -> None:
        near = python_hits.nearest_exceptions(name)
        if near:
            hint = f"nearest: {', '.join(near)}; a type of the program's own is met when it is raised"
            self._loop.tell(Notice("info", f"breakpoint {id}: {name} is no built-in exception", hint))

    async def _tell_nearest(self, id: int) -> None:
        """The names that the user may have meant, for one that nothing has which is loaded."""
        row = self._rows.get(id)
        if row is None or row.state is not BreakpointState.PENDING or row.spec.language is Language.PYTHON:
            return
        names = await asyncio.to_thread(self._names_near, row.spec)
        if names and id in self._rows and self._rows[id].state is BreakpointState.PENDING:
            text = f"breakpoint {id}: nothing that is loaded is named {self._rows[id].spec.subject}"
            self._loop.tell(Notice("info", text, f"nearest names: {', '.join(names)}"))

    def _names_near(self, spec: BreakpointSpec) -> list[str]:
        """The nearest names; not the name itself, which is no mistake when its library has not been loaded."""
        return [name for name in self._reader.nearest(spec) if name != spec.subject]

    async def _look_behind(self, id: int, name: str) -> None:
        """A name without Python code of its own: another's, or a native function, of which the user is told."""
        found = await in_thread(self._reader.resolve, name)
        if id not in self._rows:
            return
        if found.python is not None and found.python.name != name:
            await self._python.place_again(id, found.python.name)
        elif found.entries:
            self._python.reject(id, f"{name} is built in: it has no Python code")
            spec = found.operator.removeprefix("aten::") if found.operator else found.entries[0].spec
            hint = f"to stop in its native code: break {spec}"
            self._loop.tell(Notice("warning", f"{name} is built in: no Python code runs there", hint))
        self._settle(id, announce=True)

    async def remove(self, id: int) -> None:
        spec = self.get(id).spec
        del self._rows[id]
        self._ambiguous.forget(id)
        if spec.kind is BreakpointKind.SIGNAL:
            await self._engine.handle_signal(spec.subject, stops=False)
        elif spec.language is Language.PYTHON:
            await self._python.remove(id)
            await self._watch_throws()
        else:
            await self._native.remove(id)

    async def enable(self, id: int, enabled: bool) -> None:
        spec = self.get(id).spec
        if spec.kind is BreakpointKind.SIGNAL:
            await self._engine.handle_signal(spec.subject, stops=enabled)
        elif spec.language is Language.PYTHON:
            await self._python.enable(id, enabled)
            await self._watch_throws()
        else:
            await self._native.enable(id, enabled)
        self._rows[id] = replace(self._rows[id], enabled=enabled)
        self._loop.tell(BreakpointChanged(self._rows[id]))

    async def _watch_throws(self) -> None:
        await self._origins.watch(bool(self._python.exception_owners()))

    @property
    def unheard(self) -> int | None:
        """See :attr:`PythonBreakpoints.unheard`."""
        return self._python.unheard

    def hold_back(self) -> None:
        """No native stops until :meth:`release`: what runs first is the interpreter's start and our bootstrap."""
        self._native.hold_back()

    async def release(self) -> None:
        await self._native.release()

    # -- the target's changes -------------------------------------------------------------------

    async def libraries_changed(self) -> None:
        """A library came or went (gdb holds the target): bind what can be bound."""
        arrived = self.image.refresh()
        changed = await self._native.libraries_left()
        await self._reads.reader.libraries_left()
        changed += await self._native.libraries_arrived(arrived)
        for id in dict.fromkeys(changed):
            if id in self._rows:
                self._settle(id, announce=True)
        for id in self._rows:
            self._tell_meanings(id, arrived)
        self._tell_troubles()

    async def own_business(self, event: engine.NativeStopped) -> bool:
        """Look at a stop that serves other breakpoints; True when it is nothing but that."""
        number, thread = event.gdb_breakpoint or 0, event.gdb_thread or 1
        if throw_origins.ID in self._native.owners_there(number):
            await self._origins.take(event)
        changed = await self._native.operator_registered(number, thread)
        for id in changed or ():
            self._settle(id, announce=True)
        return changed is not None

    def _tell_troubles(self) -> None:
        for module in self.image.take_troubles():
            hint = "no names are known in it; addresses are: break *0xADDRESS"
            self._loop.tell(Notice("warning", f"{module.path}: {module.trouble}", hint))

    def _tell_meanings(self, id: int, arrived: list[Module]) -> None:
        row = self._rows[id]
        notice = self._ambiguous.notice(id, row.spec, row.locations, arrived)
        if notice is not None:
            self._loop.tell(notice)

    async def program_replaced(self) -> None:
        changed = self._native.program_replaced()
        self.image.refresh()
        for id in changed:
            if id in self._rows:
                self._settle(id, announce=True)

    def _settled_late(self, ids: list[int]) -> None:
        for id in ids:
            before = self._rows.get(id)
            if before is not None:
                self._settle(id, announce=False)
                if self._rows[id] != before:
                    self._loop.tell(BreakpointChanged(self._rows[id]))

    async def python_connected(self) -> None:
        await self._python.send_all()
        for row in self.all():
            if row.spec.language is Language.PYTHON:
                self._settle(row.id, announce=True)

    def python_changed(self, event: engine.PythonBreakpoint) -> None:
        id = self._python.changed(event.debugpy_id, event.now)
        if id is not None:
            self._settle(id, announce=True)

    def native_owners_there(self, gdb_number: int) -> list[int]:
        """The breakpoints at the place of a stop, whose suffixes may let them stop."""
        return [id for id in self._native.owners_there(gdb_number) if id in self._rows]

    def native_owners(self, gdb_number: int) -> list[int]:
        return [id for id in self._native.owners(gdb_number) if id in self._rows]

    def on_signal(self, name: str) -> list[int]:
        """The enabled breakpoints on a signal, of this name as gdb has it."""
        kind = BreakpointKind.SIGNAL
        rows = (row for row in self._rows.values() if row.spec.kind is kind and row.enabled)
        return [row.id for row in rows if row.spec.subject == name]

    async def at_python_stop(self, hold: PythonHold) -> Met | None:
        """The breakpoints that a stop of debugpy's belongs to, and what is to be said of it.

        None for an exception that nobody has asked for: the target is to run on. Raises WrongState when a native stop
        came first: nothing was counted then, and this is asked again.
        """
        if hold.event.cause is engine.PythonCause.EXCEPTION:
            return await self._at_exception(hold)
        owners = self._python.owners(hold.event.breakpoints)
        failed = await self._failed_conditions(owners, hold)
        owners = list(failed) or await python_hits.held(self._reads, hold, owners)
        description = await self._switch_off(failed)
        owners = [id for id in owners if id in self._rows]  # removed ones went while debugpy was asked
        for id in owners:
            self._rows[id] = replace(self._rows[id], hit_count=self._rows[id].hit_count + 1)
            if self._rows[id].spec.temporary:
                await self.remove(id)
        return tuple(owners), description

    async def _at_exception(self, hold: PythonHold) -> Met | None:
        exception = await python_hits.raised(self._reads, hold)
        number = hold.event.debugpy_thread
        on_its_way = exception.mode == "always" and exception.came_from(self._raised.get(number))
        owners = []
        if not on_its_way:
            specs = {id: self._rows[id].spec for id in self._python.exception_owners()}
            owners = python_hits.exception_owners(exception, specs)
        failed = await self._failed_conditions(owners, hold)
        holding = [id for id in owners if id not in failed and await self._holds(id, hold)]
        origin = await self._origins.of(hold)
        # From here on nothing is asked that a native stop could hold up: what is counted is counted once.
        self._raised[number] = exception
        why = await self._switch_off(failed)
        stopping = list(failed)
        for id in holding:
            if id not in self._rows or not self.count_hit(id):
                continue
            spec = self._rows[id].spec
            if spec.log is not None:
                written = await python_hits.log_text(self._reads, hold, spec.log)
                self._loop.tell(Output("console", f"{written}\n"))
            else:
                stopping.append(id)
        if not stopping and not self._python.editor_wants(exception.mode):
            return None
        for id in stopping:
            if self._rows[id].spec.temporary:
                await self.remove(id)
        parts = [python_hits.exception_text(hold), origin, why]
        return tuple(stopping), ", ".join(part for part in parts if part) or None

    async def _holds(self, id: int, hold: PythonHold) -> bool:
        """Whether thread and condition of a breakpoint on an exception are those of the stop."""
        return id in self._rows and await python_hits.condition_holds(self._reads, hold, self._rows[id].spec)

    async def _failed_conditions(self, ids: list[int], hold: PythonHold) -> dict[int, str]:
        """Breakpoints whose condition has no value here, and what is to be said of each."""
        failed = {}
        for id in ids:
            condition = self._rows[id].spec.condition if id in self._rows else None
            if condition is None:
                continue
            why = await python_hits.condition_error(self._reads, hold, condition)
            if why is not None:
                failed[id] = condition_failed(id, condition, why)
        return failed

    async def _switch_off(self, failed: dict[int, str]) -> str | None:
        """A condition without a value stops once, says why, and is off then."""
        for id in failed:
            if id in self._rows:
                await self.enable(id, False)
        return next(reversed(failed.values()), None) if failed else None

    async def count_passed_over(self, id: int) -> None:
        """Before :meth:`count_hit`: add the hits of which only gdb knows."""
        if self._rows[id].spec.kind is BreakpointKind.SIGNAL:
            return
        before = await self._native.hits_before(id)
        if before > self._rows[id].hit_count:
            self._rows[id] = replace(self._rows[id], hit_count=before)

    def count_hit(self, id: int) -> bool:
        """Count a native hit; False while the spec's ``hits`` are not reached."""
        row = self._rows[id] = replace(self._rows[id], hit_count=self._rows[id].hit_count + 1)
        if row.spec.hit_condition is not None:
            return hit_counts(row.spec.hit_condition, row.hit_count)
        return row.spec.hits is None or row.hit_count >= row.spec.hits

    def report_unbound(self) -> None:
        """At the end: what never bound, with the nearest names that exist."""
        for row in self._rows.values():
            if row.state is not BreakpointState.PENDING or row.hit_count or row.id in self._optional:
                continue
            names = self._names_near(row.spec)
            hint = f"nearest names: {', '.join(names)}" if names else ""
            self._loop.tell(Notice("warning", f"breakpoint {row.id} ({row.spec.text}) never bound", hint))

    def _settle(self, id: int, announce: bool) -> None:
        row = self._rows[id]
        if row.spec.kind is BreakpointKind.SIGNAL:
            settled = row
        elif row.spec.language is Language.PYTHON:
            state, locations, message = self._python.state(id)
            settled = replace(row, state=state, locations=locations, message=message)
        else:
            locations, message = self._native.locations(id), self._native.message(id)
            state = BreakpointState.VERIFIED if locations else BreakpointState.PENDING
            settled = replace(row, state=state, locations=locations, message=message)
        self._rows[id] = settled
        if announce:
            self._loop.tell(BreakpointChanged(settled))
