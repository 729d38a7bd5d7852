"""Python code that a thread of C++ calls: breakpoints, steps and attach reach it on each version."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.attach.driver import attached
from tests.cli.driver import dualdbg
from tests.support import build_native, other_interpreter

# PyGILState_Ensure makes a thread state at the first call of each thread; pybind11 does so by itself.
PROGRAM = """\
import sys, threading
import sample_capi, sample_pybind
def callback(value):
    half = value / 2
    return half
def both(value):
    return sample_capi.call_back_from_thread(callback, value) + sample_pybind.call_back_from_thread(callback, value + 2)
if sys.argv[1:]:
    print("ready", flush=True)
    sys.stdin.readline()
print("sum", both(8.0), [one.name for one in threading.enumerate() if type(one) is threading.Thread])
"""
OURS = "ours"


def interpreter(version: str) -> str:
    return sys.executable if version == OURS else str(other_interpreter(version))


def environment(python: str) -> dict[str, str]:
    return {"PYTHONPATH": str(build_native(python))}


@pytest.mark.parametrize("version", rows.some(["3.8", OURS, "3.10", "3.9", "3.12"], 3))
def test_breakpoint_stops_in_a_thread_that_native_code_started(version: str, tmp_path: Path) -> None:
    python, program = interpreter(version), tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = dualdbg(
        *("run", "--batch", "--json", "--python", python, "-b", "program.py:4"),
        *("-x", "bt", "-x", "next", "-x", "continue", "-x", "py value", "-x", "delete 1", "-x", "continue"),
        program,
        env=environment(python),
        cwd=tmp_path,
    )
    told: list[dict[str, Any]] = [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")
    ]
    stops = [
        (one["frame"]["function"], one["frame"]["line"]) for one in told if one.get("event") == "stopped"
    ]
    assert stops == [("callback", 4), ("callback", 5), ("callback", 4)], done
    assert "sum 9.0 []" in done.stdout and done.status == 0, done


def test_attach_stops_in_a_thread_that_native_code_starts_afterwards(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, program, "wait"],
        env=environment(sys.executable),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        words = ("-b", "program.py:4", "-x", "continue", "-x", "py value", "-x", "detach")
        with attached(process.pid, *words) as session:
            assert session.stdout is not None
            while "Python control is there" not in session.stdout.readline():
                assert session.poll() is None
            process.stdin.write("\n")
            process.stdin.flush()
            output = session.communicate(timeout=patient(60))[0]
        assert "8.0" in output, output
        assert process.communicate(timeout=patient(60))[0] == "sum 9.0 []\n"
        assert process.returncode == 0
