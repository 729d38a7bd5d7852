"""What is known of a crash at which a session stands: what the address of the fault is, and which variables lead there.

Nothing is guessed: what a variable has to do with the fault is said where its value says so.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...errors import DualdbgError
from ...known.crash_signals import CRASHES
from ...known.python_files import is_of_a_library
from ...model import Frame, Language, NativeFrame, PythonFrame, Reason, Role, Stop, Value
from ...session.post_mortem import CoreSession
from ...session.session import Session
from ...snapshot.core_file import last_words_in_core, read_core
from ...snapshot.facts import ProcessReport
from ...snapshot.report.finding import Finding
from ...snapshot.report.full_stack import Area, area_at, full_stack
from ...snapshot.report.last_words import last_words_of
from ...snapshot.report.telling_frame import place
from ...stacks.roles import first_of_user
from ...system.in_thread import in_thread

KIND = "crash"
_PAGE = 4096  # bytes behind a null pointer that a member or an early element may lie at
_MOST_FRAMES = 5  # whose variables are read
_MOST_MEMBERS = 30  # of a variable
_ADDRESS = re.compile(r"at address (0x[0-9a-f]+)")
_POINTER = re.compile(r"^(?:\([^()]*\) ?)?@?(0x[0-9a-f]+)")
_ZERO = re.compile(r"^0$|^0\b(?=\s)")
# Functions of the run-time libraries that end the program, by what they say of the reason.
_ENDS = (
    (r"(?:std::terminate|__cxxabiv1::__terminate|__verbose_terminate_handler)\b",
     "a C++ exception was not caught: with the breakpoint throw the program stops where it is thrown"),
    (r"__assert_fail|__assert_fail_base", "an assertion of C did not hold: its text is in output"),
    (r"__stack_chk_fail", "a function has written beyond an array of its own on the stack"),
    (r"__chk_fail|__fortify_fail", "a function of the C library was to write beyond a buffer, whose size it knows"),
    (r"malloc_printerr", "the C library has found its heap damaged: what wrote there did so before"),
    (r"Py_FatalError|_Py_FatalErrorFunc|fatal_error_exit|fatal_error", "Python gave up: the reason is in output"),
)  # fmt: skip


@dataclass(frozen=True)
class Crash:
    """``signal`` is its name; ``fault`` the address that could not be used, where the kernel names one. ``mapped``:
    what is there, None for nothing; it was looked up only where ``maps_known``. ``variables``: of the frames that are
    the user's, innermost first. ``said``: what the C library has said of the reason."""

    signal: str
    description: str
    tid: int
    thread_name: str
    pid: int
    fault: int | None
    frames: Sequence[Frame]
    variables: Sequence[tuple[Frame, Sequence[Value]]]
    mapped: Area | None = None
    maps_known: bool = False
    said: str | None = None


async def crash_of(session: Session) -> Crash | None:
    """The crash at which a session stands; None where it stands for another reason."""
    stop = session.stop
    name = None if stop is None else _signal_of(stop)
    if stop is None or name is None:
        return None
    description = stop.description or ""
    frames = (await session.inspector.stack(stop.thread.tid)).visible()
    match = _ADDRESS.search(description)
    fault = int(match[1], 16) if match is not None else None
    variables = []
    for at, frame in enumerate([frame for frame in frames if _has_variables(frame)][:_MOST_FRAMES]):
        try:
            values = await session.inspector.variables(stop.thread.tid, frame)
            members = await _members(session, values) if at == 0 else []
        except DualdbgError:  # they cannot be read after this crash; what else is known is told
            continue
        variables.append((frame, [*values, *members]))
    core = session if isinstance(session, CoreSession) else None  # its process's number may be another's now
    known = core is None and fault is not None
    said = None
    if name == "SIGABRT":
        said = core.last_words if core is not None else await in_thread(last_words_of, session.pid)
    return Crash(
        name,
        description,
        stop.thread.tid,
        stop.thread.name,
        session.pid,
        fault,
        frames,
        variables,
        area_at(session.pid, fault) if known and fault is not None else None,
        known,
        said,
    )


def crash_in_core(path: str, report: ProcessReport) -> Crash | None:
    """The crash that a core was written for, without variables; None where it was written for another reason.

    Raises what ``read_core`` raises.
    """
    core, elf = read_core(path)
    tid = core.threads[0][0]  # the kernel writes the one that crashed first
    thread = next((one for one in report.threads if one.thread.tid == tid), None)
    if thread is None or core.signal not in {int(signal.Signals[name]) for name in CRASHES}:
        return None
    name = signal.Signals(core.signal).name
    at = f" at address {core.fault:#x}" if core.fault is not None else ""
    description = f"{name}, {signal.strsignal(core.signal)}{at}"
    said = last_words_in_core(core, elf) if name == "SIGABRT" else None
    return Crash(
        name, description, tid, core.name, report.pid, core.fault, thread.stack.frames, (), said=said
    )


async def _members(session: Session, values: Sequence[Value]) -> list[Value]:
    """What native variables point to or hold, one level deep; named with the variable."""
    found = []
    for value in values:
        if value.language is Language.NATIVE and value.reference and not value.opaque:
            dot = "->" if value.type.rstrip().endswith("*") else "."
            children = await session.inspector.values.page(value.reference, 0, _MOST_MEMBERS)
            found += [replace(one, name=f"{value.name}{dot}{one.name}") for one in children]
    return found


