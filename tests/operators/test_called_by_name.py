"""How functions of PyTorch are called, by their mangled names and their code alone: against what the schemas say."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from dualdbg.patience import patient
from dualdbg.session.inspect.calling import passing_of
from dualdbg.symbols.elf.landing_pads import handlers_of
from dualdbg.symbols.names.calling import calling_of
from dualdbg.symbols.names.symbol import symbol_of
from dualdbg.symbols.objfile import Objfile
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.symbols.torch.signatures import signature_of
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.support import require

SEED = 20261127
BEGINNINGS = (b"_ZN2at6native", b"_ZN2at4_ops", b"_ZN5torch8autograd12VariableType")


def sampled(library: Objfile, operators: OperatorTable, count: int) -> list[dict[str, Any]]:
    """Functions of operators: what the schema tells of each, and what its name tells."""
    table = library.tables[0]
    names = [name for beginning in BEGINNINGS for _, name in table.strings.starting(beginning)]
    chance = random.Random(SEED)
    chance.shuffle(names)
    rows: list[dict[str, Any]] = []
    for name in names:
        entries = [one for one in table.called(name) if table.is_function(one)]
        symbol = symbol_of(table, entries[0], library.path) if entries else None
        known = signature_of(symbol, operators) if symbol is not None else None
        if symbol is None or known is None:
            continue
        by_name = calling_of(symbol, library.has_in_names, library.uses_torch)
        fde = library.frames.find(symbol.address)
        if by_name is None or fde is None or fde.start != symbol.address:
            continue
        found = handlers_of(library.elf, fde)
        # Of these namespaces it is known by heart that they are some: here the code is to prove it.
        hard = replace(passing_of(by_name), member=None) if len(rows) % 2 else passing_of(by_name)
        rows.append(
            {
                "name": symbol.name,
                "part": [fde.start, fde.end],
                "pads": [*found.pads, *found.cleanups],
                "known": asdict(passing_of(known)),
                "by_name": asdict(hard),
                "hard": bool(len(rows) % 2),
            }
        )
        if len(rows) == count:
            break
    return rows


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(1500, marks=pytest.mark.exhaustive)])
def test_what_names_and_code_tell_of_operators(
    torch_directory: Path, table: OperatorTable, tmp_path: Path, count: int
) -> None:
    library = Objfile.open(torch_directory / "lib" / "libtorch_cpu.so")
    rows = sampled(library, table, count)
    assert len(rows) == count
    (tmp_path / "functions.json").write_text(json.dumps(rows))
    env = {
        **os.environ,
        "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent),
        "DUALDBG_TEST_FUNCTIONS": str(tmp_path / "functions.json"),
    }
    script = HERE / "targets" / "look_at_entry_code.py"
    gdb = require(shutil.which("gdb"), "gdb")
    settings = ("set debuginfod enabled off", "set auto-load off")
    words = [word for setting in settings for word in ("-iex", setting)]
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", *words, library.path, "-x", script],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(600), env=env,
    )  # fmt: skip
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(answers[0].removeprefix("answer: "))
    wrong, shown = [], Counter()
    for row, one in zip(rows, found, strict=True):
        known = row["known"]
        if one["not_hidden"] and known["hidden"]:
            wrong.append(f"{row['name']}: it makes its result where it is told")
        if known["hidden"] not in one["hidden"] or known["member"] not in one["member"]:
            wrong.append(f"{row['name']}: {one}")
        for (argument, kind), place, right in zip(
            known["parameters"], one["places"], one["right"], strict=True
        ):
            if place is not None and place != right:
                wrong.append(f"{row['name']}: {argument}, {kind}, is in {right}, not {place}")
            shown[row["hard"], "all"] += right is not None
            shown[row["hard"], "shown"] += place is not None
    for hard in (False, True):
        print(f"{'code alone' if hard else 'scope known'}: {shown[hard, 'shown']} of {shown[hard, 'all']}")
    assert wrong == []
    assert shown[False, "shown"] > 0
