"""Breakpoints on coroutines and generators, of which a call runs nothing: they stop where these begin to run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import rows
from tests.cli.driver import dualdbg
from tests.support import other_interpreter

PROGRAM = """\
import asyncio
def same(function):
    return function
@same
async def coroutine():
    \"\"\"It is documented.\"\"\"
    for _ in range(3):
        await asyncio.sleep(0)
def generator():
    for number in range(3):
        yield number
def delegating():
    yield from generator()
async def in_one_line(): return 1
async def asynchronous_generator():
    yield 5
def with_generators_in_it():
    return list(number for number in range(3)), lambda: (yield)
class Model:
    async def forward(self):
        def inner():
            yield 1
        await coroutine()
        return list(inner())
async def main():
    await Model().forward()
    await in_one_line()
    async for _ in asynchronous_generator():
        pass
asyncio.run(main())
list(delegating())
with_generators_in_it()
"""
# In the order in which they are called, with the lines at which they stop.
STOPS = {
    "Model.forward": 21,
    "coroutine": 7,
    "in_one_line": 14,
    "asynchronous_generator": 16,
    "delegating": 13,
    "generator": 10,
    "with_generators_in_it": 17,
}


@pytest.mark.parametrize("version", rows.versions())
def test_each_stops_once_for_each_call(version: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    words = [word for name in STOPS for word in ("-b", f"py:{name}")]
    words += ["-x", "continue"] * (len(STOPS) + 1)
    done = dualdbg("run", "--batch", "--python", str(other_interpreter(version)), *words, str(path))
    stops = re.findall(
        r"^\* Breakpoint (\d+): Python.*\n  (\w+)  .*program\.py:(\d+)$", done.stdout, re.MULTILINE
    )
    names = list(STOPS)
    found = {names[int(number) - 1]: int(line) for number, _, line in stops}
    assert (len(stops), found) == (len(STOPS), STOPS), done.stdout + done.stderr
    assert all(names[int(number) - 1].rpartition(".")[2] == function for number, function, _ in stops)
    assert "ended with status 0" in done.stdout


def test_with_a_condition_and_beside_a_breakpoint_on_the_line(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def gen(n):\n    for i in range(n):\n        yield i\nlist(gen(1))\nlist(gen(2))\n")
    words = ["-b", "py:gen if n == 2", "-b", f"{path}:2", *["-x", "continue"] * 6]
    done = dualdbg("run", "--batch", *words, str(path))
    # Each time that the line is run; the function begins with two of them, and has n == 2 the second time.
    assert re.findall(r"^\* (Breakpoints? .*): Python", done.stdout, re.MULTILINE) == [
        *["Breakpoint 2"] * 2,
        "Breakpoints 1, 2",
        *["Breakpoint 2"] * 2,
    ], done.stdout + done.stderr


def test_one_that_is_known_by_its_bare_name_alone_is_not_called_verified(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = dualdbg("run", "--batch", "-b", "py:inner", "-x", "info breakpoints", str(path))
    assert "pending" in done.stdout
    assert (
        f"does not stop at a coroutine or generator by its bare name; there is one in {path}" in done.stdout
    )