def finding_of(crash: Crash) -> Finding:
    """The crash in words: what happened where, what the address is, which variables have to do with it. Pure."""
    lines = [f"thread {crash.tid} {crash.thread_name}: {crash.description}{_where(crash.frames)}"]
    lines += [f"the C library said: {crash.said}"] if crash.said else []
    lines += _of_library(crash.frames) or _OF_SIGNAL.get(crash.signal, _nothing)(crash)
    return Finding(KIND, "\n".join(lines), ((crash.pid, crash.tid),))


def _signal_of(stop: Stop) -> str | None:
    """The signal of a crash; None for another stop. Of a process and of a core the words around it differ."""
    match = re.search(r"\bSIG[A-Z]+\b", stop.description or "") if stop.reason is Reason.SIGNAL else None
    return match[0] if match is not None and match[0] in CRASHES else None


def _has_variables(frame: Frame) -> bool:
    return isinstance(frame, PythonFrame) or (frame.role is Role.USER and frame.line is not None)


def _where(frames: Sequence[Frame]) -> str:
    users = frames[first_of_user(frames) :] if frames else ()
    native = next((one for one in users if one.function), None)  # what is no code has none
    python = next(
        (one for one in frames if isinstance(one, PythonFrame) and not is_of_a_library(one.file or "")), None
    )
    parts: list[str] = []
    for frame in (native, python):
        if frame is not None and place(frame) not in parts:
            parts.append(place(frame))
    return f", in {', called in '.join(parts)}" if parts else ""


def _of_library(frames: Sequence[Frame]) -> list[str]:
    """What the innermost native functions say: those of libraries that end the program on purpose."""
    for frame in frames[:12]:
        if isinstance(frame, PythonFrame):
            return []
        for pattern, words in _ENDS:
            if re.match(pattern, frame.function or ""):
                return [words]
    return []


def _of_access(crash: Crash) -> list[str]:
    """A SIGSEGV or SIGBUS."""
    if crash.fault is None:
        return [
            "the kernel names no address: it was sent by a process, or the address is one that no process can have"
        ]
    innermost = next(iter(crash.frames), None)
    if isinstance(innermost, NativeFrame) and innermost.pc == crash.fault:
        of_it = [f"; {words}" for words in _mapping(crash)]
        return [
            f"code at this address was to be run, as by a call through a bad function pointer{''.join(of_it)}"
        ]
    grown = full_stack(crash.frames, crash.fault, crash.mapped) if crash.maps_known else None
    if grown is not None:
        return [grown]
    if crash.fault < _PAGE:
        behind = f", {crash.fault} bytes behind it" if crash.fault else ""
        lines = [f"the address is that of a null pointer{behind}"]
    else:
        lines = _mapping(crash)
    return lines + _pointers(crash)


def _mapping(crash: Crash) -> list[str]:
    if not crash.maps_known:
        return []
    if crash.mapped is None:
        return ["nothing is mapped at the address"]
    access, file = crash.mapped.access, crash.mapped.file or "memory without a file"
    if crash.signal == "SIGBUS":
        return [f"the address is in {file}, which has no page there (it was made shorter, or has no room)"]
    may = {"r": "read", "w": "written", "x": "run"}
    words = [may[letter] for letter in access[:3] if letter in may]
    allowed = f"may only be {' and '.join(words)}" if words else "may be neither read nor written"
    return [f"the address is in {file}, which {allowed}"]


def _pointers(crash: Crash) -> list[str]:
    """The variables whose value is the address, or what lies a little before it."""
    assert crash.fault is not None
    found: list[str] = []
    for frame, values in crash.variables:
        for value in values:
            pointer = _pointer(frame, value)
            if pointer is not None and 0 <= crash.fault - pointer < _PAGE:
                found.append(f"{place(frame)}: {_shown(value)} {_relation(pointer, crash.fault)}")
        if found:  # a caller's would only say again where it came from
            return found
    if crash.fault < _PAGE:
        return [
            f"{place(frame)}: {_shown(value)} is the address"
            for frame, values in crash.variables
            for value in values
            if isinstance(frame, PythonFrame) and value.value == str(crash.fault)
        ][:_MOST_FRAMES]
    return []


def _pointer(frame: Frame, value: Value) -> int | None:
    """The address that a native variable holds; None for one that is no pointer."""
    match = _POINTER.match(value.value)
    is_pointer = re.search(r"[*&]\s*(const|__restrict)?$", value.type) is not None
    return int(match[1], 16) if match is not None and isinstance(frame, NativeFrame) and is_pointer else None


def _relation(pointer: int, fault: int) -> str:
    if pointer == 0:
        return "is a null pointer"
    return "points there" if pointer == fault else f"points {fault - pointer} bytes before it"


def _shown(value: Value) -> str:
    return f"{value.type} {value.name} = {value.value[:100]}".strip()


def _of_arithmetic(crash: Crash) -> list[str]:
    lines = ["whole numbers were divided: by zero, or with a result that does not fit"]
    for frame, values in crash.variables[:1]:
        zeros: Iterable[Value] = (one for one in values if _ZERO.match(one.value))
        lines += [f"{place(frame)}: {_shown(value)}" for value in zeros]
    return lines


def _nothing(_: Crash) -> list[str]:
    return []


def _of_instruction(_: Crash) -> list[str]:
    return [
        "an instruction that the processor does not have, or one that compilers put where a program must not come"
    ]


_OF_SIGNAL = {
    "SIGSEGV": _of_access,
    "SIGBUS": _of_access,
    "SIGFPE": _of_arithmetic,
    "SIGILL": _of_instruction,
}
