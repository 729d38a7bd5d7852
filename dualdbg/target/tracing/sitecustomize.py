"""Runs in a traced program, before it: counts calls of Python functions and lines, and takes them down.

The launcher of a trace puts this folder first in PYTHONPATH. It leaves nothing behind but what listens: from
CPython 3.12 on that of sys.monitoring, before that a trace function. The memory is that of dualdbg/probes/recording.py,
with one ring, and times of the raw monotonic clock, which the tracer knows in ticks of the processor. CPython 3.8 and
later.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from _thread import allocate_lock, get_native_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, Optional, Tuple

SETTINGS = (
    "DUALDBG_TRACE"  # the environment variable with what is to be done (dualdbg/trace/python_probes.py)
)
_HERE = os.path.dirname(os.path.abspath(__file__))
_TOOLS = (4, 3, 5)
_RETURN_VALUE, _RESUME = 83, 151  # up to CPython 3.11 (opcode.py)
_PAUSES = 0x2A0  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR (inspect.py)
_RECORD = "=QIIQQQ6Q"  # what follows the number of a record: recording.py
_ENDED = (
    "counting ended in a thread before the thread did: a signal handler or the limit of recursion has raised an "
    "exception in what counts (CPython before 3.12), or the program has set a trace function"
)


class File:
    """What is wanted in a file: ``functions`` by first line and name, and ``lines``; each with its numbers."""

    def __init__(self) -> None:
        self.functions: "Dict[Tuple[int, str], Tuple[int, int]]" = {}
        self.lines: "Dict[int, int]" = {}


def _imported(name: str, *folders: str) -> "Any":
    """A module of the folders or the standard library, and none of the user's that has its name."""
    before, path = set(sys.modules), sys.path
    library = os.path.dirname(os.path.abspath(os.__file__))
    sys.path = [*folders, library, os.path.join(library, "lib-dynload")]
    try:
        return __import__(name)
    finally:
        sys.path = path
        # The program imports its own, and may have another one of that name.
        for one in set(sys.modules) - before:
            del sys.modules[one]
        for folder in folders:
            sys.path_importer_cache.pop(folder, None)


def _mapped(mmap: "Any", path: str, size: int) -> "Any":
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


