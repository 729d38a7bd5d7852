"""Copies what is needed of a process while it stands still for a few milliseconds; the evaluation comes after it."""

from __future__ import annotations

import gc
import os
import select
import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..errors import DualdbgError, TargetError, TargetGone
from ..model import Tasks
from ..shared.proc_files import mappings, stat_of
from ..symbols.address_space import AddressSpace, Module
from ..symbols.elf.elf_file import EM_AARCH64
from ..target.permission import refusal
from .cpython.fields import Fields
from .cpython.flight_recorder import recorders
from .cpython.locks import MUTEX_OWNER, LockReader
from .cpython.object_text import ObjectText, Variables
from .cpython.reader import (
    Interpreter,
    PythonReader,
    PythonState,
    PythonThreadState,
    states_by_tid,
)
from .cpython.tasks import read_tasks
from .cpython.torch_distributed import read_distributed
from .facts import Distributed, Lock, Sleep
from .interrupted_calls import with_call
from .known import Known, Learnt
from .linux.memory import Memory, ProcessMemory
from .linux.procfs import (
    MemoryMap,
    ProcessFacts,
    ThreadFacts,
    descriptor_target,
    ends_in,
    ends_of_mappings,
    is_fork_of,
    namespace_tids,
    read_process,
    read_threads,
)
from .linux.ptrace import Hold
from .linux.registers import AARCH64, X86_64, Registers, known_stack_pointer
from .linux.socket_limits import time_limit
from .linux.system_calls import POLLS, READS, WRITES, describe, descriptor_of, number_of
from .resting import Rest
from .sleeps import sleep_of
from .unwind.unwinder import Unwinder
from .vdso import vdso_of

_STRUCT_PTHREAD = 4096  # bytes, at most
_FUTEX_PRIVATE = 128  # linux/futex.h: no other process uses the word
_POLLFD = struct.Struct("=ih2x")  # poll.h
_ALL_MEMORY = ((0, 1 << 64),)
_STACK_BUDGET = 64 << 20  # bytes of stacks that are copied while the process stands still


@dataclass(frozen=True)
class Wanted:
    """What is read of a process besides its stacks. Each of them makes the process stand still for longer.

    ``calls``: the system call that each thread is in, and what it waits for there.
    """

    names: bool = True
    calls: bool = True
    sleeps: bool = False
    locks: bool = False
    locals: bool = False
    tasks: bool = False
    distributed: bool = False

    @classmethod
    def to_diagnose(cls, locals: bool = False) -> Wanted:
        """All that a diagnosis uses."""
        return cls(locks=True, locals=locals, tasks=True, distributed=True)

    @classmethod
    def for_profile(cls) -> Wanted:
        """Where the threads are, and nothing else."""
        return cls(names=False, calls=False)


_STACKS_ALONE = Wanted.for_profile()


@dataclass(frozen=True)
class Held:
    """A process that a debugger of ours holds: registers by thread; its open memory, where only that may be read."""

    registers: Mapping[int, Registers]
    memory_file: int | None = None


