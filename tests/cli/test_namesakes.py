"""A bare name may be that of a function of either language: the breakpoint stops in what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.driver import Done, dualdbg

PROGRAM = """\
import ctypes
import helpers

libc = ctypes.CDLL(None)

def labs(n):
    return n

class Model:
    def step(self, n):
        return n + 1

labs(1)
libc.labs(2)
Model().step(3)
helpers.far(4)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text("def far(n):\n    return n\n")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def stops(done: Done) -> list[tuple[str, str]]:
    assert done.status == 0, done
    return [(row["origin"], row["frame"]["function"]) for row in done.of("stopped")]


def batch(program: Path, *words: str) -> Done:
    return dualdbg("run", "--batch", "--json", *words, program)


BARE_NAMES = {
    "Model.step": "step",
    "far": "far",
    "program.Model.step": "step",
    "program.Model.run": None,
    "far if n == 4": "far",
    "far if n == 5": None,
    "far if str(n) == '4'": "far",
    "far hits 2": None,
}


def test_a_python_function_by_its_bare_name(program: Path) -> None:
    done = batch(program, *(word for spec in BARE_NAMES for word in ("-b", spec)))
    assert [name for _, name in stops(done)] == ["step", "far"]
    hits = {
        list(BARE_NAMES)[id - 1]: row["frame"]["function"]
        for row in done.of("stopped")
        for id in row["breakpoints"]
    }
    assert {spec: hits.get(spec) for spec in BARE_NAMES} == BARE_NAMES
    bound = [row for row in done.of("breakpoint") if row["state"] == "verified"]
    assert {list(BARE_NAMES)[row["id"] - 1] for row in bound} == {*BARE_NAMES} - {"program.Model.run"}
    assert all(row["language"] == "python" for row in bound)


def test_both_kinds_stop(program: Path) -> None:
    done = batch(program, "-b", "labs", "-x", "info b", "-x", "delete 1", "-x", "info b")
    assert stops(done) == [("python", "labs")]
    done = batch(program, "-b", "labs", "-x", "c", "-x", "info b")
    assert stops(done) == [("python", "labs"), ("native", "labs")]
    told = done.of("breakpoints")[-1]["breakpoints"][0]
    assert (told["hits"], told["state"]) == (2, "verified")
    assert sorted(bool(place["address"]) for place in told["locations"]) == [False, True]
    notices = [row for row in done.of("notice") if "in both languages" in row["message"]]
    assert [row["hint"] for row in notices] == ["to mean one alone: py:labs, ::labs"]


@pytest.mark.parametrize(
    ("spec", "origins"),
    [("py:labs", ["python"]), ("::labs", ["native"]), ("labs temporary", ["python"]), ("labs hits 2", [])],
)
def test_one_kind_alone(program: Path, spec: str, origins: list[str]) -> None:
    assert [origin for origin, _ in stops(batch(program, "-b", spec, "-x", "c"))] == origins


def test_a_breakpoint_of_both_kinds_is_switched_off_and_deleted_in_both(program: Path) -> None:
    for word in ("disable 1", "delete 1"):
        done = batch(program, "-b", "program.py:14", "-b", "labs", "-x", word.replace("1", "2"), "-x", "c")
        # The first stop is the Python function; the native one is not come to any more.
        assert stops(done) == [("python", "labs"), ("python", "<module>")]


def test_a_function_that_is_made_at_run_time(program: Path) -> None:
    """debugpy leaves code without a file out, as it does without us; a file that no import statement names is found."""
    hidden = program.parent / "plugin.py"
    hidden.write_text("def late(n):\n    return n\n")
    program.write_text("import importlib\nimportlib.import_module('plugin').late(1)\n")
    done = batch(program, "-b", "late")
    assert stops(done) == [("python", "late")]
    (first, *_) = done.of("breakpoint")
    assert first["state"] == "pending"
    assert not any("never bound" in row["message"] for row in done.of("notice"))
    states = [row["state"] for row in done.of("breakpoint")]
    assert states.count("pending") == 1  # that it waits is told once


def test_a_name_that_a_library_brings_is_not_looked_for_in_python_any_more(program: Path) -> None:
    """Nothing is known of the name at first, so both are waited for; then its library comes."""
    program.write_text(
        "import importlib\n"
        "plugin = importlib.import_module('plugin')\n"
        "import _lsprof\n"
        "plugin.PyInit__lsprof()\n"
    )
    (program.parent / "plugin.py").write_text("def PyInit__lsprof():\n    return 1\n")
    done = batch(program, "-b", "PyInit__lsprof", "-x", "c")
    assert stops(done) == [("native", "PyInit__lsprof")]