class Recorder:
    """Writes hits to the memory; ``settings`` say where its parts are."""

    def __init__(self, settings: "Dict[str, Any]") -> None:
        mmap = _imported("mmap")
        self.times: bool = settings["times"]
        self._memory = _mapped(mmap, settings["memory"], settings["size"])
        self._words = memoryview(self._memory).cast("Q")
        self._counters: int = settings["counters"] // 8
        self._records: int = settings["records"]
        self._head, self._tail = settings["head"] // 8, settings["tail"] // 8
        self._capacity: int = settings["capacity"]
        self._size: int = settings["record"]
        self._count = 0
        self._told = _mapped(mmap, settings["told"], settings["told_size"])
        self._told_length = 8
        self._lock, self._naming = allocate_lock(), allocate_lock()
        self._sites: "Dict[Tuple[str, str, int], int]" = {}
        self._began: "Dict[int, Tuple[int, int]]" = {}  # by number of the frame: its time, its site
        self._names = "co_qualname" if sys.version_info >= (3, 11) else "co_name"
        self._time, self._clock, self._thread = time.clock_gettime_ns, time.CLOCK_MONOTONIC_RAW, get_native_id
        self._pack = _imported("struct").Struct(_RECORD).pack_into
        self._getattr = getattr

    def tell(self, what: "Dict[str, Any]") -> bool:
        """Say something to who reads the trace. Returns whether there was room for it."""
        line = (ascii(what) + "\n").encode()
        end = self._told_length + len(line)
        if end > len(self._told):
            return False
        self._told[self._told_length : end] = line
        self._told_length = end
        self._told[:8] = end.to_bytes(8, "little")
        return True

    def call(self, frame: "FrameType", numbers: "Tuple[int, int]") -> None:
        """A function begins; ``numbers`` are those of its probe and of that of its returns."""
        now, site = self.hit(frame, numbers[0])
        if self.times:
            self._began[id(frame)] = now, site

    def end(self, frame: "FrameType", numbers: "Tuple[int, int]") -> None:
        """It returns. What an exception has left behind, the next call with the same number writes over."""
        found = self._began.pop(id(frame), None)
        if found is not None:
            now = self._time(self._clock)
            self._take_down(numbers[1], found[0], found[1], now - found[0])

    def hit(self, frame: "FrameType", probe: int) -> "Tuple[int, int]":
        """Something is met in a frame. Returns the time, and the number of the place of its caller."""
        now = self._time(self._clock)
        site = 0
        if self._capacity:
            caller = frame.f_back
            if caller is not None:
                code = caller.f_code
                key = (code.co_filename, self._getattr(code, self._names), caller.f_lineno or 0)
                site = self._sites.get(key, 0) or self._new_site(key)
        self._take_down(probe, now, site, None)
        return now, site

    def _new_site(self, key: "Tuple[str, str, int]") -> int:
        with self._naming:
            site = self._sites.get(key)
            if site is None:
                site = len(self._sites) + 1
                if not self.tell({"site": site, "file": key[0], "function": key[1], "line": key[2]}):
                    return 0
                self._sites[key] = site
            return site

    def _take_down(self, probe: int, when: int, site: int, lasted: "Optional[int]") -> None:
        thread = self._thread() if self._capacity else 0
        words = self._words
        with self._lock:
            words[self._counters + probe] += 1
            if lasted is not None:
                words[self._counters + probe + 1] += lasted
            head = self._count
            if head - words[self._tail] >= self._capacity:
                return
            at = self._records + head % self._capacity * self._size
            self._pack(self._memory, at + 8, when, thread, probe, 0, site, 0, 0, 0, 0, 0, 0, lasted or 0)
            words[at // 8] = self._count = head + 1
            words[self._head] = head + 1


class Tracer:
    """Knows which code is of interest, by its file."""

    def __init__(self, recorder: Recorder, probes: "list[Dict[str, Any]]") -> None:
        self.recorder = recorder
        self._wanted: "Dict[str, File]" = {}
        self._files: "Dict[str, Optional[File]]" = {}
        self.is_over = False
        for probe in probes:
            file = self._wanted.setdefault(probe["file"], File())
            if probe["name"] is None:
                file.lines[probe["line"]] = probe["probe"]
            else:
                file.functions[probe["line"], probe["name"]] = (probe["probe"], probe["returns"])
        self._realpath, self._getattr = os.path.realpath, getattr

    def file_of(self, code: "CodeType") -> "Optional[File]":
        """What is wanted in its file."""
        name = code.co_filename
        try:
            return self._files[name]
        except KeyError:
            path: Any = name
            if name.startswith("<frozen "):
                path = self._getattr(sys.modules.get(name[8:-1]), "__file__", None)
                if path is None:
                    return None  # it may be known later
            found = self._files[name] = self._wanted.get(self._realpath(path))
            return found

    def numbers_of(self, code: "CodeType", file: File) -> "Optional[Tuple[int, int]]":
        """Those of the probes of a function."""
        return file.functions.get((code.co_firstlineno, code.co_name))


def _line_numbers(code: "CodeType") -> "set[int]":
    if sys.version_info >= (3, 10):
        return {line for _, _, line in code.co_lines() if line is not None}
    import dis

    return {line for _, line in dis.findlinestarts(code)}


class Monitor(Tracer):
    """By sys.monitoring, of CPython 3.12 and later: code that is of no interest costs one look."""

    def begin(self) -> None:
        """Listen."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        tool = next(number for number in _TOOLS if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "dualdbg trace")
        self._monitoring, self._tool = monitoring, tool
        self._disable, self._events, self._frame = monitoring.DISABLE, monitoring.events, sys._getframe
        events = self._events
        self._local = events.PY_RETURN if self.recorder.times else 0
        monitoring.register_callback(tool, events.PY_START, self._start)
        monitoring.register_callback(tool, events.PY_RETURN, self._return)
        monitoring.register_callback(tool, events.LINE, self._line)
        monitoring.register_callback(tool, events.JUMP, self._jump)
        self._jumps: "Dict[int, Tuple[CodeType, Dict[int, Optional[int]]]]" = {}  # by the code's id: its lines
        monitoring.set_events(tool, events.PY_START)

    def end(self) -> None:
        """Hear nothing more."""
        self.is_over = True
        self._monitoring.set_events(self._tool, 0)

    def _start(self, code: "CodeType", offset: int) -> "Any":
        file = self.file_of(code)
        if file is None or self.is_over:
            return self._disable
        numbers = self.numbers_of(code, file)
        local = self._monitoring.get_local_events(self._tool, code)
        if not local:
            local = self._local if numbers is not None else 0
            if file.lines and not file.lines.keys().isdisjoint(_line_numbers(code)):
                local |= self._events.LINE | self._events.JUMP
            if local:
                self._monitoring.set_local_events(self._tool, code, local)
        if numbers is None:
            # 3.13 tells no line of a function any more that begins where this is switched off.
            return None if local & self._events.LINE else self._disable
        self.recorder.call(self._frame(1), numbers)
        return None

    def _return(self, code: "CodeType", offset: int, value: object) -> "Any":
        file = self.file_of(code)
        numbers = self.numbers_of(code, file) if file is not None and not self.is_over else None
        if numbers is None:
            return self._disable
        self.recorder.end(self._frame(1), numbers)
        return None

    def _line(self, code: "CodeType", line: int) -> "Any":
        file = self.file_of(code)
        probe = file.lines.get(line) if file is not None and not self.is_over else None
        if probe is None:
            return self._disable
        self.recorder.hit(self._frame(1), probe)
        return None

    def _jump(self, code: "CodeType", offset: int, target: int) -> "Any":
        """A loop on one line begins it anew with each round, of which LINE says nothing; sys.settrace does
        (``sys_trace_jump_func`` in CPython's Python/legacy_tracing.c).
        """
        if target > offset:
            return self._disable
        found = self._jumps.get(id(code))
        if found is None:
            lines = {at: line for start, end, line in code.co_lines() for at in range(start, end, 2)}
            found = self._jumps[id(code)] = (code, lines)
        line = found[1].get(target)
        if line is None or line != found[1].get(offset):
            return self._disable
        return self._line(code, line)


class TraceFunction(Tracer):
    """By a trace function, which is asked at each call of Python."""

    def begin(self) -> None:
        """Listen."""
        import atexit
        import threading

        threading.settrace(self._call)
        sys.settrace(self._call)
        atexit.register(self._look_whether_it_ended)

    def end(self) -> None:
        """Hear nothing more."""
        self.is_over = True
        if sys.gettrace() == self._call:
            sys.settrace(None)

    def _look_whether_it_ended(self) -> None:
        """An exception in a trace function ends tracing in the thread: that of a signal handler which runs in it, or
        that there is no room for its call.
        """
        if not self.is_over and sys.gettrace() != self._call:
            self.recorder.tell({"ended": _ENDED})

    def _call(self, frame: "FrameType", event: str, argument: object) -> "Any":
        try:
            return self._hear_call(frame)
        except BaseException:
            self.recorder.tell({"ended": _ENDED})
            raise

    def _hear_call(self, frame: "FrameType") -> "Any":
        code = frame.f_code
        file = self.file_of(code)
        if file is None or self.is_over:
            return None
        numbers = self.numbers_of(code, file)
        has_lines = bool(file.lines) and not file.lines.keys().isdisjoint(_line_numbers(code))
        if numbers is not None and (not code.co_flags & _PAUSES or _begins(frame)):
            self.recorder.call(frame, numbers)
        returns = numbers if self.recorder.times else None
        if not has_lines and returns is None:
            return None
        frame.f_trace_lines = has_lines

        def hear(frame: "FrameType", event: str, argument: object) -> "Any":
            try:
                if event == "line":
                    probe = file.lines.get(frame.f_lineno)
                    if probe is not None:
                        self.recorder.hit(frame, probe)
                elif (
                    event == "return" and returns is not None and code.co_code[frame.f_lasti] == _RETURN_VALUE
                ):
                    self.recorder.end(frame, returns)
            except BaseException:
                self.recorder.tell({"ended": _ENDED})
                raise
            return hear

        return hear


def _begins(frame: "FrameType") -> bool:
    """Whether a generator begins, and does not go on."""
    if sys.version_info >= (3, 11):
        # An exception that is thrown into it begins at the instruction where it waits.
        opcode, operand = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
        return opcode == _RESUME and not operand & 3
    return frame.f_lasti < 0


def _take_settings() -> "Optional[Dict[str, Any]]":
    """What is to be done; every sign of it is removed."""
    if _HERE in sys.path:
        sys.path.remove(_HERE)
    sys.path_importer_cache.pop(_HERE, None)
    text = os.environ.get(SETTINGS)
    if text is None:
        return None
    settings: "Dict[str, Any]" = marshal.loads(bytes.fromhex(text))
    if not _is_the_program(settings["what"]):
        return None  # what starts the program, as a shim of pyenv does: the program finds the rest
    del os.environ[SETTINGS]
    if settings["pythonpath"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = settings["pythonpath"]
    return settings


def _is_the_program(what: "list[str]") -> bool:
    """Whether the command line of this process says so."""
    runs: Any = _imported("python_command", os.path.join(_HERE, "..", "..", "shared")).runs
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "surrogateescape").split("\0")[:-1]
    return bool(runs(words, [], what))


def _import_the_users_own() -> "Optional[BaseException]":
    """Imports the user's sitecustomize, which this one hides; returns what it raised, for `site` to handle."""
    del sys.modules["sitecustomize"]
    try:
        __import__("sitecustomize")
    except BaseException as error:
        return error
    return None


def _start() -> None:
    settings = _take_settings()
    recorder = Recorder(settings) if settings is not None else None
    failure = _import_the_users_own()
    if settings is not None and recorder is not None:
        try:
            kind = Monitor if sys.version_info >= (3, 12) else TraceFunction
            tracer = kind(recorder, settings["probes"])
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=tracer.end)
            recorder.tell({"version": list(sys.version_info[:2])})
            tracer.begin()
        except Exception as error:
            recorder.tell({"failed": "%s: %s" % (type(error).__name__, error)})
    if failure is not None:
        raise failure


if __name__ == "sitecustomize":
    _start()
