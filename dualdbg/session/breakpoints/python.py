"""The Python half of the breakpoint table. debugpy takes all breakpoints of a file, or all filters, at once."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...backends import events as engine
from ...backends import python
from ...backends.python import BreakpointAnswer
from ...errors import CommandError, WrongState
from ...known.python_files import is_of_a_library
from ...model import SUFFIX_FIELDS, BreakpointKind, BreakpointSpec, BreakpointState, Location
from ...symbols.callables.python_functions import FunctionDefinition, NoFunction
from ...system.folders import expanded
from ...system.in_thread import in_thread
from ...system.patience import patient
from ...system.source_files import file_at, last_components, read_regular
from ...system.waiting import first_of
from ..engines import PythonEngine
from .exception_filters import exception_arguments
from .python_wanted import (
    Message,
    Wanted,
    filter_of,
    is_builtin,
    names_of_module,
    place_of,
    rows_of,
    settle,
)

FindFunction = Callable[[str], FunctionDefinition | NoFunction]

# What justMyCode leaves out: pydevd_filtering.py, FilesFiltering; the standard library and installed packages.
_PASSED_OVER = "library code, where Python does not stop: dualdbg run --all-code does"
_LATER = "takes effect when the program goes on"
_NO_CONTROL = "waits for Python control"
_NEITHER = "waits for its code to be loaded, or for Python control"
_SUSPENDS = (
    "before Python 3.12 debugpy does not stop at a coroutine or generator by its bare name; there is one"
)
_UNSEEN = "no function of that name was found; it stops when one is called"
_FILES = "dualdbgFiles"  # an argument that DAP does not have: dualdbg_loaded.py
# Seconds for debugpy to take breakpoints; a slower answer still counts when it comes.
_DEADLINE = patient(20.0)


class PythonBreakpoints:
    """Breakpoints on lines, functions and exceptions, and how debugpy is told of them."""

    def __init__(
        self,
        python: PythonEngine,
        folders: tuple[Path, ...],
        mute: asyncio.Event,
        find: FindFunction,
        just_my_code: bool = True,
    ) -> None:
        self._just_my_code = just_my_code
        self.script: str | None = None  # the file that the program runs, links resolved
        self._find = find
        self._python = python
        self._mute = mute
        self._folders = folders
        self._wanted: dict[int, Wanted] = {}
        self._filters: tuple[str, ...] = ()  # the choice of an editor, besides the breakpoints of the table
        self._options: tuple[dict[str, Any], ...] = ()
        self._ready = False
        self._attaching = False
        self.why_out_of_reach: str | None = None  # why there will be no debugpy
        self.were_in_reach = False  # there has been a debugpy, perhaps in a program before exec
        # Is called with the breakpoints about which debugpy answered late.
        self.settled_late: Callable[[list[int]], None] = lambda ids: None
        # Numbers of messages. They are greater than those of an earlier session.
        self._said = self._heard = time.time_ns()
        self._all_heard = asyncio.Event()
        self._all_heard.set()

    async def add(self, id: int, spec: BreakpointSpec) -> None:
        """Find the file or the function of a new breakpoint, and tell debugpy."""
        wanted = self._wanted[id] = Wanted(id, spec, None, line=spec.line)
        if spec.kind is BreakpointKind.PYTHON_LINE:
            self._find_file(wanted)
        if spec.kind is BreakpointKind.PYTHON_FUNCTION:
            self._place(wanted, await in_thread(self._find, spec.subject))
        if self._wanted.get(id) is wanted:
            await self._send(wanted)

    def _find_file(self, wanted: Wanted) -> None:
        spec = wanted.spec
        wanted.state, wanted.message = BreakpointState.PENDING, None
        wanted.file = self._resolve(spec.subject)
        if wanted.file is None:
            looked = ", ".join(str(folder) for folder in self._folders)
            wanted.message = f"there is no file {spec.subject} (looked in {looked})"
            if expanded(spec.subject).is_absolute():
                wanted.state = BreakpointState.REJECTED
            else:
                wanted.awaits = {last_components(spec.subject): ""}
        elif spec.line is not None and spec.line > (count := _lines_of(wanted.file)):
            wanted.state = BreakpointState.REJECTED
            wanted.message = f"{spec.subject} has {count} lines"
            wanted.file = None
        else:
            self._await(wanted, wanted.file)

    async def add_namesake(self, id: int, spec: BreakpointSpec, also_unseen: bool) -> bool:
        """Let a breakpoint of the native half stop in Python too, in the function of its name that ``spec`` asks for.

        Returns whether there is one. ``also_unseen``: one that is only made at run time counts.
        """
        place = await in_thread(self._find, spec.subject)
        wanted = Wanted(id, spec, None)
        self._place(wanted, place)
        if not (wanted.known or (also_unseen and "." not in spec.subject)):
            return False
        self._wanted[id] = wanted
        await self._send(wanted)
        return True

    def _place(self, wanted: Wanted, place: FunctionDefinition | NoFunction) -> None:
        """Note the function that is meant.

        debugpy knows functions by their bare names only: which one is meant becomes a part of the condition. Before
        Python 3.12 it does not stop at coroutines and generators: they are told by the line where they begin.
        """
        wanted.file = wanted.line = None
        wanted.awaits = {}
        if isinstance(place, FunctionDefinition):
            wanted.place_at(place)
            self._await(wanted, place.file)
            if self._just_my_code and is_of_a_library(place.file):
                wanted.note = _PASSED_OVER
            return
        wanted.may_be_native = place.module is not None
        # debugpy says of any name that it will stop there.
        wanted.elsewhere = place.elsewhere
        wanted.known = place.elsewhere is not None and not place.suspends
        if "." in wanted.spec.subject:
            wanted.message = place.why
            if place.module is None:
                wanted.awaits = names_of_module(wanted.spec.subject)
            return
        wanted.note = _UNSEEN
        if place.elsewhere is not None:
            wanted.note = _SUSPENDS if place.suspends else "every function of that name; there is one"
            wanted.note += f" in {place.elsewhere}"

    def _await(self, wanted: Wanted, file: str) -> None:
        """It stops once the program runs code of the file; its script is run in any case."""
        file = os.path.realpath(file)
        wanted.awaits = {} if file == self.script else {file: ""}

    def has(self, id: int) -> bool:
        """Whether the breakpoint of this number means something in Python."""
        return id in self._wanted

    def is_unseen(self, id: int) -> bool:
        """Whether nothing in Python has the name of the breakpoint, as far as source tells."""
        return id in self._wanted and not self._wanted[id].known

    def written_in(self, id: int) -> str | None:
        """The file with the function of the breakpoint's name; None where there is none or it is not known."""
        wanted = self._wanted.get(id)
        if wanted is None or not wanted.known:
            return None
        return wanted.place.file if wanted.place is not None else wanted.elsewhere

    def never_loaded(self, id: int) -> bool:
        """Whether the program has run no code of the breakpoint's file, as far as debugpy has seen."""
        wanted = self._wanted.get(id)
        is_file = wanted is not None and "" in wanted.awaits.values()
        return self._ready and is_file

    def may_be_native(self, id: int) -> bool:
        """Whether the module of a function breakpoint was found, but no Python code of that name in it."""
        return id in self._wanted and self._wanted[id].may_be_native

    async def place_again(self, id: int, name: str) -> None:
        """Look for the function by another name, which it has in the module that defines it."""
        wanted = self._wanted[id]
        self._place(wanted, await in_thread(self._find, name))
        if self._wanted.get(id) is wanted:
            await self._send(wanted)

    def was_hit(self, id: int) -> None:
        """It has stopped the program: whatever it names is there."""
        wanted = self._wanted[id]
        if not wanted.known or wanted.awaits:
            wanted.known, wanted.note, wanted.message = True, None, None
            wanted.awaits.clear()
            settle(wanted, BreakpointAnswer(True))

    def wait_for_control(self) -> None:
        """debugpy comes once the process that was attached to can run it."""
        self._attaching = True

    def program_replaced(self, folders: tuple[Path, ...]) -> None:
        """The process runs another program (exec), and has no debugpy yet.

        ``folders`` are further ones where a bare file name is looked for.
        """
        self._folders = tuple(dict.fromkeys([*self._folders, *folders]))
        self._ready = False
        self._attaching = True
        self.why_out_of_reach = None
        self._heard = self._said
        self._all_heard.set()
        for wanted in self._wanted.values():
            wanted.debugpy_id, wanted.line = None, wanted.spec.line
            wanted.debugpy_ids.clear()
            if wanted.state is BreakpointState.VERIFIED:
                wanted.state, wanted.location, wanted.message = BreakpointState.PENDING, None, None
            elif wanted.spec.kind is BreakpointKind.PYTHON_LINE and wanted.file is None:
                self._find_file(wanted)

    def out_of_reach(self, why: str) -> None:
        """There will be no debugpy: no Python breakpoint can stop."""
        self.why_out_of_reach = why

    def reject(self, id: int, message: str) -> None:
        """There is nothing in Python to stop at, as it turned out."""
        self._wanted[id].state = BreakpointState.REJECTED
        self._wanted[id].message = message

    async def remove(self, id: int, wait: bool = True) -> None:
        """Remove a breakpoint, and tell debugpy, which answers nothing while gdb holds the target: ``wait`` for it."""
        await self._send(self._wanted.pop(id), wait)

    async def enable(self, id: int, enabled: bool) -> None:
        """Switch a breakpoint on or off, and tell debugpy."""
        self._wanted[id].enabled = enabled
        await self._send(self._wanted[id])

    async def change(self, id: int, spec: BreakpointSpec, recount: bool) -> None:
        """Give a breakpoint other suffixes, and tell debugpy. ``recount``: its hits count from now on."""
        wanted = self._wanted[id]
        wanted.spec = replace(wanted.spec, **{name: getattr(spec, name) for name in SUFFIX_FIELDS})
        wanted.turn += recount
        await self._send(wanted)

    async def place_all(self) -> None:
        """The program is another one: its functions are looked for."""
        for wanted in list(self._wanted.values()):
            if wanted.spec.kind is BreakpointKind.PYTHON_FUNCTION:
                wanted.place = wanted.location = None
                wanted.note = wanted.message = None
                self._place(wanted, await in_thread(self._find, wanted.spec.subject))

    async def send_all(self) -> None:
        """debugpy is initialized and takes breakpoints: tell it all of them."""
        self._ready = self.were_in_reach = True
        for wanted in _one_a_group(list(self._wanted.values())):
            await self._send(wanted)
        kinds = (BreakpointKind.RAISE, BreakpointKind.UNCAUGHT)
        told = any(wanted.spec.kind in kinds for wanted in self._wanted.values())
        if (self._filters or self._options) and not told and self._python.connected:
            await self._tell(self._exceptions())

    def changed(self, event: engine.PythonBreakpoint | engine.PythonFileLoaded) -> list[int]:
        """debugpy changed a breakpoint, or a file was loaded. Returns the user's numbers of those that changed."""
        if isinstance(event, engine.PythonFileLoaded):
            return self._file_loaded(event)
        changed = [wanted for wanted in self._wanted.values() if wanted.debugpy_id == event.debugpy_id]
        for wanted in changed:
            settle(wanted, event.now)
        again = self._moved_together(changed)
        if again is not None:
            self._post(again)
        return [wanted.id for wanted in changed]

    def _file_loaded(self, event: engine.PythonFileLoaded) -> list[int]:
        waiting = [one for one in self._wanted.values() if event.name in one.awaits]
        is_whole = event.name.startswith("/")
        if not is_whole and self._just_my_code and is_of_a_library(event.path):
            waiting = []  # a library has a file of this name, in which Python does not stop
        told = []
        for wanted in waiting:
            if not event.is_it:
                if wanted.instead is None or is_of_a_library(wanted.instead):
                    wanted.instead = event.path
            elif wanted.file_loaded(event.name, event.path):
                told.append(wanted)
        for wanted in _one_a_group(told):
            message = _message_of(wanted)(self, wanted)
            if message is not None:
                self._post(message, lambda heard: self.settled_late([one.id for one in told]))
        if event.is_it and not is_whole:  # the program waits
            arguments = {"source": {"path": event.name}, "breakpoints": [], "dualdbgAnswers": [event.path]}
            self._post(Message("setBreakpoints", arguments, []))
        return [one.id for one in waiting if one not in told]

    def owners(self, debugpy_ids: tuple[int, ...]) -> list[int]:
        """The user's enabled breakpoints behind those of debugpy."""
        enabled = (one for one in self._wanted.values() if one.enabled)
        return [one.id for one in enabled if not one.debugpy_ids.isdisjoint(debugpy_ids)]

    def editor_wants(self, mode: str) -> bool:
        """Whether an editor's own choice of exceptions covers this mode (always, unhandled)."""
        names = {"always": "raised", "unhandled": "uncaught"}
        return bool(self._options) or names[mode] in self._filters or "userUnhandled" in self._filters

    def exception_owners(self) -> list[int]:
        """The user's enabled breakpoints on exceptions."""
        kinds = (BreakpointKind.RAISE, BreakpointKind.UNCAUGHT)
        return [one.id for one in self._wanted.values() if one.spec.kind in kinds and one.enabled]

    def state(self, id: int) -> tuple[BreakpointState, tuple[Location, ...], str | None]:
        """Whether it is bound, where, and what there is to say of it."""
        wanted = self._wanted[id]
        locations = (wanted.location,) if wanted.location is not None and not wanted.awaits else ()
        state, message = wanted.state, wanted.message
        if state is BreakpointState.PENDING and self.why_out_of_reach is not None:
            return BreakpointState.REJECTED, (), self.why_out_of_reach
        if state is BreakpointState.PENDING and self._attaching and not self._ready:
            message = message or _NO_CONTROL
        if wanted.awaits and wanted.instead is not None:
            message = message or f"the program has imported {wanted.instead}"
        return state, locations, message

    async def answered(self) -> None:
        """Wait until debugpy has answered all that it was told. Raises WrongState when gdb stops the target first.

        A thread may arrive at a breakpoint before debugpy has answered, and its answer says which one that is.
        """
        await first_of(self._all_heard.wait(), self._mute.wait())
        if not self._all_heard.is_set():
            raise WrongState("a native stop came before debugpy's answer", "type continue to let it go on")

    @property
    def unheard(self) -> int | None:
        """The number of the latest message, while debugpy has not answered it; else None.

        A message that is sent while gdb holds the target is answered when the target runs again.
        """
        return self._said if self._heard < self._said else None

    def _resolve(self, name: str) -> str | None:
        return file_at(name, self._folders)

    async def _send(self, changed: Wanted, wait: bool = True) -> None:
        """Tell debugpy. It is mute while gdb holds the target, and reads the message when that runs again."""
        if not (self._ready and self._python.connected):
            return
        message = _message_of(changed)(self, changed)
        if message is not None:
            await self._tell(message, wait)

    async def set_filters(self, filters: tuple[str, ...], options: tuple[dict[str, Any], ...]) -> None:
        """An editor's own choice of exceptions: filters (raised, uncaught, userUnhandled) and ExceptionOptions."""
        self._filters, self._options = filters, options
        if self._ready and self._python.connected:
            await self._tell(self._exceptions())

    async def _tell(self, message: Message, wait: bool = True) -> None:
        settled = asyncio.Event()
        waited = False

        def settle(heard: bool) -> None:
            settled.set()
            if waited and heard:
                self.settled_late([one.id for one in itertools.chain(*message.group)])

        self._post(message, settle)
        if wait:
            await first_of(settled.wait(), self._mute.wait(), seconds=_DEADLINE)
        waited = True
        if not settled.is_set() and self._mute.is_set():
            for wanted in itertools.chain(*message.group):
                if wanted.state is BreakpointState.PENDING and wanted.message is None:
                    wanted.message = _LATER

    def _post(self, message: Message, settled: Callable[[bool], None] = lambda heard: None) -> None:
        """Send a message. ``settled`` is called at the end, with whether debugpy has taken it."""
        self._said = number = self._said + 1
        self._all_heard.clear()

        def heard() -> None:
            self._heard = number
            if self.unheard is None:
                self._all_heard.set()

        def refused(error: CommandError) -> None:
            heard()
            settled(False)

        def settle(answer: tuple[BreakpointAnswer, ...] | None) -> None:
            message.settle(answer)
            again = self._moved_together(list(itertools.chain(*message.group)))
            if again is None:
                heard()
                settled(True)
            else:
                self._post(again, settled)

        def lost() -> None:
            self._all_heard.set()
            settled(False)

        # ``dualdbg``: see Heard in dualdbg_probe.py
        arguments = {**message.arguments, "dualdbg": number}
        self._python.post(python.set_breakpoints(message.command, arguments), refused, settle, lost)

    def _moved_together(self, settled: list[Wanted]) -> Message | None:
        """What to tell debugpy when it has moved several breakpoints to one line: it stops there for one of them only.

        None when it has not.
        """
        again = None
        for place in dict.fromkeys(map(place_of, settled)):
            here = [one for one in self._wanted.values() if one.enabled and place_of(one) == place]
            if place is not None and len({one.line for one in here}) > 1:
                again = here[0]
                for one in here:
                    one.line = place[1]
        return self._lines(again) if again is not None else None

    def _lines(self, changed: Wanted) -> Message | None:
        if changed.file is None:
            files = _awaited([w for w in self._wanted.values() if w.file is None])
            arguments = {"source": {"path": files[0]}, "breakpoints": [], _FILES: files} if files else {}
            return Message("setBreakpoints", arguments, []) if files else None
        group = [w for w in self._wanted.values() if w.file == changed.file and w.enabled]
        rows, owners = rows_of(group, "line", [w.line for w in group])
        source = {"path": changed.file, "name": Path(changed.file).name}
        return Message(
            "setBreakpoints", {"source": source, "breakpoints": rows, _FILES: _awaited(group)}, owners
        )

    def _functions(self, changed: Wanted) -> Message:
        """What debugpy is told of function breakpoints.

        A bare name that no source has means every function of that name that is made at run time.
        """
        kind = BreakpointKind.PYTHON_FUNCTION
        group = [w for w in self._wanted.values() if w.spec.kind is kind and w.enabled]
        files = _awaited(group)
        group = [w for w in group if w.file is None]
        group = [w for w in group if w.place is not None or "." not in w.spec.subject]
        names = [w.place.name if w.place is not None else w.spec.subject for w in group]
        rows, owners = rows_of(group, "name", names)
        return Message("setFunctionBreakpoints", {"breakpoints": rows, _FILES: files}, owners)

    def _exceptions(self, changed: Wanted | None = None) -> Message:
        kinds = (BreakpointKind.RAISE, BreakpointKind.UNCAUGHT)
        group = [w for w in self._wanted.values() if w.spec.kind in kinds and w.enabled]
        filters = [*self._filters, *(filter_of(wanted.spec) for wanted in group)]
        names = [wanted.spec.subject for wanted in group if is_builtin(wanted.spec.subject)]
        arguments = exception_arguments(filters, names, self._options)
        return Message("setExceptionBreakpoints", arguments, [[one] for one in group])


