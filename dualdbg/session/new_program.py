"""The process has replaced its program with another (exec): that one is debugged in the same session.

gdb stays attached, and stops before the first instruction of the new program. Where that is a Python, its environment
is changed there (``gdb_scripts/dualdbg_engine/new_program.py``), so that its ``site`` imports our bootstrap
(``target/bootstrap/sitecustomize.py``), which calls and waits. The earlier program need not have passed anything on.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ..backends.debugpy import DebugpyOptions
from ..errors import DualdbgError, TargetError
from ..known.python_files import other_python
from ..model import Notice, State
from ..shared.libraries import holds_interpreter
from ..shared.proc_files import read_status
from ..shared.python_command import read, without_site
from ..shared.python_versions import OLDEST, RANGE
from ..shared.requests.process import ReadEnvironmentVariable, SetEnvironment
from ..snapshot.cpython.reader import find_interpreter
from ..symbols.address_space import AddressSpace, root_of
from ..symbols.cache import cache_directory
from ..system.patience import patient
from ..target.calls import MeetingPoint
from ..target.launcher import BOOTSTRAP, SETTINGS, Launch, Meeting, check_view, settings_for
from ..target.peers import user_of
from .announcement import announce_start
from .as_launched import as_launched, command_of
from .breakpoints.python_names import PythonNames
from .breakpoints.table import BreakpointTable
from .engines import NativeEngine, PythonEngine
from .inspect.inspector import Inspector
from .loop import Loop

JOINED = "Python is debugged in the new program too"
_CALL_DEADLINE = patient(60.0)  # seconds from the start of a new interpreter until it calls
_ANSWER_DEADLINE = patient(24 * 3600.0)  # gdb may hold the target for as long as the user likes
_VERSION = re.compile(r"python(\d+)\.(\d+)")
_PYTHONPATH = "PYTHONPATH"


class NoPython(TargetError):
    """The program is another kind of program."""


class JoiningEngine(PythonEngine, Protocol):
    """A debugpy that a program may call."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read what the target says, until one side hangs up."""

    async def initialize(
        self, options: DebugpyOptions, session_token: str, target_token: str, deadline: float = ...
    ) -> None:
        """Everything before the breakpoints. Raises ProtocolError when the caller is not our target."""


