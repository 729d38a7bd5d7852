"""What CI does with tests that fail: they are tried once more, and what passes then is named and counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.support import ROOT

# `flaky` fails the first time and passes the second; the rest of the name keeps tests apart.
FILE = """
import os, pathlib, pytest
def once(name):
    mark = pathlib.Path(__file__).with_name(name)
    if not mark.exists():
        mark.touch()
        raise AssertionError("the first time")
@pytest.mark.parametrize("which", range(FLAKY))
def test_flaky(which): once(f"flaky-{which}")
def test_good(): pass
@pytest.mark.skipif(not BAD, reason="none")
def test_bad(): assert False
"""


def run(folder: Path, *options: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.second_try", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [*command, *options, "--rootdir", str(folder), str(folder / "test_it.py")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=patient(120),
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(("flaky", "bad", "workers", "status"), [(2, False, 2, 0), (3, True, 0, 1)])
def test_what_passes_the_second_time_is_named(
    tmp_path: Path, flaky: int, bad: bool, workers: int, status: int
) -> None:
    (tmp_path / "test_it.py").write_text(FILE.replace("FLAKY", str(flaky)).replace("BAD", str(bad)))
    names = tmp_path / "names"
    assert run(tmp_path, f"--failed-to={names}", "-n", str(workers))[0] == 1
    assert len(names.read_text().splitlines()) == flaky + bad
    actual, lines = run(tmp_path, f"--again-from={names}")
    assert actual == status, lines
    expected = [f"flaky: test_it.py::test_flaky[{which}]" for which in range(flaky)]
    assert [line for line in lines if line.startswith("flaky: ")] == expected
    assert f"{flaky} passed" in lines[-1]  # pytest's own summary stays the last line


def test_a_run_that_was_ended_early_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_bad(): assert False\ndef test_interrupted(): raise KeyboardInterrupt\n"
    )
    names = tmp_path / "names"
    assert run(tmp_path, f"--failed-to={names}")[0] == 2
    assert not names.exists()


def test_what_is_gone_the_second_time_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_here(): pass\n")
    names = tmp_path / "names"
    names.write_text("test_it.py::test_here\ntest_it.py::test_gone\n")
    status, lines = run(tmp_path, f"--again-from={names}")
    assert status == 1
    assert "failed at first, and was not run again: test_it.py::test_gone" in lines
