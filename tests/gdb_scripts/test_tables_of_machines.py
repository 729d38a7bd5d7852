"""The layout tables by machine: a table is that of x86-64, and has a part for what differs on another."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.pure

SCRIPTS = ROOT / "gdb_scripts"
TABLES = sorted((SCRIPTS / "dualdbg_helpers/layout/tables").glob("torch-*.json"))
OTHER = "aarch64"
NOT_DESCRIBED = {"torch-2.15.0"}
"""Tables without a part for AArch64: they were made where there was no wheel for it."""

# glibc, sysdeps/x86/nptl/bits/pthreadtypes-arch.h and sysdeps/aarch64/nptl/bits/pthreadtypes-arch.h: a pthread_mutex_t
# has 40 and 48 bytes; condition variables have 48 on both.
MORE = 8


@pytest.fixture
def from_table(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for module in [one for one in sys.modules if one.startswith("dualdbg_helpers")]:
        monkeypatch.delitem(sys.modules, module)
    from dualdbg_helpers.layout.model import from_table

    return from_table


def offsets(fields: dict[str, Any]) -> dict[str, int]:
    return {name: place[0] for name, place in fields.items()}


def test_each_machine_has_its_own(from_table: Any) -> None:
    table = {
        "torch": "1.2.3",
        "records": {"Same": [8, {"a": [0, 8]}], "Locked": [56, {"m": [0, 40], "a": [40, 8]}]},
        "enums": {"E": {"one": 1}},
        "aarch64": {"records": {"Locked": [64, {"m": [0, 48], "a": [48, 8]}]}},
    }
    for machine, expected in (("x86-64", 40), ("aarch64", 48), (None, 40)):
        found = from_table(table, "checked", machine)
        assert found.find("Locked")["a"] == expected
        assert found.find("Same")["a"] == 0
        assert found.find_enum("E") == {"one": 1}
        assert found.source == "table for torch 1.2.3, checked"


@pytest.mark.parametrize("build", ["aarch64", "x86-64 before C++11"])
def test_a_build_that_a_table_does_not_describe_gets_nothing(from_table: Any, build: str) -> None:
    assert from_table({"torch": "1.2.3", "records": {}, "enums": {}}, "checked", build) is None


def test_each_string_has_its_own(from_table: Any) -> None:
    """PyPI's wheels of 2.6 for x86-64 have the std::string of before C++11; those that distributions build do not."""
    from dualdbg_helpers.layout.installation import Installation

    table = json.loads((SCRIPTS / "dualdbg_helpers/layout/tables/torch-2.6.0.json").read_text())
    for newer, size in ((True, 32), (False, 8)):
        build = Installation("/usr", "2.6.0", newer, None, "x86-64").build
        assert from_table(table, "checked", build).records["c10::Argument"][1]["name_"] == [0, size]


def test_which_tables_describe_aarch64() -> None:
    """The others are not believed there: another source, or the nearest table, is."""
    without = {path.stem for path in TABLES if OTHER not in json.loads(path.read_text())}
    assert without == NOT_DESCRIBED


@pytest.mark.parametrize(
    "path", [path for path in TABLES if path.stem not in NOT_DESCRIBED], ids=lambda p: p.stem
)
def test_what_differs_is_the_size_of_a_mutex(path: Path, from_table: Any) -> None:
    """Up to the mutex the members of a record are where they were, what has it is 8 larger, and the rest 8 further."""
    table = json.loads(path.read_text())
    here, there = (from_table(table, "", machine) for machine in ("x86-64", OTHER))
    assert here.records.keys() == there.records.keys()
    assert here.enums == there.enums
    moved = {name for name in here.records if here.records[name] != there.records[name]}
    for name in moved:
        (size, fields), (other_size, others) = here.records[name], there.records[name]
        assert other_size == size + MORE, name
        assert fields.keys() == others.keys()
        (mutex,) = [member for member in fields if others[member][1] != fields[member][1]]
        assert others[mutex][1] == fields[mutex][1] + MORE, (name, mutex)
        at = fields[mutex][0]
        expected = {m: place + MORE * (place > at) for m, place in offsets(fields).items()}
        assert offsets(others) == expected, name
    with_mutex = {name for name, (_, fields) in here.records.items() if fields.get("mutex_", [0, 0])[1] == 40}
    assert {"dualdbg::InterpreterStateImpl", "torch::autograd::Node", "c10::ivalue::Future"} <= moved
    assert with_mutex <= moved
