"""Core files: the notes and the memory of a process that has ended, for the readers that serve living processes.

ELF gABI, chapter 5 (program headers); the notes of Linux: NT_PRSTATUS, NT_PRPSINFO, NT_FILE (linux/elfcore.h,
fs/binfmt_elf.c). What a core leaves out, code above all, is read from the mapped files, whose build-ids are compared.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from ..errors import DualdbgError, SymbolError, TargetError
from ..known.crash_signals import FAULTS, OF_MEMORY
from ..shared import page_size
from ..shared.images import Image, images, runs
from ..shared.proc_files import Mapping
from ..shared.regular_files import open_regular
from ..symbols.address_space import Module
from ..symbols.elf.elf_file import PF_X, ElfFile, Section, build_id_of_notes
from ..symbols.objfile import Objfile
from ..symbols.source_lines import SourceLines
from .capture import Captured, Wanted, name_calls
from .cpython.object_text import ObjectText
from .cpython.reader import PythonReader, find_interpreter, states_by_tid
from .cpython.tasks import read_tasks
from .facts import ProcessReport
from .linux.memory import PAGE, Memory
from .linux.procfs import MemoryMap, ProcessFacts, ThreadFacts
from .linux.registers import Registers, registers_from_regset, with_regset
from .report.assemble import Assembler
from .report.last_words import last_words
from .report.telling_frame import with_fault_shown
from .vdso import vdso

_ET_CORE, _PT_LOAD, _PT_NOTE = 4, 1, 4
_NT_PRSTATUS, _NT_PRPSINFO, _NT_AUXV, _NT_FILE, _NT_SIGINFO = 1, 3, 6, 0x46494C45, 0x53494749
_AT_SYSINFO_EHDR = 33  # linux/auxvec.h: where the vDSO is
# asm-generic/siginfo.h: si_addr of a 64-bit process; sent without an address.
_FAULT_AT, _SI_KERNEL = 16, 0x80
_REGISTERS_AT = 112  # in struct elf_prstatus of 64-bit machines; pr_cursig is at 12, pr_pid at 32
_NAME_AT, _ARGUMENTS_AT = 40, 56  # in struct elf_prpsinfo: pr_fname[16], pr_psargs[80]
COMPRESSED = {b"\x1f\x8b": "gzip -d", b"\x28\xb5\x2f\xfd": "zstd -d", b"\xfd7zXZ": "xz -d"}


@dataclass(frozen=True)
class MappedFile:
    start: int
    end: int
    offset: int
    path: str


@dataclass
class Core:
    """What a core file says. ``threads`` are in its order, the crashed one first; ``notes`` say what is wrong."""

    path: str
    pid: int = 0
    name: str = ""
    arguments: str = ""
    signal: int = 0
    page: int = page_size.SMALLEST  # bytes of a page of the kernel that it ran on
    vdso: int | None = None  # where it begins
    fault: int | None = None  # the address that a SIGSEGV or SIGBUS is about
    is_fault: bool = False  # an instruction of the first thread could not be carried out
    threads: list[tuple[int, Registers]] = field(default_factory=list)
    files: list[MappedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class CoreElf(ElfFile):
    """A core. Its section headers are not read: gcore writes them at the end, and the kernel writes none."""

    def _read_sections(self, offset: int, entry_size: int, count: int, names_index: int) -> list[Section]:
        return []


class CoreMemory(Memory):
    """The memory in a core; for what the core leaves out, the contents of the mapped files."""

    def __init__(self, elf: ElfFile, files: list[MappedFile]) -> None:
        super().__init__()
        self._elf = elf
        self._segments = sorted(
            (s.address, s.address + s.file_size, s.offset) for s in elf.segments if s.type == _PT_LOAD
        )
        self._starts = [segment[0] for segment in self._segments]
        self._files = files
        self._mapped: dict[str, mmap.mmap | None] = {}

    def _load(self, page: int) -> bytes | None:
        address = page * PAGE
        index = bisect_right(self._starts, address) - 1
        if index >= 0:
            start, end, offset = self._segments[index]
            if address + PAGE <= end and offset + address - start + PAGE <= self._elf.size:
                return self._elf.bytes_at(offset + address - start, PAGE)
        for file in self._files:
            if file.start <= address < file.end:
                return self._of_file(file, address)
        return None

    def _of_file(self, file: MappedFile, address: int) -> bytes | None:
        data = self._open(file.path)
        at = file.offset + address - file.start
        if data is None or at >= len(data):
            return None
        return bytes(data[at : at + PAGE]).ljust(PAGE, b"\0")

    def _open(self, path: str) -> mmap.mmap | None:
        if path not in self._mapped:
            try:
                with open_regular(path) as file:
                    self._mapped[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                self._mapped[path] = None
        return self._mapped[path]


def is_core(path: str) -> bool:
    """Whether a file is a core, compressed or not."""
    try:
        with open_regular(path) as file:
            head = file.read(20)
    except OSError:
        return False
    if any(head.startswith(magic) for magic in COMPRESSED):
        return True
    return head[:4] == b"\x7fELF" and len(head) == 20 and struct.unpack_from("<H", head, 16)[0] == _ET_CORE


_GIVE = "give the file that the kernel or gcore wrote"


def _begins_as_elf(path: str) -> bool:
    with open_regular(path) as file:
        return file.read(4) == b"\x7fELF"


def read_core(path: str) -> tuple[Core, ElfFile]:
    """The facts of a core. Raises TargetError for a file that is not a core, SymbolError for one that is cut off."""
    _refuse_compressed(path)
    try:
        elf = CoreElf.open(path)
    except SymbolError as error:
        if Path(path).is_file() and not _begins_as_elf(path):
            raise TargetError(f"{path} is not a core file", _GIVE) from error
        raise
    if elf.type != _ET_CORE:
        raise TargetError(f"{path} is not a core file", _GIVE)
    core = Core(path)
    for segment in elf.segments:
        if segment.type == _PT_NOTE:
            if segment.offset + segment.file_size > elf.size:
                raise TargetError(
                    f"the core {path} is cut off before its notes, which say where the threads are",
                    "write it again with room enough; gcore puts the notes last, the kernel first",
                )
            _read_notes(elf.bytes_at(segment.offset, segment.file_size), core)
    if not core.threads:
        raise TargetError(f"{path} has no threads in it")
    end = max((s.offset + s.file_size for s in elf.segments), default=0)
    if end > elf.size:
        core.notes.append(
            f"the core is cut off: {elf.size} of {end} bytes are there (ulimit -c, a full disk?)"
        )
    return core, elf


def _refuse_compressed(path: str) -> None:
    try:
        with open_regular(path) as file:
            head = file.read(8)
    except OSError as error:
        raise TargetError(
            f"{path} cannot be read: {error.strerror}", "give the file that the kernel or gcore wrote"
        ) from error
    for magic, command in COMPRESSED.items():
        if head.startswith(magic):
            raise TargetError(f"{path} is compressed", f"uncompress it first: {command} {path}")


def _read_notes(data: bytes, core: Core) -> None:
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        start = at + 12 + (name_size + 3) // 4 * 4
        body = data[start : start + size]
        if kind == _NT_PRSTATUS:
            (tid,) = struct.unpack_from("<i", body, 32)
            width = {336: 27 * 8, 392: 34 * 8}.get(size, len(body) - _REGISTERS_AT - 8)
            core.threads.append((tid, registers_from_regset(body[_REGISTERS_AT : _REGISTERS_AT + width])))
            if len(core.threads) == 1:
                core.pid = tid
                (core.signal,) = struct.unpack_from("<h", body, 12)
        elif kind == _NT_PRPSINFO:
            (core.pid,) = struct.unpack_from("<i", body, 24)
            core.name = body[_NAME_AT : _NAME_AT + 16].split(b"\0")[0].decode("utf-8", "replace")
            arguments = body[_ARGUMENTS_AT : _ARGUMENTS_AT + 80].split(b"\0")[0]
            core.arguments = arguments.decode("utf-8", "replace").strip()
        elif kind == _NT_SIGINFO and size >= _FAULT_AT + 8:
            number, _, code = struct.unpack_from("<iii", body, 0)
            core.is_fault = number in FAULTS and code > 0
            if number in OF_MEMORY and 0 < code < _SI_KERNEL:
                (core.fault,) = struct.unpack_from("<Q", body, _FAULT_AT)
        elif kind == _NT_FILE:
            core.files = _mapped_files(body)
        elif kind == _NT_AUXV:
            pairs = struct.iter_unpack("<QQ", body[: len(body) // 16 * 16])
            core.vdso = next((value for key, value in pairs if key == _AT_SYSINFO_EHDR), None)
            core.page = page_size.told_by(body) or core.page
        elif core.threads:  # the other register sets of the thread whose NT_PRSTATUS was the last
            tid, registers = core.threads[-1]
            core.threads[-1] = tid, with_regset(registers, kind, body)
        at = start + (size + 3) // 4 * 4


def _mapped_files(body: bytes) -> list[MappedFile]:
    count, page = struct.unpack_from("<QQ", body, 0)
    names = body[16 + 24 * count :].split(b"\0")
    rows = []
    for index in range(count):
        start, end, offset = struct.unpack_from("<QQQ", body, 16 + 24 * index)
        rows.append(MappedFile(start, end, offset * page, os.fsdecode(names[index])))
    return rows


def capture_core(path: str, wanted: Wanted, program: str | None = None) -> tuple[Captured, list[str]]:
    """A core as if it were a process that stands still, and notes for the user.

    ``program`` stands in for the file of the program, where that has moved since.
    """
    core, elf = read_core(path)
    if program is not None and core.files:
        first = core.files[0].path
        core.files = [replace(row, path=program) if row.path == first else row for row in core.files]
    memory = CoreMemory(elf, core.files)
    modules = [*_modules(core, memory, elf), *_vdso(core, elf, memory)]
    rows = [Mapping(row.start, row.end, row.offset, row.path) for row in core.files]
    mapping = MemoryMap(rows, page=core.page)
    facts = ProcessFacts(core.pid, 0, core.arguments or core.name, "X", os.getuid())
    result = Captured(
        facts=facts,
        memory=memory,
        modules=modules,
        threads=[ThreadFacts(tid, core.name, "") for tid, _ in core.threads],
        registers=dict(core.threads),
        interpreter=find_interpreter(modules),
        is_core=True,
        faulted=core.threads[0][0] if core.is_fault else None,
        mapping=mapping,
        code=lru_cache(maxsize=1)(lambda: _code_in(elf, modules)),
    )
    name_calls(result)
    if result.interpreter is not None:
        try:
            reader = PythonReader(memory, result.interpreter)
            result.python = reader.read()
            result.states = states_by_tid(
                result.python, result.registers, memory, [tid for tid, _ in core.threads]
            )
            _read_objects(result, reader, mapping, memory, wanted)
        except DualdbgError as error:
            result.python_trouble = error.message
    if core.signal == signal.SIGABRT:
        result.last_words = last_words(memory, modules)
    said = [f"the C library said: {result.last_words}"] if result.last_words else []
    notes = [_how_it_ended(core), *said, *core.notes]
    return result, notes


def _code_in(elf: ElfFile, modules: Sequence[Module]) -> list[tuple[int, int]]:
    """What may be run: gdb's ``gcore`` has nothing of a mapping that was not written to, and the files have it."""
    files = [(one.library.elf, one.bias) for one in modules if one.library is not None]
    return [
        (one.address + bias, one.address + bias + one.memory_size)
        for file, bias in [(elf, 0), *files]
        for one in file.loads()
        if one.flags & PF_X
    ]


