"""Random walks by next, step and finish through Python and C++: does each step end where the source says?

``python -m bench walks --count N --seed S --jobs J``. Each number from S on is one walk, and decides by itself the plan
that samples/walks follows, how its C++ was compiled (-O0 or -O2), where the walk begins and which steps it takes. What
is right is read from a trace of the same plan that was made without a debugger. A failure is printed with its number,
which repeats it: ``--seed NUMBER --count 1``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.campaign import Failures, failures, run
from dualdbg.errors import CommandError
from dualdbg.model import Event, Exited, Frame, NativeFrame, PythonFrame, Stopped
from dualdbg.session.options import Options
from dualdbg.session.session import Session
from dualdbg.session.start import launch
from dualdbg.symbols.objfile import Objfile
from dualdbg.system.patience import patient
from dualdbg.target.launcher import Launch
from samples.walks.build import build

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "samples" / "walks" / "walks.py"
SOURCE = ROOT / "samples" / "walks" / "sample_walks.cpp"
DEADLINE = patient(120.0)  # seconds for one step; only a hang takes that long
STEPS = 14
_FUNCTION = re.compile(r"^(?:static )?\w[\w:<> *]* \*?(\w+)\([^;]*\) \{|^ +(?:explicit )?(~?Keeper)\(.*\{")
_COMMANDS = ("next", "next", "next", "step", "step", "step", "finish")


@dataclass(frozen=True)
class Walk:
    """One walk, as its number decides."""

    seed: int
    plan: str
    optimize: str
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, seed: int) -> Walk:
        dice = random.Random(seed)
        plan = "".join(_plan(dice, 0, dice.randint(2, 4))) + ")"
        return cls(seed, plan, dice.choice("02"), tuple(dice.choice(_COMMANDS) for _ in range(STEPS)))

    def __str__(self) -> str:
        return f"{self.seed}: -O{self.optimize} {self.plan}"


def _plan(dice: random.Random, depth: int, length: int) -> Iterator[str]:
    for _ in range(length):
        kind = dice.choice("lqw" if depth > 5 else "llnnnpppggrrytqw" if depth else "nnppggy")
        if kind in "lqwt":
            yield kind
            if kind == "t":
                return  # nothing of this block runs behind it
        else:
            yield kind + "("
            yield from _plan(dice, depth + 1, dice.randint(1, 3))
            yield ")"


@dataclass(frozen=True)
class Line:
    """A line that ran. ``count``: how many lines of C++ had run before; ``depth`` counts the functions on the stack."""

    function: str
    line: int
    depth: int
    count: int
    native: bool

    def __str__(self) -> str:
        return f"{self.function}:{self.line} (depth {self.depth}, {self.count} lines of C++ ran)"


@dataclass(frozen=True)
class End:
    """Where a step may end: in the function of ``line``, before line number ``at`` of the trace runs.

    ``fresh``: that is this very line, and nothing of it has run; else the line is in the middle of a call. The count is
    ``least`` to ``most`` then.
    """

    line: Line
    at: int
    fresh: bool
    least: int
    most: int


class Trace:
    """What a plan does, from a run without a debugger: its lines in their order, and where a step may end."""

    def __init__(self, walk: Walk, folder: Path) -> None:
        # Lines that the optimiser may have merged with the one before.
        self._slack = 1 if walk.optimize != "0" else 0
        functions = list(_functions())
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            words = [sys.executable, str(PROGRAM), walk.plan, file.name]
            environment = {**os.environ, "PYTHONPATH": str(folder)}
            subprocess.run(words, env=environment, capture_output=True, check=False)
            written = json.loads(Path(file.name).read_text())
        rows: list[tuple[float, Line]] = []
        for count, function, line, depth in written["lines"]:
            rows.append((count - 0.5, Line(function, line, depth, count, False)))
        for count, mark in enumerate(written["marks"]):
            if mark > 0:  # else an exception passes: nobody wants to see the destructors
                line, depth = divmod(mark, 1000)
                rows.append((count, Line(functions[line - 1], line, depth, count, True)))
        rows.sort(key=lambda row: row[0])
        self.lines = [line for _, line in rows]
        self._total = len(written["marks"])

    def starts(self) -> list[tuple[int, str, int]]:
        """Where a walk may begin: the number of a line, its place for a breakpoint, and which hit of that it is."""
        hits: Counter[tuple[bool, int]] = Counter()
        found = []
        for at, line in enumerate(self.lines):
            key = line.native, line.line
            hits[key] += 1
            text = (_SOURCE if line.native else _SCRIPT)[line.line - 1]
            if hits[key] <= 3 and not _MANY_PLACES.search(text) and not (line.native and self._slack):
                name = SOURCE.name if line.native else PROGRAM.name
                found.append((at, f"{name}:{line.line}", hits[key]))
        return found

    def ends(self, kind: str, now: End) -> list[End]:
        """Where a step may end that begins at ``now``. None of them: the program ends."""
        depth, slack = now.line.depth, self._slack
        found: list[End] = []
        last = now.line if now.fresh else None
        for index in range(now.at + now.fresh, len(self.lines)):
            line = self.lines[index]
            if line.depth > depth:
                if kind == "step":
                    found.append(self._begins(index))
                    if line.function != "compare" and not slack:
                        return found
                continue
            if line.depth < depth:
                return [*found, *self._resumed(kind, index, now), *self._outside(index, now, last)]
            if line.function == "compare" and "return" in _SOURCE[(last or now.line).line - 1]:
                continue  # the C library calls it again: that is another call, and a step out passes it
            last = line
            if kind != "finish":
                found.append(self._begins(index))
                if not slack:
                    return found
                slack -= 1
        return [*found, *self._outside(len(self.lines), now, last)]

    def after(self, end: End, place: Line) -> End:
        """The same end, where the optimiser's lines have run further than the source's: by the count of ``place``."""
        for index in range(end.at, len(self.lines)):
            line = self.lines[index]
            if line.depth <= place.depth and line.count >= place.count:
                return End(place, index, False, place.count, place.count)
        return End(place, len(self.lines), False, place.count, place.count)

    def _begins(self, index: int) -> End:
        line = self.lines[index]
        most = line.count
        if self._slack:
            following = (one.count for one in self.lines[index + 1 :] if one.depth <= line.depth)
            most = next(following, self._total)
        return End(line, index, True, line.count - self._slack, most)

    def _resumed(self, kind: str, outside: int, now: End) -> list[End]:
        """A generator that is left at a yield: debugpy's ``next`` stays in it, and goes on when it is resumed.

        Where that is its end, the caller's line that resumed it goes on.
        """
        if kind != "next" or now.line.native or "yield" not in _SCRIPT[now.line.line - 1]:
            return []
        for index in range(outside, len(self.lines)):
            line = self.lines[index]
            if (line.depth, line.function) == (now.line.depth, now.line.function):
                return [self._begins(index)]
        callers = self._callers(now)
        return self._goes_on(callers[0], outside) if callers else []

    def _goes_on(self, caller: Line, outside: int) -> list[End]:
        """In the middle of the line of ``caller``, when it next comes."""
        for index in range(outside, len(self.lines)):
            line = self.lines[index]
            if (line.depth, line.function, line.line) == (caller.depth, caller.function, caller.line):
                return [End(line, index + 1, False, line.count, line.count)]
        return []

    def _outside(self, index: int, now: End, last: Line | None) -> list[End]:
        """The function of ``now`` is over; ``index`` is the first line outside, and ``last`` the last one inside."""
        callers = self._callers(now)
        line = self.lines[index] if index < len(self.lines) else None
        last = last or now.line
        text = (_SOURCE if last.native else _SCRIPT)[last.line - 1]
        most = line.count if line is not None else self._total
        if _RETURNS.search(text):
            if not callers:
                return [End(_OUTSIDE, index, False, 0, 0)]
            found = [End(callers[0], index, False, now.least, most)]
            # debugpy, and gdb where the rest of the line calls nothing, go on to the caller's next line.
            if line is not None:
                found.append(self._begins(index))
            return found
        # An exception: its handler, or a function of Python that it goes through.
        lowest = line.depth if line is not None else 0
        found = [
            End(one, index, False, now.least, most)
            for one in callers
            if not one.native and one.depth >= lowest
        ]
        return [*found, self._begins(index) if line is not None else End(_OUTSIDE, index, False, 0, 0)]

    def _callers(self, now: End) -> list[Line]:
        """The lines of the functions that have called the one of ``now``, the innermost first."""
        found: list[Line] = []
        depth = now.line.depth
        for line in reversed(self.lines[: now.at]):
            if line.depth < depth:
                found.append(line)
                depth = line.depth
        return found


_OUTSIDE = Line("<module>", 0, 0, 0, False)
_SOURCE = SOURCE.read_text().splitlines()
_SCRIPT = PROGRAM.read_text().splitlines()
_MANY_PLACES = re.compile(r"while|catch|Keeper|MARK|for |def ")
_RETURNS = re.compile(r"\breturn\b|\byield\b|MARK\(std|kept = depth")


def _functions() -> Iterator[str]:
    """For each line of the C++ source its function."""
    function = "?"
    for text in _SOURCE:
        match = _FUNCTION.match(text)
        if match:
            function = match.group(1) or match.group(2)
        yield function


class Wrong(Exception):
    """A step that ended elsewhere."""


class Walker:
    """A session, and where its target is."""

    def __init__(self, session: Session, events: asyncio.Queue[Event], library: Path) -> None:
        self._session = session
        self._events = events
        self._library = library
        self._names = {name for name in _functions() if name != "?"} - {
            "work",
            "prepare",
            "step_for",
            "marks",
        }
        self.trail: list[str] = []
        self.texts: list[str] = []

    async def event(self) -> Stopped | Exited:
        while True:
            event = await asyncio.wait_for(self._events.get(), DEADLINE)
            if isinstance(event, (Stopped, Exited)):
                return event
            self.texts.append(str(event)[:300])

    async def here(self, event: Stopped) -> Line | None:
        """The place of a stop; None outside of the walk's functions."""
        stack = await self._session.inspector.stack()
        frames = [name for frame in stack.visible() if (name := self._name(frame)) is not None]
        top = event.stop.frame
        if top is None or self._name(top) is None:
            raise Wrong(f"stopped in {top}, of {[_told(frame) for frame in stack.visible()][:6]}")
        if not frames:
            return None
        function = self._name(top) or ""
        if function == "<module>":
            return None
        depth = sum(name != "<module>" for name in frames)
        return Line(function, top.line or 0, depth, self._count(), isinstance(top, NativeFrame))

    def _name(self, frame: Frame) -> str | None:
        if isinstance(frame, PythonFrame):
            return frame.function if Path(frame.file or "").name == PROGRAM.name else None
        words = re.sub(r"\(anonymous namespace\)|\(.*", "", frame.function or "").split("::")
        return words[-1] if Path(frame.library or "") == self._library and words[-1] in self._names else None

    def _count(self) -> int:
        module = next(
            one for one in self._session.breakpoints.image.modules if one.path == str(self._library)
        )
        symbol = Objfile.open(self._library).find_data("walk_count")[0]
        with open(f"/proc/{self._session.loop.state.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(symbol.address + module.bias)
            return int.from_bytes(memory.read(8), "little")


def _told(frame: Frame) -> str:
    return f"{frame.function}:{frame.line}"


def _matching(place: Line, ends: list[End], is_exact: bool) -> End | None:
    for end in ends:
        line = end.line
        same = (place.function, place.depth, place.native) == (line.function, line.depth, line.native)
        exact = place.line == line.line or (place.native and not is_exact)
        if same and exact and end.least <= place.count <= end.most:
            return end
    return None


async def walk_once(walk: Walk, trace: Trace, library: Path, script_log: Path | None = None) -> list[str]:
    """Take the steps. Returns what was done. Raises Wrong."""
    dice = random.Random(walk.seed)
    at, spec, hit = dice.choice(trace.starts())
    queues: list[Any] = []
    silence = os.open(os.devnull, os.O_WRONLY)
    session = await launch(
        Launch(
            sys.executable,
            script=str(PROGRAM),
            args=(walk.plan,),
            env={"PYTHONPATH": str(library.parent)},
            stdout=silence,
            stderr=silence,
        ),
        Options(breakpoints=(spec,), log_dir=script_log),
        None,
        subscribe=lambda one: queues.append(one.subscribe()),
    )
    walker = Walker(session, queues[0], library)
    try:
        return await _walk(walk, trace, walker, session, at, spec, hit)
    except Wrong as wrong:
        raise Wrong("\n    ".join([str(wrong), *walker.trail, *walker.texts[-3:]])) from None
    finally:
        await session.close()
        os.close(silence)


async def _walk(
    walk: Walk, trace: Trace, walker: Walker, session: Session, at: int, spec: str, hit: int
) -> list[str]:
    event = await walker.event()
    for _ in range(hit - 1):
        await session.resume()
        event = await walker.event()
    for row in session.breakpoints.all():
        await session.breakpoints.remove(row.id)
    if isinstance(event, Exited):
        raise Wrong(f"the program ended before {spec} was reached {hit} times")
    line = trace.lines[at]
    now = End(line, at, True, line.count, line.count)
    place = await walker.here(event)
    walker.trail.append(f"begins at {place}")
    if place != line:
        raise Wrong(f"the walk is to begin at {line}, and began at {place}")
    for kind in walk.kinds:
        if kind == "finish" and now.line.function == "produced":
            kind = "step"  # debugpy's step out of a generator passes its yields
        ends = trace.ends(kind, now)
        try:
            await session.step(kind)
        except CommandError as error:
            raise Wrong(f"{kind} was refused: {error.message}") from None
        event = await walker.event()
        if isinstance(event, Exited):
            if _OUTSIDE not in [end.line for end in ends]:
                raise Wrong(f"{kind} ran to the end, not to {' or '.join(str(end.line) for end in ends)}")
            break
        place = await walker.here(event)
        walker.trail.append(f"{kind} to {place}")
        if place is None:
            if _OUTSIDE not in [end.line for end in ends]:
                raise Wrong(f"{kind} left the walk, not to {' or '.join(str(end.line) for end in ends)}")
            break
        found = _matching(place, ends, walk.optimize == "0")
        if found is None:
            wanted = " or ".join(f"{end.line}{'' if end.fresh else ' again'}" for end in ends) or "the end"
            raise Wrong(f"{kind} is to end at {wanted}")
        now = found
        if walk.optimize != "0":
            now = trace.after(found, place)
    return walker.trail


def play(walk: Walk) -> str:
    """What was wrong; nothing when all was well."""
    folder = build(walk.optimize)
    library = next(folder.glob("sample_walks*.so"))
    trace = Trace(walk, folder)
    if not trace.starts():
        return ""
    try:
        asyncio.run(walk_once(walk, trace, library))
    except Wrong as wrong:
        return str(wrong)
    except (asyncio.TimeoutError, TimeoutError):
        return f"no stop within {DEADLINE:g} s"
    return ""


def campaign(seeds: range, jobs: int) -> Failures[Walk]:
    """Plays all of them, each in a process of its own, prints what was wrong, and returns it."""
    for optimize in "02":
        build(optimize)
    walks = [Walk.of(seed) for seed in seeds]
    with ProcessPoolExecutor(jobs) as pool:
        return failures(walks, pool.map(play, walks))


def main(words: list[str] | None = None) -> int:
    return run("walks", __doc__, campaign, lambda found: f"{len(found)} with a wrong end", words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