class NewProgram:
    """Brings each program that a process replaces its program with into the session.

    ``asked`` is what is asked of debugpy, ``what`` how the first program was launched. Until :meth:`begin` the process
    is still starting, perhaps by a script that ends with an exec: its environment brings Python into the session then.
    """

    def __init__(
        self,
        loop: Loop,
        native: NativeEngine,
        python: JoiningEngine,
        breakpoints: BreakpointTable,
        inspector: Inspector,
        names: PythonNames,
        what: Launch,
        asked: DebugpyOptions,
    ) -> None:
        self._loop = loop
        self._native = native
        self._python = python
        self._breakpoints = breakpoints
        self._inspector = inspector
        self._names = names
        self._what = what
        self._asked = replace(asked, stop_on_entry=False)
        self._point: MeetingPoint | None = None
        self._begun = False
        self.brings_python = True  # debugpy into a new program's interpreter
        self.at_begin: list[Callable[[], None]] = []  # the program runs from then on
        # Each is called once, when the program that is there now is replaced.
        self.at_end_of_program: list[Callable[[], None]] = []

    def begin(self) -> None:
        """The program runs: from now on one that takes its place is another program."""
        self._begun = True
        for begins in self.at_begin:
            begins()

    def close(self) -> None:
        """Nobody can call any more."""
        if self._point is not None:
            self._point.close()

    async def take(self) -> None:
        """At gdb's stop before the first instruction of a new program."""
        if not self._begun or not self.brings_python:
            await self._breakpoints.program_replaced()
            return
        pid = self._loop.state.pid
        for end in self.at_end_of_program:
            end()
        self.at_end_of_program.clear()
        self.close()
        launched = replace(as_launched(pid), env=self._what.env)
        self._names.program_replaced(launched)
        self._breakpoints.python_replaced(_folders(launched))
        path = _executable_of(pid)
        is_interpreter = holds_interpreter(path)
        if is_interpreter:
            self._breakpoints.hold_back()
        await self._breakpoints.program_replaced()
        name = path
        try:
            name = " ".join(_shortened(command_of(pid))) or path
            self._check(pid, path)
            await self._arrange(pid, is_interpreter)
        except (DualdbgError, OSError) as error:
            why = error.message if isinstance(error, DualdbgError) else str(error)
            self._breakpoints.python_impossible(why)
            await self._breakpoints.release()
            told = f"the program replaced itself with another (exec), {name}: {why}"
            # It may be a shell on the way to one.
            level = "info" if isinstance(error, NoPython) else "warning"
            self._loop.tell(Notice(level, told, "native debugging goes on"))
            return
        self._loop.tell(Notice("info", f"the program replaced itself with another (exec), {name}"))

    # -- before its first instruction ---------------------------------------------------------------

    def _check(self, pid: int, path: str) -> None:
        """Raises TargetError for a program in which there will be no Python that could be debugged."""
        other = other_python([path])
        if other is not None:
            raise TargetError(f"it is {other}, and dualdbg debugs {RANGE}")
        if not _has_python(self._breakpoints.image, path):
            raise NoPython("it is no Python")
        if not holds_interpreter(path):
            return  # it has one within
        version = _VERSION.search(Path(path).name)
        if version is not None and (int(version[1]), int(version[2])) < OLDEST:
            raise TargetError(f"it is Python {version[1]}.{version[2]}, and dualdbg debugs {RANGE}")
        flag = without_site(read(command_of(pid)).options)
        if flag is not None:
            raise TargetError(f"the interpreter's option {flag} keeps the debugger out of Python")
        check_view(pid)

    async def _arrange(self, pid: int, is_interpreter: bool) -> None:
        """Let the Python of the new program call us."""
        self._point = point = MeetingPoint(self._python.serve)
        meeting = await point.open(pid=pid if root_of(pid) else None, user=user_of(pid))
        before = await self._native.ask(ReadEnvironmentVariable(_PYTHONPATH))
        settings = {
            **settings_for(meeting, cache_directory() / "pycache"),
            "host": not is_interpreter,
            "launcher": 0,
            "pid": int(read_status(f"/proc/{pid}/status").get("NSpid", str(pid)).split()[-1]),
            "joins": True,
            "empty_pythonpath": before == "",
        }
        folders = [one for one in (before or "").split(os.pathsep) if one]
        if folders[:1] != [str(BOOTSTRAP)]:  # of a program whose children are followed it is there
            folders.insert(0, str(BOOTSTRAP))
        values = {_PYTHONPATH: os.pathsep.join(folders), SETTINGS: json.dumps(settings)}
        await self._native.ask(SetEnvironment(values))
        replaced = asyncio.Event()
        self.at_end_of_program.append(replaced.set)
        self._loop.background(self._join(point, meeting, replaced, is_interpreter))

    # -- when its interpreter calls -----------------------------------------------------------------

    async def _join(
        self, point: MeetingPoint, meeting: Meeting, replaced: asyncio.Event, is_interpreter: bool
    ) -> None:
        ends = [asyncio.ensure_future(one.wait()) for one in (self._loop.ended, replaced)]
        waits: set[asyncio.Future[Any]] = {*ends, point.caller, point.failure}
        try:
            deadline = _CALL_DEADLINE if is_interpreter else None
            while not (await asyncio.wait(waits, timeout=deadline, return_when=asyncio.FIRST_COMPLETED))[0]:
                # A user who paused it may take their time.
                if self._loop.state.phase is not State.NATIVE_STOPPED:
                    await self._alone(f"its Python has not called within {_CALL_DEADLINE:g} s")
                    return
            if any(end.done() for end in ends):
                return
            if point.failure.done():
                await self._alone(
                    f"debugpy cannot be started in it: {point.failure.result().splitlines()[-1]}"
                )
                return
            await self._connect(meeting)
        except DualdbgError as error:
            if not (replaced.is_set() or self._loop.ended.is_set()):
                await self._alone(error.message)
        finally:
            for end in ends:
                end.cancel()
            point.close()

    async def _alone(self, why: str) -> None:
        """The new program runs on without a debugger for its Python."""
        self._breakpoints.python_impossible(why)
        await self._breakpoints.release()
        self._loop.tell(Notice("warning", f"the new program: {why}", "native debugging goes on"))

    async def _connect(self, meeting: Meeting) -> None:
        python = self._python
        tokens = meeting.session_token, meeting.target_token
        await python.initialize(self._asked, *tokens, _ANSWER_DEADLINE)
        await self._breakpoints.python_connected()
        announce_start(self._loop, python.python_version, self._native.version)
        self._loop.tell(Notice("info", JOINED))
        self._inspector.thread_list.program_begins()
        await self._breakpoints.release()
        await python.configuration_done()


def _has_python(image: AddressSpace, path: str) -> bool:
    """Whether a program that has just begun is an interpreter, or has one within, or needs libpython."""
    if holds_interpreter(path) or find_interpreter(image.modules) is not None:
        return True
    program = next((module.library for module in image.modules if module.path == path), None)
    return program is not None and any(name.startswith("libpython") for name in program.elf.needed)


def _executable_of(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def _folders(launched: Launch) -> tuple[Path, ...]:
    folder = Path(launched.cwd or "")
    return (folder, (folder / launched.script).parent) if launched.script is not None else (folder,)


_MOST_WORDS = 4


def _shortened(words: list[str]) -> list[str]:
    return [*words[:_MOST_WORDS], "…"] if len(words) > _MOST_WORDS else words
