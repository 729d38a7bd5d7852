"""Reads the stacks of a target that gdb holds: prepares unwinding as needed, adds names and Python frames."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ...backends.native import AskingGdb
from ...errors import CommandError, DualdbgError
from ...known.greenlets import starts_greenlet
from ...model import Event, NativeFrame, Notice, Quality, Stack
from ...shared.libraries import is_c_library
from ...shared.requests.code import LibraryOfProcess, LoadLibrary, ReadWhole
from ...shared.requests.threads import ListThreads, ReadFrames
from ...snapshot.cpython.held_process import PythonSide, PythonThread
from ...snapshot.cpython.reader import find_interpreter
from ...stacks.loops import with_loops
from ...stacks.merge import merge
from ...stacks.parallel_regions import region_of_worker, start_of, told
from ...stacks.roles import NO_CODE, RoleRules, rules_of, up_to_no_code
from ...symbols import cache
from ...symbols.address_space import AddressSpace, Module
from ...symbols.elf.elf_file import EM_X86_64
from ...symbols.gdb_feed.lines_file import PLAIN_CXX, as_in_library, is_plain, lines_file
from ...symbols.gdb_feed.policy import Load
from ...symbols.gdb_feed.unwind_file import unwind_file
from ...symbols.names.cxx_names import parse
from ...symbols.names.numba_names import numba_name
from ...symbols.objfile import Objfile
from ...symbols.torch.compiled_code import with_program_lines
from ...system.gdb_versions import finds_same_code_without_types
from ...system.in_thread import in_thread
from ...toolchains.registry import toolchain_of
from ...toolchains.rust.names import demangle_rust, short_rust_name
from ..engines import NativeEngine
from ..progress import progress
from .symbol_policy import SymbolPolicy

GAP = "no unwind table covers this code of {}: gdb would guess its callers (dualdbg stacks PID finds them)"
MOST_FRAMES = 5000  # native frames of a thread that are read
_MANY_NAMES = 20_000  # are kept
_COPIED = 20_000_000  # bytes; a bigger one takes longer to copy than a first step may
_INDEXED = 50_000_000  # bytes; for a library of this size gdb takes seconds to make its index


async def read_frames(native: AskingGdb, gdb_thread: int, limit: int) -> list[NativeFrame]:
    """Return at most ``limit`` frames of a thread, innermost first. The library of each is not known yet."""
    rows = await native.ask(ReadFrames(gdb_thread, limit))
    return [NativeFrame(level=level, **row._asdict()) for level, row in enumerate(rows)]


class StackReader:
    """Native frames, Python frames and their merged stack. To be used only while gdb holds every thread."""

    def __init__(
        self,
        native: NativeEngine,
        image: AddressSpace,
        policy: SymbolPolicy,
        hidden: tuple[str, ...],
    ) -> None:
        self.python_side = PythonSide(image)
        self._native = native
        self.image = image
        self._policy = policy
        self._hidden = hidden
        self.emit: Callable[[Event], None] = lambda _event: None
        self._prepared: dict[tuple[str, int], Module] = {}
        self._in_lines: dict[tuple[str, int], Module] = {}  # of which gdb has functions and lines alone
        self._plain: set[tuple[str, int]] = set()  # of which gdb had these without scopes
        self._giving = asyncio.Lock()  # gdb is given one file after the other
        self._rules: RoleRules | None = None
        self._rules_version = 0  # of the mapped files
        self._frames: dict[int, list[NativeFrame]] = {}  # by OS thread id
        self._stacks: dict[int, Stack] = {}  # by OS thread id
        self._names: dict[tuple[object, ...], NativeFrame] = {}  # by all that a name depends on
        self._names_version = 0  # of the mapped files
        self._all_python: list[PythonThread] | None = None
        self._python: dict[int, PythonThread | None] = {}  # by OS thread id
        self._python_troubles: dict[int, str] = {}  # by OS thread id: why its Python side is not known

    def forget(self) -> None:
        """The target ran. What was read before is stale."""
        self._frames.clear()
        self._stacks.clear()
        self._all_python = None
        self._python.clear()
        self._python_troubles.clear()

    @property
    def rules(self) -> RoleRules:
        """How frames are told apart, in this process."""
        if self._rules is None or self._rules_version != self.image.version:
            modules = self.image.modules
            found = find_interpreter(modules)
            files = (module.path for module in modules)
            holder = found.module if found is not None else None
            self._rules = rules_of(files, holder, self._hidden, self._policy.glue_patterns)
            self._rules_version = self.image.version  # Python may be loaded later
        return self._rules

    def load_of(self, module: Module) -> Load:
        """What gdb gets of a module: what the policy says. Of debugpy's modules, whose frames are hidden, it gets no
        more than the unwind table.
        """
        load = self._policy.decide(module).load
        return Load.UNWIND if load is Load.WHOLE and self.rules.is_ours(module.path) else load

    def is_prepared(self, module: Module) -> bool:
        """Whether gdb has what it is given of a module."""
        return (module.path, module.start) in self._prepared

    async def prepare_at(self, address: int) -> bool:
        """:meth:`prepare` the module of an address. False where there is none, or gdb has what it is to be given."""
        module = self.image.module_at(address)
        if module is None or (module.path, module.start) in self._prepared:
            return False
        await self.prepare(module)
        return True

    async def prepare_below(self) -> None:
        """:meth:`prepare` what each stack has code of: the C library and the interpreter."""
        for module in self.image.modules:
            if is_c_library(module.path) or module.path in self.rules.interpreter_libraries:
                await self.prepare(module)

    async def prepare_all(self) -> None:
        """:meth:`prepare` all modules of which gdb has nothing."""
        for module in self.image.modules:
            if not self.is_prepared(module):
                await self.prepare(module)

    async def prepare(self, module: Module) -> None:
        """Give gdb what it needs to unwind through ``module``: its unwind table, or all of its symbols.

        Whoever wants the same of it meanwhile waits until gdb has it.
        """
        key = (module.path, module.start)
        async with self._giving:
            if key in self._in_lines:
                await self.read_whole(module)
            if key in self._prepared or module.library is None:
                return
            try:
                await self._give(module, module.library)
            finally:
                self._prepared[key] = module

    async def _give(self, module: Module, library: Objfile) -> None:
        load = self.load_of(module)
        if load is Load.WHOLE and not library.elf.is_on_disk:
            await self._native.add_symbols(self._as_loaded(module, library), module.bias)
        elif load is Load.WHOLE:
            await self._keep_index(library.size >= _INDEXED)
            async with progress(self.emit, f"gdb reads the symbols of {Path(module.path).name}"):
                code = _code_of(module, library)
                if code is None or not await self._native.ask(LoadLibrary(module.path, code)):
                    await self._native.add_symbols(Path(library.path), module.bias)
        elif load is Load.UNWIND:
            async with progress(self.emit, f"preparing to unwind {Path(module.path).name}"):
                path = await in_thread(unwind_file, library)
            if path is not None:
                await self._add_made(unwind_file, path, module, library)

    async def prepare_lines(self, module: Module) -> None:
        """:meth:`prepare` for a stop in a module: gdb need not have read types and variables to show that.

        Whoever looks at values calls :meth:`read_whole` before.
        """
        key = (module.path, module.start)
        library = module.library
        if library is None:
            return
        async with self._giving:
            if key in self._prepared:
                return
            path = await in_thread(lines_file, library) if self._is_read_sooner(module, library) else None
            try:
                if path is None:
                    await self._give(module, library)
                else:
                    await self._add_made(lines_file, path, module, library)
                    self._in_lines[key] = module
                    if is_plain(path):
                        self._plain.add(key)
            finally:
                self._prepared[key] = module

    async def _add_made(
        self, make: Callable[[Objfile], Path | None], path: Path, module: Module, library: Objfile
    ) -> None:
        """Give gdb a file that was made of a library. One that was damaged in the cache since is made once more."""
        try:
            await self._native.add_symbols(path, module.bias)
        except CommandError:
            cache.drop(path)
            made = await in_thread(make, library)
            if made is not None:
                await self._native.add_symbols(made, module.bias)

    def _is_read_sooner(self, module: Module, library: Objfile) -> bool:
        """Whether a copy of the file is made in less time than gdb saves by it, and can take its place."""
        return (
            self.load_of(module) is Load.WHOLE
            and library.elf.is_on_disk
            and library.size <= _COPIED
            and _code_of(module, library) is not None
            and finds_same_code_without_types(self._native.version)
        )

    @property
    def has_more_to_read(self) -> bool:
        """Whether gdb has functions and lines alone of a module. What reads the rest is begun before a stop is told."""
        return bool(self._in_lines)

    async def read_whole(self, module: Module | None = None) -> None:
        """Let gdb read all of a module that :meth:`prepare_lines` has prepared, or of all these. Begun before anything
        else is asked of gdb it is done before that: gdb takes one request after the other.
        """
        modules = [module] if module is not None else list(self._in_lines.values())
        modules = [one for one in modules if self._in_lines.pop((one.path, one.start), None) is not None]
        if not modules:
            return
        libraries = [
            LibraryOfProcess(module.path, code, str(module.library.path), module.bias)
            for module in modules
            if module.library is not None and (code := _code_of(module, module.library)) is not None
        ]
        names = ", ".join(Path(module.path).name for module in modules)
        async with progress(self.emit, f"gdb reads the symbols of {names}"):
            if not await self._native.ask(ReadWhole(libraries)):
                self._in_lines.update({(one.path, one.start): one for one in modules})

    async def _keep_index(self, wanted: bool) -> None:
        """Let gdb keep its index of a big library's debug info, by build-id: it need not be made the next time."""
        if wanted:
            await self._native.keep_index(cache.index_folder())
        else:
            await self._native.keep_index(None)

    async def libraries_left(self) -> None:
        """Modules are gone. What gdb was given for them must not be used for what is loaded there next."""
        there = {(module.path, module.start) for module in self.image.modules}
        for key in self._prepared.keys() - there:
            module = self._prepared.pop(key)
            self._in_lines.pop(key, None)
            self._plain.discard(key)
            if module.library is None:
                continue
            code = _code_of(module, module.library)
            if code is not None:
                # gdb has dropped the library by itself, or had nothing for it.
                with contextlib.suppress(CommandError):
                    await self._native.remove_symbols(code)

    def _as_loaded(self, module: Module, library: Objfile) -> Path:
        """A copy of the file that the target loaded. gdb would read the new file that is in its place now."""
        text = f"{module.path} was replaced on disk since it was loaded: its symbols are those of the file that runs"
        self.emit(Notice("warning", text, "restart the program to run the new one"))
        return cache.store(f"replaced-{library.identity}.so", [library.elf.data])

    async def native_frames(self, tid: int, gdb_thread: int) -> list[NativeFrame]:
        """The frames of a thread, each with the best name that is known. They are read once a stop."""
        if tid in self._frames:
            return self._frames[tid]
        while True:
            frames = await read_frames(self._native, gdb_thread, MOST_FRAMES)
            nameless = self._first_without_scopes(frames)
            if nameless is not None:
                await self.read_whole(nameless)
                self._plain.discard((nameless.path, nameless.start))
                continue
            missing = self._first_unprepared(frames)
            if missing is None:
                break
            await self.prepare(missing)
            await self.prepare_below()
        known = frames[: next((at + 1 for at, one in enumerate(frames) if self._is_gap(one)), None)]
        named = [self._named(frame) for frame in up_to_no_code(known, self._is_code)]
        own = self.python_thread(tid)
        self._frames[tid] = with_loops(named, own.loops if own is not None else ())
        return self._frames[tid]

    def _first_unprepared(self, frames: list[NativeFrame]) -> Module | None:
        for frame in frames:
            module = self.image.module_at(frame.pc)
            if module is None or module.library is None:
                continue
            if (module.path, module.start) not in self._prepared:
                return module
        return None

    def _first_without_scopes(self, frames: list[NativeFrame]) -> Module | None:
        """The module of an inlined function of which gdb has the name alone."""
        for frame in frames:
            if frame.inlined and frame.source_language in (PLAIN_CXX, None):
                module = self.image.module_at(frame.pc)
                if module is not None and (module.path, module.start) in self._plain:
                    return module
        return None

    def _named(self, frame: NativeFrame) -> NativeFrame:
        """The frame with the best name. Most frames of a stack were there at the stop before."""
        if self._names_version != self.image.version or len(self._names) > _MANY_NAMES:
            self._names.clear()
            self._names_version = self.image.version
        text = frame.function, frame.file, frame.line, frame.source_language
        key = frame.pc, frame.is_call, frame.inlined, *text
        if key not in self._names:
            self._names[key] = self._name(frame)
        known = self._names[key]
        if (known.level, known.sp) == (frame.level, frame.sp):
            return known
        return replace(known, level=frame.level, sp=frame.sp)

    def _name(self, frame: NativeFrame) -> NativeFrame:
        function, library = self.image.describe(frame.pc, is_return=frame.is_call)
        language = self.image.language_at(frame.pc, is_return=frame.is_call)
        written = "c++" if frame.source_language == PLAIN_CXX else frame.source_language
        module = self.image.module_at(frame.pc)
        objfile = module.library if module is not None else None
        offset = frame.pc - module.bias if module is not None and objfile is not None else None
        frame = replace(frame, library=library, source_language=written or language, offset=offset)
        if frame.line is not None:
            known = toolchain_of(language).frame_named(frame, function, objfile)
            if known is not None:
                return known
        # Code that was made while the program runs.
        if library is None and frame.function is not None and not frame.inlined:
            return _of_jit(frame, frame.function)
        if frame.inlined or function is None:  # its name is known from debug info alone
            rust = demangle_rust(frame.function or "")
            own = parse(as_in_library(frame.function or "")).short
            function = short_rust_name(rust) if rust is not None else own
        return replace(frame, function=function or None)

    def python_threads(self) -> list[PythonThread]:
        """The Python side of every thread. Empty when it cannot be read."""
        if self._all_python is None:
            try:
                self._all_python = self.python_side.threads()
            except DualdbgError:
                self._all_python = []
            self._python.update((one.tid, one) for one in self._all_python)
        return self._all_python

    def python_thread(self, tid: int) -> PythonThread | None:
        """The Python side of a thread. None where it has none or cannot be read; the note of the stack says why."""
        if tid not in self._python:
            try:
                self._python[tid] = self.python_side.thread(tid)
            except DualdbgError as error:
                self._python[tid] = None
                self._python_troubles[tid] = error.message
        return self._python[tid]

    async def stack(self, tid: int, gdb_thread: int) -> Stack:
        """The merged stack of a thread. It is made once a stop."""
        if tid in self._stacks:
            return self._stacks[tid]
        native = await self.native_frames(tid, gdb_thread)
        own = self.python_thread(tid)
        frames = list(own.frames) if own is not None else []
        trouble = self._python_troubles.get(tid) if own is None else own.trouble
        if len(native) >= MOST_FRAMES:
            trouble = f"only the innermost {MOST_FRAMES} native frames were read"
        begins = any(
            starts_greenlet(one.function, one.library) for one in native
        )  # beyond it lies another's stack
        if native and not begins and not self._is_code(native[-1].pc):
            trouble = NO_CODE.format(native[-1].pc)
        stack = with_program_lines(merge(tid, native, frames, self.rules, trouble))
        # Where all of Python is found, what lies beyond has only begun the thread.
        if trouble is None and stack.quality is not Quality.FULL and native and self._is_gap(native[-1]):
            why = GAP.format(Path(native[-1].library or "").name)
            stack = replace(stack, note=f"{stack.note}; {why}" if stack.note else why)
        self._stacks[tid] = replace(stack, origin=await self._origin(native) or stack.origin)
        return self._stacks[tid]

    def _is_gap(self, frame: NativeFrame) -> bool:
        """Whether no unwind table covers the code of a frame: gdb guesses its caller, rightly at the entry alone."""
        address = frame.pc - frame.is_call
        module = self.image.module_at(address)
        library = module.library if module is not None else None
        if module is None or library is None or library.elf.machine != EM_X86_64:
            return False
        place = address - module.bias
        if library.frames.find(place) is not None:
            return False
        if not any(
            one.is_code and one.address <= place < one.address + one.size for one in library.elf.sections
        ):
            return False
        symbol = library.symbol_at(place)
        is_entry = frame.level == 0 and symbol is not None and symbol.address == place
        is_whole = self.load_of(module) is Load.WHOLE
        return not is_entry and not (is_whole and library.with_debug_info.section(".debug_frame") is not None)

    def _is_code(self, address: int) -> bool:
        """Whether there may be code at an address that gdb has found on a stack. Some stacks end at 0."""
        return not address or self.image.module_at(address) is not None or self.image.is_code(address)

    async def _origin(self, frames: list[NativeFrame]) -> str | None:
        """What started the OpenMP region in which a worker is, where one thread alone can have done it."""
        region = region_of_worker(frames)
        if region is None:
            return None
        found = []
        for gdb_thread, tid in (await self._native.ask(ListThreads())).items():
            start = start_of(region, await self.native_frames(tid, gdb_thread))
            found += [told(start, tid)] if start is not None else []
        return found[0] if len(found) == 1 else None


def _of_jit(frame: NativeFrame, name: str) -> NativeFrame:
    """A frame in code that gdb was told of; numba's has names of its own."""
    python = numba_name(name)
    if python is None:
        return replace(frame, function=parse(name).short)
    return replace(frame, function=python, source_language="numba")


def _code_of(module: Module, library: Objfile) -> int | None:
    """The address of some code of a module; None where it has none."""
    sections = (section for section in library.elf.sections if section.is_code and section.size)
    first = next(sections, None)
    return first.address + module.bias if first is not None else None
