"""Arguments of operators' functions in the stock wheel, without debug info: as Python has passed them."""

from __future__ import annotations

import functools
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import NativeFrame, Value
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, run_session

HERE = Path(__file__).parent
SEED = 20260801
KNOWN = 0.95  # of the arguments

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
        timeout=600,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def drawn(table: OperatorTable, count: int) -> list[dict[str, Any]]:
    overloads = [entry.full_name for name in table.names for entry in table.lookup(name) if entry.schema]
    return working_calls(tuple(random.Random(SEED).sample(overloads, count)))


@pytest.mark.parametrize(
    "layer", [pytest.param("binding", marks=pytest.mark.exhaustive), "dispatch", "kernel"]
)
@pytest.mark.parametrize("count", [40, pytest.param(420, marks=pytest.mark.exhaustive)])
def test_arguments_are_as_they_were_passed(
    table: OperatorTable, tmp_path: Path, count: int, layer: str
) -> None:
    key = "call" if layer == "kernel" else "bound"
    calls = [(row["operator"], row[key]) for row in drawn(table, count) if row[key]]
    (tmp_path / "calls").write_text(json.dumps(calls))
    answers = tmp_path / "answers"

    async def work(driver: Driver) -> list[tuple[str, list[Value]]]:
        table_, found = driver.session.breakpoints, []
        await driver.stop()
        for operator, _ in calls:
            name = operator.partition(".")[0] if layer == "binding" else operator
            rows = []
            try:
                rows = await table_.add(
                    f"aten::{name if '.' in name or layer == 'binding' else name + '.default'}@{layer}"
                )
            except CommandError:
                pass
            stop = await driver.resume()
            if stop.breakpoints and stop.breakpoints[0] in [row.id for row in rows]:
                frame = (await driver.stack()).visible()[0]
                assert isinstance(frame, NativeFrame)
                found.append((operator, await driver.session.inspector.variables(stop.thread.tid, frame)))
                for row in rows:
                    await table_.remove(row.id)
                await driver.resume()
            else:
                found.append((operator, []))
                for row in rows:
                    await table_.remove(row.id)
        return found

    options = {"args": (str(tmp_path / "calls"), str(answers))}
    found = run_session(work, HERE / "passed_program.py", "::getsid", operators=table, launch_options=options)
    lines = [json.loads(line) for line in answers.read_text().splitlines()]
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
