"""Which Python function and line a record is of: read from the memory of the process while it runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..errors import DualdbgError, UnreadableMemory
from ..probes import recording
from ..snapshot.cpython.layout import PythonLayout
from ..snapshot.cpython.line_tables import line_at
from ..snapshot.cpython.reader import CodeInfo, Interpreter, PythonReader
from ..snapshot.linux.memory import Memory

_ADDRESS = (1 << recording.ADDRESS_BITS) - 1
_PTHREAD = 0x900  # bytes of the C library's own data of a thread that are looked through
_BELOW = 0x1000  # and of thread-local variables before them


@dataclass(frozen=True)
class PythonLine:
    """A line of Python code; ``line`` is None where the table of the code does not tell."""

    function: str
    file: str
    line: int | None

    @property
    def text(self) -> str:
        """``FILE:LINE in FUNCTION``."""
        return f"{self.file}:{self.line if self.line is not None else '?'} in {self.function}"


@dataclass
class PythonLines:
    """The lines of one interpreter. ``read`` makes a new view of the memory, which keeps each page as first read."""

    interpreter: Interpreter
    read: Callable[[], Memory]
    _known: dict[tuple[int, int], CodeInfo] = field(default_factory=dict)  # by address and mark
    _layout: PythonLayout = field(init=False)

    def state_offsets(self) -> Sequence[int]:
        """How far a thread's pointers to its thread state are from its thread pointer: the ones that have to be tried,
        in this order; none where no thread tells it.

        What the C library keeps for pthread_getspecific stays while the thread has no GIL. From 3.15 on it is a
        thread-local variable, as that of the GIL's holder: where the only thread has the GIL they look alike.
        """
        memory = self.read()
        candidates: list[int] | None = None
        try:
            threads = PythonReader(memory, self.interpreter).read(with_frames=False).threads
        except DualdbgError:
            return ()
        for thread in threads:
            found = _offsets(memory, thread.pthread, thread.address)
            candidates = found if candidates is None else [one for one in candidates if one in found]
        near = sorted(candidates or (), key=lambda one: (one < 0, abs(one)))
        return near[:1] if near and near[0] > 0 else near[:2]

    def of(self, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], PythonLine | None]:
        """The line of each pair of a code object and an instruction; None where the code object is gone.

        Raises DualdbgError when the interpreter is gone.
        """
        if not places:
            return {}
        reader = PythonReader(self.read(), self.interpreter)
        marked = {(code & _ADDRESS, recording.mark_of(code, at)) for code, at in places}
        codes = {one: self._code(reader, *one) for one in marked}
        # What was read of a code object is true if it is still there: no other one gets the same mark.
        after = self.read()
        there = {one for one in marked if codes[one] is not None and self._is_there(after, *one)}
        found = {
            (code, at): _line(reader, codes[whose], at & _ADDRESS)
            for code, at in places
            for whose in [(code & _ADDRESS, recording.mark_of(code, at))]
            if whose in there
        }
        self._known.update((one, info) for one in there if (info := codes[one]) is not None)
        return {place: found.get(place) for place in places}

    def _is_there(self, memory: Memory, address: int, mark: int) -> bool:
        try:
            return identity_of(self._layout).mark(partial(_word, memory), address) == mark
        except UnreadableMemory:
            return False

    def _code(self, reader: PythonReader, address: int, mark: int) -> CodeInfo | None:
        """What is known of a code object; None where another one is there."""
        self._layout = reader.layout
        if not self._is_there(reader.memory, address, mark):
            return None
        try:
            return self._known.get((address, mark)) or reader.code(address)
        except UnreadableMemory:
            return None


def _word(memory: Memory, address: int) -> int:
    return int.from_bytes(memory.read(address, 8), "little")


def identity_of(layout: PythonLayout) -> recording.Identity:
    """How a code object is told from a later one at the same address."""
    return recording.Identity(
        layout.code_version,
        layout.code_name,
        layout.code_filename,
        layout.code_lines,
        layout.code_first_line,
        size := 16 if layout.has_gil else 32,  # behind the head that all objects have
        size + (24 if layout.version >= (3, 12) else 32),  # PyASCIIObject (Include/cpython/unicodeobject.h)
    )


def _line(reader: PythonReader, code: CodeInfo | None, instruction: int) -> PythonLine | None:
    if code is None:
        return None
    version = reader.layout.version
    if reader.layout.has_frame_objects:
        offset = instruction - (1 << 32) if instruction >> 31 else instruction
        offset *= 2 if version == (3, 10) else 1
    else:
        offset = instruction - code.start
    try:
        line = line_at(version, code.lines, code.first_line, offset) if offset >= 0 else code.first_line
    except (IndexError, UnreadableMemory):  # another code object lies there by now
        return None
    return PythonLine(code.function, code.file, line)


def _offsets(memory: Memory, pthread: int, state: int) -> list[int]:
    found = []
    for start, size in ((pthread, _PTHREAD), (pthread - _BELOW, _BELOW)):
        try:
            words = memoryview(memory.read(start, size)).cast("Q")
        except UnreadableMemory:
            continue
        found += [start + 8 * at - pthread for at, word in enumerate(words) if word == state]
    return found
