"""The Python threads of a process and their frames, read from its memory: nothing in it is run."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import UnreadableMemory
from ...model import PythonFrame
from ...shared.cpython import string_state
from ...shared.libraries import holds_interpreter
from ...symbols.address_space import Module
from ..linux.memory import Memory
from ..linux.registers import Registers
from .layout import ATTACHED, PythonLayout, layout_of
from .line_tables import line_at

_MOST_FRAMES, _MOST_THREADS = 20_000, 20_000
_OWNED_BY_C_STACK = 3  # 3.12, 3.13: a frame that marks the entry from C; FRAME_OWNED_BY_INTERPRETER in 3.14
_TID_IN_PTHREAD = (0x2D0, 0xD0)  # x86-64, aarch64
_TAG_BITS = 7  # 3.14 keeps marks in the low bits of references
_FILE_VERSION = re.compile(r"python(\d)\.(\d+)")


@dataclass(frozen=True)
class Interpreter:
    """Where an interpreter is in a process: the address of its _PyRuntime, and the version its files tell."""

    runtime: int
    version: tuple[int, int] | None
    module: str


@dataclass(frozen=True)
class CodeInfo:
    """What is the same for every frame of a code object."""

    function: str
    file: str
    first_line: int
    lines: bytes
    start: int


@dataclass(frozen=True)
class PythonThreadState:
    """One thread state: ``tid`` of the OS (None where this version does not keep it), pthread_self(), frames.

    ``is_attached``: whether it may run Python code; None where that is the thread that holds the GIL.
    ``interpreter``: the address of the interpreter state that it belongs to, the main one or a sub-interpreter.
    ``loops``: of each evaluation loop an address in its C frame; none before 3.12, which keeps none. ``trouble`` says
    why the frames end early, where they do. ``others``: those of the same OS thread in other interpreters, whose frames
    are among ``frames`` then.
    """

    address: int
    interpreter: int
    tid: int | None
    pthread: int
    frames: tuple[PythonFrame, ...]
    loops: tuple[int, ...] = ()
    trouble: str | None = None
    is_attached: bool | None = None
    others: tuple[PythonThreadState, ...] = ()

    def is_among(self, addresses: set[int]) -> bool:
        """Whether it, or one of ``others``, is a thread state at one of those addresses."""
        return not addresses.isdisjoint((self.address, *(one.address for one in self.others)))


@dataclass
class PythonState:
    """The Python side of a process. ``gil_holders``: the addresses of thread states, one for each GIL that is not free.
    From 3.12 on a sub-interpreter may have its own.

    ``main``: the address of the main interpreter's state; 0 before it is made and once it is gone. ``finalizing``:
    Py_FinalizeEx() has begun, so a thread that asks for the GIL is ended or parked.
    """

    layout: PythonLayout
    main: int = 0
    finalizing: bool = False
    threads: list[PythonThreadState] = field(default_factory=list)
    gil_holders: set[int] = field(default_factory=set)
    trouble: str | None = None


_MAIN = 8  # bytes from the head of the list of interpreters (struct pyinterpreters in pycore_runtime.h: head, main)
_RUNTIMES: dict[str, int | None] = {}


def find_interpreter(modules: Sequence[Module]) -> Interpreter | None:
    """The module that holds _PyRuntime: libpython where there is one, else the program; None without Python."""
    candidates = [m for m in modules if m.library is not None and holds_interpreter(m.path)]
    programs = [m for m in modules[:1] if m.library is not None]
    for module in sorted(candidates, key=lambda m: "libpython" not in m.path) + programs:
        offset = _runtime_offset(module)
        if offset is not None:
            return Interpreter(offset + module.bias, _version(module, modules), module.path)
    return None


def _runtime_offset(module: Module) -> int | None:
    if module.path not in _RUNTIMES:
        assert module.library is not None
        found = module.library.find_data("_PyRuntime", exact=True)
        _RUNTIMES[module.path] = found[0].address if found else None
    return _RUNTIMES[module.path]


def _version(module: Module, modules: Sequence[Module]) -> tuple[int, int] | None:
    for path in [module.path, *(other.path for other in modules)]:
        match = _FILE_VERSION.search(path.rsplit("/", 1)[-1]) or _FILE_VERSION.search(path)
        if match:
            return int(match[1]), int(match[2])
    return _exported_version(module)


def _exported_version(module: Module) -> tuple[int, int] | None:
    """What the constant ``Py_Version`` says (3.11 and later): PY_VERSION_HEX, as in the header patchlevel.h."""
    assert module.library is not None
    for symbol in module.library.find_data("Py_Version", exact=True):
        offset = module.library.elf.offset_of(symbol.address)
        if offset is not None:
            version = int.from_bytes(module.library.elf.bytes_at(offset, 4), "little")
            return version >> 24, version >> 16 & 0xFF
    return None


class PythonReader:
    """Reads one interpreter. What it has learned of code objects it keeps."""

    def __init__(self, memory: Memory, interpreter: Interpreter) -> None:
        self.memory = memory
        self._runtime = interpreter.runtime
        self.layout = layout_of(memory, interpreter.runtime, interpreter.version)
        self._codes: dict[int, CodeInfo] = {}
        self._lines: dict[tuple[int, int], int | None] = {}

    def read(self, with_frames: bool = True) -> PythonState:
        """Every thread of every interpreter state, with its frames; or without, for :meth:`with_frames`."""
        layout, memory = self.layout, self.memory
        head = self._runtime + layout.interpreters_head
        interpreter = memory.u64(head)
        state = PythonState(layout, main=memory.u64(head + _MAIN))
        state.finalizing = memory.u64(self._runtime + layout.finalizing) != 0
        while interpreter and len(state.threads) < _MOST_THREADS:
            try:
                self._read_interpreter(interpreter, state, with_frames)
                interpreter = memory.u64(interpreter + layout.interpreter_next)
            except UnreadableMemory as error:
                state.trouble = f"the interpreter's list of threads cannot be followed: {error.message}"
                break
        return state

    def _read_interpreter(self, interpreter: int, state: PythonState, with_frames: bool) -> None:
        layout, memory = self.layout, self.memory
        if layout.has_gil:
            gil = self._runtime + layout.gil
            if layout.gil_pointer is not None:
                gil = memory.u64(interpreter + layout.gil_pointer)
            if gil and memory.i32(gil + layout.gil_locked) == 1:
                state.gil_holders.add(memory.u64(gil + layout.gil_holder))
        for thread in self._threads(interpreter):
            if len(state.threads) == _MOST_THREADS:
                break
            found = self._read_thread(thread, interpreter)
            state.threads.append(self.with_frames(found) if with_frames else found)

    def _threads(self, interpreter: int) -> Iterator[int]:
        """The addresses of the thread states of an interpreter state."""
        thread = self.memory.u64(interpreter + self.layout.interpreter_threads)
        seen = set()
        while thread and thread not in seen:
            seen.add(thread)
            yield thread
            thread = self.memory.u64(thread + self.layout.thread_next)

    def _frame_addresses(self, thread: int) -> Iterator[int]:
        layout, memory = self.layout, self.memory
        frame = memory.u64(thread + layout.current_frame)
        if layout.cframe_frame is not None and frame:
            frame = memory.u64(frame + layout.cframe_frame)
        for _ in range(2 * _MOST_FRAMES):
            if not frame:
                break
            following = memory.u64(frame + layout.frame_previous)
            yield frame
            frame = following

    def _read_thread(self, thread: int, interpreter: int) -> PythonThreadState:
        layout, memory = self.layout, self.memory
        tid = None
        if layout.native_thread_id is not None:
            tid = memory.u64(thread + layout.native_thread_id)
        is_attached = None
        if layout.thread_attached is not None:
            is_attached = memory.i32(thread + layout.thread_attached) == ATTACHED
        pthread = memory.u64(thread + layout.thread_id)
        return PythonThreadState(thread, interpreter, tid, pthread, (), is_attached=is_attached)

    def with_frames(self, thread: PythonThreadState) -> PythonThreadState:
        """The same thread with its frames, in whichever interpreter."""
        if thread.others:
            alone = replace(thread, others=())
            return _of_one_thread([self.with_frames(one) for one in (*thread.others, alone)])
        frames: list[PythonFrame] = []
        loops: list[int] = []
        trouble = None
        try:
            self._read_frames(thread.address, frames, loops)
        except UnreadableMemory as error:
            trouble = f"the Python frames end early: {error.message}"
        return replace(thread, frames=tuple(frames), loops=tuple(loops), trouble=trouble)

    def _read_frames(self, thread: int, frames: list[PythonFrame], loops: list[int]) -> None:
        begun = self._cframes(thread)
        loops += begun.values()
        loop = None
        for frame in self._frame_addresses(thread):
            if len(frames) == _MOST_FRAMES:
                raise UnreadableMemory(f"only the innermost {_MOST_FRAMES} frames were read")
            if self._is_shim(frame):
                continue
            if not self._is_of_loop(frame):
                loop = begun.get(frame, loop)
                found = self.frame_at(frame)
                frames.append(replace(found, loop=loop) if found.entry else found)
                loop = None if found.entry else loop
                continue
            loops.append(frame)
            if frames and not frames[-1].entry:
                # Another one directly below it is 3.14's lowest frame of the thread, which belongs to no loop.
                frames[-1] = replace(frames[-1], entry=True, loop=frame)

    def _cframes(self, thread: int) -> dict[int, int]:
        """3.11: what each evaluation loop has on the C stack, by the innermost of the frames that it runs.

        The last one in the list is no loop's, but a member of the thread state.
        """
        layout, memory = self.layout, self.memory
        found: dict[int, int] = {}
        if layout.cframe_previous is None or layout.cframe_frame is None:
            return found
        cframe = memory.u64(thread + layout.current_frame)
        for _ in range(_MOST_FRAMES):
            outer = memory.u64(cframe + layout.cframe_previous) if cframe else 0
            if not outer:
                break
            found[memory.u64(cframe + layout.cframe_frame)] = cframe
            cframe = outer
        return found

    def _is_of_loop(self, frame: int) -> bool:
        """Whether it is the frame that an evaluation loop keeps on the C stack, below those that it runs."""
        owner = self.layout.frame_owner
        return owner is not None and self.memory.u8(frame + owner) == _OWNED_BY_C_STACK

    def _is_shim(self, frame: int) -> bool:
        """Whether CPython itself has pushed it, to call an ``__init__`` in the same loop (3.12 and later).

        Tracebacks leave it out. Its code has no line, and as its file the name (_Py_InitCleanup, Python/specialize.c).
        """
        if self.layout.version < (3, 12) or self._is_of_loop(frame):
            return False
        code = self.code(self.memory.u64(frame + self.layout.frame_code) & ~_TAG_BITS)
        return code.first_line == 0 and code.file == code.function == "__init__"

    def frame_at(self, frame: int) -> PythonFrame:
        """The frame at an address: that of a thread, or of a generator. Raises UnreadableMemory."""
        layout, memory = self.layout, self.memory
        code_address = memory.u64(frame + layout.frame_code) & ~_TAG_BITS
        code = self.code(code_address)
        if layout.has_frame_objects:
            offset = memory.i32(frame + layout.frame_instruction)
            if layout.version == (3, 10):
                offset *= 2
            entry = True
        else:
            offset = memory.u64(frame + layout.frame_instruction) - code.start
            entry = layout.frame_is_entry is not None and memory.u8(frame + layout.frame_is_entry) != 0
        return replace(self.line_of_code(code_address, offset), entry=entry, address=frame)

    def line_of_code(self, address: int, offset: int) -> PythonFrame:
        """The place of an instruction, by the code object at ``address`` and the offset in it in bytes, as a frame."""
        code, key = self.code(address), (address, offset)
        if key not in self._lines:
            begun = offset >= 0  # 3.8 to 3.10: a frame whose first instruction is still to come
            self._lines[key] = (
                line_at(self.layout.version, code.lines, code.first_line, offset)
                if begun
                else code.first_line
            )
        return PythonFrame(code.function, code.file, self._lines[key])

    def code(self, address: int) -> CodeInfo:
        """What is known of the code object at ``address``. Raises UnreadableMemory."""
        known = self._codes.get(address)
        if known is None:
            layout, memory = self.layout, self.memory
            known = self._codes[address] = CodeInfo(
                function=self.string(memory.u64(address + layout.code_name)),
                file=self.string(memory.u64(address + layout.code_filename)),
                first_line=memory.i32(address + layout.code_first_line),
                lines=self.bytes_object(memory.u64(address + layout.code_lines)),
                start=address + layout.code_start if layout.code_start is not None else 0,
            )
        return known

    def bytes_object(self, address: int) -> bytes:
        """The contents of a bytes object."""
        objects = self.layout.objects
        size = self.memory.u64(address + objects.head)
        if size > 1 << 24:
            raise UnreadableMemory(f"there is no bytes object at {address:#x}")
        return self.memory.read(address + objects.bytes_data, size)

    def tuple_items(self, address: int) -> list[int]:
        """The addresses of a tuple's elements."""
        objects = self.layout.objects
        size = self.memory.u64(address + objects.head)
        if size > 1 << 16:
            raise UnreadableMemory(f"there is no tuple at {address:#x}")
        return list(struct.unpack(f"<{size}Q", self.memory.read(address + objects.tuple_items, 8 * size)))

    def type_name(self, address: int) -> str:
        """``tp_name`` of the type of the object at ``address``."""
        memory, objects = self.memory, self.layout.objects
        return memory.text(memory.u64(memory.u64(address + objects.ob_type) + objects.tp_name))

    def string(self, address: int, limit: int = 10_000) -> str:
        """The contents of a str, at most ``limit`` characters."""
        memory, objects = self.memory, self.layout.objects
        length = min(memory.u64(address + objects.str_length), limit)
        state = string_state(memory.u32(address + objects.str_state))
        if state is None:
            raise UnreadableMemory(f"there is no str at {address:#x}")
        kind = state.kind
        if state.compact:
            start = address + (objects.str_ascii if state.ascii else objects.str_compact)
        else:
            start = memory.u64(address + objects.str_compact)
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind]
        data = memory.read(start, length * kind) if length else b""
        try:
            return data.decode(
                encoding, "surrogatepass"
            )  # a file's name may have bytes that the locale does not know
        except UnicodeDecodeError:  # what is there now is no string
            return data.decode(encoding, "replace")


