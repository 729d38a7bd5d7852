"""Steps in Cython, compared with the lines that CPython runs of the same source."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests import support
from tests.native_corpus.build import SOURCES
from tests.native_corpus.test_stops import corpus, script
from tests.session.driver import Driver, run_session

SOURCE = SOURCES / "corpus_steps.pyx"
TEXT = [line.strip() for line in SOURCE.read_text().splitlines()]
STEPPED = (
    "counted",
    "branches",
    "leaves",
    "caught",
    "nested",
    "numbers",
    "summed",
    "around",
    "picked",
    "late",
)
INNER = ("inc", "scaled")
CALLS = ("f(", ".append(", ".inc(", ".fail(", "len(", "names[")  # of such lines none is lost

PROGRAM = """\
import contextlib, corpus_steps

class Calls(list):
    __call__ = list.append

    def fail(self, text):
        raise ValueError(text)

    @contextlib.contextmanager
    def open(self):
        yield 3

corpus_steps.run(Calls())
"""


def run_traced(module: dict[str, Any], call: Callable[[FrameType, str, Any], Any]) -> None:
    """Run the source as Python, with ``call`` as the trace function."""
    before = sys.gettrace()
    sys.settrace(call)
    try:
        module["run"](Calls())
    finally:
        sys.settrace(before)


class Calls(list[Any]):
    """The same, for the trace."""

    __call__ = list.append

    def fail(self, text: str) -> None:
        raise ValueError(text)

    @contextlib.contextmanager
    def open(self) -> Iterator[int]:
        yield 3


def trace(names: tuple[str, ...]) -> dict[str, list[int]]:
    """The lines that CPython runs of each function, in all of its calls; inner functions count with what calls them."""
    support.require(importlib.util.find_spec("Cython"), "Cython is not installed")
    module: dict[str, Any] = {"__name__": "corpus_steps"}
    exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), module)
    found: dict[str, list[int]] = {}

    def owner(frame: FrameType | None) -> str | None:
        while frame is not None and frame.f_code.co_filename == str(SOURCE):
            if frame.f_code.co_name in STEPPED:
                return frame.f_code.co_name
            frame = frame.f_back
        return None

    def line(frame: FrameType, event: str, argument: object) -> Any:
        name = owner(frame)
        if event == "line" and name is not None and frame.f_code.co_name in names:
            found.setdefault(name, []).append(frame.f_lineno)
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        return line if frame.f_code.co_filename == str(SOURCE) else None

    run_traced(module, call)
    return {name: [line for line, _ in groupby(lines)] for name, lines in found.items()}


def shown(kind: str, level: str, folder: Path, wanted: dict[str, list[int]]) -> dict[str, list[int]]:
    """The lines at which the steps through each function end, in all of its calls. The breakpoint's line is not where a
    step ends; it counts where it is the first one of the function.
    """
    found: dict[str, list[int]] = {name: [] for name in STEPPED}

    async def work(driver: Driver) -> None:
        event = await driver.next(Stopped, Exited)
        while isinstance(event, Stopped):
            begin, frame = event.stop.frame, event.stop.frame
            assert isinstance(begin, NativeFrame)
            name = (begin.function or "").partition(".")[2]
            while isinstance(frame, NativeFrame) and _is_within(frame, begin):
                assert frame.line is not None
                is_end = frame is not begin or frame.line == wanted[name][0]
                if is_end and not TEXT[frame.line - 1].startswith(("def", "@")):
                    found[name].append(frame.line)
                await driver.session.step(kind)
                event = await driver.next(Stopped, Exited)
                frame = event.stop.frame if isinstance(event, Stopped) else None
            if isinstance(event, Stopped):
                await driver.session.resume()
                event = await driver.next(Stopped, Exited)

    path = script(folder, PROGRAM)
    run_session(work, path, *(f"corpus_steps.{name}" for name in STEPPED), env=corpus("cython-steps", level))
    return found


def _is_within(frame: NativeFrame, begin: NativeFrame) -> bool:
    return frame.function == begin.function or (frame.function or "").rpartition(".")[2] in INNER


def differences(lines: list[int], ends: list[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """The lines that are not among ``ends`` in their order, and the ends that are too many, each with the number of
    lines before it.
    """
    longest = [[0] * (len(ends) + 1) for _ in range(len(lines) + 1)]  # common part of what is left
    for i in reversed(range(len(lines))):
        for j in reversed(range(len(ends))):
            same = lines[i] == ends[j]
            longest[i][j] = longest[i + 1][j + 1] + 1 if same else max(longest[i + 1][j], longest[i][j + 1])
    missed, more, i, j = [], [], 0, 0
    while i < len(lines) or j < len(ends):
        if i < len(lines) and j < len(ends) and lines[i] == ends[j]:
            i, j = i + 1, j + 1
        elif j == len(ends) or (i < len(lines) and longest[i + 1][j] >= longest[i][j + 1]):
            missed.append(lines[i])
            i += 1
        else:
            more.append((ends[j], i))
            j += 1
    return missed, more


SOME = {("step", "O2"), ("next", "O0")}  # both kinds, and both that an author compiles with
ROWS = [
    pytest.param(kind, level, marks=() if (kind, level) in SOME else pytest.mark.exhaustive)
    for level in ("O0", "O1", "O2", "O3", "Os", "O3-lto")
    for kind in ("next", "step")
]


@pytest.mark.parametrize(("kind", "level"), ROWS)
def test_a_step_ends_at_lines_that_run_and_loses_none_that_calls(
    kind: str, level: str, tmp_path: Path
) -> None:
    """Optimised code may have nothing of its own for other lines: of arithmetic, of ``break``, of ``return``."""
    wanted = trace(STEPPED + INNER if kind == "step" else STEPPED)
    found = shown(kind, level, tmp_path, wanted)
    wrong, lost, passed = [], [], []
    if kind == "step":
        del wanted["around"]  # its steps go into Python
    for name, lines in wanted.items():
        ends = [line for line, _ in groupby(found[name])]
        seen = [line for line in lines if line in ends or any(one in TEXT[line - 1] for one in CALLS)]
        passed += [line for line in lines if line not in seen]
        missed, more = differences([line for line, _ in groupby(seen)], ends)
        for line in missed:
            (lost if any(one in TEXT[line - 1] for one in CALLS) else passed).append(line)
        # The compiler mixes lines that run after each other, and a call returns to its line; Cython comes back to
        # a line to put away what a handler has saved, and where a generator goes on.
        wrong += [line for line, at in more if line not in seen[max(0, at - 5) : at + 3]]
    print(f"{kind} {level}: {sum(map(len, wanted.values()))} lines, {len(passed)} without code of their own")
    assert not wrong and not lost, [(line, TEXT[line - 1]) for line in (*wrong, *lost)]
    assert level != "O0" or not passed, [TEXT[line - 1] for line in passed]
