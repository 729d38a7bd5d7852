"""What is told of a program that crashed or hangs: its stacks with variables, what it waits for, what it had loaded."""

from __future__ import annotations

import os
import platform
import signal
import stat
from dataclasses import dataclass, field, replace

from .. import __version__
from ..errors import DualdbgError
from ..known.crash_signals import FAULTS
from ..model import NativeFrame, signal_in_words
from ..shared.proc_files import read_status
from ..snapshot.capture import Captured, Wanted, capture
from ..snapshot.facts import Failure, ProcessReport, ThreadReport
from ..snapshot.linux.descriptors import with_other_ends
from ..snapshot.linux.targets import find_targets
from ..snapshot.report.assemble import SIGNAL_FRAME, Assembler
from ..snapshot.report.diagnose import Finding, diagnose
from ..snapshot.report.full_stack import area_at, full_stack
from ..snapshot.report.telling_frame import where, where_faulted, with_fault_shown
from ..snapshot.take import parents_of_forks
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
    """What is to be told of a process that is about to be ended by a signal. It stands still until it is let die.

    A crash may have left anything in memory: where that cannot be read, the incident says so, and has no stacks.
    """
    plain = of_crash_unread(dying)
    try:
        return _read_crash(tracer, dying, plain)
    except DualdbgError as error:
        failure = Failure(dying.pid, error.message, error.hint)
    except Exception as error:
        text = f"what is in its memory makes no sense to dualdbg ({type(error).__name__}: {error})"
        failure = Failure(dying.pid, text, "")
    return replace(plain, failures=(failure,), output=captured_output(dying.pid))


def of_crash_unread(dying: Dying) -> Incident:
    """What the signal alone tells of a crash."""
    title = f"was ended by {signal_in_words(dying.info.number)}{_source_of(dying)}"
    return Incident("crash", title, dying.pid, tid=dying.tid, signal=dying.info.number)


def _read_crash(tracer: Tracer, dying: Dying, plain: Incident) -> Incident:
    held = tracer.hold(dying.pid)
    captured = capture(dying.pid, wanted=Wanted(locals=True), held=held)
    assembler = Assembler(captured)
    assembler.unwind()
    output = captured_output(dying.pid)
    captured.memory.late_pages = 0  # it still stands still
    report = _as_it_was(assembler.report(SourceLines()))
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
    return replace(
        plain,
        place=None if crashed is None else where_faulted(crashed) if is_fault else where(crashed),
        processes=(report,),
        findings=_full_stack(dying, crashed) if crashed is not None else None,
        libraries=_libraries(captured),
        versions=_versions(report),
        output=output,
    )


def _full_stack(dying: Dying, crashed: ThreadReport) -> tuple[Finding, ...] | None:
    fault = dying.info.address
    if fault is None or dying.info.number not in (signal.SIGSEGV, signal.SIGBUS):
        return None
    text = full_stack(crashed.stack.frames, fault, area_at(dying.pid, fault))
    return (Finding("crash", text, ((dying.pid, dying.tid),)),) if text is not None else None


def of_hang(tracer: Tracer, pid: int, seconds: float, *, stop: bool = True) -> Incident:
    """What is to be told of a process that has not come to an end, and of what descends from it. It runs on.

    ``stop``: what the tracer does not hold is stopped to be read; without, it is read while it runs.
    """
    captures: list[tuple[int, Captured, Assembler]] = []
    reports: list[ProcessReport] = []
    failures: list[Failure] = []
    wanted = Wanted.to_diagnose(locals=True)
    for one in find_targets([], [pid]):
        try:
            held = tracer.hold(one) if tracer.traces(one) else None
            captured = capture(one, stop, wanted, held)
            assembler = Assembler(captured)
            assembler.unwind()
            captures.append((one, captured, assembler))
        except DualdbgError as error:
            failures.append(Failure(one, error.message, error.hint))
        finally:
            tracer.release(one)
    lines = SourceLines()
    for one, _, assembler in captures:
        try:
            report = assembler.report(lines)
            reports.append(_as_it_was(report) if tracer.traces(one) else report)
        except DualdbgError as error:
            failures.append(Failure(one, error.message, error.hint))
    reports = with_other_ends(reports)
    first = reports[0] if reports and reports[0].pid == pid else None
    main = first.threads[0] if first is not None and first.threads else None
    return Incident(
        "hang",
        f"has not ended after {seconds:g} s",
        pid,
        where(main) if main is not None else None,
        processes=tuple(reports),
        findings=tuple(diagnose(reports, parents_of_forks(reports, stop=stop))),
        failures=tuple(failures),
        libraries=_libraries(captures[0][1]) if captures else (),
        versions=_versions(first),
        output=captured_output(pid),
    )


def of_end(pid: int, status: int, why_no_stacks: str = "") -> Incident:
    """A process that is gone already; ``status`` is that of wait(2)."""
    code = os.waitstatus_to_exitcode(status)
    how = f"was ended by {signal_in_words(-code)}" if code < 0 else f"ended with status {code}"
    failures = (Failure(pid, why_no_stacks, ""),) if why_no_stacks else ()
    return Incident("end", how, pid, signal=-code if code < 0 else None, failures=failures)


def captured_output(pid: int) -> tuple[tuple[str, str], ...]:
    """The end of what a process has written to its standard output and error, where these are files without a name.

    pytest captures the output of tests in such files.
    """
    found = []
    for number, name in ((1, "stdout"), (2, "stderr")):
        path = f"/proc/{pid}/fd/{number}"
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


def _as_it_was(report: ProcessReport) -> ProcessReport:
    """Every thread was held by us: that is no state of the program, and nothing moved."""
    threads = tuple(replace(thread, state="") for thread in report.threads)
    return replace(report, threads=threads, torn=False)


def _libraries(captured: Captured) -> tuple[Library, ...]:
    found = {module.path: module for module in captured.modules if module.library is not None}
    return tuple(Library(path, module.library.build_id) for path, module in found.items() if module.library)


def _versions(report: ProcessReport | None) -> dict[str, str]:
    versions = {"dualdbg": __version__, "system": platform.platform()}
    if report is not None and report.python is not None:
        versions["Python"] = report.python
    return versions