@dataclass
class Captured:
    """One process as it was. ``seconds_stopped`` is None when it was not stopped; ``registers`` by thread id.

    ``states``, ``names``, ``awaited``, ``held``, ``joins``, ``daemons``, ``descriptors`` (what is open there),
    ``polled`` (the only one that poll(2) is about, and whether it is to be written to), ``limits`` (of sockets) and
    ``sleeps`` are by OS thread id;
    ``locals`` by the address of a Python frame. ``tasks`` and ``distributed`` are None where nobody has asked for
    them. ``recorders``: where c10d's Flight Recorders are. ``mapping``: of a core, which file was mapped where.
    ``faulted``: the thread of which an instruction could not be carried out, and ended the process. ``code`` gives the
    areas of memory that may be run. ``stands_still``: a debugger of ours held it all along.
    """

    facts: ProcessFacts
    memory: Memory
    modules: list[Module]
    threads: list[ThreadFacts]
    registers: dict[int, Registers]
    interpreter: Interpreter | None
    texts: ObjectText | None = None
    texts_trouble: str | None = None
    python: PythonState | None = None
    python_trouble: str | None = None
    states: dict[int, PythonThreadState] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    awaited: dict[int, Lock] = field(default_factory=dict)
    held: dict[int, tuple[int, ...]] = field(default_factory=dict)
    joins: dict[int, int] = field(default_factory=dict)
    daemons: dict[int, bool] = field(default_factory=dict)
    forked_from: int | None = None
    locals: dict[int, Variables] = field(default_factory=dict)
    descriptors: dict[int, str | None] = field(default_factory=dict)
    polled: dict[int, tuple[int | None, bool]] = field(default_factory=dict)
    limits: dict[int, float | None] = field(default_factory=dict)
    sleeps: dict[int, Sleep | None] = field(default_factory=dict)
    tasks: Tasks | None = None
    distributed: Distributed | None = None
    recorders: list[int] = field(default_factory=list)
    label: str | None = None
    world_size: int | None = None
    is_core: bool = False
    at: float | None = None  # of the clock of monotonic(), when the threads' counts were read
    mapping: MemoryMap | None = None
    faulted: int | None = None
    last_words: str | None = None  # what the C library has said before it ended the process
    seconds_stopped: float | None = None
    stubborn: list[int] = field(default_factory=list)
    learnt: Learnt = field(default_factory=Learnt)
    rests: dict[int, Rest] = field(default_factory=dict)
    stands_still: bool = False
    code: Callable[[], Sequence[tuple[int, int]]] = lambda: _ALL_MEMORY

    def is_code(self, address: int) -> bool:
        """Whether what is mapped at an address may be run."""
        return any(start <= address < end for start, end in self.code())


def capture(
    pid: int,
    stop: bool = True,
    wanted: Wanted = Wanted(),
    held: Held | None = None,
    known: Known | None = None,
) -> Captured:
    """Read process ``pid``. ``held``: a debugger of ours has it. ``known`` is what earlier samples have learnt.

    Raises TargetGone, PermissionRefused or TargetError, which say why it cannot be read.
    """
    known = Known(AddressSpace(pid)) if known is None else known
    memory_file = None if held is None else held.memory_file
    image = known.image
    # To read the map takes as long as all of a stop. That of the last sample will do, and is looked at afterwards.
    is_of_last = stop and held is None and bool(known.pages) and wanted == _STACKS_ALONE
    facts = _facts(pid, known.facts if is_of_last else None)
    known.facts = facts
    if not is_of_last:
        known.refresh()
    if not image.modules and read_process(pid) is None:
        raise TargetGone(f"process {pid} has ended")
    memory = ProcessMemory(pid, memory_file)
    rests = known.resting.find() if is_of_last else {}
    rank, world_size = known.rank
    result = Captured(
        facts=facts,
        memory=memory,
        modules=image.modules,
        threads=read_threads(
            pid,
            deep=wanted.calls or not stop,
            sleeps=wanted.sleeps or wanted.locks,
            known={tid: rest.facts for tid, rest in rests.items()},
        ),
        at=time.monotonic(),
        registers={},
        interpreter=known.interpreter,
        label=f"rank {rank}" if rank is not None else None,
        world_size=world_size,
        rests=rests,
        stands_still=held is not None,
    )
    if result.interpreter is not None and (
        wanted.names or wanted.locals or wanted.tasks or wanted.distributed
    ):
        try:
            result.texts = ObjectText(
                ProcessMemory(pid, memory_file),
                MemoryMap.read(pid),
                with_values=wanted.locals or wanted.distributed,
            )
        except TargetError as error:
            result.texts_trouble = error.message
    if wanted.distributed:
        result.recorders = recorders(result.modules)
    if held is not None:
        result.registers = dict(held.registers)
        # That we hold a thread is no state of the program.
        result.threads = [replace(one, state="") if one.state in "tT" else one for one in result.threads]
        _read_at_rest(result, memory, image.rows, wanted)
        _read_sleeps(result)
        _read_objects(result, wanted)
    elif stop:
        _read_stopped(pid, result, memory, wanted, known)
    else:
        _read_running(result, memory, wanted, image.rows)
    memory.freeze()
    if wanted.locks and is_fork_of(pid, facts.parent):
        result.forked_from = facts.parent
    if not (is_of_last and known.defers):
        version = known.version
        known.refresh()
        if is_of_last and known.version != version:
            return capture(pid, stop, wanted, held, known)
    learnt = known.learnt
    learnt.modules = learnt.modules or [*image.modules, *vdso_of(image, memory_file)]
    result.modules, result.learnt = learnt.modules, learnt
    rows = image.rows
    result.code = lru_cache(maxsize=1)(lambda: _code_in(rows))
    return result