def states_by_tid(
    python: PythonState,
    registers: Mapping[int, Registers],
    memory: Memory,
    tids: Collection[int],
    foreign: Mapping[int, int] | None = None,
) -> dict[int, PythonThreadState]:
    """The Python threads by OS thread id. Before 3.11 a thread state only has pthread_self(), which on x86-64 is
    the thread pointer; where that is not known, the thread id is looked up in glibc's own struct.

    ``foreign``: thread ids as a process in another PID namespace knows them -> ours.
    """
    known = foreign or {tid: tid for tid in tids}
    found: dict[int, list[PythonThreadState]] = {}
    by_pointer = {regs.thread_pointer: tid for tid, regs in registers.items() if regs.thread_pointer}
    for state in python.threads:
        tid = known.get(state.tid or 0) or by_pointer.get(state.pthread)
        tid = tid or _tid_in_pthread(memory, state.pthread, known)
        if tid is not None:
            found.setdefault(tid, []).append(state)
    return {tid: _of_one_thread(states) for tid, states in found.items()}


def _of_one_thread(states: Sequence[PythonThreadState]) -> PythonThreadState:
    """Several thread states of an OS thread as one: it has called code of one interpreter from another one's.

    The oldest interpreter, whose state it is told by, is the last. A loop that began later lies lower on the C stack.
    Without the addresses of loops, code of a newer interpreter is taken to be called from that of an older one.
    """
    *others, last = states
    if not others:
        return last
    runs: list[list[PythonFrame]] = []
    for state in states:
        start = True
        for frame in state.frames:
            if start:
                runs.append([])
            runs[-1].append(frame)
            start = frame.entry
    places = [run[-1].loop for run in runs]
    if None not in places:
        runs.sort(key=lambda run: run[-1].loop or 0)
    return replace(
        last,
        frames=tuple(frame for run in runs for frame in run),
        loops=tuple(loop for state in states for loop in state.loops),
        trouble=next((state.trouble for state in states if state.trouble), None),
        is_attached=None if last.is_attached is None else any(state.is_attached for state in states),
        others=tuple(others),
    )


def _tid_in_pthread(memory: Memory, pthread: int, known: Mapping[int, int]) -> int | None:
    """glibc keeps the OS thread id in its struct pthread (nptl/descr.h: the header, a list, then tid)."""
    for offset in _TID_IN_PTHREAD:
        try:
            tid = memory.u32(pthread + offset)
        except UnreadableMemory:
            continue
        if tid in known:
            return known[tid]
    return None
