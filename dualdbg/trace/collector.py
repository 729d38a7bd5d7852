"""Takes records out of the rings while the program runs, and sums them up: who called, from where, with what."""

from __future__ import annotations

import struct
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import BinaryIO, Protocol

from ..errors import DualdbgError
from ..probes import recording
from .memory import TraceMemory, complete
from .python_lines import PythonLine
from .thread_names import ThreadNames

_SITE = struct.Struct("=4Q")  # thread and probe, caller, code object, instruction
_WORD = 8
_REST = recording.RECORD - _WORD * recording.THREAD - _SITE.size
_SITES = struct.Struct(f"={_WORD * recording.THREAD}x{_SITE.size}s{_REST}x")
_DURATIONS = struct.Struct(f"={_WORD * recording.THREAD}x{_SITE.size}s{_REST - _WORD}xQ")
_PAUSE = 0.002  # seconds between two looks at the rings
_OFTEN, _LOOKS = 2000, 50  # so many looks at the rings look for thread states too, then one of so many


@dataclass(frozen=True)
class Argument:
    """An argument that is a whole number or a pointer: its type, and in which register of those it is."""

    name: str
    type: str
    register: int
    size: int
    signed: bool
    pointer: bool

    def value(self, word: int) -> int:
        """What a register with this word says."""
        bits = 8 * self.size
        number = word & (1 << bits) - 1
        return number - (1 << bits) if self.signed and number >> bits - 1 else number


@dataclass
class Numbers:
    """The values of an argument so far."""

    count: int = 0
    least: int = 0
    most: int = 0
    total: int = 0

    def add(self, more: Numbers) -> None:
        """More of them."""
        if not more.count:
            return
        self.least = min(self.least, more.least) if self.count else more.least
        self.most = max(self.most, more.most) if self.count else more.most
        self.count += more.count
        self.total += more.total


@dataclass
class Times:
    """How long calls took: how many, together, and the longest; in ticks of the processor's counter, or in seconds."""

    count: int = 0
    total: float = 0
    most: float = 0

    def add(self, more: Times, unit: float = 1) -> None:
        """More of them; what is added is in units of this."""
        self.count += more.count
        self.total += more.total * unit
        self.most = max(self.most, more.most * unit)


class Lines(Protocol):
    """Tells the line of Python of a code object and an instruction."""

    def of(self, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], PythonLine | None]:
        """Of several. Raises DualdbgError where the interpreter is gone."""

    def state_offsets(self) -> Sequence[int]:
        """How far a thread's pointers to its thread state are from its thread pointer; none where nobody tells it."""


@dataclass
class Source:
    """Where records come from: the memory of a program; its ``python``, as soon as that is known.

    ``in_nanoseconds``: times are those of the raw monotonic clock, and not of the processor's counter.
    """

    memory: TraceMemory
    python: Callable[[], Lines | None]
    lines: Lines | None = None
    in_nanoseconds: bool = False
    looks: int = 0  # for its Python
    is_over: bool = False  # the process runs another program


@dataclass(frozen=True)
class Site:
    """Where a function was called: the thread, the address to which it returns (0: not known), the line of Python.

    ``epoch``: how often the libraries of the process had changed.
    """

    tid: int
    caller: int
    line: PythonLine | None
    epoch: int = 0


@dataclass
class Records:
    """What the records of a probe say."""

    sites: Counter[Site] = field(default_factory=Counter)
    numbers: dict[str, Numbers] = field(default_factory=dict)
    times: dict[Site, Times] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.sites.values())


class _Tally:
    """Counts the records of a source that say the same. ``times``: some are of returns."""

    def __init__(self, times: bool) -> None:
        self._times = times
        self._counts: Counter[bytes] = Counter()
        self._lasted: dict[bytes, tuple[int, int]] = {}

    def take(self, piece: memoryview, first: int) -> int:
        """Take records, of which the first has the number ``first``. Returns how many: those that are complete."""
        count = complete(piece, first)
        taken = piece[: count * recording.WORDS]
        self._counts.update(site for (site,) in _SITES.iter_unpack(taken))
        for site, lasted in _DURATIONS.iter_unpack(taken) if self._times else ():
            total, longest = self._lasted.get(site, (0, 0))
            self._lasted[site] = total + lasted, max(longest, lasted)
        return count

    def sites(self) -> dict[tuple[int, int, int, int], Times]:
        """How often each thread and probe, caller, code object and instruction was met since it was asked last. The
        times of what is no return say nothing.
        """
        counts, lasted = self._counts, self._lasted
        self._counts, self._lasted = Counter(), {}
        return {_SITE.unpack(site): Times(count, *lasted.get(site, (0, 0))) for site, count in counts.items()}


