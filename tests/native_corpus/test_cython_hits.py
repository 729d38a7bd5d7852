"""Breakpoints on lines of Cython, compared with how often CPython comes to the same lines."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.native_corpus.test_cython_steps import CALLS, INNER, PROGRAM, SOURCE, STEPPED, TEXT, run_traced
from tests.native_corpus.test_stops import corpus, script
from tests.session.driver import Driver, run_session

# The lines of the functions that are looked at.
SOURCE_BEGINS, SOURCE_ENDS = TEXT.index("def counted(n: cython.int, f):"), TEXT.index("def run(f):")


def arrivals() -> Counter[int]:
    """How often CPython comes to each line of the functions from another one, or from what resumes a generator."""
    module: dict[str, Any] = {"__name__": "corpus_steps"}
    exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), module)
    last: dict[FrameType, int] = {}
    found: Counter[int] = Counter()

    def line(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            found[frame.f_lineno] += last.get(frame) != frame.f_lineno
            last[frame] = frame.f_lineno
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        name, code = frame.f_code.co_name, frame.f_code
        if code.co_filename != str(SOURCE) or name not in (*STEPPED, *INNER):
            return None
        if frame in last and code.co_flags & inspect.CO_GENERATOR:
            found[frame.f_lineno] += 1
        return line

    run_traced(module, call)
    return found


def hits(level: str, folder: Path, lines: list[int]) -> dict[int, tuple[int, str | None]]:
    """How often a breakpoint on each line is hit, and what is said of it; lines that are not bound are left out."""
    path = script(folder, PROGRAM + "print('over')\n")
    last = len(path.read_text().splitlines())

    async def work(driver: Driver) -> dict[int, tuple[int, str | None]]:
        await driver.stop()
        table = driver.session.breakpoints
        rows = [one for line in lines for one in await table.add(f'corpus_steps.pyx:{line} log "x"')]
        await driver.session.resume()
        await driver.stop()
        rows = [table.get(row.id) for row in rows]
        await driver.finish_run()
        found = zip(lines, rows, strict=True)
        return {line: (row.hit_count, row.message) for line, row in found if row.locations}

    stops = (f"{path.name}:{last - 1}", f"{path.name}:{last}")
    return run_session(work, path, *stops, env=corpus("cython-steps", level))


LEVELS = [
    pytest.param(level, marks=() if level == "O2" else pytest.mark.exhaustive)
    for level in ("O0", "O1", "O2", "O3", "Os", "O3-lto")
]


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_is_hit_as_often_as_control_comes_to_it(level: str, tmp_path: Path) -> None:
    """In optimised code that holds for lines that call something, for such lines that are never run, and for all others
    of which nothing else is said. Of some of these nothing is left.
    """
    wanted = arrivals()
    calls = {number for number, line in enumerate(TEXT, 1) if any(one in line for one in CALLS)}
    body = {number for number in calls if SOURCE_BEGINS < number < SOURCE_ENDS}
    lines = sorted(body | wanted.keys())
    found = hits(level, tmp_path, lines)
    unsure = [line for line, (_, message) in found.items() if message is not None]
    known = found.keys() - unsure
    if level == "O0":
        known = {*lines}
    elif level != "O1":  # which puts two calls of a line apart
        known |= body
    sure = sorted(known)
    wrong = {
        line: (TEXT[line - 1], wanted[line], found.get(line))
        for line in sure
        if line not in found or found[line][0] != wanted[line]
        if not TEXT[line - 1].startswith("with ")  # CPython comes back to it
    }
    right = sum(found[line][0] == wanted[line] for line in unsure)
    print(
        f"{level}: {len(lines)} lines, {len(wrong)} wrong; {len(unsure)} not certain, of which {right} right"
    )
    assert len(body) > 25 and not wrong
    assert level != "O0" or not unsure
