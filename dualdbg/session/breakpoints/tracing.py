"""Places whose hits are counted or taken down while the program runs on: their memory, and what is known of each."""

from __future__ import annotations

import os
import struct
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...errors import CommandError, DualdbgError
from ...known.c_functions import FUNCTIONS
from ...model import BreakpointSpec, Location
from ...probes import recording
from ...probes.placement import CannotPlace
from ...probes.recording import PythonPlaces, Shared
from ...shared.libraries import is_c_library
from ...shared.proc_files import read_status
from ...shared.requests.arguments import FindRegisterArguments, Passing
from ...shared.requests.breakpoints import DeleteBreakpoints, InsertBreakpoint
from ...shared.requests.probes import CloseDescriptor, MapTraceMemory
from ...shared.requests.threads import ListThreads, ReadMemory, ReadRegisters
from ...snapshot.cpython.layout import PythonLayout, layout_of
from ...snapshot.cpython.reader import Interpreter, find_interpreter
from ...snapshot.linux.memory import ProcessMemory
from ...symbols.address_space import AddressSpace
from ...trace.collector import Argument, Source
from ...trace.memory import TraceMemory
from ...trace.python_lines import PythonLines, identity_of
from ..engines import NativeEngine

_CALLED = ("memfd_create", "mmap", "close")  # of the C library
_TID = 0x2D0  # of glibc's struct pthread, nptl/descr.h
_THREAD = 0x900  # bytes of it that are looked through
_PAGE = 4096
_AT_ENTRY = 9  # linux/auxvec.h


class Manner(NamedTuple):
    """What is done at a hit beside counting it: it is taken down, its return is noted."""

    records: bool = False
    times: bool = False

    @classmethod
    def of(cls, spec: BreakpointSpec) -> Manner:
        """That which a breakpoint asks for."""
        return cls(spec.records, spec.times)

    def joined(self, other: Manner) -> Manner:
        """What both ask for."""
        return Manner(self.records or other.records, self.times or other.times)


@dataclass
class TracedPlace:
    """A place at which hits are counted. ``number``: that of its probe; ``ids``: those of the user's breakpoints.

    ``memory`` and ``probe`` are where it counts; without them ``why_not`` says why it does not. ``since``: when that
    was asked for, by the monotonic clock.
    """

    ids: set[int]
    number: int
    location: Location
    manner: Manner = field(default_factory=Manner)
    since: float = 0.0
    memory: TraceMemory | None = None
    probe: int = 0
    why_not: str | None = None
    left_out: str | None = None  # why it did not count all the time
    is_looped: bool = False  # a call may be counted several times
    arguments: tuple[Argument, ...] = ()
    returns: int | None = None  # the probe of its timed returns; the counter behind is their time
    exits: list[int] = field(default_factory=list)  # the engine's keys of the probes there
    in_nanoseconds: bool = False  # its times; else in ticks of the processor's counter
    untimed: tuple[str, ...] = ()  # why some or all calls are not timed
    refused: int | None = None  # the counter of hits whose condition the kernel would not help to look at

    @property
    def timed(self) -> int:
        """How many calls were timed so far."""
        return self.memory.hits(self.returns) if self.memory is not None and self.returns is not None else 0

    @property
    def ticks(self) -> int:
        """How long they took, together."""
        return (
            self.memory.hits(self.returns + 1) if self.memory is not None and self.returns is not None else 0
        )

    @property
    def hits(self) -> int:
        """How many there were so far."""
        return self.memory.hits(self.probe) if self.memory is not None else 0


@dataclass
class Program:
    """The program that the process runs, as far as traces need it: its shared memory, and its Python."""

    memory: TraceMemory
    tid: int  # where a thread's id is, from the thread pointer
    read: Callable[[], ProcessMemory]  # a new view of the process's memory
    interpreter: Interpreter | None = None
    layout: PythonLayout | None = None
    # The version of the mapped files at the last look for thread states in a stop.
    sought_with: int | None = None
    source: Source = field(init=False)

    def __post_init__(self) -> None:
        self.source = Source(self.memory, self.lines)

    def lines(self) -> PythonLines | None:
        """Reads lines of its Python; None where it has none that is known."""
        return PythonLines(self.interpreter, self.read) if self.interpreter is not None else None