def _facts(pid: int, earlier: ProcessFacts | None) -> ProcessFacts:
    """Of a process that may be read. ``earlier``: what it was at the last sample, where only its state is asked for."""
    try:
        facts = replace(earlier, state=stat_of(pid).state) if earlier is not None else read_process(pid)
    except OSError:
        facts = None
    if facts is None:
        raise TargetGone(f"there is no process {pid}", "dualdbg ps lists the Python processes")
    if facts.state in "ZX":
        raise refusal(pid, 0)
    return facts


def _code_in(rows: Sequence[str]) -> list[tuple[int, int]]:
    found = mappings("\n".join(rows))
    return [(row.start, row.end) for row in found if row.is_code]


def _read_stopped(pid: int, result: Captured, memory: ProcessMemory, wanted: Wanted, known: Known) -> None:
    """Hold the process, and read it. Where the pages that will be needed are known they are copied at once, and looked
    into when it runs on; if one was not among them after all, what was seen is dropped and it is held once more."""
    copied = known.pages if wanted == _STACKS_ALONE else frozenset[int]()
    calls = known.resting.calls(result.threads) if copied else {}
    hold, ends = _held_once(pid, result, memory, wanted, known, copied)
    seconds = hold.seconds
    if copied:
        is_one_moment = known.resting.are_unmoved(result.rests)
        memory.freeze()
        _read_objects(result, wanted)
        if memory.late_pages or not is_one_moment:
            memory.forget()
            result.python, result.python_trouble, result.states = None, None, {}
            result.rests = {}
            hold, _ = _held_once(pid, result, memory, wanted, known, ())
            seconds += hold.seconds
        else:
            result.rests |= known.resting.learn(result.threads, calls, result.registers, memory, ends)
    if wanted == _STACKS_ALONE:
        known.learn(memory.loaded)
    result.seconds_stopped = seconds
    result.stubborn = hold.stubborn
    _add_new_threads(pid, result)
    there = result.registers.keys() | set(hold.stubborn)
    result.threads = [thread for thread in result.threads if thread.tid in there]


