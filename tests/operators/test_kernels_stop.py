"""On the real PyTorch, under gdb: a call of an operator stops at the places that are named for it.

`make test` has the arrivals at kernels of a bare name; the layers of some calls are in test_chain.py.
"""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.model import Layer
from dualdbg.symbols.names.symbol import Symbol
from dualdbg.symbols.objfile import Objfile
from dualdbg.symbols.torch.nested_calls import Arrival, continues_call
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.system.patience import patient
from tests.operators.counting import run, run_with_stacks

HERE = Path(__file__).parent
SEED = 20240611
WANTED = 90  # operators that one line of Python can call
REACHED = 0.95  # of them: some operators may change their ways between the trial and the run
DRAWN = 140  # about four fifths of the operators can be called

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture(scope="module")
def calls(table: OperatorTable) -> list[dict[str, Any]]:
    """Working calls of operators drawn with a seed, one overload each."""
    overloads = [entry.full_name for name in table.names for entry in table.lookup(name) if entry.schema]
    drawn = random.Random(SEED).sample(overloads, DRAWN)
    command = [sys.executable, HERE / "one_line_calls.py", *drawn]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patient(300), check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.exhaustive
def test_kernels(
    table: OperatorTable, torch_directory: Path, calls: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert len(calls) >= WANTED
    places = [_places(table, torch_directory, call["operator"], Layer.KERNEL) for call in calls]
    hits = run([call["call"] for call in calls], places, tmp_path)
    missed = [
        call["call"] for call, own, hit in zip(calls, places, hits, strict=True) if not own & hit.keys()
    ]
    print(
        f"{len(calls) - len(missed)} of {len(calls)} calls stopped in their operator's kernel; not: {missed}"
    )
    assert len(missed) <= (1 - REACHED) * len(calls), missed


@pytest.mark.exhaustive
@pytest.mark.parametrize("layer", [Layer.BINDING, Layer.DISPATCH])
def test_layers_above(
    table: OperatorTable, torch_directory: Path, calls: list[dict[str, Any]], tmp_path: Path, layer: Layer
) -> None:
    bound = [call for call in calls if call["bound"]]
    assert len(bound) >= WANTED / 3
    # The binding chooses the overload, so all of them are meant.
    places = [_places(table, torch_directory, call["operator"].partition(".")[0], layer) for call in bound]
    hits = run([call["bound"] for call in bound], places, tmp_path)
    missed = [
        call["bound"] for call, own, hit in zip(bound, places, hits, strict=True) if not own & hit.keys()
    ]
    print(
        f"{len(bound) - len(missed)} of {len(bound)} calls stopped in the {layer.value} layer; not: {missed}"
    )
    assert len(missed) <= (1 - REACHED) * len(bound), missed


@pytest.mark.exhaustive
def test_one_stop_a_call(
    table: OperatorTable, torch_directory: Path, calls: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Of the arrivals at the kernels of a bare name, all but the first belong to its call."""
    bases = {call["operator"].partition(".")[0]: call for call in calls}
    # An argument that is made by the same operator is a call of its own.
    once = {name: call["call"] for name, call in bases.items() if f"torch.{name}(" not in call["call"]}
    places = {name: _places(table, torch_directory, name, Layer.KERNEL) for name in once}
    arrivals, mapped = run_with_stacks(list(once.values()), places.values(), tmp_path)
    several, stops = 0, {}
    for (name, own), hits in zip(places.items(), arrivals, strict=True):
        mine = [hit for hit in hits if hit["place"] in own]
        several += len(mine) > 1
        stops[name] = _reported(mine, own, mapped)
    wrong = {once[name]: count for name, count in stops.items() if count != 1}
    print(f"{several} of {len(once)} calls came by several kernels; not reported once: {wrong}")
    assert several > 10
    assert len(wrong) <= 0.02 * len(once), wrong


def _reported(hits: list[dict[str, Any]], own: set[str], mapped: dict[str, int]) -> int:
    """How many of the arrivals the user would see."""
    libraries = {path: Objfile.open(path) for path, _, _ in (place.rpartition("+") for place in own)}
    kernels = {
        mapped[path] + int(address, 16) for path, _, address in (place.rpartition("+") for place in own)
    }
    count, last = 0, None
    for hit in hits:
        path, _, address = hit["place"].rpartition("+")
        now = Arrival(1, mapped[path] + int(address, 16), hit["sp"], hit["return"])
        outer = [start for pc in hit["outer"] for start in _starts(pc - 1, libraries, mapped)]
        if not continues_call(now, outer, kernels, last):
            count, last = count + 1, now
    return count


def _starts(pc: int, libraries: dict[str, Objfile], mapped: dict[str, int]) -> list[int]:
    found = []
    for path, library in libraries.items():
        symbol = library.symbol_at(pc - mapped[path]) if pc > mapped[path] else None
        if symbol is not None:
            found.append(mapped[path] + symbol.address)
    return found


def _places(table: OperatorTable, torch_directory: Path, operator: str, layer: Layer) -> set[str]:
    """``PATH+0xADDRESS`` of every function that is there."""
    found = set()
    for candidate in table.symbols_for(operator, layer):
        path = torch_directory / "lib" / f"{candidate.library}.so"
        if path.exists():
            functions = _functions(path, f"::{candidate.name}")
            found |= {f"{path}+{one.address:#x}" for one in candidate.pick(functions)}
    return found


@functools.cache
def _functions(path: Path, name: str) -> list[Symbol]:
    """The tests look the same names up: each takes some milliseconds in a library of PyTorch."""
    return Objfile.open(path).find_functions(name)
