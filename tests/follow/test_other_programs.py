"""``--follow children``: programs that are no Python join with gdb, before their main."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.driver import Done, dualdbg
from tests.support import require

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("a worker") / "worker"
    compiler = require(shutil.which("gcc") or shutil.which("cc"), "a C compiler")
    subprocess.run([compiler, "-g", "-O0", "-o", program, PROGRAMS / "worker.c"], check=True)
    return program


def follow(
    wanted: str, way: str, worker: Path, *commands: str, env: dict[str, str] | None = None, at: str = "work"
) -> Done:
    words = [word for command in commands for word in ("-x", command)]
    program = PROGRAMS / "other_programs.py"
    return dualdbg(
        "run", "--json", "--follow", wanted, "-b", at, "--batch", *words, program, way, worker, env=env
    )


def joined(done: Done) -> list[str]:
    return [event["title"].split(", ")[1] for event in done.of("process") if event["state"] == "joined"]


@pytest.mark.parametrize("way", ["subprocess", "spawn"])
def test_a_program_stops_at_a_breakpoint_that_was_set_before_it_ran(worker: Path, way: str) -> None:
    done = follow("children", way, worker, "p number", "finish", "continue")
    stops = [(event["process"], event["frame"]["function"], event["reason"]) for event in done.of("stopped")]
    assert stops == [(2, "work", "breakpoint"), (2, "main", "step")], done
    [value] = done.of("value")
    assert value["value"] == "21"
    assert {event.get("process", 1): event["code"] for event in done.of("exited")} == {1: 0, 2: 5}
    assert "status 5\n" in "".join(event["text"] for event in done.of("output"))
    assert not [event for event in done.of("notice") if "never bound" in event["message"]]


def test_the_line_where_a_function_begins_has_its_arguments(worker: Path) -> None:
    """Behind the prologue, as gdb does it."""
    done = follow("worker", "subprocess", worker, "p number", "continue", at="worker.c:3")
    assert [(event["frame"]["function"], event["frame"]["line"]) for event in done.of("stopped")] == [
        ("work", 4)
    ]
    assert [value["value"] for value in done.of("value")] == ["21"]


def test_a_shell_and_what_it_runs(worker: Path) -> None:
    done = follow("children", "shell", worker, "continue")
    assert [(event["process"], event["frame"]["function"]) for event in done.of("stopped")] == [(3, "work")]
    assert len(joined(done)) == 2, done


def test_a_program_that_another_turns_into_is_the_same_process(worker: Path) -> None:
    done = follow("children", "exec", worker, "continue")
    assert [(event["process"], event["frame"]["function"]) for event in done.of("stopped")] == [(2, "work")]
    assert len(joined(done)) == 1


def test_only_what_fits_the_pattern_joins(worker: Path) -> None:
    done = follow("worker two", "shell", worker, "continue")
    assert [title.rpartition("/")[2] for title in joined(done)] == ["worker two"], done


def test_what_is_linked_statically_runs_alone(tmp_path: Path) -> None:
    program = tmp_path / "static"
    compiler = require(shutil.which("gcc") or shutil.which("cc"), "a C compiler")
    subprocess.run([compiler, "-static", "-o", program, PROGRAMS / "worker.c"], check=True)
    done = follow("children", "static", program)
    assert (done.of("stopped"), joined(done)) == ([], [])
    assert "status 5\n" in "".join(event["text"] for event in done.of("output"))


def test_without_a_compiler(worker: Path, tmp_path: Path) -> None:
    """All programs cannot join then, and are asked for; with a pattern it is said, and Python joins."""
    for name in ("gdb", "sh"):
        (tmp_path / name).symlink_to(require(shutil.which(name), name))
    env = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = follow("children", "subprocess", worker, env=env)
    [error] = done.of("error")
    assert "there is no C compiler" in error["message"] and "--follow python" in error["hint"]
    assert done.status == 3
    done = follow("worker", "subprocess", worker, env=env)
    assert [event["message"] for event in done.of("notice") if "no C compiler" in event["message"]], done
    assert done.of("exited")[0]["code"] == 0


def test_values_of_the_cxx_library_are_shown_as_people_know_them(tmp_path: Path) -> None:
    program = tmp_path / "values"
    compiler = require(shutil.which("g++"), "a C++ compiler")
    subprocess.run([compiler, "-g", "-O0", "-o", program, PROGRAMS / "values.cpp"], check=True)
    words = (
        "p text",
        "p numbers",
        "p numbers[1]",
        "p numbers.size()",
        "p *point",
        "p maybe",
        "locals",
        "continue",
    )
    done = follow("values", "static", program, *words, at="values.cpp:16")
    values = [value["value"] for value in done.of("value")]
    assert values[:4] == [
        '"a text of more than twenty characters"',
        "std::vector of length 3, capacity 3 = {1, 2, 3}",
        "2",
        "3",
    ]
    assert values[4] == '{x = 7, name = "here"}'
    assert "2.5" in values[5]
    types = {row["name"]: row["type"] for event in done.of("variables") for row in event["variables"]}
    assert types["text"] == "const std::string &"
    assert types["ages"] == "std::map<std::string, int>"
