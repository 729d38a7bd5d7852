"""Runs in the target on behalf of a step: arms pydevd, and says which native code the current line may enter.

Called only at a Python stop, by debugpy's evaluation in the stopped thread, or by gdb in a thread that holds the GIL
and stands where native code may call Python. Runs on CPython 3.8 and later with nothing installed.
"""

from __future__ import annotations

import dis
import json
import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Iterable, Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
BEACON_DESCRIPTOR = -1  # posix_fadvise(-1, address, ...) fails with EBADF and does nothing: gdb's cue


# -- pydevd -------------------------------------------------------------------------------------


def arm(command: str) -> int:
    """Make pydevd stop this thread as after ``next``, ``step`` or ``finish`` in the user's innermost frame.

    For a thread that gdb holds inside a native call, which no debugpy request can reach. Returns how many frames
    pydevd would show of it now; 0 where it cannot be made to stop.
    """
    import pydevd  # type: ignore[import-not-found]
    from _pydevd_bundle import pydevd_comm_constants as constants  # type: ignore[import-not-found]
    from _pydevd_bundle import pydevd_constants
    from _pydevd_bundle.pydevd_additional_thread_info import (  # type: ignore[import-not-found]
        set_additional_thread_info,
    )

    debugger = pydevd_constants.get_global_debugger()
    frame = users_frame(sys._getframe(1))
    if debugger is None or frame is None:
        return 0
    depth = shown_frames(debugger, frame)
    suffix = ""
    if debugger.get_use_libraries_filter():
        suffix = "_MY_CODE"
        own: FrameType | None = frame
        while own is not None and debugger.apply_files_filter(own, own.f_code.co_filename, True):
            own = own.f_back
        if own is not None and command != "finish":
            frame = own  # out of the library that called
    began = frame
    if command == "finish":
        frame = debugger.stepping().way_out(debugger, frame) or frame
    name = {"next": "CMD_STEP_OVER", "step": "CMD_STEP_INTO", "finish": "CMD_STEP_RETURN"}[command]
    number = getattr(constants, name + suffix)
    thread = threading.current_thread()
    info = set_additional_thread_info(thread)
    info.pydev_original_step_cmd = info.pydev_step_cmd = number
    info.pydev_step_stop = None if command == "step" else frame
    info.pydev_state = pydevd_constants.STATE_RUN
    info.suspend_type = pydevd.PYTHON_SUSPEND
    info.update_stepping_info()
    if pydevd_constants.PYDEVD_USE_SYS_MONITORING:
        pydevd.pydevd_sys_monitoring.update_monitor_events(suspend_requested=True)
    debugger.stopped_in[thread.ident] = began
    debugger.set_trace_for_frame_and_parents(thread.ident, frame)
    del debugger.stopped_in[thread.ident]
    if pydevd_constants.PYDEVD_USE_SYS_MONITORING:
        pydevd.pydevd_sys_monitoring.restart_events()
    return depth


def shown_frames(debugger: Any, frame: FrameType | None) -> int:
    """How many frames pydevd shows from ``frame`` on, as its make_get_thread_stack_message counts them."""
    count = 0
    while frame is not None:
        hidden = debugger.get_file_type(frame) == debugger.PYDEV_FILE
        if not hidden and debugger.is_files_filter_enabled:
            hidden = debugger.apply_files_filter(frame, frame.f_code.co_filename, False)
        count += not hidden
        frame = frame.f_back
    return count


def evaluate(argument: str) -> str:
    """See dualdbg_evaluate.py."""
    with Untraced():
        return str(beside("dualdbg_evaluate").evaluate(argument))


