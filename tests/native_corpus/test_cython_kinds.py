"""Cython compiled as C++, with functions of more kinds, and a file of Python that Cython has compiled.

What is verified stops as often as the counters in the source say; what is not certain says so.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dualdbg.model import BreakpointState
from tests import support
from tests.native_corpus.build import SOURCES
from tests.native_corpus.test_cython_steps import Calls
from tests.native_corpus.test_other_languages import PROGRAM
from tests.native_corpus.test_stops import corpus
from tests.session.driver import Driver, run_session

KINDS = (SOURCES / "corpus_kinds.pyx").read_text()
NAMES = [one.strip(' \n"') for one in KINDS.partition("NAMES = (")[2].partition(")\n")[0].split(",")]
NAMES = [f"corpus_kinds.{one}" for one in NAMES if one]
PURE = SOURCES / "corpus_pure.py"

LEVELS = [
    pytest.param(level, marks=() if level in ("O0", "O2") else pytest.mark.exhaustive)
    for level in ("O0", "O1", "O2", "O3", "Os", "O3-lto")
]


def hits(
    specs: list[str], script: str, level: str, layer: str, tmp_path: Path
) -> dict[str, tuple[int, BreakpointState]]:
    """How often each of these is hit in a run, and its state at the end."""
    support.require(importlib.util.find_spec("Cython"), "Cython is not installed")
    path = tmp_path / "drive.py"
    path.write_text(script)
    last = len(script.splitlines())

    async def work(driver: Driver) -> dict[str, tuple[int, BreakpointState]]:
        await driver.stop()
        table = driver.session.breakpoints
        rows = {spec: await table.add(f'{spec} log "x"') for spec in specs}
        await driver.session.resume()
        await driver.stop()
        found = {spec: [table.get(one.id) for one in there] for spec, there in rows.items()}
        await driver.finish_run()
        return {spec: (one.hit_count, one.state) for spec, (one,) in found.items()}

    return run_session(
        work,
        path,
        "drive.py:3",
        f"drive.py:{last}",
        env=corpus(layer, level),
        launch_options={"args": (str(tmp_path / "counts.json"),)},
    )


COUNTERS = {  # the line of each counter -> the function that it counts
    f"corpus_kinds.pyx:{number}": NAMES[int(found[1])]
    for number, line in enumerate(KINDS.splitlines(), 1)
    if (found := re.fullmatch(r" +calls\[(\d+)\] \+= 1", line)) is not None
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_function_or_line_that_is_verified_stops_as_often_as_it_counts(level: str, tmp_path: Path) -> None:
    specs = [*NAMES, *COUNTERS]
    every = hits(specs, PROGRAM.format(module="corpus_kinds"), level, "cython-kinds", tmp_path)
    calls = json.loads((tmp_path / "counts.json").read_text())
    found = {name: every[name] for name in NAMES}
    assert calls.keys() == found.keys()
    wrong = {
        name: (calls[name], count)
        for name, (count, state) in found.items()
        if state is not BreakpointState.UNCERTAIN and count != calls[name]
        if name != "corpus_kinds.Shape.__iter__" or count != 3 * calls[name]  # a generator goes on
    }
    unsure = {
        name: (calls[name], count)
        for name, (count, state) in found.items()
        if state is BreakpointState.UNCERTAIN
    }
    print(f"{level}: {len(NAMES)} functions, {len(wrong)} wrong; uncertain (calls, hits): {unsure}")
    assert not wrong
    assert len(unsure) <= (0 if level == "O0" else 14)

    lines = {spec: every[spec] for spec in COUNTERS}
    verified = {spec: count for spec, (count, state) in lines.items() if state is BreakpointState.VERIFIED}
    assert len(COUNTERS) == len(NAMES) and (level != "O0" or verified.keys() == lines.keys())
    assert verified == {spec: calls[COUNTERS[spec]] for spec in verified}


PURE_PROGRAM = """\
import corpus_pure
calls = []
corpus_pure.halves([2, 3, 4, 5], calls.append)
corpus_pure.Node(1, corpus_pure.Node(2)).total()
print("over")
"""


def arrivals() -> Counter[int]:
    """How often CPython comes to each line of the functions that are called, from another one."""
    last: dict[FrameType, int] = {}
    found: Counter[int] = Counter()

    def line(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            number = frame.f_lineno
            found[number] += last.get(frame) != number
            last[frame] = number
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        return line if code.co_filename == str(PURE) and code.co_name not in ("<module>", "Node") else None

    module: dict[str, Any] = {"__name__": "corpus_pure"}
    exec(compile(PURE.read_text(), str(PURE), "exec"), module)
    before = sys.gettrace()
    sys.settrace(call)
    try:
        module["halves"]([2, 3, 4, 5], Calls())
        node = module["Node"]
        node(1, node(2)).total()
    finally:
        sys.settrace(before)
    return found


@pytest.mark.parametrize("level", ["O0", pytest.param("O2", marks=pytest.mark.exhaustive)])
def test_a_breakpoint_on_a_line_of_compiled_python_stops_where_it_runs(level: str, tmp_path: Path) -> None:
    """By the whole path, which an editor sends and debugpy takes for its own, and by the name alone."""
    wanted = arrivals()
    found = hits([f"{PURE}:{line}" for line in wanted], PURE_PROGRAM, level, "cython-pure", tmp_path)
    wrong = {
        spec: (count, wanted[int(spec.rpartition(":")[2])])
        for spec, (count, state) in found.items()
        if state is BreakpointState.VERIFIED and count != wanted[int(spec.rpartition(":")[2])]
    }
    assert len(found) > 15 and not wrong
    assert level != "O0" or all(state is BreakpointState.VERIFIED for _, state in found.values())