def _read_objects(
    result: Captured, reader: PythonReader, mapping: MemoryMap, memory: CoreMemory, wanted: Wanted
) -> None:
    texts = ObjectText(memory, mapping, with_values=wanted.locals)
    result.names = texts.thread_names(reader, result.states)
    if wanted.locals:
        frames = [frame for state in result.states.values() for frame in state.frames]
        result.locals = texts.locals_of(reader, frames)
    if wanted.tasks and result.python is not None:
        result.tasks = read_tasks(reader, texts, result.python, result.states, result.modules)


def report_core(
    path: str, wanted: Wanted, program: str | None = None, lines: SourceLines | None = None
) -> ProcessReport:
    """The stacks of every thread in a core. Raises TargetError or SymbolError, which say why it cannot be read."""
    captured, notes = capture_core(path, wanted, program)
    report = Assembler(captured).report(lines)
    threads = tuple(
        with_fault_shown(thread) if thread.thread.tid == captured.faulted else thread
        for thread in report.threads
    )
    return replace(report, notes=(*notes, *report.notes), threads=threads)


def last_words_in_core(core: Core, elf: ElfFile) -> str | None:
    """What the C library has said of the reason, where it is known."""
    memory = CoreMemory(elf, core.files)
    return last_words(memory, _modules(core, memory, elf))


