"""Where hits cannot be counted in the process (on AArch64, or without iced-x86) that is told, and the rest works."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.probes import placement
from tests.cli.driver import Done, dualdbg
from tests.support import ROOT, require
from tests.trace.test_counts import result, run

_WHY = placement.MISSING if platform.machine() == "x86_64" else "this is done on x86-64 alone"
_SCRIPT = """\
import ctypes
library = ctypes.CDLL({library!r})
def many(n):
    for i in range(n):
        library.twice(i)
many(10)
print("first")
many(3)
print("second")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that calls a native function 13 times; iced-x86 cannot be imported."""
    require(shutil.which("gcc"), "gcc")
    (tmp_path / "iced_x86.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    (tmp_path / "calls.c").write_text("int twice(int number) {\n    return number * 2;\n}\n")
    library = tmp_path / "libcalls.so"
    subprocess.run(
        ["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", library, "calls.c"], cwd=tmp_path, check=True
    )
    made = tmp_path / "script.py"
    made.write_text(_SCRIPT.format(library=str(library)))
    return made


def session(script: Path, *words: str) -> Done:
    """A session to its end, in which iced-x86 is missing too."""
    env = {"PYTHONPATH": f"{script.parent}:{ROOT}"}
    return dualdbg("run", *words, "--json", "--batch", script, env=env)


@pytest.mark.parametrize("how", ["--time", "--count"])
def test_python_is_traced_and_native_code_named_with_the_reason(script: Path, how: str) -> None:
    found = result(run(how, "--json", "-b", "py:many", "-b", "twice", script))
    assert found["many"]["hits"] == 2
    assert how != "--time" or (found["many"]["timed"] == 2 and found["many"]["time"] > 0)
    assert (found["twice"]["hits"], found["twice"]["why"]) == (None, _WHY)


def test_a_report_says_what_is_not_counted(script: Path) -> None:
    said = run("-b", "twice", script)
    assert "0 hits of 0 functions" in said
    assert re.search(rf"Not counted\n +twice  libcalls\.so: {re.escape(_WHY)}\n", said), said


def test_a_stop_beside_is_that_of_the_breakpoint_that_stops(script: Path) -> None:
    """Those at the same place that only count have no part in it: they never stop."""
    words = [
        "trace twice",
        "break twice count",
        "break twice hits 4",
        "continue",
        "info breakpoints",
        "trace",
    ]
    commands = [word for one in [*words, "delete 4", "continue"] for word in ("-x", one)]
    done = session(script, "-b", f"{script}:6", *commands)
    assert [one["breakpoints"] for one in done.of("stopped")] == [[1], [4]]
    (listed,) = done.of("breakpoints")
    assert {one["id"]: one["hits"] for one in listed["breakpoints"]} == {1: 1, 2: 0, 3: 0, 4: 4}
    counting = [one for one in listed["breakpoints"] if one["id"] in (2, 3)]
    assert all(_WHY in str(one["evaluated"]) for one in counting), counting
    assert not done.of("error")
    for report in done.of("trace"):  # at the stop, and at the end
        (row,) = report["functions"]
        assert (row["hits"], row["why"]) == (None, _WHY)


def test_a_fast_condition_is_evaluated_by_gdb(script: Path) -> None:
    commands = ["-x", "info breakpoints", "-x", "print number"]
    done = session(script, "-b", "twice fast if number == 7", *commands)
    (listed,) = done.of("breakpoints")
    assert _WHY in str(listed["breakpoints"]), listed
    assert [one["breakpoints"] for one in done.of("stopped")] == [[1]]
    assert "7" in str(done.of("value")), done.events


def test_python_is_refused_at_the_prompt_with_what_to_do(script: Path) -> None:
    commands = ["trace py:many", f"trace {script}:4", 'trace twice log "x"', "trace --time"]
    words = [word for one in commands for word in ("-x", one)]
    done = session(script, "-b", f"{script}:6", *words)
    refused = done.of("error")
    assert ["Python" in one["message"] for one in refused] == [True, True, False, False]
    assert "dualdbg trace -b py:many SCRIPT" in refused[0]["hint"]
    assert "goes with 'if' and 'thread' alone" in refused[2]["message"]
    assert not done.of("trace")


def test_a_session_without_it_imports_none_of_it() -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, dualdbg.session.assembly, dualdbg.cli.sinks, dualdbg.console.printer\n"
            "from dualdbg.console.commands.registry import all_commands; all_commands()\n"
            "print([one for one in sys.modules if one.startswith(('dualdbg.trace', 'dualdbg.session.traced', "
            "'dualdbg.probes'))])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout  # fmt: skip
    assert found == "[]\n"
