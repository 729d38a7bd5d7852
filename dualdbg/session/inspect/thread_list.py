"""The threads of the target by number and name. It is cheap enough to be asked for at every stop."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from pathlib import Path, PurePath
from typing import Protocol

from ...backends import python as debugpy
from ...backends.native import AskingGdb
from ...errors import CommandError, DualdbgError, EngineTimeout
from ...known.short_names import short_function
from ...model import Frame, NativeFrame, PythonFrame, State, Tasks, Thread
from ...shared.requests.threads import ListThreads
from ...snapshot.cpython.held_process import PythonSide, PythonThread
from ...snapshot.linux.procfs import namespace_tids
from ...stacks.debugger_threads import is_debuggers
from ...stacks.task_frames import runs_event_loop, with_visible_frames
from ...system.patience import patient
from ..loop import Loop
from ..ports import Reads

# First the threads that made an attach, told once: threading has no entry for them that lasts as long as they do
# (dualdbg_attach.py). Then of every Python thread: OS thread id, name, pydevd's number, and whether it is one of
# pydevd's own. threading.enumerate hides those of pydevd (pydevd.py, "patch_threading"), the dictionary behind it does
# not. DAP's number of a thread belongs to pydevd's own name of it (pydevd_base_schema.py, _translate_id_to_dap).
# The value is a text, which comes whole: of a list with a hundred threads the answer has 60. A thread that begins is in
# threading's table only once it runs Python's code; until then "_limbo" has it, without a number.
_SCHEMA = "__import__('_pydevd_bundle._debug_adapter.pydevd_base_schema', None, None, ['x']).BaseSchema"
_OURS = "getattr(__import__('pydevd'), 'dualdbg_threads', [])"
_NAMES = (
    f"'%r' % (([{_OURS}.pop() for _ in {_OURS}[:]],"
    f" [(t.native_id, t.name, {_SCHEMA}._obj_id_to_dap_id.get(getattr(t, '__pydevd_id__', None)),"
    " bool(getattr(t, 'is_pydev_daemon_thread', False)))"
    " for t in list(__import__('pydevd').threading._active.values())],"
    " [bool(getattr(t, 'is_pydev_daemon_thread', False))"
    " for t in list(__import__('pydevd').threading._limbo.values())]),)"
)
_MOST = 80  # characters of a function's name
_AT_A_STOP = patient(20.0)  # seconds for debugpy to answer
# Seconds for a running program to say the names: one that holds the GIL in native code says nothing.
_WHILE_RUNNING = patient(2.0)


class NamedThreads(Reads, Protocol):
    """Knows threads by name, and by debugpy's number."""

    def thread_name(self, tid: int) -> str:
        """The system's name of a thread."""
        ...

    def learn_thread(self, number: int, tid: int) -> None:
        """debugpy's ``number`` is the OS thread ``tid``."""
        ...


