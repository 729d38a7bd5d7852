"""What is told of a program that crashed or hangs: its stacks with variables, what it waits for, what it had loaded."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .. import __version__
from ..errors import DualdbgError
from ..known.crash_signals import FAULTS
from ..model import NativeFrame, signal_in_words
from ..shared.libraries import is_sanitizer
from ..shared.proc_files import read_status
from ..snapshot.capture import Captured, Held, Wanted, capture
from ..snapshot.facts import Failure, ProcessReport, ThreadReport
from ..snapshot.report.assemble import SIGNAL_FRAME, Assembler
from ..snapshot.report.finding import Finding
from ..snapshot.report.full_stack import area_at, full_stack
from ..snapshot.report.telling_frame import faulting_frame, where, where_faulted, with_fault_shown
from ..symbols.source_lines import SourceLines
from .tracer import Dying, Tracer, signal_name

_TAIL = 1 << 16  # bytes of output that are kept


@dataclass(frozen=True)
class Library:
    """A file of code that was mapped; ``build_id`` in hex, None where it has none or cannot be read."""

    path: str
    build_id: str | None


@dataclass(frozen=True)
class Incident:
    """A crash, a hang, or an end that nobody expected. ``title`` is a sentence without its subject.

    ``kind``: ``crash``, ``hang`` or ``end``. ``place`` says where that was, in the user's own code. ``tid`` is the
    thread that crashed, ``signal`` the number of its signal. ``findings``: None where nobody has looked for any.
    ``output`` has what was written last, by stream. ``core``: the path of a core that was kept.
    """

    kind: str
    title: str
    pid: int
    place: str | None = None
    tid: int | None = None
    signal: int | None = None
    processes: tuple[ProcessReport, ...] = ()
    findings: tuple[Finding, ...] | None = None
    failures: tuple[Failure, ...] = ()
    libraries: tuple[Library, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    output: tuple[tuple[str, str], ...] = ()
    core: str | None = None

    @property
    def summary(self) -> str:
        """A few words: what has happened, and where."""
        what = self.title
        if self.kind == "crash" and self.signal is not None:
            what = signal_name(self.signal)
        return f"{what} in {self.place}" if self.place else what


def of_crash(tracer: Tracer, dying: Dying) -> Incident:
    """What is to be told of a process that is about to end. It stands still until it is let die.

    A crash may have left anything in memory: where that cannot be read, the incident says so, and has no stacks.
    """
    plain = of_crash_unread(dying)
    if dying.status is not None and os.WIFSIGNALED(dying.status):  # killed: there may be no memory for more
        return replace(plain, output=captured_output(dying.tid))
    try:
        return _read_crash(tracer, dying, plain)
    except DualdbgError as error:
        failure = Failure(dying.pid, error.message, error.hint)
    except Exception as error:
        text = f"what is in its memory makes no sense to dualdbg ({type(error).__name__}: {error})"
        failure = Failure(dying.pid, text, "")
    return replace(plain, failures=(failure,), output=captured_output(dying.tid))


def of_crash_unread(dying: Dying) -> Incident:
    """What the signal, or the status, alone tells."""
    if dying.status is not None:
        return replace(of_end(dying.pid, dying.status), tid=dying.tid)
    title = f"was ended by {signal_in_words(dying.info.number)}{_source_of(dying)}"
    return Incident("crash", title, dying.pid, tid=dying.tid, signal=dying.info.number)


def _read_crash(tracer: Tracer, dying: Dying, plain: Incident) -> Incident:
    states = {tid: state for tid, state in tracer.states(dying.pid).items() if tid != dying.tid}
    held = Held(tracer.hold(dying.pid))
    captured = capture(dying.pid, wanted=Wanted(locals=True), held=held)
    assembler = Assembler(captured)
    assembler.unwind()
    output = captured_output(dying.tid)
    report = with_states(assembler.report(SourceLines()), states)
    before = next((thread for thread in report.threads if thread.thread.tid == dying.tid), None)
    if dying.info.sender == dying.pid:
        report = replace(report, threads=tuple(map(_without_handler, report.threads)))
    crashed = next((thread for thread in report.threads if thread.thread.tid == dying.tid), None)
    # By the kernel, or once more by a handler of the program.
    is_fault = dying.info.number in FAULTS and (dying.info.sender is None or crashed is not before)
    if crashed is not None and is_fault:
        shown = with_fault_shown(crashed)
        report = replace(report, threads=tuple(shown if one is crashed else one for one in report.threads))
        crashed = shown
    inner = faulting_frame(crashed) if crashed is not None else None
    if inner is not None and dying.status is not None and is_sanitizer(inner.library):
        plain = replace(
            plain, kind="crash", title=f"was ended by a sanitizer, with status {dying.status >> 8}"
        )
    return replace(
        plain,
        place=None if crashed is None else where_faulted(crashed) if is_fault else where(crashed),
        processes=(report,),
        findings=_full_stack(dying, crashed) if crashed is not None else None,
        libraries=libraries_of(captured),
        versions=versions_of(report),
        output=output,
    )


def _full_stack(dying: Dying, crashed: ThreadReport) -> tuple[Finding, ...] | None:
    fault = dying.info.address
    if fault is None:
        return None
    text = full_stack(crashed.stack.frames, fault, area_at(dying.pid, fault))
    return (Finding("crash", text, ((dying.pid, dying.tid),)),) if text is not None else None


def of_end(pid: int, status: int, why_no_stacks: str = "") -> Incident:
    """A process that is gone already; ``status`` is that of wait(2)."""
    code = os.waitstatus_to_exitcode(status)
    how = f"was ended by {signal_in_words(-code)}" if code < 0 else f"ended with status {code}"
    failures = (Failure(pid, why_no_stacks, ""),) if why_no_stacks else ()
    return Incident("end", how, pid, signal=-code if code < 0 else None, failures=failures)


def captured_output(tid: int) -> tuple[tuple[str, str], ...]:
    """The end of what a thread's process has written to its standard output and error, where these have no name.

    pytest captures the output of tests in such files.
    """
    found = []
    for number, name in ((1, "stdout"), (2, "stderr")):
        path = f"/proc/{tid}/fd/{number}"
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink:
                continue
            with open(path, "rb") as file:
                file.seek(max(0, status.st_size - _TAIL))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            continue
        if text:
            found.append((name, text))
    return tuple(found)


def _source_of(dying: Dying) -> str:
    """What is known of the signal: the address of a fault, or another process that has sent it."""
    info = dying.info
    if info.address is not None:
        return f" at address {info.address:#x}"
    if info.sender in (None, 0, dying.pid):
        return ""
    try:
        name = read_status(f"/proc/{info.sender}/status")["Name"]
    except OSError:
        name = "which is gone"
    return f" from process {info.sender} ({name})"


def _without_handler(thread: ThreadReport) -> ThreadReport:
    """The stack from the crash on, where a handler, such as faulthandler's, has sent itself the signal again."""
    frames = thread.stack.frames
    names = [frame.function if isinstance(frame, NativeFrame) else None for frame in frames]
    if SIGNAL_FRAME not in names:
        return thread
    cut = names.index(SIGNAL_FRAME) + 1
    variables = {position - cut: rows for position, rows in thread.locals.items() if position >= cut}
    return replace(thread, stack=replace(thread.stack, frames=frames[cut:]), locals=variables)


def with_states(report: ProcessReport, states: Mapping[int, str]) -> ProcessReport:
    """Every thread was held by us, which is no state of the program: those from before."""
    threads = tuple(replace(thread, state=states.get(thread.thread.tid, "")) for thread in report.threads)
    return replace(report, threads=threads)


def libraries_of(captured: Captured) -> tuple[Library, ...]:
    """The files of code that a process has mapped."""
    found = {module.path: module for module in captured.modules if module.library is not None}
    return tuple(Library(path, module.library.build_id) for path, module in found.items() if module.library)


def versions_of(report: ProcessReport | None) -> dict[str, str]:
    """Of what a report was made with, and about."""
    versions = {"dualdbg": __version__, "system": platform.platform()}
    if report is not None and report.python is not None:
        versions["Python"] = report.python
    return versions
