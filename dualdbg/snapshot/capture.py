"""Takes what is needed of a process while it stands still for a few milliseconds, and lets it go before thinking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import DualdbgError, TargetGone
from ..symbols.elf import ElfFile
from ..symbols.image import Module, ProcessImage
from ..symbols.library import Library
from ..target.permission import refusal
from .memory import ProcessMemory
from .procfs import MemoryMap, ProcessFacts, ThreadFacts, read_process, read_threads
from .ptrace import Hold
from .python_reader import Interpreter, PythonReader, PythonState, find_interpreter
from .registers import AARCH64, X86_64, Registers, known_stack_pointer

_STACK_BUDGET = 64 << 20  # bytes of stacks that are copied while the process stands still

Question = Callable[["Captured"], Any]


@dataclass
class Captured:
    """One process as it was. ``seconds_stopped`` is None when it was not stopped; ``registers`` by thread id.

    ``answers`` are those of the questions that were to be asked while it stood still.
    """

    facts: ProcessFacts
    memory: ProcessMemory
    image: ProcessImage
    modules: list[Module]
    threads: list[ThreadFacts]
    registers: dict[int, Registers]
    interpreter: Interpreter | None
    python: PythonState | None = None
    python_trouble: str | None = None
    reader: PythonReader | None = None
    seconds_stopped: float | None = None
    stubborn: list[int] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)


def capture(pid: int, stop: bool = True, questions: dict[str, Question] | None = None) -> Captured:
    """Read process ``pid``. Raises TargetGone, PermissionRefused or TargetError, which say why it cannot be read."""
    facts = read_process(pid)
    if facts is None:
        raise TargetGone(f"there is no process {pid}", "dualdbg ps lists the Python processes")
    if facts.state in "ZX":
        raise refusal(pid, 0)
    image = ProcessImage(pid)
    image.refresh()
    if not image.modules and read_process(pid) is None:
        raise TargetGone(f"process {pid} has ended")
    result = Captured(
        facts=facts,
        memory=ProcessMemory(pid),
        image=image,
        modules=image.modules,
        threads=read_threads(pid, deep=True),
        registers={},
        interpreter=find_interpreter(image.modules),
    )
    if stop:
        _read_stopped(pid, result, questions or {})
    else:
        _read_running(result, questions or {})
    result.memory.freeze()
    if image.refresh():
        result.modules = image.modules
    result.modules = [*result.modules, *_vdso(pid)]
    return result


def _read_stopped(pid: int, result: Captured, questions: dict[str, Question]) -> None:
    hold = Hold(pid)
    with hold:
        result.registers = {thread.tid: thread.registers for thread in hold.threads}
        _copy_stacks(pid, result)
        _read_python(result)
        _ask(result, questions)
    result.seconds_stopped = hold.seconds
    result.stubborn = hold.stubborn
    _add_new_threads(pid, result)
    result.threads = [
        thread for thread in result.threads if thread.tid in result.registers or thread.tid in hold.stubborn
    ]


def _add_new_threads(pid: int, result: Captured) -> None:
    """Threads that began between the reading of the list and the stop."""
    known = {thread.tid for thread in result.threads}
    if result.registers.keys() - known:
        fresh = read_threads(pid, deep=False)
        result.threads += [thread for thread in fresh if thread.tid not in known]


def _read_running(result: Captured, questions: dict[str, Question]) -> None:
    """Nothing is stopped: threads that sleep in the kernel tell where, running ones do not."""
    architecture = next(
        (
            AARCH64 if m.library.elf.machine == 183 else X86_64
            for m in result.modules
            if m.library is not None
        ),
        X86_64,
    )
    for thread in result.threads:
        if thread.pc and thread.sp:
            result.registers[thread.tid] = known_stack_pointer(architecture, thread.pc, thread.sp)
    _copy_stacks(result.facts.pid, result)
    _read_python(result)
    _ask(result, questions)


def _copy_stacks(pid: int, result: Captured) -> None:
    mapping = MemoryMap.read(pid)
    budget = _STACK_BUDGET
    for registers in result.registers.values():
        end = mapping.end_of(registers.sp)
        if end is not None and budget > 0:
            end = min(end, registers.sp + budget)
            result.memory.capture(registers.sp, end)
            budget -= end - registers.sp


def _read_python(result: Captured) -> None:
    if result.interpreter is None:
        return
    try:
        result.reader = PythonReader(result.memory, result.interpreter)
        result.python = result.reader.read()
        result.python_trouble = result.python.trouble
    except DualdbgError as error:
        result.python_trouble = error.message


def _ask(result: Captured, questions: dict[str, Question]) -> None:
    for name, question in questions.items():
        result.answers[name] = question(result)


def _vdso(pid: int) -> list[Module]:
    """The code that the kernel maps into every process; it never changes while the process lives."""
    area = MemoryMap.read(pid).start_of_named("[vdso]")
    if area is None:
        return []
    start, end = area
    try:
        elf = ElfFile.from_bytes(ProcessMemory(pid).read(start, end - start), "[vdso]")
        first = elf.loads()[0]
        return [Module("[vdso]", start, end, start - first.address, Library(elf))]
    except (DualdbgError, IndexError) as error:
        return [Module("[vdso]", start, end, start, None, str(error))]