class ThreadList:
    """Knows which threads are the debugger's own, and remembers the names that Python gave to the others."""

    def __init__(self, loop: Loop, native: AskingGdb, threads: NamedThreads) -> None:
        self._loop = loop
        self._native = native
        self._threads = threads
        self.frozen: Collection[int] = ()  # OS thread ids of the frozen ones: the Freezer's own set
        self._names: dict[int, str] = {}
        self._asked: set[int] = set()  # those that were there when the program was asked for names
        self._users: set[int] = set()  # those without a name, of which none can be the debugger's
        self._unclear: set[int] = (
            set()
        )  # those without a name, of which one is a thread of the debugger that begins
        self._beginning: set[int] = set()  # those that began with one of the debugger's when we attached
        self.ours: set[int] = set()  # OS thread ids

    def program_begins(self) -> None:
        """Called before the program's first line: every thread but the main one is the debugger's."""
        self.ours = self._numbers() - {self._loop.state.pid}

    def began_at_attach(self, tids: set[int]) -> None:
        """These threads have begun while a thread of the program ran the text that starts ours, and others ran too.

        A single one is ours. Which of several are ours shows in their frames and names; until they have some they are
        left out.
        """
        if len(tids) == 1:
            self.ours |= tids
        else:
            self._beginning |= tids

    def program_replaced(self) -> None:
        """The process runs another program, and has one thread."""
        self._names.clear()
        self._asked.clear()
        self._users.clear()
        self._unclear = set()
        self._beginning.clear()
        self.ours.clear()

    async def all(self) -> list[Thread]:
        """The threads of the program, the main one first. A process that has ended has none."""
        gil: dict[int, bool | None] = {}
        self._unclear = set()
        numbers = self._numbers()  # before the question, which starts threads of debugpy
        if self._loop.state.phase is State.PYTHON_STOPPED:
            hold = next(iter(self._loop.state.python_holds.values()), None)
            if hold is not None and hold.frames:
                await self._ask_until_clear(hold.frames[0].id)
        elif self._loop.state.phase is State.RUNNING:
            await self._ask_running_python()
        elif self._loop.state.phase is State.NATIVE_STOPPED:
            python = self._threads.reader.python_threads()
            for one in python:
                gil[one.tid] = one.holds_gil
                self._note_ours(one)
            self._unclear = self._still_beginning(python)
        there = self._numbers()
        self.ours &= there
        self._asked &= there
        self._users &= there
        rows = [
            Thread(tid, self._threads.thread_name(tid), self._names.get(tid), gil.get(tid))
            for tid in (numbers & there) - self.ours - self._unclear
        ]
        return sorted(rows, key=lambda thread: (thread.tid != self._loop.state.pid, thread.tid))

    async def described(self) -> list[Thread]:
        """Every thread with its names, the GIL, and what it does in one line. gdb holds the target."""
        from ...snapshot.report.assemble import waits_for_gil  # not needed to start

        reader = self._threads.reader
        python = {one.tid: one for one in reader.python_threads()}
        self._read_names(reader.python_side)
        for one in python.values():
            self._note_ours(one)
        left_out = self.ours | self._still_beginning(python.values())
        rows = []
        for number, tid in (await self._native.ask(ListThreads())).items():
            if tid in left_out:
                continue
            frames: Iterable[Frame] = (await self._threads.stack_while_held(tid)).visible()
            waits = waits_for_gil(await reader.native_frames(tid, number)) if tid in python else None
            if waits:  # how the interpreter waits is of no interest
                frames = (frame for frame in frames if isinstance(frame, PythonFrame))
            doing = next(map(one_line, frames), None)
            if tid in self.frozen:
                doing = f"{doing or '?'}, frozen"
            holds = python[tid].holds_gil if tid in python else None
            names = self._threads.thread_name(tid), self._names.get(tid)
            rows.append(Thread(tid, *names, holds, waits, doing))
        return rows

    async def tasks(self) -> Tasks:
        """The tasks of asyncio that are not done, read from memory. gdb holds the target."""
        reader = self._threads.reader
        return with_visible_frames(reader.python_side.tasks(), reader.rules)

    async def with_tasks(self) -> tuple[list[Thread], Tasks]:
        """What :meth:`described` gives, and the tasks of asyncio where a thread runs an event loop."""
        rows = await self.described()
        for row in rows:
            if runs_event_loop((await self._threads.stack_while_held(row.tid)).frames):
                return rows, await self.tasks()
        return rows, Tasks()

    def _read_names(self, side: PythonSide) -> None:
        self._names.setdefault(self._loop.state.pid, "MainThread")  # threading has this name for it
        try:
            self._names.update(side.names())
        except DualdbgError:
            return  # the interpreter cannot be read, perhaps not yet: the stacks say why
        self.ours.update(tid for tid, name in self._names.items() if is_debuggers(name, ()))

    def _note_ours(self, thread: PythonThread) -> None:
        if is_debuggers(self._names.get(thread.tid), thread.frames):
            self.ours.add(thread.tid)

    def _still_beginning(self, python: Iterable[PythonThread]) -> set[int]:
        """Those of which it is not known yet whose they are."""
        self._beginning -= {one.tid for one in python if one.frames}.union(self._names)
        return self._beginning

    def _numbers(self) -> set[int]:
        try:
            return {int(entry.name) for entry in Path(f"/proc/{self._loop.state.pid}/task").iterdir()}
        except OSError:
            return set()

    async def _ask_running_python(self) -> None:
        if self._unasked() and self._threads.hears_python:
            await self._ask_until_clear(None, _WHILE_RUNNING)

    def _unasked(self) -> set[int]:
        return self._numbers() - self.ours - self._asked

    async def _ask_until_clear(self, frame: int | None, seconds: float = _AT_A_STOP) -> None:
        """Asks for the names; once more where threads have none that were not asked about before.

        Threads of C have none, and neither has a thread of Python that begins or ends: it may be one of the debugger's.
        """
        if await self._ask_python(frame, seconds):
            await self._ask_python(frame, seconds)

    async def _ask_python(self, frame: int | None, seconds: float) -> set[int]:
        """Learns the names from debugpy, which without a frame answers in a thread of its own.

        Those that have no name, and were not asked about before.
        """
        numbers = self._numbers()
        question = debugpy.evaluate(_NAMES, frame, "clipboard")
        try:
            answer = await self._threads.ask(question, seconds)
            starters, rows, beginning = ast.literal_eval(str(ast.literal_eval(answer.text)))
        except (CommandError, EngineTimeout, ValueError, SyntaxError):
            self._asked |= numbers
            return set()  # a program may have replaced threading.enumerate; it has no names then
        outer, there = namespace_tids(self._loop.state.pid), self._numbers()
        self.ours.update(outer.get(inner, inner) for inner in starters)
        self._beginning.clear()  # what is ours among them has told so, or has a name
        named = {outer.get(inner, inner): (name, number, ours) for inner, name, number, ours in rows}
        # A forked child's main thread has, for a moment, the number that it had in the parent.
        of_the_parent = named.keys() - there
        for tid in named.keys() & there:
            name, number, ours = named[tid]
            self._names[tid] = name
            if ours:
                self.ours.add(tid)
            elif isinstance(number, int):
                self._threads.learn_thread(number, tid)
        nameless = numbers - named.keys() - self.ours - self._asked
        if any(beginning):
            self._unclear = nameless - self._users
        else:
            self._unclear = set()
            self._users |= nameless
        if of_the_parent:
            self._asked.clear()
        else:
            self._asked |= numbers - nameless if beginning else numbers
        return nameless


def one_line(frame: Frame) -> str:
    """What a thread does, by its innermost frame."""
    if isinstance(frame, NativeFrame):
        return short_function(frame.function, _MOST) if frame.function else f"{frame.pc:#x}"
    return f"{frame.function} at {PurePath(frame.file or '?').name}:{frame.line}"