def _how_it_ended(core: Core) -> str:
    if not core.signal:
        return "a core of a living process (gcore)"
    try:
        name = signal.Signals(core.signal).name
    except ValueError:
        name = f"signal {core.signal}"
    where = f" at address {core.fault:#x}" if core.fault is not None else ""
    return f"ended by {name} ({signal.strsignal(core.signal)}){where}, in thread {core.threads[0][0]}"


def _modules(core: Core, memory: CoreMemory, elf: ElfFile) -> list[Module]:
    """The mapped files, each with its library where the file on disk is still the one that was mapped."""
    modes = {one.address: _mode(one.flags) for one in elf.loads()}
    by_path: dict[str, list[Mapping]] = {}
    for file in core.files:
        row = Mapping(file.start, file.end, file.offset, file.path, modes.get(file.start, ""))
        by_path.setdefault(file.path, []).append(row)
    return [module for path, rows in by_path.items() for module in _modules_of(core, memory, path, rows)]


def _mode(flags: int) -> str:
    return "".join(letter if flags & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", PF_X)))


def _modules_of(core: Core, memory: CoreMemory, path: str, rows: list[Mapping]) -> list[Module]:
    """A file, once for each time it is loaded. One that is mapped as data and not loaded is none."""
    try:
        library = Objfile.open(path)
        loads = library.elf.loads()
    except SymbolError as error:
        if ".so" in Path(path).name or path == core.files[0].path:  # others are data
            core.notes.append(error.message)
        return [_without(path, run, error.message) for run in runs(rows)]
    found = images(rows, loads, core.page)
    if found:
        return [_compared(core, memory, path, image, library) for image in found]
    if not any(row.is_code or not row.mode for row in rows):
        return []
    text = f"{path} was replaced since: no code was loaded as the file says that is there now"
    core.notes.append(text)
    return [_without(path, run, text) for run in runs(rows)]


def _without(path: str, run: Sequence[Mapping], trouble: str) -> Module:
    return Module(path, run[0].start, max(row.end for row in run), run[0].start, None, trouble)


def _compared(core: Core, memory: CoreMemory, path: str, image: Image, library: Objfile) -> Module:
    there = _build_id_in_memory(memory, library, image.bias)
    if there is not None and library.build_id is not None and there != library.build_id:
        text = f"{path} was replaced since: build-id {there[:12]} then, {library.build_id[:12]} now"
        core.notes.append(text)
        return Module(path, image.start, image.end, image.bias, None, text)
    return Module(path, image.start, image.end, image.bias, library)


def _vdso(core: Core, elf: ElfFile, memory: CoreMemory) -> list[Module]:
    """The kernel's code, which the core holds: it may lie between the segments of a mapped file."""
    found = (one for one in elf.loads() if one.address == core.vdso and one.file_size)
    return [vdso(memory, one.address, one.address + one.file_size) for one in found]


def _build_id_in_memory(memory: CoreMemory, library: Objfile, bias: int) -> str | None:
    """The build-id that the core itself holds: the kernel keeps the first page of every mapped ELF file."""
    for segment in library.elf.segments:
        if segment.type == _PT_NOTE:
            try:
                found = build_id_of_notes(memory.read(bias + segment.address, segment.file_size))
            except DualdbgError:
                continue
            if found:
                return found
    return None
