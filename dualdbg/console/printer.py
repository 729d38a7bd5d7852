"""Events and reports as text for people. Pure: the style and the reader of source lines are given.

Here a report becomes text wherever a person reads it: at the prompt, in a batch, in the dashboard's log, in an
editor's debug console. ``cli/json_lines.py`` does the same for programs, ``dap/presentation/bodies.py`` for the rest
of an editor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..known.short_names import short_function
from ..model import (
    Breakpoint,
    BreakpointChanged,
    BreakpointState,
    Detached,
    Evaluation,
    Exited,
    Frame,
    Language,
    Location,
    NativeFrame,
    Notice,
    Output,
    Progress,
    Quality,
    Reason,
    Resumed,
    Role,
    SessionStarted,
    Stop,
    Stopped,
    Thread,
    Value,
)
from ..system.terminal_text import cleaned, visible
from .names import computed_text, file_name, frame_place, native_tag, package_path
from .reports import (
    BreakpointsReport,
    CommandReport,
    ErrorReport,
    FrameReport,
    LibrariesReport,
    OfProcess,
    ProcessChanged,
    ProcessesReport,
    Report,
    SourceReport,
    StackReport,
    TasksReport,
    TextReport,
    ThreadsReport,
    TraceReport,
    ValueReport,
    VariablesReport,
)
from .style import Style
from .task_list import task_lines

_OWN_REPR = "__repr__ not run"
_PIPED = 100  # characters of a function's name where lines have no end
_LONG_VALUE = 2000  # characters of a variable in a list of them

LineReader = Callable[[str, int], "str | None"]
"""The text of a line of a source file, or None where there is no such file or line."""

Highlighter = Callable[[str, int, list[str]], list[str]]
"""Lines of a file, the first of which has the given number, with colours."""


@dataclass(frozen=True)
class Printer:
    """Text for people, in the style of the terminal it is for."""

    style: Style
    read_line: LineReader = lambda _file, _line: None
    highlight: Highlighter = lambda _file, _first, lines: lines

    def render(self, report: Report) -> str:
        """Lines that end in a newline, or nothing for what people need not be told."""
        file = _source_file(report)
        shown = cleaned(report, _OF_SEVERAL_LINES)
        if file is None or visible(file) == file:
            return self._render(shown)
        return replace(  # the name that is shown is not the path of the file
            self,
            read_line=lambda _, line: self.read_line(file, line),
            highlight=lambda _, first, lines: self.highlight(file, first, lines),
        )._render(shown)

    def _render(self, report: Report) -> str:
        return _RENDERERS[type(report)](self, report)

    # -- processes ------------------------------------------------------------------------------

    def _of_process(self, report: OfProcess) -> str:
        """The text, with its process where there are several; what holds for all processes is told once."""
        inner = report.report
        if isinstance(inner, (BreakpointChanged, SessionStarted)) and not report.current:
            return ""
        text = self._render(inner)
        if not isinstance(inner, _TOLD_WITH_PROCESS) or not text:
            return text
        blank = text[: len(text) - len(text.lstrip("\n"))]
        return blank + self.style.paint("place", f"[process {report.number}] ") + text.lstrip("\n")

    def _process_changed(self, report: ProcessChanged) -> str:
        if report.state == "current":
            return f"Now process {report.number} ({report.pid})\n"
        return f"Process {report.number} ({report.pid}) joined: {report.title}\n"

    def _processes(self, report: ProcessesReport) -> str:
        rows = []
        for row in report.processes:
            mark = ">" if row.number == report.current else " "
            title = f"  {row.title}" if row.title else ""
            rows.append(f"{mark}{row.number:<3} {row.pid:<8} {row.state.value}{title}\n")
        return "".join(rows)

    # -- the target -----------------------------------------------------------------------------

    def _started(self, event: SessionStarted) -> str:
        python = f"Python {event.python}, " if event.python else ""
        return f"Process {event.pid}, {python}gdb {event.gdb}\n"

    def _stopped(self, event: Stopped) -> str:
        stop = event.stop
        language = "Python" if stop.origin is Language.PYTHON else "native"
        thread = f"thread {stop.thread.tid} {stop.thread.name}".rstrip()
        lines = ["", self.style.paint("stop", f"* {_why(stop)}: {language}, {thread}")]
        if stop.description:
            lines.append("  " + _indented(stop.description))
        if stop.result is not None:
            lines.append("  " + _indented(_returned(stop.result)))
        if stop.frame is not None:
            lines += self._frame_with_line(stop.frame)
        return "".join(f"{line}\n" for line in lines)

    def _exited(self, event: Exited) -> str:
        return f"\nThe program {event.exit.in_words()}\n"

    def _output(self, event: Output) -> str:
        return event.text

    def _progress(self, event: Progress) -> str:
        if event.done:
            return ""
        part = "" if event.fraction is None else f" {event.fraction:.0%}"
        return self.style.paint("place", f"... {event.what}{part}") + "\n"

    def _notice(self, event: Notice) -> str:
        return self._complaint(event.level, event.message, event.hint)

    def _error(self, report: ErrorReport) -> str:
        return self._complaint("error", report.message, report.hint)

    def _complaint(self, level: str, message: str, hint: str) -> str:
        prefix = "dualdbg: " if level == "error" else f"{level}: " if level != "info" else ""
        message = _indented(message)
        text = self.style.paint(level, prefix + message) if level != "info" else message
        return f"{text}\n" + (f"  {_indented(hint)}\n" if hint else "")

    # -- frames ---------------------------------------------------------------------------------

    def _stack(self, report: StackReport) -> str:
        lines = []
        if report.thread is not None:
            lines.append(self.style.paint("stop", _thread_line(report.thread)))
        numbers = [number for number, _ in report.frames if number is not None]
        width = len(str(max(numbers, default=0))) + 1
        for number, frame in report.frames:
            selected = number is not None and number == report.selected
            label = ("" if number is None else f"#{number}").ljust(width)
            lines += self._frame_row(label, frame, selected, report.full)
        if report.left_out:
            lines.append(f"  ({report.left_out} more frames)")
        if report.stack.origin is not None:
            lines.append(self.style.paint("glue", report.stack.origin))
        if report.stack.quality is not Quality.FULL:
            note = f": {report.stack.note}" if report.stack.note else ""
            lines.append(self.style.paint("warning", f"This stack is {report.stack.quality.value}{note}"))
        return "".join(f"{line}\n" for line in lines)

    def _frame_row(self, label: str, frame: Frame, selected: bool, full: bool) -> list[str]:
        kind, tag = _kind(frame)
        start = f"{'>' if selected else ' '}{label} {tag:<4} "
        function = frame.label
        place = frame_place(frame)
        room = self.style.width
        narrow = room is not None and len(start) + len(function) + len(place) + 2 > room
        if not full:
            function = short_function(function, room - len(start) if room is not None else _PIPED)
        head = self.style.paint(
            "selected" if selected else "number", start[: -len(f"{tag:<4} ")]
        ) + self.style.paint(kind, f"{tag:<4} {function}")
        indent = " " * len(start)
        computed = [indent + text for text in self._computed(frame, len(indent))]
        if not place:
            return [head, *computed]
        if not narrow:
            return [f"{head}  {self.style.paint('place', place)}", *computed]
        return [head, indent + self.style.paint("place", _cut(place, room, len(indent))), *computed]

    def _computed(self, frame: Frame, indent: int) -> list[str]:
        text = visible(computed_text(frame))
        return [self.style.paint("place", _cut(text, self.style.width, indent))] if text else []

    def _frame_with_line(self, frame: Frame) -> list[str]:
        kind, _ = _kind(frame)
        place = frame_place(frame)
        room = None if self.style.width is None else self.style.width - 2
        function = self.style.paint(kind, short_function(frame.label, room or _PIPED))
        if room is None or len(frame.label) + len(place) + 2 <= room:
            lines = [f"  {function}" + (f"  {self.style.paint('place', place)}" if place else "")]
        else:
            lines = [f"  {function}", "  " + self.style.paint("place", _cut(place, room, 0))]
        text = self.read_line(frame.file, frame.line) if frame.file and frame.line else None
        if text is not None and text.strip():
            lines.append(f"  {self.style.paint('number', str(frame.line))}  {visible(text.strip())}")
        return lines + [f"  {text}" for text in self._computed(frame, 2)]

    def _frame(self, report: FrameReport) -> str:
        first, *rest = self._frame_with_line(report.frame)
        return "".join(f"{line}\n" for line in [f"#{report.number}{first[1:]}", *rest])

    def _threads(self, report: ThreadsReport) -> str:
        lines = []
        for thread in report.threads:
            mark = ">" if thread.tid == report.current else " "
            lines.append(mark + _thread_line(thread))
        return "".join(f"{line}\n" for line in lines)

    def _tasks(self, report: TasksReport) -> str:
        lines = task_lines(
            report.tasks,
            report.shown,
            report.folded,
            lambda text: self.style.paint("stop", text),
            lambda frame: self._frame_row("", frame, False, False),
        )
        lines += [self.style.paint("warning", note) for note in report.tasks.notes]
        return "".join(f"{line}\n" for line in lines)

    # -- values ---------------------------------------------------------------------------------

    def _value(self, report: ValueReport) -> str:
        hint = f"({_OWN_REPR}: print --repr {report.expression})" if report.value.own_repr else ""
        return "".join(f"{text}\n" for text in (report.value.value, self.style.paint("glue", hint)) if text)

    def _variables(self, report: VariablesReport) -> str:
        if not report.values:
            return f"{report.empty}\n"
        rows = [self._variable(value) for value in report.values]
        names = [value.name for value in report.values if value.own_repr]
        if names:
            rows.append(self.style.paint("glue", f"({_OWN_REPR}: {', '.join(names)}; print --repr NAME)"))
        return "".join(f"{row}\n" for row in rows)

    def _variable(self, value: Value) -> str:
        type_name = (
            f"{self.style.paint('type', short_function(value.type, self.style.width))} " if value.type else ""
        )
        return f"{type_name}{value.name} = {_bounded(value.value, f'print {value.name}')}"

    def _source(self, report: SourceReport) -> str:
        width = len(str(report.first + len(report.lines)))
        shown = self.highlight(report.file, report.first, list(report.lines))
        rows = []
        for number, text in enumerate(shown, report.first):
            mark = ">" if number == report.current else " "
            rows.append(f"{mark}{self.style.paint('number', str(number).rjust(width))}  {text}".rstrip())
        return "".join(f"{row}\n" for row in rows)

    def _libraries(self, report: LibrariesReport) -> str:
        rows = [f"{row.start:#x}-{row.end:#x}  {row.path}\n" for row in report.libraries]
        return "".join(rows) or "No such library.\n"

    def _trace(self, report: TraceReport) -> str:
        from . import trace_report
        from .commands.tracing import ALL_CALLERS, ALL_FUNCTIONS

        return trace_report.text(report.summary, self.style, ALL_FUNCTIONS, ALL_CALLERS)

    # -- breakpoints ------------------------------------------------------------------------------

    def _breakpoint_changed(self, event: BreakpointChanged) -> str:
        row = event.breakpoint
        if not row.enabled:
            return f"Breakpoint {row.id} ({row.spec.text}) is off\n"
        if row.state is BreakpointState.PENDING and row.message is None:
            return f"Breakpoint {row.id} ({row.spec.text}) waits for its code to be loaded\n"
        return f"Breakpoint {row.id} ({row.spec.text}): {_binding(row)}\n"

    def _breakpoints(self, report: BreakpointsReport) -> str:
        if not report.breakpoints:
            return "No breakpoints.\n"
        lines = []
        for row in report.breakpoints:
            flags = [] if row.enabled else ["disabled"]
            flags += [f"hit {row.hit_count} time{'s' if row.hit_count != 1 else ''}"] if row.hit_count else []
            suffix = f"  ({', '.join(flags)})" if flags else ""
            spec = " ".join([row.spec.text, *row.spec.suffixes])
            lines.append(f"{row.id:<3} {spec}: {row.state.value}{suffix}")
            lines += [f"      {_location(location)}" for location in row.locations]
            lines += [f"      {row.message}"] if row.message else []
            lines += [f"      {_evaluation(row, one)}" for one in row.evaluations]
            lines += [f"        {line}" for line in report.actions.get(row.id, ())]
        return "".join(f"{line}\n" for line in lines)


def _evaluation(row: Breakpoint, one: Evaluation) -> str:
    if row.spec.counts:
        what = "calls taken down" if row.spec.records else "hits counted"
        return f"{what} in the process" if one.why_not is None else f"hits not counted: {one.why_not}"
    what = "condition evaluated" if row.spec.condition is not None else "hits counted"
    return f"{what} in the process" if one.why_not is None else f"{what} by gdb at each hit: {one.why_not}"


def _why(stop: Stop) -> str:
    if stop.breakpoints:
        plural = "s" if len(stop.breakpoints) > 1 else ""
        return f"Breakpoint{plural} {', '.join(map(str, stop.breakpoints))}"
    return _REASONS[stop.reason]


def _returned(result: Value) -> str:
    kind = f"{result.type} " if result.type else ""
    return f"Value returned: {kind}{_bounded(result.value, 'locals')}"


def _bounded(text: str, command: str) -> str:
    """A long text cut, with the command that shows all of it."""
    if len(text) <= _LONG_VALUE:
        return text
    return f"{text[:_LONG_VALUE]}… ({len(text)} characters; {command} shows them)"


def _kind(frame: Frame) -> tuple[str, str]:
    """The colour of a frame, and its tag, which shows the language without colours too."""
    if frame.role is not Role.USER:
        tag = "py" if frame.language is Language.PYTHON else "glue" if frame.role is Role.GLUE else "int"
        return "glue", tag
    return ("native", native_tag(frame)) if isinstance(frame, NativeFrame) else ("python", "py")


def _location(location: Location) -> str:
    function = location.function or ""
    if location.file is None and location.library is None and location.address is None:
        return function
    place = f"{package_path(location.file)}:{location.line}" if location.file else file_name(location.library)
    address = f"{location.address:#x} " if location.address is not None else ""
    inlined = f", inlined in {location.inlined_in}" if location.inlined_in else ""
    return f"{address}{function}{' in ' if function else ''}{place}{inlined}"


def _binding(row: Breakpoint) -> str:
    if row.state is BreakpointState.REJECTED or (row.message and not row.locations):
        return f"{row.state.value}: {row.message}"
    if len(row.locations) > 1:
        named = [location.library or location.file for location in row.locations]
        places = {file_name(name) if name is not None else "Python" for name in named}
        inlined = sum(location.inlined_in is not None for location in row.locations)
        note = f", {inlined} of them inlined" if inlined else ""
        note += f" ({row.message})" if row.message else ""
        return f"{len(row.locations)} places in {', '.join(sorted(places))}{note}"
    if not row.locations:
        return str(row.state.value)
    location = row.locations[0]
    if location.file is None and location.library is None:
        place = location.function or str(row.state.value)
    elif location.file:
        place = f"{package_path(location.file)}:{location.line}"
    else:
        place = file_name(location.library)
    notes = [f"inlined in {location.inlined_in}"] if location.inlined_in else []
    notes += [row.message] if row.message else []
    return place + (f" ({', '.join(notes)})" if notes else "")


def _thread_line(thread: Thread) -> str:
    name, *others = thread.names
    parts = [f"thread {thread.tid} {name}", *(f"({one})" for one in others)]
    if thread.holds_gil:
        parts.append("holds the GIL")
    elif thread.waits_for_gil:
        parts.append("waits for the GIL")
    if thread.state:
        parts.append(f"in {thread.state}")
    return " ".join(parts)


def _source_file(report: Report) -> str | None:
    """The file of which a report shows lines."""
    if isinstance(report, OfProcess):
        return _source_file(report.report)
    if isinstance(report, SourceReport):
        return report.file
    if isinstance(report, Stopped):
        frame = report.stop.frame
    else:
        frame = report.frame if isinstance(report, FrameReport) else None
    return frame.file if frame is not None else None


def _indented(text: str) -> str:
    """The text with its further lines indented, so that none of them looks like a line of dualdbg."""
    return text.replace("\n", "\n  ")


def _cut(text: str, room: int | None, indent: int) -> str:
    """The end of a path says most: what does not fit goes from its start."""
    if room is None or len(text) + indent <= room:
        return text
    return "..." + text[len(text) - max(room - indent - 3, 8) :]


_REASONS = {
    Reason.ENTRY: "Start of the program",
    Reason.BREAKPOINT: "Breakpoint",
    Reason.STEP: "Step",
    Reason.GOTO: "Moved",
    Reason.PAUSE: "Paused",
    Reason.EXCEPTION: "Exception",
    Reason.SIGNAL: "Signal",
}

_TOLD_WITH_PROCESS = (Stopped, Exited, Detached, Notice, TraceReport)

# Texts of the program or of gdb that may have several lines. Every other text from outside has one line.
_OF_SEVERAL_LINES: dict[type[Any], frozenset[str]] = {
    Output: frozenset({"text"}),
    TextReport: frozenset({"text"}),
    Value: frozenset({"value"}),
    Stop: frozenset({"description"}),
    Notice: frozenset({"message", "hint"}),
    ErrorReport: frozenset({"message", "hint"}),
}

_RENDERERS: dict[type, Callable[[Printer, Any], str]] = {
    SessionStarted: Printer._started,
    Stopped: Printer._stopped,
    Resumed: lambda _printer, _event: "",
    BreakpointChanged: Printer._breakpoint_changed,
    Output: Printer._output,
    Exited: Printer._exited,
    Detached: lambda _printer, event: f"Detached; process {event.pid} runs on\n",
    Notice: Printer._notice,
    Progress: Printer._progress,
    StackReport: Printer._stack,
    FrameReport: Printer._frame,
    ValueReport: Printer._value,
    VariablesReport: Printer._variables,
    ThreadsReport: Printer._threads,
    TasksReport: Printer._tasks,
    BreakpointsReport: Printer._breakpoints,
    LibrariesReport: Printer._libraries,
    SourceReport: Printer._source,
    TraceReport: Printer._trace,
    OfProcess: Printer._of_process,
    ProcessChanged: Printer._process_changed,
    ProcessesReport: Printer._processes,
    TextReport: lambda _printer, report: report.text,
    CommandReport: lambda printer, report: printer.style.paint("place", report.prompt + report.line) + "\n",
    ErrorReport: Printer._error,
}
