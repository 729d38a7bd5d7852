"""Many samples of the stacks of processes as one: where the time goes, and who has the GIL. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...model import Frame, NativeFrame, Role
from ...system.terminal_text import visible
from ..facts import ProcessReport, ThreadReport
from .telling_frame import place

_RUNS = ("R", "D")  # states of proc(5): on a processor or waiting for one; waiting for a disk


@dataclass(frozen=True)
class Spot:
    """A place of a stack as a profile shows it. ``kind``: process, thread, python, native, or glue."""

    name: str
    file: str | None
    line: int | None
    kind: str


@dataclass
class GilUse:
    """In how many samples a thread held the GIL, and waited for it, of how many in which it was seen."""

    name: str
    held: int = 0
    waited: int = 0
    samples: int = 0


@dataclass
class Profile:
    """Samples that were added, as counts. ``with_idle``: threads that sleep count too.

    ``stacks`` counts the stacks, outermost first: the process, the thread, then its visible frames. ``stops`` are the
    seconds for which processes stood still, one for each sample of a process.
    """

    with_idle: bool = False
    stacks: Counter[tuple[Spot, ...]] = field(default_factory=Counter)
    gil: dict[tuple[int, int], GilUse] = field(default_factory=dict)
    stops: list[float] = field(default_factory=list)
    samples: int = 0
    idle: int = 0

    def add(self, reports: Sequence[ProcessReport]) -> None:
        """One more sample, of all processes."""
        self.samples += 1
        for process in reports:
            if process.stopped is not None:
                self.stops.append(process.stopped)
            for thread in process.threads:
                self._add(process, thread)

    def _add(self, process: ProcessReport, report: ThreadReport) -> None:
        thread = report.thread
        use = self.gil.setdefault((process.pid, thread.tid), GilUse(""))
        name = use.name = use.name or f"thread {thread.tid} {thread.python_name or thread.name}".rstrip()
        use.samples += 1
        use.held += bool(thread.holds_gil)
        use.waited += bool(thread.waits_for_gil)
        if not self.with_idle and not runs(report):
            self.idle += 1
            return
        label = f" ({process.label})" if process.label else ""
        outer = (
            Spot(f"process {process.pid}{label}", None, None, "process"),
            Spot(name, None, None, "thread"),
        )
        frames = tuple(_spot(frame) for frame in reversed(report.stack.visible()))
        self.stacks[outer + frames] += 1

    @property
    def total(self) -> int:
        """How many stacks were counted."""
        return sum(self.stacks.values())

    def top(self) -> list[tuple[Spot, int, int]]:
        """Each function with how often it was innermost, which decides the order, and how often it was in a stack."""
        own: Counter[Spot] = Counter()
        within: Counter[Spot] = Counter()
        for stack, count in self.stacks.items():
            functions = [_function(spot) for spot in stack[2:]]
            if functions:
                own[functions[-1]] += count
            for spot in set(functions):
                within[spot] += count
        rows = [(spot, own[spot], count) for spot, count in within.items()]
        return sorted(rows, key=lambda row: (-row[1], -row[2], row[0].name))


@dataclass
class Node:
    """A place below the same outer places, with how many samples it is in."""

    spot: Spot
    count: int = 0
    inner: dict[Spot, Node] = field(default_factory=dict)

    def depth(self) -> int:
        """The length of the longest stack from here on."""
        deepest, waiting = 0, [(self, 1)]
        while waiting:
            node, at = waiting.pop()
            deepest = max(deepest, at)
            waiting += [(each, at + 1) for each in node.inner.values()]
        return deepest


def tree(profile: Profile) -> Node:
    """All stacks as one tree."""
    root = Node(Spot("all", None, None, "process"))
    for stack, count in profile.stacks.items():
        node = root
        node.count += count
        for spot in stack:
            node = node.inner.setdefault(spot, Node(spot))
            node.count += count
    return root


def folded(profile: Profile) -> Iterator[str]:
    """A line for each stack, as flamegraph.pl and speedscope read it: places with ``;`` between them, and the count."""
    for stack, count in sorted(profile.stacks.items(), key=lambda row: [spot.name for spot in row[0]]):
        yield ";".join(visible(spot.name).replace(";", ":") for spot in stack) + f" {count}"


def speedscope(profile: Profile, name: str, interval: float) -> dict[str, object]:
    """The profile in the format of https://www.speedscope.app/file-format-schema.json; one profile for each thread.

    ``interval``: the seconds that a sample stands for.
    """
    frames: dict[Spot, int] = {}
    threads: dict[tuple[Spot, Spot], list[tuple[list[int], float]]] = {}
    for stack, count in profile.stacks.items():
        numbers = [frames.setdefault(spot, len(frames)) for spot in stack[2:]]
        threads.setdefault((stack[0], stack[1]), []).append((numbers, count * interval))
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "dualdbg",
        "name": name,
        "shared": {"frames": [_shared(spot) for spot in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": f"{process.name}, {thread.name}",
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weight for _, weight in rows),
                "samples": [numbers for numbers, _ in rows],
                "weights": [weight for _, weight in rows],
            }
            for (process, thread), rows in threads.items()
        ],
    }


def runs(report: ThreadReport) -> bool:
    """Whether a thread is at work: neither asleep nor waiting for another one."""
    return report.state in _RUNS and not report.thread.waits_for_gil


def _shared(spot: Spot) -> dict[str, object]:
    row: dict[str, object] = {"name": spot.name}
    if spot.file is not None:
        row["file"] = spot.file
    if spot.line is not None:
        row["line"] = spot.line
    return row


def _function(spot: Spot) -> Spot:
    """The function of a place: without its line."""
    suffix = f":{spot.line})"
    name = f"{spot.name.removesuffix(suffix)})" if spot.name.endswith(suffix) else spot.name
    return Spot(name, spot.file, None, spot.kind)


def _spot(frame: Frame) -> Spot:
    glue = frame.role is Role.GLUE
    kind = "glue" if glue else "native" if isinstance(frame, NativeFrame) else "python"
    file = frame.file or (frame.library if isinstance(frame, NativeFrame) else None)
    return Spot(place(frame), file, frame.line, kind)
