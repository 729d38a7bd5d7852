"""``dualdbg run --follow``: children join with both engines before they run, whichever way they are started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dualdbg.session.inferiors import Caller, is_wanted
from tests import rows
from tests.cli.driver import Done, dualdbg, json_run
from tests.support import KERNEL_TELLS, SAMPLES, name_of, other_interpreter, wait_until_gone

PROGRAMS = Path(__file__).parent / "programs"
CHILDREN = PROGRAMS / "children.py"
AT_WORK = "children.py:11"  # in `work`


def follow(
    *commands: str,
    argument: str,
    program: Path = CHILDREN,
    wanted: str = "python",
    at: tuple[str, ...] = (AT_WORK,),
) -> Done:
    """A batch of these commands, with breakpoints ``at`` from the start."""
    words = [word for command in commands for word in ("-x", command)]
    words += [word for spec in at for word in ("-b", spec)]
    return dualdbg("run", "--json", "--follow", wanted, "--batch", *words, program, argument)


def stopped_in(done: Done) -> list[tuple[int, str]]:
    """Process and function of each stop."""
    return [(event["process"], event["frame"]["function"]) for event in done.of("stopped")]


def ends(done: Done) -> dict[int, int]:
    return {event.get("process", 1): event["code"] for event in done.of("exited")}


def joined(done: Done) -> list[str]:
    return [event["title"] for event in done.of("process") if event["state"] == "joined"]


@pytest.mark.parametrize(
    ("way", "process"),
    rows.some(
        [
            ("fork-exec", 2),
            ("mp-forkserver", 3),
            ("fork", 2),
            ("subprocess", 2),
            ("preexec", 2),
            ("mp-spawn", 2),
        ],
        2,
    ),
)
def test_a_child_stops_at_a_breakpoint_that_was_set_before_it_ran(way: str, process: int) -> None:
    done = follow("p number", "continue", argument=way)
    assert stopped_in(done) == [(process, "work")], done
    [value] = done.of("value")
    assert (value["value"], value["process"]) == ("21", process)
    assert ends(done)[process] == 5
    assert ends(done)[1] == 0
    assert "status 5\n" in "".join(event["text"] for event in done.of("output"))


@pytest.mark.parametrize("version", ["3.8", "3.13"])  # traced by sys.settrace, and by sys.monitoring
def test_a_fork_of_another_interpreter_joins(version: str) -> None:
    python = other_interpreter(version)
    done = dualdbg(
        "run", "--json", "--follow", "python", "-b", AT_WORK, "--batch", "--python", python,
        "-x", "next", "-x", "p doubled", "-x", "continue", CHILDREN, "mp-fork",
    )  # fmt: skip
    assert stopped_in(done) == [(2, "work")] * 2, done
    assert [value["value"] for value in done.of("value")] == ["42"]
    assert ends(done) == {1: 0, 2: 5}


def test_a_process_is_chosen_and_a_new_breakpoint_is_one_of_all() -> None:
    done = follow(
        "process", f"break {CHILDREN}:12", "continue", "continue", "continue", "continue", argument="pair"
    )
    assert sorted(stopped_in(done)) == [(2, "work")] * 2 + [(3, "work")] * 2, done
    [table] = done.of("processes")
    assert [row["number"] for row in table["processes"]] == [1, 2, 3]
    assert table["processes"][0]["state"] == "running"  # one stops, the others run
    assert {title.split(", ")[1] for title in joined(done)} == {"Ada __main__.meet", "Grace __main__.meet"}
    assert ends(done) == {1: 0, 2: 8, 3: 8}


@pytest.mark.smoke
def test_processes_stop_together_and_run_on_together() -> None:
    with json_run("--follow", "python", "-b", AT_WORK, CHILDREN, "mp-fork") as run:
        run.next("stopped")
        run.send("process together on")
        run.send("next")
        assert run.next("stopped")["reason"] == "step"
        along = run.next("stopped")
        assert (along["process"], along["reason"]) == (1, "pause")
        run.send("continue")
        assert {run.next("exited")["code"], run.next("exited")["code"]} == {0, 5}


def test_nothing_is_left_when_dualdbg_is_killed() -> None:
    with json_run("--follow", "python", "-b", AT_WORK, CHILDREN, "fork-loop") as run:
        assert {run.next("stopped").get("process", 1) for _ in range(2)} == {1, 2}
        us, *family = run.family()
        assert len([process for process in family if name_of(process) == "gdb"]) == 2
        us.kill()
        wait_until_gone(family)


def test_only_what_fits_the_pattern_joins() -> None:
    done = follow("continue", "continue", argument="pair", wanted="Grace")
    assert stopped_in(done) == [(2, "work")], done
    assert [title.split(", ")[1] for title in joined(done)] == ["Grace __main__.meet"]
    assert ends(done) == {1: 0, 2: 8}


def test_without_the_option_a_child_runs_alone() -> None:
    done = dualdbg("run", "--json", "-b", AT_WORK, "--batch", "-x", "continue", CHILDREN, "mp-fork")
    assert done.of("stopped") == []
    assert ends(done) == {1: 0}


def test_a_child_runs_on_when_it_is_let_go(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    with json_run("--follow", "python", "-b", AT_WORK, CHILDREN, "fork-wait", fifo) as run:
        assert run.next("stopped")["process"] == 2
        run.send("detach")
        run.next("detached")
        fifo.write_text("go")
        assert run.next("output")["text"].rstrip() == "status 5"  # the end of the line may come by itself
        assert run.next("exited")["code"] == 0


@pytest.mark.torch
def test_a_worker_of_a_data_loader_stops_in_python_and_in_native_code() -> None:
    words = ("p base", "break mul", "continue", "bt", "del", "continue", "continue", "continue")
    done = follow(*words, argument="fork", program=PROGRAMS / "loader.py", at=("loader.py:15",))
    stops = done.of("stopped")
    assert {stop["process"] for stop in stops} == {2, 3}, done
    assert {stop["origin"] for stop in stops} == {"python", "native"}
    native = next(stop for stop in stops if stop["origin"] == "native")
    assert "mul" in native["frame"]["function"]
    assert ends(done)[1] == 0
    assert "[[1.0, 1.0], [4.0, 4.0]]\n" in "".join(event["text"] for event in done.of("output"))


@pytest.mark.torch
@pytest.mark.slow
def test_a_crashed_worker_and_its_core_show_the_same(torch_extension: Path, tmp_path: Path) -> None:
    words = ("bt", "frame 1", "args")
    commands = [word for command in words for word in ("-x", command)]
    live = dualdbg(
        "run", "--json", "--follow", "python", "--on-crash", "core", "--cwd", tmp_path, "--batch",
        *commands, SAMPLES / "hangs" / "worker_segfault.py", stdin="go\n",
    )  # fmt: skip
    [crash] = live.of("stopped")
    assert (crash["reason"], crash["frame"]["function"]) == ("signal", "sample::read_element")
    [core] = tmp_path.glob("core.*")
    kept = dualdbg("core", core, "--json", *commands)
    core.unlink()
    assert native_and_python(kept) == native_and_python(live)
    for done in (live, kept):
        [arguments] = done.of("variables")
        [values] = [row["value"] for row in arguments["variables"] if row["name"] == "values"]
        assert "0., 1., 2., 3." in values, values


def native_and_python(done: Done) -> list[tuple[str, int | None]]:
    [stack] = done.of("stack")
    return [(frame["function"], frame["line"]) for frame in stack["frames"]]


def test_what_is_wanted() -> None:
    worker = Caller(5, 0, 1, 4, "fork", "Process-1 app.load", "python", ("python", "train.py"), "/")
    helper = "from multiprocessing.resource_tracker import main;main(3)"
    tracker = Caller(6, 0, 1, 4, "exec", "", "python", ("python", "-c", helper), "/")
    assert is_wanted("python", worker)
    assert not is_wanted("python", tracker)
    assert is_wanted("resource_tracker", tracker)
    assert is_wanted("app.l*d", worker)
    assert is_wanted("train.py", worker)
    assert not is_wanted("serve", worker)


def test_a_signal_without_a_name_ends_a_child(tmp_path: Path) -> None:
    """Python and gdb have names for few of the real-time signals."""
    program = tmp_path / "program.py"
    program.write_text("import os\nif os.fork() == 0:\n    os.kill(os.getpid(), 40)\nos.wait()\n")
    done = follow(argument="", program=program, at=())
    signals = {event.get("process", 1): event["signal"] for event in done.of("exited")}
    # gdb may lose how a process with several threads ended, and older kernels do not know it any more.
    assert signals == {1: None, 2: 40} or (not KERNEL_TELLS and signals == {1: None, 2: None}), done


def test_a_signal_without_a_name_ends_a_program_of_one_thread(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import subprocess\nsubprocess.run(['/bin/sh', '-c', 'kill -40 $$'])\n")
    done = follow(argument="", program=program, wanted="sh", at=())
    assert {event.get("process", 1): event["signal"] for event in done.of("exited")} == {1: None, 2: 40}, done
