"""From what was captured to a report: frames unwound and named, both languages merged, thread by thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...known.python_files import why_no_python
from ...known.short_names import in_source
from ...model import NativeFrame, PythonFrame, Role, Stack, Thread
from ...shared.libraries import is_c_library, is_cxx_runtime, is_interpreter
from ...stacks.debugger_threads import is_debuggers
from ...stacks.loops import with_loops
from ...stacks.merge import merge
from ...stacks.roles import is_base, rules_of
from ...stacks.task_frames import with_visible_frames
from ...symbols.address_space import Module
from ...symbols.objfile import Objfile
from ...symbols.source_lines import SourceLines
from ...symbols.torch.compiled_code import with_program_lines
from ..capture import Captured
from ..cpython.reader import PythonThreadState
from ..facts import Lock, ProcessReport, SystemCall, ThreadReport
from ..known import Code, Place
from ..linux.descriptors import describe_descriptor
from ..linux.procfs import ThreadFacts
from ..linux.system_calls import describe, descriptor_of
from ..unwind.unwinder import Unwinder, Unwound


def call_of(captured: Captured, facts: ThreadFacts) -> SystemCall | None:
    """None where it is in no call, and where that is not known."""
    registers = captured.registers.get(facts.tid)
    if registers is None:
        return None
    raw = registers.system_call
    if raw is None and facts.pc == registers.pc:  # AArch64, of a call that a stop ends
        raw = facts.system_call
    # It had not waited there: the stop met it on its way out of the call, which had been carried out. (What was
    # waiting may have a result too, of the part of its data that was written before the stop.)
    if registers.has_returned and raw != facts.system_call and not captured.is_core:
        raw = None
    if raw is None:
        return None
    name, _ = describe(registers.architecture, raw[0])
    number, sends = captured.polled.get(facts.tid, (descriptor_of(registers.architecture, raw), None))
    descriptor = None
    if number is not None and not captured.is_core:
        descriptor = describe_descriptor(captured.facts.pid, number, captured.descriptors.get(facts.tid))
    limit, sleep = captured.limits.get(facts.tid), captured.sleeps.get(facts.tid)
    return SystemCall(name, raw[1:], descriptor, sends, limit, sleep)


# A thread that waits for the GIL stands in one of these; only the C library's wait functions are called from them.
_GIL_WAITS = frozenset(
    {
        "take_gil",
        "PyEval_RestoreThread",
        "PyEval_AcquireThread",
        "PyGILState_Ensure",
        "_PyThreadState_Attach",
        "drop_gil",
    }
)
SIGNAL_FRAME = "<signal handler called>"  # gdb's words


class Assembler:
    """Makes the report of one captured process: :meth:`unwind` first, which still reads of it, then :meth:`report`."""

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self._unwound: dict[int, Unwound] | None = None
        self._lines: SourceLines | None = None
        self._lines_missing: list[str] = []
        self._learnt = learnt = captured.learnt
        if learnt.unwinder is None:
            learnt.unwinder = Unwinder(captured.memory, captured.modules, captured.is_code)
        self.unwinder = learnt.unwinder.of_moment(captured.memory, captured.is_code)
        if learnt.rules is None:
            holder_file = captured.interpreter.module if captured.interpreter is not None else None
            learnt.rules = rules_of((module.path for module in captured.modules), holder_file)
        self._rules = learnt.rules
        self._python = captured.states
        holders = captured.python.gil_holders if captured.python is not None else set()
        self._holders = {tid for tid, state in self._python.items() if state.is_among(holders)}

    def unwind(self) -> dict[int, Unwound]:
        """The native frames of each thread, by its id."""
        captured = self._captured
        if self._unwound is None:
            self._unwound = {
                facts.tid: self._unwind(facts.tid)
                for facts in captured.threads
                if facts.tid in captured.registers
            }
            if captured.stands_still:  # as yet, so that nothing of this was read late
                captured.memory.late_pages = 0
        return self._unwound

    def _unwind(self, tid: int) -> Unwound:
        rest = self._captured.rests.get(tid)
        if rest is not None and rest.unwound is not None:
            return rest.unwound
        unwound = self.unwinder.unwind(self._captured.registers[tid])
        if rest is not None:
            rest.unwound = unwound
        return unwound

    def report(self, lines: SourceLines | None = None) -> ProcessReport:
        """What the process does. ``lines`` looks up file and line of native frames; without, they have none."""
        captured, unwound = self._captured, self.unwind()
        self._lines = lines
        self._look_up_names(unwound)
        ours = [facts.tid for facts in captured.threads if self._is_debuggers(facts.tid)]
        shown = (facts for facts in captured.threads if facts.tid not in ours)
        threads = tuple(self._thread(facts, unwound.get(facts.tid)) for facts in shown)
        version = captured.python.layout.version if captured.python is not None else None
        return ProcessReport(
            pid=captured.facts.pid,
            parent=captured.facts.parent,
            command=captured.facts.command,
            label=captured.label,
            python=".".join(map(str, version)) if version else None,
            threads=threads,
            stopped=captured.seconds_stopped,
            torn=captured.seconds_stopped is None and not (captured.is_core or captured.stands_still),
            notes=(*self._notes(), *_left_out(len(ours))),
            tasks=with_visible_frames(captured.tasks, self._rules) if captured.tasks is not None else None,
            distributed=captured.distributed,
            world_size=captured.world_size,
            at=captured.at,
            forked_from=captured.forked_from,
        )

    def _is_debuggers(self, tid: int) -> bool:
        state = self._python.get(tid)
        return is_debuggers(self._captured.names.get(tid), state.frames if state is not None else ())

    def _notes(self) -> list[str]:
        captured = self._captured
        notes = [*self._lines_missing]
        if captured.interpreter is None:
            why = why_no_python(module.path for module in captured.modules)
            notes.append(f"{why}: native frames only")
        elif captured.python_trouble:
            notes.append(captured.python_trouble)
        elif captured.texts_trouble:
            notes.append(captured.texts_trouble)
        if captured.memory.late_pages:
            pages = captured.memory.late_pages
            read = f"{pages} page{'s were' if pages > 1 else ' was'} read after the process ran on"
            notes.append(f"{read}: what was read may not fit the rest")
        return notes

    # -- names -------------------------------------------------------------------------------------

    def _look_up_names(self, unwound: dict[int, Unwound]) -> None:
        """The function and the file of every frame; each library is asked once for all of its addresses."""
        known = self._learnt.code
        wanted: dict[int, list[Place]] = {}
        for pc, is_call in {
            (frame.pc, frame.is_call) for stack in unwound.values() for frame in stack.frames
        }:
            if (pc, is_call) in known:
                continue
            module = self.unwinder.module_at(pc)
            if module is not None and module.library is not None:
                wanted.setdefault(module.start, []).append((pc, is_call))
            else:
                known[pc, is_call] = Code(None, module.path if module is not None else None)
        modules = [module for start in wanted if (module := self.unwinder.module_at(start)) is not None]
        addresses = {
            module.start: {pc - is_call - module.bias for pc, is_call in wanted[module.start]}
            for module in modules
        }
        if self._lines is not None and modules:
            self._look_up_lines(self._lines, modules, addresses)
        for module in modules:
            assert module.library is not None
            symbols = module.library.symbols_at(addresses[module.start])
            for pc, is_call in wanted[module.start]:
                address = pc - is_call - module.bias
                symbol = symbols[address]
                known[pc, is_call] = Code(
                    symbol.short_name if symbol else None,
                    module.path,
                    symbol.language if symbol else None,
                    self._lines.at(module.library, address) if self._lines is not None else (),
                    module.bias,
                )

    def _look_up_lines(
        self, lines: SourceLines, modules: Sequence[Module], addresses: Mapping[int, set[int]]
    ) -> None:
        """``addresses``: link-time addresses by the start of a module."""
        places: dict[Objfile, set[int]] = {}
        for module in modules:
            assert module.library is not None
            if lines.are_read(module.library, module.path):
                places.setdefault(module.library, set()).update(addresses[module.start])
        self._lines_missing = lines.look_up(places)

    def _native(self, unwound: Unwound) -> list[NativeFrame]:
        frames: list[NativeFrame] = []
        for raw in unwound.frames:
            code = self._learnt.code[raw.pc, raw.is_call]
            offset = None if code.bias is None else raw.pc - code.bias
            function, library = code.function, code.library
            if raw.is_signal:
                function = SIGNAL_FRAME
            *inlined, own = code.lines or (None,)
            for place in inlined:
                assert place is not None
                frames.append(
                    NativeFrame(
                        len(frames),
                        raw.pc,
                        place.function,
                        library,
                        place.file,
                        place.line,
                        raw.sp,
                        inlined=True,
                        source_language=_language(place.file, code),
                        is_call=raw.is_call,
                        offset=offset,
                    )
                )
            file, line = (own.file, own.line) if own is not None else (None, None)
            if function is None and own is not None:
                function = own.function
            frames.append(
                NativeFrame(
                    len(frames),
                    raw.pc,
                    function,
                    library,
                    file,
                    line,
                    raw.sp,
                    source_language=_language(file, code),
                    is_call=raw.is_call,
                    offset=offset,
                )
            )
        return frames

    # -- threads -----------------------------------------------------------------------------------

    def _thread(self, facts: ThreadFacts, unwound: Unwound | None) -> ThreadReport:
        captured = self._captured
        state = self._python.get(facts.tid)
        stack, native = self._stack(facts, unwound, state)
        waits = waits_for_gil(native)
        call = call_of(captured, facts)
        has_gil = captured.python is not None and captured.python.layout.has_gil
        return ThreadReport(
            thread=Thread(
                tid=facts.tid,
                name=facts.name,
                python_name=captured.names.get(facts.tid),
                holds_gil=facts.tid in self._holders if has_gil else None,
                waits_for_gil=waits if captured.python is not None else None,
                state=None,
            ),
            stack=stack,
            state=facts.state,
            system_call=call,
            wait_channel=facts.wait_channel,
            cpu=facts.cpu,
            ready=facts.ready,
            sleeps=facts.sleeps,
            joins=captured.joins.get(facts.tid),
            daemon=captured.daemons.get(facts.tid),
            waits_for=_with_kind(captured.awaited.get(facts.tid), native),
            held_locks=captured.held.get(facts.tid, ()),
            locals=_locals_by_position(stack, captured.locals),
        )

    def _stack(
        self, facts: ThreadFacts, unwound: Unwound | None, state: PythonThreadState | None
    ) -> tuple[Stack, list[NativeFrame]]:
        """The stack of a thread, and its native frames alone."""
        python = list(state.frames) if state is not None else []
        trouble = self._trouble(facts, unwound, state)
        key = (facts.tid, tuple(unwound.frames) if unwound is not None else None, tuple(python), trouble)
        known = self._learnt.stacks.get(key)
        if known is not None:
            return known
        native = self._native(unwound) if unwound is not None else []
        if unwound is not None and unwound.never_returns and _begins_thread(native[-1]):
            trouble = None
        loops = [frame.loop for frame in python if frame.loop is not None]
        native = with_loops(native, loops)
        stack = with_program_lines(merge(facts.tid, native, python, self._rules, trouble))
        made = _without_c_library(_with_guesses(stack, unwound)), native
        self._learnt.keep(key, made)
        return made

    def _trouble(
        self, facts: ThreadFacts, unwound: Unwound | None, state: PythonThreadState | None
    ) -> str | None:
        if facts.tid in self._captured.stubborn:
            return (
                "the thread did not stop: it is in uninterruptible sleep (state D), so only Python is shown"
            )
        if unwound is None:
            return "the thread was running, so its native frames cannot be read without stopping it"
        if unwound.trouble:
            return unwound.trouble
        if state is not None and state.trouble:
            return state.trouble
        return None


def _language(file: str | None, code: Code) -> str | None:
    """What a frame is written in: that of its file, for functions of Rust may have names of C; else of its symbol."""
    return "rust" if file is not None and file.endswith(".rs") else code.language


def waits_for_gil(native: list[NativeFrame]) -> bool:
    """Whether a thread with these frames stands where the interpreter waits for the GIL."""
    called = None
    for frame in native:
        if is_c_library(frame.library):
            called = frame.function
            continue
        # Stripped: only for the GIL it waits like this.
        if frame.function is None and is_interpreter(frame.library or ""):
            return called is not None and called.startswith("pthread_cond_")
        return in_source(frame.function) in _GIL_WAITS and frame is not native[0]
    return False


def _with_kind(lock: Lock | None, native: list[NativeFrame]) -> Lock | None:
    """The lock; None for a futex word that is no mutex because the thread does not stand in pthread_mutex_lock."""
    if lock is None or lock.kind != "mutex":
        return lock
    names = [frame.function or "" for frame in native[:4]]
    return lock if any("pthread_mutex_" in name for name in names) else None


def _with_guesses(stack: Stack, unwound: Unwound | None) -> Stack:
    if unwound is None or stack.note is not None:
        return stack
    guessed = sum(frame.guessed for frame in unwound.frames)
    if not guessed:
        return stack
    note = f"{guessed} frames were found by the frame pointer alone: no unwind table covers their callees"
    return replace(stack, note=note)


def _begins_thread(frame: NativeFrame) -> bool:
    """Whether a frame that never returns, and has called something, is where the C library begins a thread.

    Others that do, as exit calls what it was given, are exported. The names are musl's, where it has debug info.
    """
    return is_c_library(frame.library) and frame.function in (None, "start", "libc_start_main_stage2")


def _without_c_library(stack: Stack) -> Stack:
    """Fold away the C library's inner functions and the functions in which a thread begins: every thread has them."""
    frames = tuple(
        replace(frame, role=Role.PLUMBING)
        if isinstance(frame, NativeFrame) and _is_inside_c_library(frame)
        else frame
        for frame in stack.frames
    )
    return replace(stack, frames=frames)


def _is_inside_c_library(frame: NativeFrame) -> bool:
    """True for functions that no program calls: without a name, or with one that the implementation keeps."""
    if frame.function is None:
        return is_cxx_runtime(frame.library)
    return is_c_library(frame.library) and (frame.function.startswith("__") or is_base(frame))


def _locals_by_position(
    stack: Stack, by_frame: dict[int, tuple[tuple[str, str], ...]]
) -> dict[int, tuple[tuple[str, str], ...]]:
    """``by_frame``: the address of a Python frame -> its variables."""
    return {
        position: by_frame[frame.address]
        for position, frame in enumerate(stack.frames)
        if isinstance(frame, PythonFrame) and frame.address in by_frame
    }


def _left_out(count: int) -> list[str]:
    """The program's threads are shown, as in a session."""
    return [f"{count} thread{'s' if count > 1 else ''} of the debugger left out"] if count else []