class Collector:
    """Looks at the rings in a thread of its own, while there are any in which something may come.

    ``sources`` gives the programs so far, ``arguments`` those of a probe, ``call_of`` for the probe of returns that of
    the calls. The first ``most`` records are written to ``spool``, with the number of their source in the place of
    their own; ``names`` learns those of their threads.
    """

    def __init__(
        self,
        sources: Callable[[], Sequence[Source]],
        arguments: Callable[[TraceMemory, int], Sequence[Argument]],
        spool: BinaryIO | None = None,
        most: int = 0,
        call_of: Callable[[TraceMemory, int], int | None] = lambda memory, probe: None,
        names: ThreadNames | None = None,
    ) -> None:
        self._sources = sources
        self._call_of = call_of
        self._arguments = arguments
        self._spool, self._room = spool, most
        self._names = names
        self.records: dict[tuple[TraceMemory, int], Records] = {}
        # By source, code object and instruction, as last seen: for who reads the spool.
        self.lines: dict[tuple[int, int, int], PythonLine | None] = {}
        self.spooled = 0
        self._tallies: list[_Tally] = []  # of each source
        self._epoch = 0
        self._over = threading.Event()
        self._looking = threading.Lock()
        self._trouble: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; it may have begun, or have ended because there was nothing more to come."""
        with self._looking:
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="trace records", daemon=True)
                self._thread.start()

    def take(self) -> None:
        """Take what is there now."""
        with self._looking:
            self._look()

    def found(self, memory: TraceMemory, probe: int) -> Records:
        """What the records of a probe say so far."""
        with self._looking:
            now = self.records.get((memory, probe), Records())
            numbers = {name: replace(one) for name, one in now.numbers.items()}
            return Records(now.sites.copy(), numbers, {site: replace(one) for site, one in now.times.items()})

    def most_called_from(self, memory: TraceMemory, probe: int) -> PythonLine | None:
        """The line of Python with the most hits of a probe so far."""
        with self._looking:
            found = self.records.get((memory, probe))
            sites = list(found.sites.items()) if found is not None else []
        lines: Counter[PythonLine] = Counter()
        for site, count in sites:
            if site.line is not None:
                lines[site.line] += count
        return lines.most_common(1)[0][0] if lines else None

    def end_epoch(self) -> set[tuple[int, int]]:
        """Take what is there now; what comes later is of other libraries.

        Returns the addresses to which calls have returned since the last change, each with its epoch.
        """
        with self._looking:
            self._look()
            now, self._epoch = self._epoch, self._epoch + 1
            sites = (site for found in self.records.values() for site in {**found.sites, **found.times})
            return {(site.caller, now) for site in sites if site.epoch == now}

    def stop(self) -> None:
        """Take what is left, and end. Raises what went wrong on the way."""
        self._over.set()
        with self._looking:
            thread = self._thread
        if thread is not None:
            thread.join()
        if self._trouble is not None:
            raise self._trouble
        for source in self._sources():
            source.memory.is_over = True
        self.take()

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                with self._looking:
                    much = self._look()
                    if not any(one.memory.shared.rings and not one.is_over for one in self._sources()):
                        self._thread = None
                        return
                if not much:
                    self._over.wait(_PAUSE)
        except Exception as error:
            error.__traceback__ = None  # its frames hold pieces of the memory, which is to be closed
            self._trouble = error

    def _look(self) -> bool:
        """Take what is there. Returns whether that was much: an eighth of what a ring holds."""
        much = False
        for index, source in enumerate(self._sources()):
            self._look_for_python(source)
            words, is_over = 0, source.is_over
            if index == len(self._tallies):
                self._tallies.append(_Tally(source.in_nanoseconds or source.memory.shared.times))
            for piece in source.memory.take(self._tallies[index].take):
                self._add(index, source, piece)
                words += len(piece)
            if is_over:  # nothing more comes, but of forked children
                source.memory.end_records()
            much = much or words > source.memory.shared.capacity * recording.WORDS // 8
        return much

    def _look_for_python(self, source: Source) -> None:
        """From when the place of thread states is known on, records have their line."""
        if source.memory.state_offsets or (source.looks > _OFTEN and source.looks % _LOOKS):
            source.looks += 1
            return
        source.looks += 1
        source.lines = source.lines or source.python()
        if source.lines is not None:
            source.memory.state_offsets = source.lines.state_offsets()

    def _add(self, index: int, source: Source, piece: memoryview) -> None:
        counts = self._tallies[index].sites()
        lines = self._lines(index, source, {(code, at) for _, _, code, at in counts if code})
        # One that was given up names none, and the program itself may have written there.
        whose = {who >> 32 for who, *_ in counts}
        probes = {probe for probe in whose if probe < source.memory.probes}
        returns = {one: call for one in probes if (call := self._call_of(source.memory, one)) is not None}
        for (who, caller, code, instruction), met in counts.items():
            probe, tid = who >> 32, who & 0xFFFFFFFF
            if probe not in probes:
                continue
            found = self.records.setdefault((source.memory, returns.get(probe, probe)), Records())
            site = Site(tid, caller, lines.get((code, instruction)), self._epoch)
            if probe in returns:
                found.times.setdefault(site, Times()).add(met)
            else:
                found.sites[site] += met.count
        for probe in probes:
            self._add_numbers(source, probe, piece, is_alone=len(whose) == 1)
        if self._spool is not None and self._room:
            if self._names is not None:
                self._names.learn({who & 0xFFFFFFFF for who, *_ in counts if who >> 32 in probes})
            count = min(len(piece) // recording.WORDS, self._room)
            words = array("Q", piece[: count * recording.WORDS].tobytes())
            words[recording.NUMBER :: recording.WORDS] = array("Q", [index]) * count
            self._keep(self._spool, words.tobytes(), count)

    def _keep(self, spool: BinaryIO, data: bytes, count: int) -> None:
        """Write records to the spool. One that is full has those before; who reads it says how many are left out."""
        try:
            is_full = spool.write(data) != len(data)
        except OSError:
            is_full = True
        if is_full:
            self._room = 0
            spool.truncate(self.spooled * recording.RECORD)
            return
        self._room -= count
        self.spooled += count

    def _lines(
        self, index: int, source: Source, places: set[tuple[int, int]]
    ) -> dict[tuple[int, int], PythonLine | None]:
        if not places or source.lines is None:
            return {}
        try:
            found = source.lines.of(places) if not source.is_over else None
        except DualdbgError:
            found = None
        if found is None:  # the program has ended: what was known last is true of it
            found = {place: self.lines.get((index, *place)) for place in places}
        for place, line in found.items():
            key = (index, *place)
            if line is not None or key not in self.lines:
                self.lines[key] = line
        return found

    def _add_numbers(self, source: Source, probe: int, piece: memoryview, is_alone: bool) -> None:
        """``is_alone``: all records are this probe's."""
        # Pointers and single bytes have no sum.
        summed = [one for one in self._arguments(source.memory, probe) if not one.pointer and one.size > 1]
        if not summed:
            return
        chosen = None if is_alone else [one == probe for one in _probes_of(piece)]
        found = self.records[source.memory, probe].numbers
        for argument in summed:
            numbers = found.setdefault(argument.name, Numbers())
            words = piece[recording.ARGUMENTS + argument.register :: recording.WORDS].tolist()
            words = list(compress(words, chosen)) if chosen is not None else words
            values = list(map(argument.value, words))
            numbers.add(Numbers(len(values), min(values), max(values), sum(values)))


def _probes_of(piece: memoryview) -> list[int]:
    """The probe of each record."""
    halves = piece.cast("B").cast("I")
    return halves[2 * recording.THREAD + 1 :: 2 * recording.WORDS].tolist()