_MESSAGES = {
    BreakpointKind.PYTHON_LINE: PythonBreakpoints._lines,
    BreakpointKind.PYTHON_FUNCTION: PythonBreakpoints._functions,
    BreakpointKind.RAISE: PythonBreakpoints._exceptions,
    BreakpointKind.UNCAUGHT: PythonBreakpoints._exceptions,
}


def _message_of(wanted: Wanted) -> Callable[[PythonBreakpoints, Wanted], Message | None]:
    """How debugpy is told of the breakpoint. What has a file stops at a line, whatever it names."""
    return PythonBreakpoints._lines if wanted.file is not None else _MESSAGES[wanted.spec.kind]


def message_of(messages: list[str | None]) -> str | None:
    """What a breakpoint says, by the messages of its halves: a native one that waits has none."""
    if None in messages and _NO_CONTROL in messages:
        return _NEITHER
    return next((text for text in messages if text), None)


def _awaited(group: list[Wanted]) -> list[str]:
    """The names of the files whose code they wait for."""
    return list(dict.fromkeys(name for one in group for name in one.awaits))


def _lines_of(file: str) -> int:
    try:
        return len(read_regular(file).splitlines())
    except OSError:
        return sys.maxsize  # not known: debugpy decides


def _one_a_group(wanted: list[Wanted]) -> list[Wanted]:
    """One breakpoint for each group that is sent as a whole: a file, the functions, the exceptions."""
    groups = {(_message_of(one), one.file): one for one in wanted}
    return list(groups.values())