@contextmanager
def _without_collections() -> Iterator[None]:
    """Python looks for no garbage meanwhile: with the symbols of large libraries that takes 60 ms now and then."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _held_once(
    pid: int,
    result: Captured,
    memory: ProcessMemory,
    wanted: Wanted,
    known: Known,
    copied: Collection[int],
) -> tuple[Hold, dict[int, int]]:
    """The hold, and where the stacks of the threads end that were held."""
    hold = Hold(pid, result.rests)
    copy = memory.keeper(copied)
    ends: dict[int, int] = {}
    with _without_collections(), hold:
        result.registers = {thread.tid: thread.registers for thread in hold.threads}
        if copied:
            keep = copy()
            ends = _copy_stacks(result, memory, known.image.rows)
        else:
            _read_at_rest(result, memory, known.image.rows, wanted)
            if wanted.calls:
                _read_sleeps(result)
            _read_objects(result, wanted)
    if copied:
        keep()
    for tid, rest in result.rests.items():
        result.registers[tid] = rest.registers
        rest.give_stack(memory)
    return hold, ends


def _add_new_threads(pid: int, result: Captured) -> None:
    """Threads that began between the reading of the list and the stop."""
    known = {thread.tid for thread in result.threads}
    if result.registers.keys() - known:
        fresh = read_threads(pid, deep=False)
        result.threads += [thread for thread in fresh if thread.tid not in known]


def _read_running(result: Captured, memory: ProcessMemory, wanted: Wanted, rows: Sequence[str]) -> None:
    """Nothing is stopped: threads that sleep in the kernel tell where, running ones do not."""
    architecture = next(
        (AARCH64 if m.library.elf.machine == EM_AARCH64 else X86_64 for m in result.modules if m.library),
        X86_64,
    )
    for thread in result.threads:
        if thread.pc and thread.sp:
            registers = known_stack_pointer(architecture, thread.pc, thread.sp, thread.system_call)
            result.registers[thread.tid] = registers
    _read_at_rest(result, memory, rows, wanted)
    _read_objects(result, wanted)


def _read_at_rest(result: Captured, memory: ProcessMemory, rows: Sequence[str], wanted: Wanted) -> None:
    """What the next moment changes for certain: calls, descriptors, stacks. ``rows``: the map of a moment ago."""
    if wanted.calls:
        name_calls(result)
        _read_descriptors(result)
    _copy_stacks(result, memory, rows)


def _read_objects(result: Captured, wanted: Wanted) -> None:
    """What the interpreter has, which belongs to the same moment."""
    reader = _read_python(result)
    if result.texts is not None:
        result.texts.use(result.memory)
    if wanted.locks:
        _read_locks(result, reader)
    if reader is None or result.texts is None:
        return
    if wanted.names:
        result.names = result.texts.thread_names(reader, result.states)
    if wanted.locks:
        result.joins |= result.texts.joins(reader, result.states)
        functions = (frame.function for state in result.states.values() for frame in state.frames)
        if "_shutdown" in functions:  # only who exits waits for those that are none
            result.daemons = result.texts.daemons(reader, result.states)
    if wanted.locals:
        frames = [frame for state in result.states.values() for frame in state.frames]
        result.locals = result.texts.locals_of(reader, frames)
    if wanted.tasks and result.python is not None:
        result.tasks = read_tasks(reader, result.texts, result.python, result.states, result.modules)
    if wanted.distributed and result.python is not None:
        result.distributed = read_distributed(
            reader, result.texts, result.python, result.states, result.recorders
        )


def name_calls(result: Captured) -> None:
    """The registers of each thread say the system call that it is in."""

    @lru_cache(maxsize=1)
    def unwinder() -> Unwinder:
        return Unwinder(result.memory, result.modules)

    for tid, registers in result.registers.items():
        result.registers[tid] = with_call(registers, result.memory, unwinder)


def _read_descriptors(result: Captured) -> None:
    """What the descriptors of system calls are; the process may close them as soon as it runs on."""
    pid = result.facts.pid
    calls = {thread.tid: thread.system_call for thread in result.threads}
    for tid, registers in result.registers.items():
        call = registers.system_call or calls.get(tid)
        if call is None:
            continue
        number = descriptor_of(registers.architecture, call)
        name, _ = describe(registers.architecture, call[0])
        if name in POLLS and call[2] == 1:
            result.polled[tid] = number, _ = _polled(result.memory, call[1])
        if number is None:
            continue
        target = result.descriptors[tid] = descriptor_target(pid, number)
        if target is not None and target.startswith("socket:") and name in (*READS, *WRITES):
            result.limits[tid] = time_limit(pid, number, name in WRITES)


def _polled(memory: Memory, address: int) -> tuple[int | None, bool]:
    """The descriptor of a ``struct pollfd``, and whether it is waited for until something can be written there."""
    try:
        number, events = _POLLFD.unpack(memory.read(address, _POLLFD.size))
    except DualdbgError:
        return None, False
    return (number if number >= 0 else None), bool(events & select.POLLOUT and not events & select.POLLIN)


def _copy_stacks(result: Captured, memory: ProcessMemory, rows: Sequence[str]) -> dict[int, int]:
    """Where those end that were copied, by thread."""
    copied = {}
    places = [registers.sp for registers in result.registers.values()]
    # A stack that is nowhere in the map of a moment ago is new, or has grown.
    ends = ends_in(rows, places)
    if None in ends:
        ends = ends_of_mappings(result.facts.pid, places)
    budget = _STACK_BUDGET
    for (tid, registers), end in zip(result.registers.items(), ends, strict=True):
        if end is not None and budget > 0:
            copied[tid] = end = min(end, registers.sp + budget)
            memory.capture(registers.sp, end)
            budget -= end - registers.sp
    return copied


def _read_python(result: Captured) -> PythonReader | None:
    if result.interpreter is None:
        return None
    try:
        reader = PythonReader(result.memory, result.interpreter)
        result.python = reader.read()
    except DualdbgError as error:
        result.python_trouble = error.message
        return None
    result.python_trouble = result.python.trouble
    result.states = states_by_tid(
        result.python,
        result.registers,
        result.memory,
        [thread.tid for thread in result.threads],
        namespace_tids(result.facts.pid),
    )
    return reader


def _read_locks(result: Captured, reader: PythonReader | None) -> None:
    fields = Fields(reader, result.texts) if reader is not None and result.texts is not None else None
    locks = LockReader(reader, result.states, fields)
    foreign = namespace_tids(result.facts.pid)
    for tid, registers in result.registers.items():
        result.held[tid] = locks.held(tid)
        call = registers.system_call
        if call is not None and call[0] == number_of(registers.architecture, "futex"):
            joined = _joined(result, call[1], call[3], foreign)
            if joined is not None and not call[2] & _FUTEX_PRIVATE:
                result.joins[tid] = joined
            try:
                owner = result.memory.u32(call[1] + MUTEX_OWNER)
            except DualdbgError:
                continue  # the mapping ends here, so this is no mutex
            lock = locks.awaited(tid, call[1], foreign.get(owner, owner))
            if lock.kind == "rlock":
                result.awaited[tid] = replace(lock, owner_is_gone=_is_nobodys(result, locks, lock))
                continue
            is_gone = lock.kind == "mutex" and bool(call[2] & _FUTEX_PRIVATE) and _is_gone(result, lock)
            result.awaited[tid] = replace(lock, owner_is_gone=is_gone)


def _joined(result: Captured, word: int, value: int, foreign: Mapping[int, int]) -> int | None:
    """The thread whose end is waited for at a futex: that of pthread_join has its id, in the C library's own struct of
    that thread, which lies beside its thread pointer (glibc's nptl/pthread_join_common.c, nptl/descr.h).
    """
    tid = foreign.get(value & 0xFFFFFFFF, value & 0xFFFFFFFF)
    registers = result.registers.get(tid)
    if registers is None or not registers.thread_pointer:
        return None
    return tid if abs(word - registers.thread_pointer) < _STRUCT_PTHREAD else None


def _read_sleeps(result: Captured) -> None:
    for tid, registers in result.registers.items():
        if (call := registers.system_call) is not None:
            name, _ = describe(registers.architecture, call[0])
            result.sleeps[tid] = sleep_of(result.facts.pid, name, call[1:], result.memory)


def _is_nobodys(result: Captured, locks: LockReader, lock: Lock) -> bool:
    """Whether the owner of an RLock is no thread of the process.

    Python knows threads by pthread_self(), whose distance from the thread pointer is the same in all of them: none on
    x86-64, the size of a struct of the C library on AArch64.
    """
    registers = [result.registers.get(thread.tid) for thread in result.threads]
    pointers = {one.thread_pointer if one is not None else None for one in registers}
    distances = {
        state.pthread - pointer
        for tid, state in result.states.items()
        if tid in result.registers and (pointer := result.registers[tid].thread_pointer)
    }
    if lock.owner != -1 or None in pointers or len(distances) != 1:
        return False
    return locks.identity(lock) - distances.pop() not in pointers


def _is_gone(result: Captured, lock: Lock) -> bool:
    """Whether the owner of a mutex is no thread of the process: of those that cannot be stopped the kernel tells."""
    return bool(lock.owner) and not os.path.exists(f"/proc/{result.facts.pid}/task/{lock.owner}")