def beside(name: str) -> Any:
    """A file of this folder, a patch of pydevd or a shared module, as a module that the program does not see.

    It is run when it is first needed.
    """
    if name not in _modules:
        from importlib import util

        path, source = _sources[name]
        spec: Any = util.spec_from_file_location(name, path)
        module: Any = util.module_from_spec(spec)
        module.beside = beside
        module.__builtins__ = globals()["__builtins__"]  # with the imports of the debugger's own modules
        try:
            spec.loader.exec_module(module)
        except OSError:  # the program has become another user since, or is in a root of its own
            exec(compile(source, path, "exec"), module.__dict__)
        _modules[name] = module
    return _modules[name]


def keep_sources() -> None:
    """Read the files that :func:`beside` may be asked for, while that is possible."""
    for folder in (HERE, os.path.join(HERE, "pydevd_patches")):
        for name in os.listdir(folder):
            if name.startswith("dualdbg_") and name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    _sources[name[: -len(".py")]] = path, file.read()
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "shared", "object_text.py"), "rb") as file:
        # By a path in this folder, which pydevd does not trace. No file is there: the code is made of the source.
        _sources["object_text"] = os.path.join(HERE, "object_text.py"), file.read()


_modules: dict[str, Any] = {}
_sources: dict[str, tuple[str, bytes]] = {}  # by name: the path and what is there
keep_sources()


class Heard:
    """Notes which of the session's numbered messages about breakpoints pydevd has taken."""

    def __init__(self) -> None:
        self.number = 0

    def begin(self) -> None:
        """Begin to note, once in a process. The number of a message is an argument that DAP does not have."""
        from _pydevd_bundle import pydevd_process_net_command_json as processing

        for what in ("", "function", "exception"):
            self.note(processing.PyDevJsonCommandProcessor, "on_set%sbreakpoints_request" % what)

    def note(self, processor: type, name: str) -> None:
        """Let a method of pydevd's request processor note the numbers of the requests that it has taken."""
        original = getattr(processor, name)

        def take(this: Any, debugger: Any, request: Any) -> Any:
            answer = original(this, debugger, request)
            self.number = max(self.number, request.arguments.kwargs.get("dualdbg", 0))
            return answer

        setattr(processor, name, take)


heard = Heard()


class Untraced:
    """pydevd passes over all that this thread does meanwhile: where it stopped, the call by gdb would never end.

    A step that was armed before is still under way then, and pydevd may begin to trace the thread at any moment.
    """

    def __enter__(self) -> None:
        pydevd = sys.modules["pydevd"]
        self.info = getattr(threading.current_thread(), "additional_info", None)
        if self.info is not None:
            self.info.is_tracing += 1
        self.monitoring: Any = None
        if pydevd.PYDEVD_USE_SYS_MONITORING and pydevd.pydevd_sys_monitoring.suspend_current_thread_tracing():
            self.monitoring = pydevd.pydevd_sys_monitoring

    def __exit__(self, *error: object) -> None:
        if self.monitoring is not None:
            self.monitoring.resume_current_thread_tracing()
        if self.info is not None:
            self.info.is_tracing -= 1


class Mailbox(bytes):
    """Where gdb writes the name of a function of this module, and its argument: ``len()`` calls it.

    Its length is what the function returns, so that a call is one call of a C function for gdb, ``PyObject_Size``, and
    no object is left over. It begins with a mark by which gdb knows it again. It never changes but by gdb.
    """

    __slots__ = ()

    def __len__(self) -> int:
        name, argument, _ = self[len(MARK) + ROOM_OF_EXCEPTION :].split(b"\0", 2)
        with Untraced():
            return int(globals()[name.decode()](argument.decode()))


MARK = b"dualdbg mailbox\0"  # gdb_scripts/dualdbg_engine/inferior_evaluation.py
ROOM_OF_EXCEPTION = 24  # bytes behind the mark, in which gdb keeps an exception of the thread
MAILBOX = Mailbox(MARK + bytes(1008))
_earlier_mailboxes: Any = None  # of previous probes: a gdb may know them still


def mailbox(argument: str = "") -> int:
    """The address of the mailbox."""
    return id(MAILBOX)