@dataclass
class Tracing:
    """All places, and the memory of the program that runs now."""

    native: NativeEngine
    image: AddressSpace  # of the process
    places: list[TracedPlace] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)  # the last one runs now

    others: list[Source] = field(default_factory=list)
    """Of probes that are not the engine's."""
    at_memory: Callable[[], None] | None = None
    """Called when there is memory of another program or manner: somebody has to read its rings."""
    waits: bool = False  # for libraries, or a thread, that can make memory
    before_end: Callable[[], Awaitable[None]] | None = None
    """Awaited in a stop before the interpreter frees its code objects. None: the program is not stopped for it."""
    before_change: Callable[[], Awaitable[None]] | None = None
    """Awaited in a stop before what is known of the libraries changes."""
    _end: int | None = None  # gdb's breakpoint there
    _entry: int | None = None  # and that at the program's entry
    _now: dict[Manner, Program] = field(default_factory=dict)  # of the program that runs
    _returning: dict[tuple[TraceMemory, int], TracedPlace] = field(default_factory=dict)
    _counting: dict[tuple[TraceMemory, int], TracedPlace] = field(default_factory=dict)

    def sources(self) -> list[Source]:
        """Where records come from; one that is there stays where it is."""
        return [*self.others, *(program.source for program in self.programs)]

    def arguments(self, memory: TraceMemory, probe: int) -> Sequence[Argument]:
        """Those of a probe."""
        place = self._counting.get((memory, probe))
        return place.arguments if place is not None else ()

    def add_place(self, number: int, location: Location, manner: Manner) -> TracedPlace:
        """A native place whose hits are to be counted, as soon as something counts there."""
        place = TracedPlace(set(), number, location, manner)
        self.places.append(place)
        return place

    def forget_place(self, place: TracedPlace) -> None:
        """Nothing was counted at a place, nor will be."""
        self.places.remove(place)

    def counts_at(self, place: TracedPlace, trace: recording.Trace) -> None:
        """The hits of a place are counted from now on, by this probe of the program that runs."""
        place.memory, place.probe, place.refused = self._now[place.manner].memory, trace.probe, trace.refused
        self._counting[place.memory, trace.probe] = place

    def timed_at(self, place: TracedPlace, trace: recording.Trace) -> int:
        """The returns of a place are timed from now on. Returns the number of their probe.

        Raises CannotPlace where there are no more numbers.
        """
        memory = self._now[place.manner].memory
        try:
            returns = memory.new_probe()
            memory.new_probe()  # their time
        except ValueError as error:
            raise CannotPlace(str(error)) from error
        place.returns = returns
        self._returning[memory, returns] = place
        return returns

    def add_python(self, place: TracedPlace, memory: TraceMemory, probe: int, returns: int) -> None:
        """A place in Python, which is counted there."""
        memory.may_write = self._target_runs
        place.memory, place.probe = memory, probe
        place.returns = returns if place.manner.times else None
        self.places.append(place)
        self._counting[memory, probe] = place
        self._returning[memory, returns] = place

    def call_of(self, memory: TraceMemory, probe: int) -> int | None:
        """The probe at a function's entry, by the probe of its returns; None for any other probe."""
        place = self._returning.get((memory, probe))
        return place.probe if place is not None else None

    def learn_left_out(self) -> None:
        """Note what only the engine knows: which places did not count all the time."""
        ever = self.native.probes.ever_left_out
        for place in self.places:
            place.left_out = ever.get(place.number)
            if place.memory is not None and place.refused is not None and place.memory.hits(place.refused):
                place.left_out = "the kernel did not say what is behind a pointer: system calls are filtered"
            whys = (*place.untimed, *(ever[key] for key in place.exits if key in ever))
            place.untimed = tuple(dict.fromkeys(whys))

    def close(self) -> None:
        """Give memory back. Nothing is read any more."""
        for source in self.sources():
            source.memory.close()

    @staticmethod
    def _kept(rows: Sequence[Argument], times: bool) -> tuple[Argument, ...]:
        """The record of a return has the time in the place of the last one."""
        last = len(recording.REGISTERS) - 1
        return tuple(row for row in rows if not times or row.register != last)

    async def learn_arguments(self, place: TracedPlace, what: Passing | None) -> None:
        """What is passed in registers to the function of a place, as far as types tell."""
        address = place.location.address
        assert address is not None
        module = self.image.module_at(address)
        library = module.library if module is not None else None
        symbol = library.symbol_at(address - module.bias) if module is not None and library else None
        if symbol is None or symbol.clone is not None or module is None:
            return  # a compiler's clone has other arguments than its name says
        if symbol.address + module.bias != address:
            return  # within the function the registers have other values
        known = FUNCTIONS.get(symbol.linkage_name)
        if known is not None and what is None:
            rows = [
                Argument(name, "void*" if pointer else "size_t", at, 8, False, pointer)
                for at, (name, pointer) in enumerate(known)
            ]
            place.arguments = self._kept(rows, place.manner.times)
            return
        try:
            found = await self.native.ask(FindRegisterArguments(address, what))
        except CommandError:  # debug info that gdb cannot read: its registers have no names then
            return
        place.arguments = self._kept([Argument(*row) for row in found], place.manner.times)

    def program_replaced(self) -> None:
        """The process runs another program: what was counted stays."""
        self._end = self._entry = None
        self.keep_only(())

    def keep_only(self, manners: Collection[Manner]) -> None:
        """No new probe is of any other manner: what the others have taken down is read to its end."""
        for manner in [one for one in self._now if one not in manners]:
            self._now.pop(manner).source.is_over = True

    async def image_changes(self) -> None:
        """What is known of the libraries is about to change: who called from those that were there is found now."""
        if self.before_change is not None and self.programs:
            await self.before_change()

    async def at_end(self, number: int) -> bool:
        """Whether this breakpoint of gdb is where the interpreter begins to end; what is to be done there is done."""
        if number != self._end or self.before_end is None:
            return False
        await self.before_end()
        return True

    async def at_entry(self, number: int) -> bool:
        """Whether this breakpoint of gdb is where the program's own code begins, which is waited for no longer."""
        if number != self._entry:
            return False
        self._entry = None
        self.native.tell(DeleteBreakpoints([number]))
        return True

    async def _watch_entry(self) -> None:
        if self._entry is None:
            words = struct.iter_unpack("=2Q", Path(f"/proc/{self.image.pid}/auxv").read_bytes())
            place = dict(words).get(_AT_ENTRY)
            if place:
                self._entry = await self.native.ask(InsertBreakpoint(place))

    async def _watch_end(self) -> None:
        places = self.image.find("Py_FinalizeEx", self.image.modules)
        if self._end is None and self.before_end is not None and places:
            self._end = await self.native.ask(InsertBreakpoint(places[0].address))

    async def wish(self, near: int, is_entry: bool, has_condition: bool, manner: Manner) -> recording.Trace:
        """What a new probe is to do. ``near``: memory of the target where a name may be written.

        Raises CannotPlace, CommandError.
        """
        program = await self._program(near, manner)
        try:
            probe = program.memory.new_probe()
            refused = program.memory.new_probe() if has_condition else None
        except ValueError as error:
            raise CannotPlace(str(error)) from error
        memory = program.memory
        times = manner.times and is_entry
        if not manner.records:
            where = memory.address, memory.shared, program.tid
            return recording.Trace(probe, *where, is_entry, None, times, refused)
        self._find_python(program)
        if program.interpreter is not None:
            self._find_thread_states(program)
            await self._watch_end()
        return recording.Trace(
            probe,
            memory.address,
            memory.shared,
            program.tid,
            is_entry,
            self._python_places(program),
            times,
            refused,
        )

    async def _program(self, near: int, manner: Manner) -> Program:
        if manner in self._now:
            return self._now[manner]
        _check_processor()
        libraries = [one for one in self.image.modules if is_c_library(one.path)]
        found = {name: self.image.find(name, libraries) for name in _CALLED}
        threads = await self.native.ask(ListThreads())
        missing = next((name for name, places in found.items() if not places), None)
        if missing is not None or not threads:
            self.waits = True  # the C library comes with the first libraries
            raise CannotPlace(f"the C library's {missing} is not to be found")
        functions = [found[name][0].address for name in _CALLED]
        thread = min(threads)
        tid = await self._thread_id_place(thread, threads[thread])
        processors = os.cpu_count() or 1
        times = manner.times
        shared = Shared.for_records(processors, times) if manner.records else Shared(times=times)
        address, descriptor = await self.native.ask(
            MapTraceMemory(functions, near, (shared.size, shared.private), thread)
        )
        try:
            memory = TraceMemory(f"/proc/{self.image.pid}/fd/{descriptor}", shared, address)
        except OSError as error:
            raise CannotPlace(f"memory of the process cannot be shared: {error.strerror}") from error
        finally:
            await self.native.ask(CloseDescriptor(functions[-1], descriptor, thread))
        memory.may_write = self._target_runs
        read = partial(ProcessMemory, self.image.pid, self.image.memory_file)
        program = self._now[manner] = Program(memory, tid, read)
        self.programs.append(program)
        if self.at_memory is not None:
            self.at_memory()
        return program

    def _target_runs(self) -> bool:
        return self.native.running

    async def _thread_id_place(self, thread: int, tid: int) -> int:
        """How far the id of a thread is from its thread pointer: the C library keeps it there."""
        pointer = (await self.native.ask(ReadRegisters(thread, ["fs_base"]))).get("fs_base")
        if not pointer:
            # musl sets it when it has loaded all libraries, and goes to the program's entry then.
            self.waits = True
            await self._watch_entry()
            raise CannotPlace("the threads of the program cannot be told apart")
        known = {tid, *map(int, read_status(f"/proc/{tid}/status").get("NSpid", "").split())}
        try:
            data = await self.native.ask(ReadMemory(pointer, _THREAD))
        except CommandError:  # a smaller one lies at the end of its memory
            data = await self.native.ask(ReadMemory(pointer, _PAGE - pointer % _PAGE))
        words = memoryview(data[: len(data) & ~3]).cast("I")
        places = (at for at in (_TID, *range(0, len(data), 4)) if at // 4 < len(words))
        at = next((at for at in places if words[at // 4] in known), None)
        if at is not None:
            return int(at)
        raise CannotPlace("its C library keeps no thread ids where they are looked for")

    def _find_python(self, program: Program) -> None:
        if program.interpreter is not None:
            return
        try:
            found = find_interpreter(self.image.modules)
            if found is not None:
                program.layout = layout_of(program.read(), found.runtime, found.version)
                program.interpreter = found
        except DualdbgError:  # a Python that is not known, or not mapped yet: records have no line of it
            return

    def _find_thread_states(self, program: Program) -> None:
        """The process stands: what runs next has its lines, also where nobody comes to look at it in time."""
        if program.memory.state_offsets or program.sought_with == self.image.version:
            return
        program.sought_with = self.image.version
        lines = program.source.lines = program.source.lines or program.source.python()
        if lines is not None:
            program.memory.state_offsets = lines.state_offsets()

    def _python_places(self, program: Program) -> PythonPlaces | None:
        layout = program.layout
        if layout is None or program.interpreter is None:
            return None
        return PythonPlaces(
            finalizing=program.interpreter.runtime + layout.finalizing,
            frame=layout.current_frame,
            inner=layout.cframe_frame,
            code=layout.frame_code,
            instruction=layout.frame_instruction,
            owner=layout.frame_owner,
            previous=layout.frame_previous,
            has_small_instruction=layout.has_frame_objects,
            identity=identity_of(layout),
        )


def _check_processor() -> None:
    """Raises CannotPlace where the processor cannot tell the time and its own number at once."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
    if "rdtscp" not in flags:
        raise CannotPlace("the processor has no rdtscp")
