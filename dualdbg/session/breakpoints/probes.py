"""Lets conditions and counts of native breakpoints run in the target, where they can; else says why not."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, replace

from ...errors import CommandError, DualdbgError, SymbolError
from ...probes import exits, placement, recording, thunk
from ...probes.bytecode import CannotCompile, listings
from ...probes.placement import CannotPlace, Function
from ...shared.libraries import is_c_library
from ...shared.proc_files import read_status
from ...shared.quiet_signal import LAST_RESORT
from ...shared.requests.probes import ListConditionOperations, MapProbeRoom, ProbeCode
from ...shared.requests.threads import ListThreads, ReadArchitecture, ReadMemory, ReadRegisters
from ...snapshot.linux.memory import ProcessMemory
from ...symbols.address_space import AddressSpace, Module
from ...symbols.elf.elf_file import PF_X
from ...symbols.function_parts import further_part, is_put_aside, landing_pads, part_at
from ..engines import NativeEngine
from ..native_expressions import names_in
from .tracing import TracedPlace, Tracing

_AREA = 1 << 16  # bytes of code, and as many of data, that are mapped at once
_ALIGNED = 16
_STRICT = "1"  # SECCOMP_MODE_STRICT, linux/seccomp.h
_COUNTER = 16  # bytes of data for each probe: the counter, and the hit from which on it stops
_TYPES = {
    "bool",
    "char",
    "const",
    "int",
    "long",
    "short",
    "signed",
    "sizeof",
    "unsigned",
    "void",
}  # of every program
_LARGEST_ID = 1 << 22  # PID_MAX_LIMIT, linux/threads.h
_LARGEST = 1 << 20  # bytes of a function that is looked through
_AROUND = 1 << 15  # bytes of code before and behind that are looked through for jumps into it


@dataclass
class _Area:
    """Memory of ours in the target, and how much of it is used."""

    start: int
    code: int = 0
    data: int = 0

    def next_for(self, site: int) -> int | None:
        """The offset of the next code to which a jump from ``site`` can lead; None where none of the next does."""
        offsets = range(self.code, self.code + 64 * _ALIGNED, _ALIGNED)
        return next((one for one in offsets if thunk.can_lead(site, self.start + one)), None)


class Probes:
    """Makes probes for breakpoints of gdb."""

    def __init__(self, native: NativeEngine, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._areas: list[_Area] = []
        self.tracing = Tracing(native, image)

    def program_replaced(self) -> None:
        """The process runs another program: our memory is gone."""
        self._areas.clear()
        self.tracing.program_replaced()

    async def put(
        self, number: int, address: int, condition: str | None, hits: int | None, thread: int | None
    ) -> str | None:
        """Have a probe do the work of a breakpoint. Returns why that cannot be, or None where it does.

        ``hits``: it stops from this hit on. ``thread``: gdb's number of the only thread that counts.
        """
        return await _refusal(self._put(number, address, condition, hits, thread))

    async def trace(self, place: TracedPlace, condition: str | None, thread: str | None) -> None:
        """Have a probe count the hits of a place, or take them down. The place is told why that cannot be.

        ``thread``: the only one that counts, as the user names it.
        """
        address = place.location.address
        assert address is not None
        place.why_not = await _refusal(self._trace(place, address, condition, thread))

    async def _trace(
        self, place: TracedPlace, address: int, condition: str | None, thread: str | None
    ) -> None:
        where, function = await self._place(address)
        tid = self._own_id(thread) if thread is not None else None
        wish = replace(await self._wish(where, address, condition, None), tid=tid)
        is_entry = where.site == function.start or placement.begins_with_pad(function, where.site)
        try:
            area = await self._area(where.site)
            near = area.start + _AREA + area.data
            trace = await self.tracing.wish(near, is_entry, condition is not None, place.manner)
        except CommandError:
            self.tracing.waits = (
                True  # no thread could call the C library just now: at the next libraries again
            )
            raise
        probe = self._built(area, where, replace(wish, trace=trace), 0)
        await self._native.probes.insert(place.number, _traced(address, probe, trace, False))
        self.tracing.counts_at(place, trace)
        place.is_looped = where.is_looped
        if where.is_looped and trace.times:
            place.untimed = ("it jumps back to its beginning, which looks like a call",)
        elif trace.times:
            try:
                await self._time(place, function, where, trace)
            except (CannotPlace, CommandError) as error:
                place.untimed = (str(error),)
        elif place.manner.times:
            place.untimed = ("it is not the beginning of a function",)

    async def _time(
        self, place: TracedPlace, function: Function, where: placement.Placement, trace: recording.Trace
    ) -> None:
        """Have probes at the ways out of a function, as many as can be."""
        whole, going_on = await self._whole(function)
        found = exits.find(whole, range(min(where.site, place.location.address or 0), where.end), going_on)
        untimed = list(found.left_out)
        if not found.placed and not untimed:
            untimed.append("no way out of it was found")
        at_exit = replace(trace, probe=self.tracing.timed_at(place, trace))
        for way_out in found.placed:
            try:
                area = await self._area(way_out.site)
                probe = self._built(area, way_out, thunk.Wish(trace=at_exit, call=trace.probe), 0)
                await self._native.probes.insert(place.number, _traced(way_out.head, probe, at_exit, True))
                place.exits.append(-probe.thunk)
            except (CannotPlace, CommandError) as error:
                untimed.append(str(error))
        place.untimed = tuple(dict.fromkeys(untimed))

    async def _whole(self, function: Function) -> tuple[Function, frozenset[int]]:
        """A function with all its parts; where it goes on that nothing is known of."""
        others, going_on = dict(function.others), set()
        waiting = list(function.others)
        while waiting:
            start, code = waiting.pop()
            for target in placement.ways_out(Function(start, code)):
                if any(first <= target < first + len(piece) for first, piece in others.items()):
                    continue
                try:
                    part = further_part(self._image, target)
                except SymbolError:
                    going_on.add(target)
                    continue
                if part is not None and part[0] != function.start and part[0] not in others:
                    others[part[0]] = await self._native.ask(ReadMemory(part[0], part[1] - part[0]))
                    waiting.append((part[0], others[part[0]]))
        return replace(function, others=tuple(sorted(others.items()))), frozenset(going_on)

    async def _put(
        self, number: int, address: int, condition: str | None, hits: int | None, thread: int | None
    ) -> None:
        where, _ = await self._place(address)
        wish = replace(await self._wish(where, address, condition, thread), hits=hits)
        name = self._native.signals.of_probes()
        if name == LAST_RESORT:
            raise CannotPlace("the program uses every signal by which a hit could be told")
        area = await self._area(where.site)
        counter = area.start + _AREA + area.data
        probe = self._built(area, where, wish, signal.Signals[name])
        parts = ProbeCode(
            address,
            probe.site, probe.original, probe.jump, probe.thunk, probe.code, probe.saved, probe.states,
            probe.sent, probe.moved, counter, hits or 0, name,
        )  # fmt: skip
        await self._native.probes.insert(number, parts)

    async def _place(self, address: int) -> tuple[placement.Placement, Function]:
        """Where the jump goes, and the function. Raises CannotPlace."""
        if await self._native.ask(ReadArchitecture()) != "x86-64":
            raise CannotPlace("this is done on x86-64 alone")
        if placement.iced is None:
            raise CannotPlace(placement.MISSING)
        self._check_process()
        function = await self._function_at(address)
        return placement.place(address, function), function

    async def _wish(
        self, where: placement.Placement, address: int, condition: str | None, thread: int | None
    ) -> thunk.Wish:
        """What is to be evaluated. Raises CannotCompile, CommandError."""
        module = self._image.module_at(address)
        assert module is not None
        operations = None
        if condition is not None:
            named = bool(names_in(condition) - _TYPES)
            found = listings(await self._native.ask(ListConditionOperations(address, condition, named)))
            operations = found.get(address) if named else next(iter(found.values()), None)
            if operations is None:
                raise CannotCompile("gdb has no code for the condition at this place")
        pointer = None
        if thread is not None:
            pointer = (await self._native.ask(ReadRegisters(thread, ["fs_base"]))).get("fs_base")
        known = ((module.start, module.end),)
        return thunk.Wish(tuple(operations) if operations is not None else None, None, pointer, known)

    async def _function_at(self, address: int) -> Function:
        """The code of the function that an address is in, and what may lead into it. Raises CannotPlace."""
        module = self._image.module_at(address)
        if module is None or module.library is None:
            raise CannotPlace("the code there is in no file")
        if "ld-linux" in module.path or "/ld-" in module.path:
            raise CannotPlace("gdb itself has breakpoints in the dynamic loader")
        try:
            start, end = self._extent(module, address)
            around = await self._around(module, address)
            is_described = part_at(self._image, address) is not None
            function = Function(
                start, await self._code(module, start, end, around), is_described=is_described
            )
            targets = placement.ways_out(function)
            module.library.symbols_at(target - module.bias for target in targets)  # at once, for what follows
            parts = [further_part(self._image, target) for target in targets]
            known = {part for part in parts if part is not None}
            pads = [pad for one in (start, *(part[0] for part in known)) for pad in landing_pads(module, one)]
        except SymbolError as error:
            raise CannotPlace(str(error)) from error
        others = [(one[0], await self._code(module, *one, around)) for one in sorted(known)]
        functions = self._functions_in(module, around[0], around[0] + len(around[1]))
        return replace(
            function, others=tuple(others), around=around, functions=tuple(functions), pads=tuple(pads)
        )

    def _functions_in(self, module: Module, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the functions begin and end that are wholly in a range, by the unwind table."""
        assert module.library is not None
        for fde in module.library.frames.between(start - module.bias, end - module.bias):
            if fde.end + module.bias <= end:
                yield fde.start + module.bias, fde.end + module.bias

    async def _code(
        self, module: Module, start: int, end: int, around: tuple[int, bytes] = (0, b"")
    ) -> bytes:
        """The code of a range, out of what was read ``around`` it where it is there.

        We read it ourselves where it is as in the file. Else gdb has not taken out yet what it has put in, or it is
        its turn to say what the code is.
        """
        first, code = around
        if first <= start and end <= first + len(code):
            return code[start - first : end - first]
        assert module.library is not None
        elf = module.library.elf
        offset = elf.offset_of(start - module.bias)
        memory = ProcessMemory(self._image.pid, self._image.memory_file)
        try:
            memory.capture(start, end)
            read = memory.read(start, end - start)
            if offset is not None and read == elf.bytes_at(offset, end - start):
                return read
        except DualdbgError:  # gdb may read what we may not
            pass
        return await self._native.ask(ReadMemory(start, end - start))

    def _extent(self, module: Module, address: int) -> tuple[int, int]:
        """Where a function begins and ends. A part that its function only jumps to is none."""
        assert module.library is not None
        symbol = module.library.symbol_at(address - module.bias)
        part = part_at(self._image, address)
        is_bare = part is None  # without unwind info
        if symbol is not None and is_bare and symbol.size:
            part = symbol.address + module.bias, symbol.address + module.bias + symbol.size
        if symbol is None or part is None or part[1] - part[0] > _LARGEST:
            raise CannotPlace("its file does not tell where the function begins and ends")
        if part[0] != symbol.address + module.bias or is_put_aside(symbol):
            raise CannotPlace("it is in a part of a function that others of its parts jump to")
        if is_bare and not module.library.has_function_type(symbol.address):
            raise CannotPlace("its file does not say that it is code")
        return part

    async def _around(self, module: Module, address: int) -> tuple[int, bytes]:
        """The code near an address."""
        assert module.library is not None
        for one in module.library.elf.loads():
            start = one.address + module.bias
            end = start + one.file_size
            if one.flags & PF_X and start <= address < end:
                start, end = max(start, address - _AROUND), min(end, address + _AROUND)
                return start, await self._code(module, start, end)
        raise CannotPlace("its file does not say that there is code")

    def _own_id(self, thread: str) -> int:
        """The id of a thread as the program has it, be the thread there by now or not. Raises CannotPlace."""
        if not thread.isdigit():
            raise CannotPlace("the process does not know threads by their names: its id is needed")
        if int(thread) > _LARGEST_ID:
            raise CannotPlace("no thread has such an id")
        for name in (f"{self._image.pid}/task/{thread}", str(self._image.pid)):
            try:
                known_as = read_status(f"/proc/{name}/status").get("NSpid", "").split()
            except FileNotFoundError:
                continue
            if "task" in name and known_as:
                return int(known_as[-1])
            if len(known_as) > 1:
                raise CannotPlace("the thread is not there yet, and the program has another id for it")
        return int(thread)

    def _check_process(self) -> None:
        status = read_status(f"/proc/{self._image.pid}/status")
        if "shstk" in status.get("x86_Thread_features", ""):
            raise CannotPlace("the program has shadow stacks")
        own = read_status("/proc/self/status")
        # A filter may end a process that asks for memory. The filter of a container is ours too, and did not end us.
        rows = ("Seccomp", "Seccomp_filters")
        is_filtered = any(status.get(row) != own.get(row) for row in rows)
        if is_filtered and (status.get("Seccomp") == _STRICT or status.get("NoNewPrivs") == "1"):
            raise CannotPlace(f"system calls are filtered (seccomp) in thread {self._image.pid}")

    async def _area(self, site: int) -> _Area:
        """Memory of ours that is near enough, with room for one more at an address to which a jump can lead."""
        for area in self._areas:
            is_near = abs(area.start - site) < thunk.REACH - 2 * _AREA
            has_room = area.code <= _AREA - 4096 and area.data <= _AREA - _COUNTER
            if is_near and has_room and area.next_for(site) is not None:
                return area
        area = await self._new_area(site)
        if area.next_for(site) is None:  # the upper bytes of the distance are those of a trap all over it
            area = await self._new_area(site)
        return area

    async def _new_area(self, site: int) -> _Area:
        area = _Area(await self._room(site))
        self._areas.append(area)
        return area

    def _built(self, area: _Area, where: placement.Placement, wish: thunk.Wish, number: int) -> thunk.Probe:
        """The probe. It takes the next address that fits. Raises CannotPlace, CannotCompile."""
        offset = area.next_for(where.site)
        if offset is None:
            raise CannotPlace("no address fits")
        probe = thunk.build(where, wish, area.start + offset, area.start + _AREA + area.data, number)
        area.code = -(-(offset + len(probe.code)) // _ALIGNED) * _ALIGNED
        area.data += _COUNTER
        return probe

    async def _room(self, near: int) -> int:
        libraries = [one for one in self._image.modules if is_c_library(one.path)]
        places = self._image.find("mmap", libraries)
        threads = await self._native.ask(ListThreads())
        if not places or not threads:
            self.tracing.waits = True  # the first library that arrives may be another one, as in Ubuntu 24.04
            raise CannotPlace("the C library's mmap is not to be found")
        return await self._native.ask(MapProbeRoom(near, _AREA, thunk.REACH, places[0].address, min(threads)))


def _traced(address: int, probe: thunk.Probe, trace: recording.Trace, is_exit: bool) -> ProbeCode:
    return ProbeCode(
        address,
        probe.site, probe.original, probe.jump, probe.thunk, probe.code, probe.saved, probe.states,
        0, probe.moved, trace.memory + trace.shared.counter(trace.probe), 0, "", True,
        recording.ring(trace) if trace.takes_down else (), recording.calls(trace), is_exit,
    )  # fmt: skip


async def _refusal(work: Awaitable[None]) -> str | None:
    """Do it; returns why it cannot be done, None where it was."""
    try:
        await work
    except (CannotCompile, CannotPlace) as error:
        return str(error)
    except CommandError as error:
        return error.message.removeprefix("gdb: ")
    except OSError as error:
        return f"the process cannot be read: {error.strerror}"
    return None
