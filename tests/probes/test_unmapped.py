"""A condition reads memory that is not there at that moment: the program goes on as without it."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.probes import placement
from dualdbg.system.patience import patient
from tests import rows, warm

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]


@pytest.mark.parametrize(("calls", "threads"), rows.some([(200_000, 8), (2_000_000, 1)], 1))
def test_what_is_unmapped_between_the_look_and_the_read_does_no_harm(
    tmp_path: Path, calls: int, threads: int
) -> None:
    """Some calls in a million meet just that moment; of eight threads several do at once."""
    source = Path(__file__).with_name("unmapped.c")
    said, work = _traced(source, "*(char*)$rdi == 'x'", str(calls), str(threads), to=tmp_path)
    assert said == f"{(calls * (calls - 1) // 2 * 3 + calls) * threads}\n"
    assert (work["hits"], work["why"]) == (0, None)


@pytest.mark.parametrize(("number", "hits"), [(25, 1), (20, 0)])
def test_data_of_the_program_that_it_has_protected_has_no_value(
    tmp_path: Path, number: int, hits: int
) -> None:
    """It is read without a question to the kernel. At each tenth call it is protected, until the program uses it."""
    source = Path(__file__).with_name("guarded.c")
    said, work = _traced(source, f"table[2] == {number}", to=tmp_path)
    assert said == f"{39 * 40 // 2 * 3 + 40} 4\n"
    assert (work["hits"], work["why"]) == (hits, None)


@pytest.mark.parametrize(("number", "faults"), [(25, 3), (20, 2)])
def test_a_breakpoint_asks_gdb_then(tmp_path: Path, number: int, faults: int) -> None:
    """gdb can read what is protected. The program's own faults before that are told, ours are not."""
    program = _compiled(Path(__file__).with_name("guarded.c"), tmp_path)
    commands = [f"break work fast if table[2] == {number}", *["continue"] * (faults + 1), "print number"]
    done = _dualdbg(
        *("run", "--batch", "-b", "main", *(word for one in commands for word in ("-x", one))),
        *("--native", program),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("* Signal") == faults
    assert done.stdout.endswith(f"(dualdbg) print number\n{number}\n")


def _traced(source: Path, condition: str, *arguments: str, to: Path) -> tuple[str, dict[str, Any]]:
    """What the program has written, and the row of its function ``work``."""
    program = _compiled(source, to)
    done = _dualdbg(
        "trace", "--count", "--json", "-b", f"work if {condition}", "--native", program, *arguments
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    (work,) = events[-1]["functions"]
    return "".join(one["text"] for one in events if one["event"] == "output"), work


def _compiled(source: Path, to: Path) -> Path:
    program = to / source.stem
    subprocess.run(["gcc", "-O2", "-g", "-pthread", source, "-o", program], check=True)
    return program


def _dualdbg(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, "-m", "dualdbg", *words], text=True, timeout=patient(300))
