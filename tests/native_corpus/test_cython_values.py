"""Variables at each line of Cython code, compared with those that CPython has at the same lines."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests.native_corpus.test_cython_steps import INNER, PROGRAM, SOURCE, STEPPED, run_traced
from tests.native_corpus.test_stops import corpus, script
from tests.session.driver import Driver, run_session

Values = dict[tuple[int, str], set[str]]  # of a variable at a line, in all visits


def values_in_python() -> Values:
    """Numbers and lists that variables have where CPython comes to each line; none that is not there at each visit."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    visits: dict[int, int] = defaultdict(int)
    seen: dict[tuple[int, str], int] = defaultdict(int)

    def line(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            visits[frame.f_lineno] += 1
            for name, value in frame.f_locals.items():
                if type(value) in (int, float, list):
                    found[frame.f_lineno, name].add(text_of(repr(value)))
                    seen[frame.f_lineno, name] += 1
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        return line if code.co_filename == str(SOURCE) and code.co_name in (*STEPPED, *INNER) else None

    module: dict[str, Any] = {"__name__": "corpus_steps"}
    exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), module)
    run_traced(module, call)
    return {key: texts for key, texts in found.items() if seen[key] == visits[key[0]]}


def text_of(value: str) -> str:
    """A value as both write it: an object is shown with its address, and C has no ``.0`` behind a whole number."""
    return re.sub(r"^0x[0-9a-f]+ |(?<=\d)\.0\b", "", value)


@pytest.mark.parametrize("level", ["O2", pytest.param("O0", marks=pytest.mark.exhaustive)])
def test_what_is_shown_of_a_variable_is_right(level: str, tmp_path: Path) -> None:
    """Optimised code may have nothing of a variable, or code of a line before what it is computed from."""
    wanted = values_in_python()
    lines = sorted({line for line, _ in wanted})
    known, wrong, count = 0, [], 0

    async def work(driver: Driver) -> None:
        nonlocal known, count
        event = await driver.next(Stopped, Exited)
        while isinstance(event, Stopped):
            frame, tid = event.stop.frame, event.stop.thread.tid
            assert isinstance(frame, NativeFrame) and frame.line is not None
            for row in await driver.session.inspector.variables(tid, frame):
                expected = wanted.get((frame.line, row.name))
                if expected is None:
                    continue
                count += 1
                if row.value.startswith("<"):
                    continue
                known += 1
                if text_of(row.value) not in expected:
                    wrong.append((frame.line, row.name, row.value, expected))
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)

    path = script(tmp_path, PROGRAM)
    specs = (f"corpus_steps.pyx:{line}" for line in lines)
    run_session(work, path, *specs, env=corpus("cython-steps", level))
    print(f"{level}: {count} values, {known} known, {len(wrong)} wrong")
    assert not wrong, wrong
    assert known > (count / 2 if level == "O0" else count / 5) > 10