def listen(earlier: Any) -> None:
    """Begin, before the session's first message. The notes of ``earlier``, the previous probe, are carried on."""
    global heard, _earlier_mailboxes
    if hasattr(earlier, "MAILBOX"):
        _earlier_mailboxes = (earlier.MAILBOX, earlier._earlier_mailboxes)
    if hasattr(earlier, "heard"):
        heard = earlier.heard
    else:
        heard.begin()


def hear(words: str) -> bool:
    """``NUMBER SECONDS``: wait until pydevd has taken the message of this number; False when the time is over first.

    Called by gdb in a thread that is about to go on from a native stop. pydevd was mute at that stop, and the thread
    must not pass a line before the breakpoint there is known. The other threads run meanwhile.
    """
    from _pydev_bundle._pydev_saved_modules import time  # type: ignore[import-not-found]

    number, seconds = words.split()
    end = time.time() + float(seconds)
    while heard.number < int(number):
        if time.time() > end:
            return False
        time.sleep(0.0005)
    return True


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside of dualdbg, debugpy and debugpy's helpers in the standard library."""
    import pydevd
    from _pydev_bundle import pydev_monkey  # type: ignore[import-not-found]

    roots = (HERE, os.path.dirname(os.path.abspath(pydevd.__file__)))
    # The outermost frame of a thread that the program has started is pydevd's, and what it calls is the program.
    kinds = pydev_monkey._NewThreadStartupWithTrace, pydev_monkey._NewThreadStartupWithoutTrace
    starts = [kind.__call__.__code__ for kind in kinds]
    below = None
    while frame is not None:
        is_debuggers = os.path.abspath(frame.f_code.co_filename).startswith(roots)
        if frame.f_code not in starts and (is_debuggers or below is None):
            below = None if is_debuggers else frame  # what one of the debugger's has called works for it
        frame = frame.f_back
    return below


# -- native entries -----------------------------------------------------------------------------


