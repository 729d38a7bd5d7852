"""What the tools answer: the structured form, whose schemas the clients are told. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

Names = list[str]


class Answer(BaseModel):
    """The base of all answers. ``left_out`` says what is not in it, and the call that shows that."""

    left_out: str | None = Field(default=None, description="and the call that shows it")


@dataclass(frozen=True)
class Reply:
    """An answer, and the same in words."""

    answer: Answer
    text: str


class FrameRow(BaseModel):
    """One frame, or with ``glue`` so many frames of binding layers in a row, which are folded.

    ``computes`` are lines of the program, of generated code.
    """

    number: int | None = Field(default=None, description="what other tools take as frame")
    language: str | None = Field(default=None, description="python or native")
    function: str | None = None
    file: str | None = None
    line: int | None = None
    library: str | None = None
    glue: int | None = Field(
        default=None, description="so many frames of binding layers, folded into this row"
    )
    locals: dict[str, str] | None = None
    computes: str | None = None


class ValueRow(BaseModel):
    """A value. ``length`` is that of the whole text, where it was cut."""

    name: str
    type: str
    value: str
    length: int | None = Field(default=None, description="characters of the whole text, where value is cut")
    child_count: int | None = None
    has_children: bool | None = None
    children: list[ValueRow] | None = None


class StopRow(BaseModel):
    """Where and why the program stands."""

    number: int
    language: str
    reason: str
    thread: int
    thread_name: str
    breakpoints: list[int] = []
    description: str | None = None
    frame: FrameRow | None = Field(default=None, description="the frame to look at first")
    code: str | None = Field(default=None, description="the source line")
    returned: ValueRow | None = Field(
        default=None, description="what the function returned that was just left"
    )


class BreakpointRow(BaseModel):
    """A breakpoint; ``places`` are the first of those where it is bound."""

    id: int
    spec: str
    state: str
    message: str | None = None
    places: Names = []
    place_count: int = 0
    hits: int = 0
    enabled: bool = True


class Situation(Answer):
    """What a session does, and what has happened since its last answer. Each of it is told once."""

    session: str
    state: str = Field(
        description="starting, running, python-stopped, native-stopped, exited, detached or lost"
    )
    pid: int | None = None
    stop: StopRow | None = Field(default=None, description="only in the first answer after the stop")
    exit_code: int | None = None
    exit_signal: int | None = None
    breakpoints: list[BreakpointRow] | None = None
    notices: Names | None = None
    unread_output: int | None = Field(default=None, description="characters that output would show")
    next: str | None = Field(default=None, description="what to call next")


class BreakpointsAnswer(Answer):
    """The breakpoints of a session."""

    session: str
    breakpoints: list[BreakpointRow]
    notices: Names | None = None


class StackAnswer(Answer):
    """The stack of a thread."""

    session: str
    thread: int
    frames: list[FrameRow]
    frame_count: int
    note: str | None = Field(
        default=None, description="why the stack is not whole, or what started the thread"
    )


class GroupRow(BaseModel):
    """Threads with the same stack, told once; the rarest stack comes first."""

    threads: list[ThreadRow]
    thread_count: int
    frames: list[FrameRow]
    frame_count: int
    note: str | None = None


class ThreadRow(BaseModel):
    """A thread of a process."""

    pid: int
    tid: int
    name: str
    activity: str | None = None
    holds_gil: bool | None = None
    waits_for_gil: bool | None = None


class ProcessRow(BaseModel):
    """A process that was looked at."""

    pid: int
    command: str
    label: str | None = None
    python: str | None = None
    thread_count: int
    notes: Names = []


class StacksAnswer(Answer):
    """The stacks of processes, the rarest first."""

    processes: list[ProcessRow]
    groups: list[GroupRow]
    failures: Names = []


class FindingRow(BaseModel):
    """Something that looks wrong, and which threads it is about."""

    kind: str
    text: str
    threads: list[ThreadRow] = []


class DiagnosisAnswer(Answer):
    """What looks wrong in processes. ``tasks`` are those of asyncio, where nothing else is found."""

    findings: list[FindingRow]
    tasks: Names = []
    failures: Names = []
    next: str | None = None


class VariablesAnswer(Answer):
    """Variables of a frame, or parts of a value."""

    session: str
    frame: FrameRow
    variables: list[ValueRow]
    note: str | None = None


class EvaluationAnswer(Answer):
    """The value of an expression, and whether it ran code."""

    session: str
    language: str = Field(description="in which language it was read: python or native")
    ran_code: bool = Field(description="whether code of the program may have run for it")
    value: ValueRow


class SourceAnswer(Answer):
    """Lines of a source file."""

    file: str
    first: int
    lines: Names
    current: int | None = None


class StationRow(BaseModel):
    """A function on the way of an operator."""

    step: str
    function: str
    overloads: Names = []
    library: str | None = None
    address: str | None = None
    keys: Names = []
    link: str | None = None
    note: str | None = None


class KernelRow(BaseModel):
    """A kernel that torch.compile has generated, or a function of PyTorch's own that generated code calls.

    ``called_in`` are lines of the module, and ``computes`` those of the program; None where that was not recorded.
    """

    kernel: str
    called_in: Names = []
    source: str | None = None
    library: str | None = None
    compiled: Names = []
    computes: Names | None = None


class OperatorAnswer(Answer):
    """The way of an operator from Python to its kernels; or the kernels of a compiled function."""

    operator: str
    schemas: Names = []
    stations: list[StationRow] = []
    kernels: list[KernelRow] = []


class TimesRow(BaseModel):
    """How long the calls took that were timed, in seconds."""

    timed: int
    sum: float
    longest: float | None = None


class CallerRow(BaseModel):
    """Who called a traced function: ``function``, ``file`` and ``line`` of Python, or the ``native`` caller where no
    Python was running."""

    caller: str
    hits: int
    function: str | None = None
    file: str | None = None
    line: int | None = None
    native: str | None = None
    times: TimesRow | None = None


class NumbersRow(BaseModel):
    """What a whole number was that the calls passed."""

    least: int
    most: int
    sum: int


class TracedRow(BaseModel):
    """A traced function. ``hits`` counts every call; ``callers`` and ``numbers`` are about those ``recorded``."""

    function: str
    library: str | None = None
    hits: int | None = Field(default=None, description="left out where it could not be counted: see why")
    why: str | None = Field(default=None, description="why it was not counted, or not all the time")
    recorded: int | None = None
    times: TimesRow | None = None
    untimed: Names = Field(default=[], description="why calls were not timed")
    callers: list[CallerRow] = []
    caller_count: int = 0
    numbers: dict[str, NumbersRow] = {}


class TraceAnswer(Answer):
    """The calls of the traced functions, most hits first."""

    seconds: float
    exit_code: int | None = None
    signal: int | None = Field(default=None, description="the number of the signal that ended the program")
    ended: str = Field(description="why the trace ended")
    functions: list[TracedRow]
    not_called: Names = []
    not_called_count: int = 0
    missing: Names = Field(default=[], description="nothing of that name was loaded")
    output: str = Field(default="", description="the end of what the program wrote")


class OutputRow(BaseModel):
    """What the program has written to one of its streams."""

    stream: str
    text: str


class OutputAnswer(Answer):
    """What the program has written since it was last asked for."""

    session: str
    output: list[OutputRow]
    until: int = Field(description="the position after the last character that is shown")


class EndAnswer(Answer):
    """What became of the session's program."""

    session: str
    ended: str


GroupRow.model_rebuild()
