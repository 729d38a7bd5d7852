"""The threads of the target by number and name, cheap enough to be asked for at every stop."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ..errors import CommandError, DualdbgError
from ..model import Frame, NativeFrame, PythonFrame, State, Thread
from ..snapshot.procfs import namespace_tids
from ..snapshot.python_side import PythonSide

if TYPE_CHECKING:
    from .session import Session

# OS thread id, name, pydevd's number, and whether the thread is pydevd's own, of every Python thread.
# threading.enumerate hides pydevd's (pydevd.py, "patch_threading"), the dictionary behind it does not. The number of
# DAP belongs to pydevd's own name of the thread (pydevd_base_schema.py, _translate_id_to_dap).
_SCHEMA = "__import__('_pydevd_bundle._debug_adapter.pydevd_base_schema', None, None, ['x']).BaseSchema"
_NAMES = (
    f"[(t.native_id, t.name, {_SCHEMA}._obj_id_to_dap_id.get(getattr(t, '__pydevd_id__', None)),"
    " bool(getattr(t, 'is_pydev_daemon_thread', False)))"
    " for t in list(__import__('threading')._active.values())]"
)
_OURS = "pydevd."  # how debugpy's own threads are called


class ThreadList:
    """Knows which threads are the debugger's own, and remembers the names that Python gave the others."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._names: dict[int, str] = {}
        self.ours: set[int] = set()  # OS thread ids

    def program_begins(self) -> None:
        """Before the program's first line: every thread but the main one is the debugger's."""
        self.ours = self._numbers() - {self._session.pid}

    async def all(self) -> list[Thread]:
        """The program's threads, the main one first; an ended process has none."""
        session = self._session
        gil: dict[int, bool | None] = {}
        if session.state is State.PYTHON_STOPPED:
            await self._ask_python()
        elif session.state is State.NATIVE_STOPPED:
            for one in session.inspector.reader.python_threads():
                gil[one.tid] = one.holds_gil
        numbers = self._numbers()
        self.ours &= numbers
        rows = [
            Thread(tid, session.inspector.thread_name(tid), self._names.get(tid), gil.get(tid))
            for tid in numbers - self.ours
        ]
        return sorted(rows, key=lambda thread: (thread.tid != session.pid, thread.tid))

    async def described(self) -> list[Thread]:
        """Every thread with what it does, while gdb holds the target: its names, the GIL, one line."""
        from ..snapshot.assemble import waits_for_gil  # not needed to start

        session = self._session
        reader = session.inspector.reader
        python = {one.tid: one for one in reader.python_threads()}
        self._read_names(reader.python_side)
        rows = []
        for number, tid in (await session.native.threads()).items():
            if tid in self.ours:
                continue
            frames: Iterable[Frame] = (await session.inspector.stack_while_held(tid)).visible()
            waits = waits_for_gil(await reader.native_frames(number)) if tid in python else None
            if waits:  # how it waits is the interpreter's business
                frames = (frame for frame in frames if isinstance(frame, PythonFrame))
            doing = next(map(one_line, frames), None)
            if tid in session.freezer.frozen:
                doing = f"{doing or '?'}, frozen"
            holds = python[tid].holds_gil if tid in python else None
            names = session.inspector.thread_name(tid), self._names.get(tid)
            rows.append(Thread(tid, *names, holds, waits, doing))
        return rows

    def _read_names(self, side: PythonSide) -> None:
        self._names.setdefault(self._session.pid, "MainThread")  # threading's name of it
        try:
            self._names.update(side.names())
        except DualdbgError:
            return  # no interpreter yet, or none that can be read: the stacks say why
        self.ours.update(tid for tid, name in self._names.items() if name.startswith(_OURS))

    def _numbers(self) -> set[int]:
        try:
            return {int(entry.name) for entry in Path(f"/proc/{self._session.pid}/task").iterdir()}
        except OSError:
            return set()

    async def _ask_python(self) -> None:
        hold = next(iter(self._session.python_holds.values()), None)
        if hold is None or not hold.frames:
            return
        arguments = {"expression": _NAMES, "frameId": hold.frames[0]["id"], "context": "clipboard"}
        try:
            answer = await self._session.inspector.ask("evaluate", arguments)
            rows = ast.literal_eval(str(answer["result"]))
        except (CommandError, ValueError, SyntaxError):
            return  # names are a courtesy: a program may have replaced threading.enumerate
        outer = namespace_tids(self._session.pid)
        for inner, name, number, ours in rows:
            tid = outer.get(inner, inner)
            self._names[tid] = name
            if ours:
                self.ours.add(tid)
            elif isinstance(number, int):
                self._session.inspector.learn_thread(number, tid)


def one_line(frame: Frame) -> str:
    """What a thread is doing, by its innermost frame."""
    if isinstance(frame, NativeFrame):
        return frame.function or f"{frame.pc:#x}"
    return f"{frame.function} at {PurePath(frame.file or '?').name}:{frame.line}"
