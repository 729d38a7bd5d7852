"""gdb's breakpoints: one for all breakpoints of the user at an address that gdb is to treat alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ...backends.native import Access
from ...errors import CommandError, SpecError
from ...model import Breakpoint, BreakpointSpec, Evaluation, Location
from ...shared.libraries import is_foreign
from ...shared.requests.arguments import Passing, TeachArguments
from ...shared.requests.breakpoints import (
    CountHits,
    InsertAtFunction,
    InsertBreakpoint,
    InsertLogPoint,
    InsertWatchpoint,
    SetBreakpoint,
    WatchExpression,
)
from ...shared.requests.probes import CountProbeHits
from ...shared.requests.threads import ListThreads
from ...symbols.address_space import AddressSpace
from ..engines import NativeEngine
from ..log_text import split_log
from ..native_expressions import CALLS, calls_in, names_in
from .native_suffixes import expressions_of, prints_itself
from .wanted import Kind, Point, Todo, Wanted, todo_of

if TYPE_CHECKING:
    from .probes import Probes
    from .tracing import TracedPlace, Tracing


class Points:
    """The breakpoints of gdb. ``wanted`` has those of the user by their numbers; that they are bound is noted there."""

    def __init__(self, native: NativeEngine, image: AddressSpace, wanted: Mapping[int, Wanted]) -> None:
        self._native = native
        self._image = image
        self._wanted = wanted
        self._points: dict[str, Point] = {}
        self._held_back = False
        # Where a function without debug info begins, and what is passed to it, by an address in it.
        self.passing_at: Callable[[int, bool], tuple[int, Passing] | None] = lambda pc, is_return: None
        self.calls_allowed = False
        """Whether all conditions and log texts may call functions of the program: ``set calls on``."""
        self.bound: set[int] = set()
        """The breakpoints of the user that have or had a place."""

    def calls(self, expression: str) -> bool:
        """Whether an expression calls functions of the program, where it is evaluated."""
        return calls_in(expression, self.calls_allowed)

    def hold_back(self) -> None:
        """Set breakpoints that do not stop before :meth:`release_all`: the program has not begun yet."""
        self._held_back = True

    async def release_all(self) -> None:
        """The program begins: breakpoints stop from now on."""
        self._held_back = False
        for key, point in list(self._points.items()):
            if self._points.get(key) is point and self._is_active(point):
                await self._switch(point)
        for point in list(self._points.values()):
            await self._put_probe(point)

    async def switch(self, keys: Iterable[str]) -> None:
        """Switch these on or off, as those of the user say."""
        for key in keys:
            point = self._points.get(key)
            if point is not None:
                await self._switch(point)

    async def _switch(self, point: Point) -> None:
        if point.traced is not None:
            self._native.probes.switch(point.number, self._is_active(point))
        else:
            await self._native.enable_breakpoint(point.number, self._is_active(point))

    def owners(self, gdb_number: int) -> list[int]:
        """The user's enabled breakpoints behind a gdb breakpoint."""
        for point in self._points.values():
            if point.number == gdb_number:
                return sorted(o for o in point.owners if o in self._wanted and self._wanted[o].enabled)
        return []

    def owners_there(self, gdb_number: int) -> list[int]:
        """The user's enabled breakpoints at the address of a gdb breakpoint.

        gdb may have several there, and reports only one of them. Those that count in the process never stop.
        """
        key = next((key for key, point in self._points.items() if point.number == gdb_number), None)
        if key is None or not key.startswith("0x"):
            return self.owners(gdb_number)
        place = key.partition(" ")[0]
        there = (point for other, point in self._points.items() if other.partition(" ")[0] == place)
        ids = sorted(
            set().union(*(point.owners for point in there if not point.prints and point.traced is None))
        )
        return [id for id in ids if id in self._wanted and self._wanted[id].enabled]

    async def hits_so_far(self, id: int, at_hit: bool) -> int:
        """How many hits of a breakpoint gdb has passed over by itself, without the one ``at_hit``."""
        wanted = self._wanted[id]
        ignoring = [point for point in self._points_of(wanted) if point.ignores]
        counted = wanted.passed_over
        for point in ignoring:
            counted += await self._times(point)
        return counted - (1 if at_hit and ignoring else 0)

    async def insert(
        self,
        wanted: Wanted,
        address: int,
        location: Location,
        at_function: bool = False,
        shown: str | None = None,
    ) -> None:
        """Set a breakpoint.

        ``at_function``: its frame is that of the function, not of what was inlined there; ``shown`` is gdb's name of
        that function where it was inlined itself and is not named so in ``location``.
        """
        async with wanted.lock:
            await self._insert(wanted, address, location, at_function, shown)

    async def _insert(
        self, wanted: Wanted, address: int, location: Location, at_function: bool, shown: str | None
    ) -> None:
        spec = wanted.spec
        inlined = shown or (location.function if location.inlined_in is not None else None)
        about = location.file is None and await self._teach(spec, address)
        if any(map(self.calls, expressions_of(spec))):
            about, wanted.message = True, CALLS
        kind = Kind(at_function, inlined, about or self._may_be_our_call(location), about)
        counts = spec.hits if kind.is_counted(spec) else None
        # Breakpoints that gdb is to treat alike share one gdb breakpoint.
        changed = f"{wanted.id}.{wanted.turn}" if wanted.turn else ""  # which has counted some hits already
        how = f"{spec.outermost or ''} {spec.fast} {spec.counts} {changed}"
        suffixes = f"{spec.condition or ''} {spec.thread or ''} {counts or ''} {spec.log or ''} {how}"
        key = f"{address:#x} {f'function {inlined} ' * at_function}{suffixes}"
        if key in wanted.locations:
            return
        point = self._points.get(key)
        if point is None:
            try:
                made = await self._new_point(wanted, address, kind)
            except CommandError as error:
                wanted.message = error.message
                return
            point = self._points.get(key)  # another breakpoint may have been set there meanwhile
            if point is not None:
                await self._native.delete_breakpoint(made.number)
        if point is None:
            point = self._points[key] = made
            point.at_function, point.shown = at_function, shown
            if spec.counts:
                await self._count(point, wanted, location)
            else:
                await self._put_probe(point)
        elif point.traced is not None:
            await self._count_anew(point, wanted, location, kind)
        point.owners.add(wanted.id)
        self._bind(wanted, key, location)
        if not self._is_active(point):
            await self._switch(point)

    async def _count(
        self, point: Point, wanted: Wanted, location: Location, before: TracedPlace | None = None
    ) -> None:
        """Have the hits of a point counted from now on. ``before``: the place at which those of others were."""
        from .tracing import Manner

        manner = Manner.of(wanted.spec)
        if before is not None:
            manner = manner.joined(before.manner)
        place = point.traced = self.tracing.add_place(point.number, location, manner)
        place.ids, place.since = {*point.owners, wanted.id}, wanted.since
        await self._put_probe(point)

    async def _count_anew(self, point: Point, wanted: Wanted, location: Location, kind: Kind) -> None:
        """Another breakpoint counts here too: its count begins at 0, and it may want more to be done at a hit.

        So another probe counts for all of them from now on. What the one before has counted stays with those who were
        there.
        """
        before = point.traced
        assert before is not None and point.todo is not None
        if before.memory is None:
            self.tracing.forget_place(before)
        await self._native.delete_breakpoint(point.number)
        fresh = await self._new_point(wanted, point.todo.address, kind)
        point.number, point.todo = fresh.number, fresh.todo
        await self._count(point, wanted, location, before)

    def _bind(self, wanted: Wanted, key: str, location: Location) -> None:
        wanted.locations[key] = location
        self.bound.add(wanted.id)

    async def libraries_arrived(self) -> None:
        """Probes that waited for the C library may be put in."""
        tracing = self._tracing_if_used
        if tracing is None or not tracing.waits:
            return
        tracing.waits = False
        for point in list(self._points.values()):
            await self._put_probe(point)

    @cached_property
    def _probes(self) -> Probes:
        from .probes import Probes  # with machine code and traces, of which most sessions want nothing

        return Probes(self._native, self._image)

    @property
    def tracing(self) -> Tracing:
        """The places whose hits are counted or taken down."""
        return self._probes.tracing

    @property
    def _tracing_if_used(self) -> Tracing | None:
        """:attr:`tracing`, where anything has wanted it or a probe."""
        return self.tracing if "_probes" in vars(self) else None

    async def image_changes(self) -> None:
        """As :meth:`Tracing.image_changes`."""
        if self._tracing_if_used is not None:
            await self._tracing_if_used.image_changes()

    async def at_end(self, number: int) -> bool:
        """As :meth:`Tracing.at_end`; and at the program's entry, where more is known of threads, wait no longer."""
        tracing = self._tracing_if_used
        if tracing is not None and await tracing.at_entry(number):
            await self.libraries_arrived()
            return True
        return tracing is not None and await tracing.at_end(number)

    def forget_unwanted_traces(self) -> None:
        """Breakpoints were removed: memory of the target that none of the others needs is given back."""
        tracing = self._tracing_if_used
        if tracing is not None:
            from .tracing import Manner

            wanted = {Manner.of(one.spec) for one in self._wanted.values() if one.spec.counts}
            there = {point.traced.manner for point in self._points.values() if point.traced is not None}
            tracing.keep_only(wanted | there)

    def as_now(self, row: Breakpoint) -> Breakpoint:
        """A breakpoint with what is true of it now: where its condition is evaluated may change at each run."""
        if row.id not in self._wanted:
            return row
        row = replace(row, evaluations=self.evaluations(row.id))
        return replace(row, hit_count=self.traced_hits(row.id)) if row.spec.counts else row

    def traced_hits(self, id: int) -> int:
        """How many hits of a breakpoint were counted in the process that never stops."""
        places = self._tracing_if_used.places if self._tracing_if_used is not None else []
        return sum(place.hits for place in places if id in place.ids)

    async def watch(
        self, wanted: Wanted, address: int, size: int, access: Access, location: Location
    ) -> None:
        """Watch memory. It is shared with no other."""
        try:
            number = await self._native.ask(InsertWatchpoint(address, size, access.value))
        except CommandError as error:
            wanted.message = error.message
            return
        if wanted.spec.condition is not None:
            await self._set_condition(wanted, number, wanted.spec.condition)
        await self._watched(wanted, number, location)

    async def watch_value(self, wanted: Wanted, frame: tuple[int, int] | None) -> None:
        """Watch an expression of a frame (gdb's thread, level), or a global one where there is one by now.

        Raises CommandError where gdb refuses.
        """
        thread, level = frame if frame is not None else (None, 0)
        spec = wanted.spec
        number = await self._native.ask(WatchExpression(thread, level, spec.subject, spec.access or "write"))
        if number is None:
            wanted.message = "no global variable of that name is loaded yet, as far as debug info tells"
            return
        wanted.message = None
        if spec.condition is not None:
            try:
                await self._native.set_condition(number, spec.condition)
            except CommandError as error:
                await self._native.delete_breakpoint(number)
                raise CommandError(f"the condition cannot be read: {error.message}", error.hint) from error
        await self._watched(wanted, number, Location(function=spec.subject.removeprefix("-location ")))

    async def set_watch_condition(self, wanted: Wanted, condition: str | None) -> None:
        """Give a watchpoint another condition. Raises SpecError where gdb cannot read it: then the old one stays."""
        for point in self._points_of(wanted):
            try:
                await self._native.set_condition(point.number, condition)
            except CommandError as error:
                raise SpecError(
                    f"the condition cannot be read: {error.message}", "the one before stays"
                ) from error

    async def _watched(self, wanted: Wanted, number: int, location: Location) -> None:
        key = f"data {wanted.spec.subject} {wanted.id}"
        point = self._points[key] = Point(number, {wanted.id})
        self._bind(wanted, key, location)
        if not self._is_active(point):
            await self._native.enable_breakpoint(number, False)

    async def replace(self, wanted: Wanted) -> None:
        """The suffixes of a breakpoint are others: set it anew at each of its locations."""
        async with wanted.lock:
            await self._replace(wanted)

    async def _replace(self, wanted: Wanted) -> None:
        before = dict(wanted.locations)
        wanted.locations.clear()
        wanted.message = None
        wanted.turn += 1
        for key, location in before.items():
            point = self._points.get(key)
            if point is None or location.address is None or key.startswith("data "):
                wanted.locations[key] = location  # a watchpoint
                continue
            await self._insert(wanted, location.address, location, point.at_function, point.shown)
            await self.release(key, wanted.id)

    async def release(self, key: str, owner: int) -> None:
        """A breakpoint of the user does not need gdb's any more."""
        point = self._points.get(key)
        if point is None:
            return
        point.owners.discard(owner)
        if not point.owners:
            await self.drop(key)

    async def drop(self, key: str) -> None:
        """Nobody needs gdb's breakpoint any more."""
        point = self._points.pop(key, None)
        if point is not None:
            await self._native.delete_breakpoint(point.number)

    def deleted(self, gdb_number: int) -> None:
        """gdb itself has deleted a breakpoint."""
        for key in [key for key, point in self._points.items() if point.number == gdb_number]:
            del self._points[key]

    def program_replaced(self) -> None:
        """The process runs another program (exec): gdb has none of them any more."""
        self._points.clear()
        if self._tracing_if_used is not None:
            self._probes.program_replaced()

    def evaluations(self, id: int) -> tuple[Evaluation, ...]:
        """Where the condition or the count of a breakpoint is dealt with; empty where it has neither."""
        todo = [(one.number, one.todo) for one in self._points_of(self._wanted[id]) if one.todo is not None]
        if not todo:
            return ()
        left_out = self._native.probes.left_out
        reasons = [one.why_not or left_out.get(number) for number, one in todo]
        return tuple(Evaluation(why) for why in dict.fromkeys(reasons))

    async def _put_probe(self, point: Point) -> None:
        todo = point.todo
        if point.traced is not None and todo is not None:
            if todo.why_not is not None and not self._held_back:
                await self._trace(point.traced, todo)
            return
        is_one = todo is not None and (todo.condition is not None or todo.hits is not None)
        if is_one and todo is not None and todo.why_not is not None and not self._held_back:
            what = todo.address, todo.condition, todo.hits, todo.thread
            todo.why_not = await self._probes.put(point.number, *what)

    def may_compile(self, gdb_number: int) -> bool:
        """Whether the condition of a breakpoint of gdb is left to gdb only as long as it is not often false."""
        return any(
            one.number == gdb_number and one.could is not None and one.todo is None
            for one in self._points.values()
        )

    async def compile(self, gdb_number: int) -> str | None:
        """Have a probe evaluate a condition that is often false, while gdb holds the target. Returns why it cannot."""
        for point in list(self._points.values()):
            if point.number == gdb_number:
                point.todo = point.todo or point.could
                await self._put_probe(point)
                return point.todo.why_not if point.todo is not None else "each hit is looked at"
        return "it is deleted"

    async def leave_to_gdb(self) -> None:
        """Have gdb evaluate again what :meth:`compile` has compiled."""
        for wanted in list(self._wanted.values()):
            if any(one.could is not None and one.todo is not None for one in self._points_of(wanted)):
                await self.replace(wanted)

    async def _trace(self, place: TracedPlace, todo: Todo) -> None:
        spec = next(self._wanted[id].spec for id in place.ids if id in self._wanted)
        if todo.condition != spec.condition:
            place.why_not = todo.why_not = "gdb has no code for the condition at this place"
            return
        await self._probes.trace(place, todo.condition, spec.thread)
        todo.why_not = place.why_not
        if (
            place.manner.records
            and place.memory is not None
            and not place.arguments
            and not place.location.inlined_in
        ):
            known = self.passing_at(todo.address, False)
            await self.tracing.learn_arguments(place, known[1] if known is not None else None)

    async def _teach(self, spec: BreakpointSpec, address: int) -> bool:
        """Tell gdb's side what is passed there. Returns whether the session has to look at each arrival: the condition
        is about arguments, for which gdb itself has no names.
        """
        known = (
            self.passing_at(address, False) if spec.condition is not None or spec.log is not None else None
        )
        if known is None:
            return False
        entry, what = known
        await self._native.ask(TeachArguments(address, entry, what))
        names = names_in(spec.condition or "")
        own = {"this"} if what.this is not None else set()
        return bool(names) and names <= own | {name for name, _ in what.parameters}

    def _is_active(self, point: Point) -> bool:
        owners = (self._wanted[owner] for owner in point.owners if owner in self._wanted)
        return not self._held_back and any(wanted.enabled for wanted in owners)

    def _may_be_our_call(self, location: Location) -> bool:
        """Whether debugpy may call this function too: each arrival is looked at then."""
        return location.library is not None and not is_foreign(location.library)

    async def _new_point(self, wanted: Wanted, address: int, kind: Kind) -> Point:
        spec = wanted.spec
        if spec.counts and spec.condition is None:
            return Point(self._native.probes.new_trace(), todo=Todo(address, None, None, None))
        if prints_itself(spec) and not kind.is_looked_at:
            texts, expressions = split_log(spec.log or "")
            tid = int(spec.thread) if spec.thread is not None else 0
            rest = (spec.condition, tid, kind.at_function, kind.inlined)
            number = await self._native.ask(InsertLogPoint(address, texts, expressions, *rest))
            return Point(number, prints=True)
        if kind.at_function:
            number = await self._native.ask(InsertAtFunction(address, kind.inlined))
        else:
            number = await self._native.ask(InsertBreakpoint(address))
        gdb_thread = await self._gdb_thread(spec)
        # gdb might find something else of an argument's name.
        condition = None if kind.of_session else spec.condition
        if condition is not None or gdb_thread is not None:
            await self._set_condition(wanted, number, condition, gdb_thread)
        point = Point(number)
        if kind.is_counted(spec):
            await self._ignore_first_hits(wanted, point)
        if spec.counts:
            await self._native.enable_breakpoint(number, False)  # it has the condition, and never stops
        todo = todo_of(replace(spec, fast=True), point, address, condition, gdb_thread, wanted.passed_over)
        if spec.fast or spec.counts:
            point.todo = todo
        elif condition is not None:
            point.could = todo
        return point

    async def _gdb_thread(self, spec: BreakpointSpec) -> int | None:
        """gdb's number of the thread of a spec, where gdb knows it already. Each stop's thread is checked in any
        case.
        """
        if spec.thread is None or not spec.thread.isdigit():
            return None
        threads = {tid: number for number, tid in (await self._native.ask(ListThreads())).items()}
        return threads.get(int(spec.thread))

    async def _set_condition(
        self, wanted: Wanted, number: int, condition: str | None, gdb_thread: int | None = None
    ) -> None:
        """Give gdb a condition. Where gdb cannot read it, the breakpoint stops once and says why."""
        try:
            await self._native.set_condition(number, condition, gdb_thread)
        except CommandError as error:
            wanted.message = f"the condition cannot be read: {error.message}"

    async def _ignore_first_hits(self, wanted: Wanted, point: Point) -> None:
        """Let gdb pass over the first hits by itself, but not where several places count together."""
        assert wanted.spec.hits is not None
        if not wanted.locations:
            passed = max(wanted.spec.hits - 1 - wanted.passed_over, 0)
            await self._native.ask(SetBreakpoint(point.number, "ignore_count", passed))
            point.ignores = True
            return
        for other in self._points_of(wanted):
            if other.ignores:
                wanted.passed_over += await self._times(other)
                other.ignores = False
                await self._native.ask(SetBreakpoint(other.number, "ignore_count", 0))

    def _points_of(self, wanted: Wanted) -> list[Point]:
        return [self._points[key] for key in wanted.locations if key in self._points]

    async def _times(self, point: Point) -> int:
        hits = await self._native.ask(CountHits(point.number))
        in_target = point.todo is not None and point.todo.hits is not None
        return hits + (await self._native.ask(CountProbeHits(point.number)) if in_target else 0)