class Watch:
    """Watches one frame for calls into native code that lies in ``ranges``, until it is told to end."""

    def __init__(self, frame: FrameType, ranges: list[tuple[int, int]]) -> None:
        self.frame = frame
        self.ranges = ranges
        self.previous: Any = None
        self.tool: int | None = None
        self.codes = set(own_codes(frame.f_code))

    def begin(self) -> None:
        """Hear of each call from now on: by sys.monitoring from 3.12 on, else as this thread's profile function."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            for tool in (4, 3, 5):
                if monitoring.get_tool(tool) is None:
                    monitoring.use_tool_id(tool, "dualdbg step")
                    self.tool = tool
                    monitoring.register_callback(tool, monitoring.events.CALL, self.on_call)
                    for code in self.codes:
                        monitoring.set_local_events(tool, code, monitoring.events.CALL)
                    return
        else:
            self.previous = sys.getprofile()
            sys.setprofile(self.on_profile)

    def end(self) -> None:
        """Hear of no call any more."""
        if self.tool is not None:
            monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            for code in self.codes:
                monitoring.set_local_events(self.tool, code, 0)
            monitoring.register_callback(self.tool, monitoring.events.CALL, None)
            monitoring.free_tool_id(self.tool)
            self.tool = None
        elif sys.version_info < (3, 12) and sys.getprofile() == self.on_profile:
            sys.setprofile(self.previous)

    def on_profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if _watch is not self:  # the thread ended while another thread was held
            sys.setprofile(self.previous)
        if self.previous is not None:
            self.previous(frame, event, argument)
        if _watch is self and event == "c_call" and frame.f_code in self.codes:
            self.announce(argument)

    def on_call(self, code: CodeType, offset: int, function: Any, first: Any) -> None:
        self.announce(function)

    def announce(self, function: Any) -> None:
        """Tell gdb, which waits at posix_fadvise, where the call that is about to be made will arrive."""
        for address in entries_of(function):
            if self.covers(address):
                try:
                    os.posix_fadvise(BEACON_DESCRIPTOR, address, 0, 0)
                except OSError:
                    pass

    def covers(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)


_watch: Watch | None = None


def begin_step(argument: str) -> str:
    """Watch the calls of the line. ``argument``: JSON, its number and the address ranges of the native code that the
    user wants to enter.

    Returns JSON: whether the line may call an operator of ``torch.ops``, the entries of what it may reach without a
    call of its own, and the address of the mailbox.
    """
    global _watch
    line, ranges = json.loads(argument)
    with Untraced():
        end_step()
        frame = users_frame(sys._getframe(1))
        if frame is None or frame.f_lineno != line:
            return json.dumps([False, [], mailbox()])
        _watch = Watch(frame, ranges)
        found = sorted({address for address in reached_entries(frame) if _watch.covers(address)})
        _watch.begin()
        return json.dumps([calls_operator(frame), found, mailbox()])


def named_entries(line: int, ranges: list[tuple[int, int]]) -> str:
    """JSON: where the native code begins that the line may call, as far as the values of its names tell."""
    global _watch
    frame = users_frame(sys._getframe(1))
    if frame is None or frame.f_lineno != line or _watch is not None:
        return json.dumps([])
    _watch = Watch(frame, ranges)
    try:
        return json.dumps(sorted({*filter(covers, reached_entries(frame))}))
    finally:
        _watch = None


def end_step() -> None:
    """Watch no longer."""
    global _watch
    if _watch is not None:
        _watch.end()
        _watch = None


def line_returns() -> bool:
    """Whether the innermost frame of the user may return from its current line."""
    frame = users_frame(sys._getframe(1))
    if frame is None:
        return True
    line = None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.starts_line:
            line = starting_line(instruction)
        if line == frame.f_lineno and instruction.opname.startswith(("RETURN", "RERAISE", "RAISE", "YIELD")):
            return True
    return False


def starting_line(instruction: Any) -> int | None:
    """``starts_line`` is the line number up to 3.12, and a flag beside ``line_number`` from 3.13 on."""
    starts: int | None = instruction.starts_line
    return getattr(instruction, "line_number", None) if starts is True else starts


def own_codes(code: CodeType) -> Iterator[CodeType]:
    """A frame's code and the code of the comprehensions and lambdas in it, which run as part of its lines."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code") and constant.co_name.startswith("<"):
            yield from own_codes(constant)


def entries_of(function: Any) -> list[int]:
    """Where a call of ``function`` enters native code: the entries closest to the user's code that are known."""
    callables = beside("dualdbg_callables")
    held = callables.held_function(function)
    if held is not None:
        return entries_of(held)
    if callables.is_class(function):
        return constructor_entries(function)
    if type(function) is type(entries_of):
        return []
    try:
        native = callables.native_of(function, covers)
    except callables.UnknownCallable:
        return []
    # Its captured values may be stale, so only the dispatcher is certain.
    if native.kind == callables.NANOBIND_FUNCTION:
        return [entry.address for entry in native.entries if entry.role == "dispatcher"]
    found: list[int] = []
    previous = None
    for entry in native.entries:
        if entry.role not in ("caster", "dispatcher") or (entry.role == "caster" and previous != "function"):
            found.append(entry.address)
        previous = entry.role
    return found


def covers(address: int) -> bool:
    return _watch is not None and _watch.covers(address)


def constructor_entries(cls: type) -> list[int]:
    """Where a call of a class arrives: its __new__ and __init__, by slot, or by name where the slot looks up names."""
    callables = beside("dualdbg_callables")
    found = [callables.slot(cls, "new"), callables.slot(cls, "init")]
    for _, _, member in callables.constructor_parts(cls):
        found += native_entries(member)
    return found


def native_entries(member: Any) -> list[int]:
    """:func:`entries_of` for what a class holds under a name; empty for an object that is not a function."""
    callables = beside("dualdbg_callables")
    if type(member) is property:
        return [entry for part in (member.fget, member.fset) for entry in native_entries(part)]
    known = callables.held_function(member) is not None or callables.reader_of(member) is not None
    return entries_of(member) if known else []


