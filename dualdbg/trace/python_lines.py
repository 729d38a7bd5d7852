"""Which Python function and line a record is of: read from the memory of the process while it runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ..errors import DualdbgError, UnreadableMemory
from ..snapshot.cpython.line_tables import line_at
from ..snapshot.cpython.reader import CodeInfo, Interpreter, PythonReader
from ..snapshot.linux.memory import Memory

_TAG_BITS = 7  # 3.14 keeps marks in the low bits of references
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
    """Of one interpreter. ``read`` makes a new view of the memory: pages are kept in each for good."""

    interpreter: Interpreter
    read: Callable[[], Memory]
    _known: dict[tuple[int, bytes], CodeInfo] = field(default_factory=dict)

    def state_offset(self) -> int | None:
        """How far a thread's pointer to its thread state is from its thread pointer; None where no thread tells it."""
        memory = self.read()
        candidates: list[int] | None = None
        try:
            threads = PythonReader(memory, self.interpreter).read(with_frames=False).threads
        except DualdbgError:
            return None
        for thread in threads:
            found = _offsets(memory, thread.pthread, thread.address)
            candidates = found if candidates is None else [one for one in candidates if one in found]
        # What the C library keeps for pthread_getspecific stays while the thread has no GIL; it lies above.
        return max(candidates, default=None, key=lambda one: (one > 0, -abs(one))) if candidates else None

    def of(self, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], PythonLine | None]:
        """The lines of pairs of a code object and an instruction, as they are now; None where one is no more.

        Raises DualdbgError where there is no such interpreter any more.
        """
        if not places:
            return {}
        reader = PythonReader(self.read(), self.interpreter)
        codes = {code: self._code(reader, code & ~_TAG_BITS) for code in {code for code, _ in places}}
        return {(code, instruction): _line(reader, codes[code], instruction) for code, instruction in places}

    def _code(self, reader: PythonReader, address: int) -> CodeInfo | None:
        """What is known of a code object, if it is still the one that was known."""
        layout, memory = reader.layout, reader.memory
        words = (layout.code_name, layout.code_filename, layout.code_lines)
        try:
            key = b"".join(memory.read(address + at, 8) for at in words)
            key += memory.read(address + layout.code_first_line, 4)
            known = self._known.get((address, key))
            if known is None:
                known = self._known[address, key] = reader.code(address)
        except UnreadableMemory:
            return None
        return known


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
    except (IndexError, UnreadableMemory):  # of another code object by now
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
