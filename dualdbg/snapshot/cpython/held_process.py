"""The Python side of a process that gdb holds: threads, frames and locals, read from its memory in a millisecond."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass

from ...errors import TargetError, UnreadableMemory
from ...known.python_files import why_no_python
from ...model import PythonFrame, Tasks
from ...shared.python_versions import text_of
from ...symbols.address_space import AddressSpace
from ..linux.memory import ProcessMemory
from ..linux.procfs import MemoryMap, namespace_tids
from .object_text import ObjectText
from .reader import PythonReader, PythonState, PythonThreadState, find_interpreter, states_by_tid
from .tasks import read_tasks


class Attachment(enum.Enum):
    """Whether a thread may run Python code where it stands, in words that follow "the thread"."""

    ATTACHED = "may run Python code"
    WITHOUT_GIL = "does not hold the GIL"
    DETACHED = "is not attached to the interpreter"  # free-threaded: a thread state is attached or detached

    def __bool__(self) -> bool:
        return self is Attachment.ATTACHED


@dataclass(frozen=True)
class PythonThread:
    """The Python side of one thread: OS thread id, frames innermost first, and whether it holds the GIL.

    ``holds_gil`` is None where there is no GIL, and ``is_attached`` where there is one.
    ``loops``: of each evaluation loop an address in its C frame; none before 3.12. ``trouble`` says why the frames end
    early, where they do.
    """

    tid: int
    frames: tuple[PythonFrame, ...]
    holds_gil: bool | None
    loops: tuple[int, ...] = ()
    trouble: str | None = None
    is_attached: bool | None = None

    @classmethod
    def of(cls, tid: int, state: PythonThreadState, gil_holders: set[int]) -> PythonThread:
        """What was read of a thread, with the addresses of the thread states that hold a GIL."""
        holds_gil = state.is_among(gil_holders) if state.is_attached is None else None
        return cls(tid, state.frames, holds_gil, state.loops, state.trouble, state.is_attached)

    @property
    def attachment(self) -> Attachment:
        """Whether it may run Python code where it stands."""
        if self.holds_gil or self.is_attached:
            return Attachment.ATTACHED
        return Attachment.DETACHED if self.holds_gil is None else Attachment.WITHOUT_GIL


class PythonSide:
    """Reads the interpreter in a process; ``image`` has its mapped files. Nothing in the process is run.

    Every method raises TargetError when there is no interpreter yet, or it cannot be read.
    """

    def __init__(self, image: AddressSpace) -> None:
        self._pid = image.pid
        self._image = image

    def threads(self) -> list[PythonThread]:
        """Every Python thread."""
        state, states = self._read(self._reader())
        return [PythonThread.of(tid, thread, state.gil_holders) for tid, thread in states.items()]

    def thread(self, tid: int) -> PythonThread | None:
        """One Python thread, for the price of one; None for a thread that runs no Python."""
        reader = self._reader()
        state, states = self._read(reader, with_frames=False)
        if tid not in states:
            return None
        return PythonThread.of(tid, reader.with_frames(states[tid]), state.gil_holders)

    def names(self) -> dict[int, str]:
        """The names of ``threading.Thread`` objects by OS thread id; other threads have no name."""
        reader = self._reader()
        states = self._read(reader)[1]
        texts = ObjectText(reader.memory, MemoryMap.read(self._pid), with_values=False)
        return texts.thread_names(reader, states)

    def variables(self, frame: PythonFrame) -> list[tuple[str, int]]:
        """Name and object address of the arguments and locals of a frame that :meth:`threads` returned."""
        if frame.address is None:
            return []
        reader, texts = self._readers()
        return texts.variables(reader, frame.address)

    def globals(self, frame: PythonFrame) -> list[tuple[str, int]]:
        """Name and object address of the variables of the frame's module."""
        if frame.address is None:
            return []
        reader, texts = self._readers()
        return texts.globals(reader, frame.address)

    def version(self) -> str:
        """The interpreter's version, such as 3.11."""
        return text_of(self._readers()[0].layout.version)

    def tasks(self) -> Tasks:
        """The tasks of asyncio that are not done."""
        reader, texts = self._readers()
        state, states = self._read(reader)
        return read_tasks(reader, texts, state, states, self._image.modules)

    def _readers(self) -> tuple[PythonReader, ObjectText]:
        reader = self._reader()
        return reader, ObjectText(reader.memory, MemoryMap.read(self._pid), with_values=False)

    def _read(
        self, reader: PythonReader, with_frames: bool = True
    ) -> tuple[PythonState, dict[int, PythonThreadState]]:
        try:
            state = reader.read(with_frames)
        except UnreadableMemory as error:
            raise _unreadable(error) from error
        return state, states_by_tid(state, {}, reader.memory, self._tids(), namespace_tids(self._pid))

    def _reader(self) -> PythonReader:
        interpreter = find_interpreter(self._image.modules)
        if interpreter is None:
            raise TargetError(why_no_python(module.path for module in self._image.modules))
        try:
            return PythonReader(ProcessMemory(self._pid, self._image.memory_file), interpreter)
        except UnreadableMemory as error:
            raise _unreadable(error) from error

    def _tids(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(f"/proc/{self._pid}/task")]
        except OSError as error:
            raise TargetError(f"process {self._pid} has ended") from error


def _unreadable(error: UnreadableMemory) -> TargetError:
    return TargetError(f"the Python interpreter cannot be read: {error.message}")
