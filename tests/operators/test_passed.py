"""Arguments and results of operators' functions in the stock wheel, without debug info: as Python has passed and got
them.
"""

from __future__ import annotations

import contextlib
import functools
import json
import platform
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import NativeFrame, Stop, Value
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.system.patience import patient
from tests import rows
from tests.session.driver import Driver, run_session

HERE = Path(__file__).parent
SEED = 20260801
ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="behind an entry, only on x86-64")
KNOWN = 0.95  # of the arguments
KNOWN_RESULTS = 0.7

pytestmark = [pytest.mark.slow, pytest.mark.torch]

# Filled in by the binding where they are not given.
_OPTIONS = {"dtype", "layout", "device", "pin_memory"}
# A structured operator gives its outputs their sizes before its kernel is called.
_RESIZED = {"out", "grad_input", "values", "indices", "output"}
_NOT_KNOWN = {"<not known>", "<not known any more>"}


@functools.cache
def working_calls(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """A call of each of these operators that can be called."""
    done = subprocess.run(
        [sys.executable, HERE / "one_line_calls.py", *names],
        capture_output=True,
        text=True,
        timeout=patient(600),
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def drawn(table: OperatorTable, count: int) -> list[dict[str, Any]]:
    overloads = [entry.full_name for name in table.names for entry in table.lookup(name) if entry.schema]
    return working_calls(tuple(random.Random(SEED).sample(overloads, count)))


@pytest.mark.parametrize(
    "layer", [pytest.param("binding", marks=pytest.mark.exhaustive), "dispatch", "kernel"]
)
@pytest.mark.parametrize("count", [12, pytest.param(420, marks=pytest.mark.exhaustive)])
def test_arguments_are_as_they_were_passed(
    table: OperatorTable, tmp_path: Path, count: int, layer: str
) -> None:
    key = "call" if layer == "kernel" else "bound"
    calls = [(row["operator"], row[key]) for row in drawn(table, count) if row[key]]
    (tmp_path / "calls").write_text(json.dumps(calls))
    answers = tmp_path / "answers"

    async def work(driver: Driver) -> list[tuple[str, list[Value]]]:
        found: list[Any] = []
        await driver.stop()
        for operator, _ in calls:
            stop = await reached_at(driver, operator, layer)
            if stop is None:
                found.append((operator, []))
                continue
            frame = (await driver.stack()).visible()[0]
            assert isinstance(frame, NativeFrame)
            found.append((operator, await driver.session.inspector.variables(stop.thread.tid, frame)))
            await driver.resume()
        return found

    options = {"args": (str(tmp_path / "calls"), str(answers))}
    found = run_session(work, HERE / "passed_program.py", "::getsid", operators=table, launch_options=options)
    lines = [json.loads(line) for line in answers.read_text().splitlines()][::2]
    reached = shown = known = 0
    wrong = []
    for (operator, values), passed, (_, call) in zip(found, lines, calls, strict=False):
        typed = [value for value in values if value.type != "register"]
        reached += bool(values)
        shown += bool(typed)
        for value in typed:
            known += value.value not in _NOT_KNOWN
            expected = passed.get(value.name)
            if layer == "binding" or expected is None or value.value in _NOT_KNOWN:
                continue
            if layer == "kernel" and value.name in _RESIZED:
                continue
            if expected[1] is None and value.name in _OPTIONS:
                continue
            if not agrees(expected[0], expected[1], value.value):
                wrong.append(f"{operator} {value.name}: {value.type} {value.value}, not {expected} in {call}")
    total = sum(value.type != "register" for _, values in found for value in values)
    print(
        f"{layer}: {len(calls)} calls, {reached} reached, {shown} with types, {known} of {total} known, {wrong}"
    )
    assert wrong == []
    assert shown >= 0.7 * reached and reached >= 0.6 * len(calls)
    assert known >= KNOWN * total


@ON_X86
@pytest.mark.parametrize(
    "layer", rows.some(["kernel", "dispatch"], 1)
)  # it is the arguments that differ by layer
@pytest.mark.parametrize("count", [12, pytest.param(420, marks=pytest.mark.exhaustive)])
def test_results_are_as_python_got_them(table: OperatorTable, tmp_path: Path, count: int, layer: str) -> None:
    key = "call" if layer == "kernel" else "bound"
    calls = [(row["operator"], row[key]) for row in drawn(table, count) if row[key]]
    (tmp_path / "calls").write_text(json.dumps(calls))
    answers = tmp_path / "answers"

    async def work(driver: Driver) -> list[tuple[str, Value | None] | None]:
        found: list[Any] = []
        await driver.stop()
        for operator, _ in calls:
            stop = await reached_at(driver, operator, layer)
            if stop is None:
                found.append(None)
                continue
            function = stop.frame.function if stop.frame is not None else None
            found.append((function or "?", (await driver.step("finish")).result))
            await driver.resume()
        return found

    options = {"args": (str(tmp_path / "calls"), str(answers))}
    found = run_session(work, HERE / "passed_program.py", "::getsid", operators=table, launch_options=options)
    lines = [json.loads(line)[0] for line in answers.read_text().splitlines()[1::2]]
    reached, told, wrong, unknown = 0, 0, [], []
    for one, expected, (operator, call) in zip(found, lines, calls, strict=False):
        if one is None:
            continue
        reached += 1
        function, result = one
        if result is not None and result.value.startswith("<not known: "):
            unknown.append(function)
            continue
        told += 1
        # What is structured writes to tensors that it gets, and some schemas end with nothing.
        nothing = function.endswith("::impl") or all(
            entry.schema.endswith("-> ()") for entry in table.lookup(operator)
        )
        if not (nothing if result is None else returned_agrees(expected, result)):
            wrong.append(f"{operator} {function}: {result}, not {expected} of {call}")
    print(f"{layer}: {len(calls)} calls, {reached} reached, {told} told, not known: {unknown}, {wrong}")
    assert wrong == []
    assert told >= KNOWN_RESULTS * reached and reached >= 0.6 * len(calls)


async def reached_at(driver: Driver, operator: str, layer: str) -> Stop | None:
    """Run on to the next call of an operator. Its stop in a layer; None where that is not passed."""
    table, rows = driver.session.breakpoints, []
    name = operator if "." in operator else f"{operator}.default"
    with contextlib.suppress(CommandError):
        rows = await table.add(f"aten::{operator.partition('.')[0] if layer == 'binding' else name}@{layer}")
    stop = await driver.resume()
    for row in rows:
        await table.remove(row.id)
    return stop if stop.breakpoints and stop.breakpoints[0] in [row.id for row in rows] else None


def returned_agrees(expected: Any, result: Value) -> bool:
    if isinstance(expected, list) and result.value[:1] in ("(", "["):
        parts = elements(result.value)
        inner = [replace(result, value=part) for part in parts]
        return len(parts) == len(expected) and all(map(returned_agrees, expected, inner))
    return agrees("", expected, result.value)


def elements(text: str) -> list[str]:
    """The parts of ``(a, [b, c])``."""
    parts, depth = [""], 0
    for letter in text[1:-1]:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part]


def agrees(kind: str, expected: Any, text: str) -> bool:
    if isinstance(expected, list) and text.startswith("["):
        parts = re.split(r",\s*(?![^\[]*\])", text[1:-1]) if text != "[]" else []
        return len(parts) == len(expected) and all(
            agrees(kind, one, part.strip()) for one, part in zip(expected, parts, strict=True)
        )
    if expected is None:
        return text in ("nullopt", "undefined tensor", "none", "None")
    if isinstance(expected, bool):
        return text.lower() == str(expected).lower() or text in (str(int(expected)), f"{int(expected)}.0")
    if isinstance(expected, (int, float)):
        if text.startswith("["):  # int[2] given as one number
            return all(agrees(kind, expected, part.strip()) for part in text[1:-1].split(","))
        try:
            return float(text) == expected or text in ("inf", "nan")
        except ValueError:
            return (
                text.startswith(("float", "int", "bool", "complex"))
                or "enum" in kind.lower()
                or text.islower()
            )
    if isinstance(expected, str):
        return text == f'"{expected}"' or text.startswith((expected, "0x")) or expected.startswith("<")
    return True
