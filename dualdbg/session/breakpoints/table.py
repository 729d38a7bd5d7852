"""The user's breakpoints: one numbered table over both engines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ...backends import events as engine
from ...errors import CommandError, NoSuchBreakpoint, SpecError
from ...model import (
    Breakpoint,
    BreakpointChanged,
    BreakpointKind,
    BreakpointSpec,
    BreakpointState,
    Language,
    Notice,
    PythonFrame,
)
from ...symbols.address_space import AddressSpace
from ...symbols.locspec.breakpoint_spec import place_key, spec_text
from ...symbols.locspec.hit_conditions import hit_counts
from ...system.folders import here
from ..loop import Loop
from ..stops.facts import Met
from ..stops.failed_conditions import was_left
from . import throw_origins
from .compiled_python import CompiledPython
from .counting import Counting, while_held
from .namesakes import Namesakes
from .native import GdbFrame, NativeBreakpoints
from .notices import Notices
from .often_false import OftenFalse
from .python import PythonBreakpoints, message_of
from .python_watches import PythonWatches
from .spec_reader import SpecReader
from .throw_origins import ThrowOrigins

if TYPE_CHECKING:
    from .tracing import Tracing

_Part = Union[NativeBreakpoints, PythonBreakpoints, PythonWatches]
WatchedFrame = Union[GdbFrame, PythonFrame]
WATCHES = (BreakpointKind.WATCH, BreakpointKind.PYTHON_WATCH)


class BreakpointTable:
    """Breakpoints, by the number that the user sees.

    A spec belongs to the native or to the Python half, or to the watchpoints of Python. A bare name of the native half
    (``step``, ``Model.step``) may be that of a Python function as well, and a file of Python may be compiled: such a
    breakpoint is in both halves, and stops in either language. A breakpoint may vanish whenever an engine is waited
    for, also while it is being added: a temporary one is hit, a user or an editor deletes it. So behind every ``await``
    its row is looked for again.
    """

    def __init__(
        self,
        loop: Loop,
        specs: SpecReader,
        native: NativeBreakpoints,
        python: PythonBreakpoints,
        origins: ThrowOrigins,
        watches: PythonWatches,
    ) -> None:
        self._loop = loop
        self._specs = specs
        self._native = native
        self._python = python
        python.settled_late = self._settled_late
        self._origins = origins
        self.watches = watches
        self._rows: dict[int, Breakpoint] = {}
        self._at_place: dict[tuple[object, ...], list[int]] = {}  # numbers, also of those that are gone
        self._optional: set[int] = set()  # members of presets that a compiler may have inlined
        self.notices = Notices(loop, specs, self.image, self._rows, python, self._optional)
        self._namesakes = Namesakes(loop, specs, native, python, self._rows, self._settle)
        self._compiled = CompiledPython(loop, native, self._rows)
        self._told: dict[int, tuple[object, ...]] = {}  # what was last announced of each
        self._next_id = 1
        self._replaced = False  # the program is another one since debugpy was connected
        self._native_hits: dict[int, int] = {}
        self.counting = Counting(loop)
        self._once: set[int] = set()  # those that are off after their next hit
        self._failed: set[tuple[int, str | None]] = set()  # whose condition had no value, and that was told
        self.points = native.points
        self.often_false = OftenFalse(loop, native.points, self.counting)

    @property
    def image(self) -> AddressSpace:
        """The files that are mapped into the target."""
        return self._native.image

    def all(self) -> list[Breakpoint]:
        """All breakpoints, in the order of their numbers."""
        return list(map(self._native.points.as_now, self._rows.values()))

    @property
    def tracing(self) -> Tracing:
        """The places whose hits are counted or taken down while the program runs on."""
        return self._native.points.tracing

    def has(self, id: int) -> bool:
        """Whether there is a breakpoint of this number."""
        return id in self._rows

    def get(self, id: int) -> Breakpoint:
        """The breakpoint of this number. Raises CommandError where there is none."""
        if id not in self._rows:
            raise NoSuchBreakpoint(f"there is no breakpoint {id}", "info breakpoints lists them")
        return self._rows[id]

    def find(self, id: int) -> Breakpoint | None:
        """The breakpoint, or None where it has been deleted meanwhile."""
        return self._rows.get(id)

    def text(self, id: int) -> str:
        """A breakpoint as it may be typed again. Raises CommandError where there is none of this number."""
        return spec_text(self.get(id).spec)

    def read(self, text: str) -> list[BreakpointSpec]:
        """What ``text`` asks for, presets expanded. Raises SpecError when it cannot be read."""
        return self._specs.read(text)

    async def set_python_filters(self, filters: tuple[str, ...], options: tuple[dict[str, Any], ...]) -> None:
        """An editor's choice of Python exceptions, besides the breakpoints of this table."""
        await self._python.set_filters(filters, options)

    async def add(
        self, text: str, temporary: bool = False, frame: WatchedFrame | None = None
    ) -> list[Breakpoint]:
        """Set the breakpoint(s) that ``text`` asks for. Raises SpecError when it cannot be read.

        ``frame`` is the one whose variables a watch means; without it global variables are meant.
        """
        added = []
        for spec in self.read(text):
            wanted = replace(spec, temporary=spec.temporary or temporary)
            is_optional = spec.text != text and spec.text in self._specs.optional
            added.append(await self.add_spec(wanted, frame, is_optional))
        return added

    async def add_spec(
        self, spec: BreakpointSpec, frame: WatchedFrame | None = None, optional: bool = False
    ) -> Breakpoint:
        """Set one breakpoint, and tell what the user may want to know about it.

        That an ``optional`` one is not found is not told.
        Where it has vanished by then, what is returned is as it was at first. Raises SpecError for a condition or a
        log text that would change the program, and where the expression of a watch has no value in ``frame``.
        """
        return await self.counting.add(spec, lambda: self._add_spec(spec, frame, optional))

    async def _add_spec(self, spec: BreakpointSpec, frame: WatchedFrame | None, optional: bool) -> Breakpoint:
        there = self._at_place.setdefault(place_key(spec, str(here())), [])
        same = next((one for one in there if one in self._rows), None)
        id = self._next_id
        self._next_id += 1
        if optional:
            self._optional.add(id)
        row = self._rows[id] = Breakpoint(id, spec, BreakpointState.PENDING)
        there.append(id)
        try:
            await self._add_to_its_part(id, spec, frame)
        except SpecError:
            self._rows.pop(id, None)
            there.remove(id)
            if self._next_id == id + 1:
                self._next_id = id
            raise
        if id not in self._rows:
            return row
        self._settle(id, announce=True)
        self.notices.at_new_one(id)
        if same is not None:
            self._loop.tell(Notice("info", f"breakpoint {id} means the same place as breakpoint {same}"))
        return self._rows[id]

    async def _add_to_its_part(self, id: int, spec: BreakpointSpec, frame: WatchedFrame | None) -> None:
        if spec.kind is BreakpointKind.PYTHON_WATCH:
            await self.watches.add(id, spec, frame if isinstance(frame, PythonFrame) else None)
        elif spec.language is Language.PYTHON:
            await self._python.add(id, spec)
            await self._watch_throws()
            await self._compiled.look([id], self.image.modules)
            if self._python.may_be_native(id):
                self._loop.background(self._namesakes.look_behind(id, spec.subject))
        else:
            await self._add_native(id, spec, None if isinstance(frame, PythonFrame) else frame)

    async def _add_native(self, id: int, spec: BreakpointSpec, frame: GdbFrame | None) -> None:
        refused = None
        try:
            await self._native.add(id, spec, frame)
        except SpecError as error:
            refused = error
        if not await self._namesakes.add(id, spec) and refused is not None:
            raise refused

    def _parts(self, id: int) -> list[_Part]:
        parts: tuple[_Part, ...] = self._python, self._native, self.watches
        return [part for part in parts if part.has(id)]

    def in_python(self, id: int) -> bool:
        """Whether the breakpoint may stop in Python."""
        return self._python.has(id)

    @while_held
    async def change(self, id: int, **suffixes: Any) -> Breakpoint:
        """Give a breakpoint other suffixes (fields of a BreakpointSpec); it keeps its number and its count.

        ``hits`` and ``hit_condition`` count from now on. Raises CommandError where there is none of this number,
        SpecError where a condition or log text would change the program.
        """
        spec = replace(self.get(id).spec, **suffixes)
        await self.count_passed_over(id, at_hit=False)
        recount = not suffixes.keys().isdisjoint(("hits", "hit_condition"))
        if recount:
            self._native_hits[id] = 0
        if id in self._rows and self._native.has(id):
            await self._native.change(id, spec, self._native_hits.get(id, 0))
        if id in self._rows and self._python.has(id):
            await self._python.change(id, spec, recount)
        if id in self._rows and self.watches.has(id):
            await self.watches.change(id, spec)
        if id in self._rows:
            self._rows[id] = replace(self._rows[id], spec=spec)
            self._settle(id, announce=False)
            self._loop.tell(BreakpointChanged(self._rows[id]))
            await self._watch_throws()
        return self.get(id)

    @while_held
    async def remove(self, id: int) -> None:
        """Remove a breakpoint. Raises CommandError where there is none of this number."""
        self.get(id)
        del self._rows[id]
        self._told.pop(id, None)
        self._native_hits.pop(id, None)
        self._once.discard(id)
        self.notices.removed(id)
        # What has both halves may be removed at a native hit, where debugpy is mute.
        both = len(self._parts(id)) > 1
        if self._python.has(id):
            await self._python.remove(id, wait=not both)
        if self._native.has(id):
            await self._native.remove(id)
        if self.watches.has(id):
            await self.watches.remove(id)
        await self._watch_throws()

    @while_held
    async def enable(self, id: int, enabled: bool, once: bool = False) -> None:
        """Switch a breakpoint on or off; ``once``: until its next hit.

        Raises CommandError where there is none of this number.
        """
        self._rows[id] = replace(self.get(id), enabled=enabled)
        (self._once.add if once else self._once.discard)(id)
        for part in self._parts(id):
            if part.has(id):
                try:
                    await part.enable(id, enabled)
                except CommandError as error:
                    if self.has(id) and self._rows[id].spec.kind in WATCHES:
                        await self._forget_watch(id, error)
                    raise
        await self._watch_throws()
        if id in self._rows:
            self._loop.tell(BreakpointChanged(self._rows[id]))

    async def _forget_watch(self, id: int, error: CommandError) -> None:
        """A watchpoint that was off is gone: its function was left. Raises CommandError that says so."""
        name = self._rows[id].spec.subject
        await self.remove(id)
        raise CommandError(
            f"the function of {name} was left meanwhile: it is watched no more, and breakpoint {id} is gone",
            "watch sets another one",
        ) from error

    async def _watch_throws(self) -> None:
        await self._origins.watch(bool(self._python.exception_owners()))

    @property
    def unheard(self) -> int | None:
        """See :attr:`PythonBreakpoints.unheard`."""
        return self._python.unheard

    async def python_answered(self) -> None:
        """See :meth:`PythonBreakpoints.answered`."""
        await self._python.answered()

    def hold_back(self) -> None:
        """No native stops before :meth:`release`: the interpreter's start and our bootstrap run first."""
        self._native.points.hold_back()

    async def release(self) -> None:
        """The program begins: native breakpoints stop from now on."""
        await self.counting.release(self._rows.values(), self._native.points.release_all)

    async def libraries_changed(self) -> None:
        """A library was loaded or unloaded, and gdb holds the target: bind what can be bound."""
        await self._native.points.image_changes()
        arrived = self.image.refresh()
        changed = await self._native.libraries_left()
        changed += await self._native.libraries_arrived(arrived)
        changed += await self._compiled.look(self._rows, arrived)
        await self._settle_bound(dict.fromkeys(changed))
        self.notices.arrived(arrived)

    async def _settle_bound(self, ids: Iterable[int]) -> None:
        for id in ids:
            if id in self._rows:
                await self._namesakes.forget_unseen(id)
            if id in self._rows:
                self._settle(id, announce=True)

    async def sanitizer_report(self, event: engine.NativeStopped) -> str | None:
        """Return the summary of a sanitizer's report, where a thread stands at one."""
        return await self._native.sanitizers.text(event)

    async def own_business(self, event: engine.NativeStopped) -> bool:
        """At a breakpoint that serves others, learn what it is there for. Returns whether it serves nothing else."""
        number, thread = event.gdb_breakpoint or 0, event.gdb_thread or 1
        if await self._native.points.at_end(number):
            return True
        if throw_origins.ID in self._native.points.owners_there(number):
            await self._origins.take(event)
        changed = await self._native.resolver_called(number, thread)
        if changed is None:
            changed = await self._native.operator_registered(number, thread)
        if changed is None:
            changed = await self._native.kernel_called(number)
        for id in changed or ():
            if id in self._rows:
                self._settle(id, announce=True)
        return changed is not None

    async def watch_is_over(self, gdb_number: int) -> Met:
        """The function of a watched variable was left: gdb has deleted its watchpoint, and ours goes with it."""
        ids = self.native_owners(gdb_number)
        names = [self._rows[id].spec.subject for id in ids]
        self._native.points.deleted(gdb_number)
        for id in ids:
            await self.remove(id)
        return tuple(ids), was_left(names)

    def python_replaced(self, folders: tuple[Path, ...]) -> None:
        """The process runs another program (exec): Python breakpoints wait for its debugpy.

        ``folders`` are further ones where a bare file name is looked for.
        """
        self._python.program_replaced(folders)
        self.watches.program_replaced()
        self._replaced = True

    async def program_replaced(self) -> None:
        """The process runs another program (exec): natively nothing is bound but what is found in the new one."""
        await self._native.points.image_changes()
        self._native.program_replaced()
        self._origins.program_replaced()
        self.image.forget()
        await self._native.libraries_left()
        await self._native.libraries_arrived(self.image.refresh())
        await self._settle_bound(list(self._rows))
        self.notices.troubles()

    def _settled_late(self, ids: list[int]) -> None:
        for id in ids:
            before = self._rows.get(id)
            if before is not None:
                self._settle(id, announce=False)
                if self._rows[id] != before:
                    self._loop.tell(BreakpointChanged(self._rows[id]))

    async def python_connected(self, tell: bool = True) -> None:
        """debugpy takes breakpoints from now on. Not ``tell``: the program runs, and is not traced yet."""
        if self._replaced:
            self._replaced = False
            await self._python.place_all()
            for row in self.all():
                if not self._python.has(row.id):
                    await self._namesakes.add(row.id, row.spec)
        await self._python.send_all()
        if tell:
            self.tell_python()

    def tell_python(self) -> None:
        """Tell what has become of each breakpoint in Python."""
        for row in self.all():
            if self._python.has(row.id):
                self._settle(row.id, announce=True)

    def python_comes_later(self) -> None:
        """The process was attached to: Python breakpoints wait for debugpy to be brought into it."""
        self._python.wait_for_control()

    def python_impossible(self, why: str) -> None:
        """There will be no debugpy: tell that of each breakpoint that waits for it."""
        self._python.out_of_reach(why)
        for row in self.all():
            if self._python.has(row.id) and row.state is BreakpointState.PENDING:
                self._settle(row.id, announce=True)

    def none_can_stop(self) -> bool:
        """Whether there are breakpoints, and each waits for a debugpy that will not come.

        A program in which they could have stopped goes on, whatever it becomes (exec).
        """
        if self._python.were_in_reach or self._python.why_out_of_reach is None:
            return False
        stopping = [row for row in self._rows.values() if row.enabled and row.spec.log is None]
        return bool(stopping) and all(row.spec.language is Language.PYTHON for row in stopping)

    def python_changed(self, event: engine.PythonBreakpoint | engine.PythonFileLoaded) -> None:
        """debugpy has changed a breakpoint, or the program runs code of a file that one may wait for."""
        for id in self._python.changed(event):
            self._settle(id, announce=True)

    def native_owners_there(self, gdb_number: int) -> list[int]:
        """The user's breakpoints at the place of a stop. Their suffixes decide whether they stop."""
        return [id for id in self._native.points.owners_there(gdb_number) if id in self._rows]

    def native_owners(self, gdb_number: int) -> list[int]:
        """The user's breakpoints behind a gdb breakpoint."""
        return [id for id in self._native.points.owners(gdb_number) if id in self._rows]

    def on_signal(self, name: str) -> list[int]:
        """The user's enabled breakpoints on a signal, which has gdb's name for it."""
        rows = (row for row in self._rows.values() if row.spec.kind is BreakpointKind.SIGNAL)
        return [row.id for row in rows if row.enabled and row.spec.subject == name]

    def python_owners(self, debugpy_ids: tuple[int, ...]) -> list[int]:
        """The user's enabled breakpoints behind those of debugpy."""
        return self._python.owners(debugpy_ids)

    def on_exceptions(self) -> dict[int, BreakpointSpec]:
        """The enabled breakpoints on Python exceptions."""
        return {id: self._rows[id].spec for id in self._python.exception_owners() if id in self._rows}

    def editor_wants(self, mode: str) -> bool:
        """Whether an editor's own choice of exceptions covers this mode of debugpy (always, unhandled)."""
        return self._python.editor_wants(mode)

    def count_python_hit(self, id: int) -> None:
        """Count a stop of debugpy, which has looked at the suffixes."""
        row = self._rows[id] = replace(self._rows[id], hit_count=self._rows[id].hit_count + 1)
        if row.state is BreakpointState.PENDING:
            self._python.was_hit(id)
            self._settle(id, announce=True)

    async def were_hit(self, ids: Sequence[int]) -> None:
        """Breakpoints were hit: temporary ones are removed, those that were enabled for one hit are off."""
        for id in ids:
            row = self._rows.get(id)
            if row is not None and row.spec.temporary:
                await self.remove(id)
            elif row is not None and id in self._once:
                await self.enable(id, False)

    async def count_passed_over(self, id: int, at_hit: bool = True) -> None:
        """Add the hits that only gdb has counted, but for the one ``at_hit``: :meth:`count_hit` counts that."""
        so_far = await self._native.points.hits_so_far(id, at_hit) if self._native.has(id) else 0
        if id in self._rows:
            self._count(id, max(so_far - self._native_hits.get(id, 0), 0))

    async def count_all_passed_over(self) -> None:
        """The same of each breakpoint, at a stop whose hits are counted."""
        for id in list(self._rows):
            await self.count_passed_over(id, at_hit=False)

    def count_hit(self, id: int) -> bool:
        """Count a native hit. Returns whether the spec's ``hits`` or hit condition let it stop; False for no row."""
        if id not in self._rows:
            return False
        row, hits = self._count(id, 1), self._native_hits[id]  # debugpy counts those in Python
        if row.spec.hit_condition is not None:
            return hit_counts(row.spec.hit_condition, hits)
        return row.spec.hits is None or hits >= row.spec.hits

    def _count(self, id: int, more: int) -> Breakpoint:
        self._native_hits[id] = self._native_hits.get(id, 0) + more
        row = self._rows[id] = replace(self._rows[id], hit_count=self._rows[id].hit_count + more)
        return row

    async def native_condition_failed(self, id: int) -> bool:
        """Its condition has no value natively. Where it is in Python too, it is not looked at natively again. Returns
        whether that is to be told: not if it is meant for the Python function of that name, or was told.
        """
        if self._python.has(id):
            await self._native.enable(id, False)
            return False
        return self.fails_first(id)

    def fails_first(self, id: int) -> bool:
        """Whether it is the first time that the condition of a breakpoint has no value: only that is told."""
        key = id, self._rows[id].spec.condition if id in self._rows else None
        is_first = key not in self._failed
        self._failed.add(key)
        return is_first and id in self._rows

    def as_allowed(self, expression: str) -> str:
        """A native condition, or an expression of a log text, in ``call(...)`` where all calls are allowed."""
        return f"call({expression})" if self.points.calls_allowed else expression

    def report_unbound(self) -> None:
        """At the end: tell which breakpoints never bound, with the nearest names that exist."""
        self.notices.unbound(self._native.points.bound)

    def _settle(self, id: int, announce: bool) -> None:
        row = self._rows[id]
        said = [part.state(id) for part in self._parts(id)]
        locations = tuple(location for _, here, _ in said for location in here)
        said = [self._native.state(id)] if self._compiled.is_found(id) else said
        # One of both halves is bound when either of them is.
        state = next((one for one in BreakpointState if any(one is each for each, _, _ in said)), row.state)
        message = message_of([text for each, _, text in said if each is state])
        news = state, locations, message
        self._rows[id] = settled = replace(row, state=state, locations=locations, message=message)
        # What has been said once is no news, nor is it that Python has no function of a name that is waited for.
        told = self._told.get(id)
        waits = state is BreakpointState.PENDING and self._native.has(id) and self._python.is_unseen(id)
        if announce and told != news and not (waits and told is not None and told[0] is state):
            self._told[id] = news
            self._loop.tell(BreakpointChanged(settled))