# Calls of these are seen by the watch itself (sys.setprofile knows no others before 3.12).
WATCHED = {"builtin_function_or_method", "method_descriptor", "classmethod_descriptor", "function", "method"}


def reached_entries(frame: FrameType) -> Iterator[int]:
    """Native code that the current line reaches through operators, attributes and protocols, or by what it calls.

    The watch sees the calls of functions that the line makes itself. Others are those that built-ins make of what they
    are given; a function of Python might make any number of them, of which none counts.
    """
    callables = beside("dualdbg_callables")
    names, attributes = names_on_line(frame)
    seen = set()
    values = [*callables.with_held(values_of(frame, names, attributes))]
    calls_python = any(runs_python(value, attributes) for value in values)
    for value in values:
        if not calls_python or callables.is_class(value) or type(value).__name__ not in WATCHED:
            yield from entries_of(value)
        cls = value if callables.is_class(value) else type(value)
        if cls not in seen and callables.reader_of(value) is None:  # else the slots are a binding layer's own
            seen.add(cls)
            yield from entries_of_type(cls, attributes)


def runs_python(value: Any, attributes: set[str]) -> bool:
    """Whether a call of ``value``, or of one of these attributes of it, runs a function of Python."""
    callables = beside("dualdbg_callables")
    bases = (value if callables.is_class(value) else type(value)).__mro__
    names = "__call__", "__init__", "__new__", *attributes
    called = [base.__dict__.get(name) for base in bases for name in names]
    return type(runs_python) in map(type, [value, callables.held_function(value), *called])


def names_on_line(frame: FrameType) -> tuple[set[str], set[str]]:
    """The names of variables and of attributes on the current line."""
    names: set[str] = set()
    attributes: set[str] = set()
    line = None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.starts_line:
            line = starting_line(instruction)
        if line != frame.f_lineno or not isinstance(instruction.argval, (str, tuple)):
            continue
        if "ATTR" in instruction.opname or "METHOD" in instruction.opname:
            attributes.add(str(instruction.argval))
        elif isinstance(instruction.argval, tuple):
            names.update(str(name) for name in instruction.argval)
        else:
            names.add(instruction.argval)
    return names, attributes


OPERATORS = {"_Ops", "_OpNamespace", "OpOverloadPacket", "OpOverload"}  # classes of torch/_ops.py


def calls_operator(frame: FrameType) -> bool:
    """Whether the current line mentions ``torch.ops``, or a variable that holds something of it."""
    if "torch" not in sys.modules:
        return False
    names, attributes = names_on_line(frame)
    return any(
        type(value).__name__ in OPERATORS or (value is sys.modules["torch"] and "ops" in attributes)
        for value in values_of(frame, names, set())
    )


def values_of(frame: FrameType, names: Iterable[str], attributes: set[str]) -> Iterator[Any]:
    """The values of the variables and, where a value is a module, of its attributes with these names. Runs no code."""
    for name in names:
        for scope in (frame.f_locals, frame.f_globals):
            if name in scope:
                yield scope[name]
                yield from members_of(scope[name], attributes, 3)
                break


def members_of(value: Any, attributes: set[str], depth: int) -> Iterator[Any]:
    if type(value) is not type(sys) or depth == 0:
        return
    for name in attributes:
        if name in vars(value):
            yield vars(value)[name]
            yield from members_of(vars(value)[name], attributes, depth - 1)


def entries_of_type(cls: type, attributes: set[str]) -> Iterator[int]:
    """The entries of a type's slots, of special methods that a slot only looks up, and of the named attributes."""
    callables = beside("dualdbg_callables")
    yield from callables.slots(cls)
    for member in callables.members_by_name(cls, attributes):
        yield from native_entries(member)
