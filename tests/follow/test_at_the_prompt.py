"""Several processes at the prompt: choosing one, Ctrl-C for all of them, leaving."""

from __future__ import annotations

from pathlib import Path

from tests.cli.driver import SECONDS, terminal
from tests.support import wait_until

CHILDREN = Path(__file__).parent / "programs" / "children.py"
AT_WORK = "children.py:11"  # in `work`


def test_processes_are_chosen_and_the_next_that_stands_still_is_turned_to() -> None:
    with terminal("run", "--follow", "python", "-b", AT_WORK, CHILDREN, "pair") as session:
        session.prompt()
        # The other child's stop may be told between a command and its answer.
        wait_until(
            lambda: "the target is running" in session.ask("process 1") + session.ask("bt"),
            SECONDS,
            "it is told",
        )
        wait_until(lambda: session.ask("process").count("python-stopped") == 2, SECONDS, "both have stopped")
        session.in_step()
        for number in ("3", "2"):
            assert "#0 work" in session.ask(f"process {number}")
            assert "#0 py   work" in session.ask("bt 1")
        session.send("continue")
        assert "Now process 3" in session.expect("(dualdbg 3)")
        session.send("continue")
        status, rest = session.finish()
        assert status == 0
        assert "status [8, 8]" in rest


def test_ctrl_c_stops_every_process_and_quit_ends_them() -> None:
    with terminal("run", "--follow", "python", "-b", AT_WORK, CHILDREN, "fork-loop") as session:
        session.prompt()
        session.ask("continue")
        session.run_on("continue")
        session.control("c")
        session.prompt()
        wait_until(lambda: "running" not in session.ask("process"), SECONDS, "both have stopped")
        session.run_on("continue")  # both go on
        session.control("c")
        session.prompt()
        session.send("quit")
        assert session.finish()[0] == 0


STEPPING = """\
import os, sys, time
folder = sys.argv[1]
def wait(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.01)
def work(number):
    return number + 1
if os.fork() == 0:
    wait("child")
    work(1)
    os._exit(0)
first = 1
wait("parent")
second = 2
"""


def test_a_step_waits_for_its_own_process(tmp_path: Path) -> None:
    """The stop of another one is told, and does not take the prompt; Ctrl-C does, where the step waits for that one."""
    program = tmp_path / "stepping.py"
    program.write_text(STEPPING)
    where = ("-b", "stepping.py:13", "-b", "stepping.py:7")
    with terminal("run", "--follow", "python", *where, program, tmp_path, cwd=tmp_path) as session:
        session.prompt()
        session.run_on("next")
        (tmp_path / "child").touch()
        assert "[process 2]" in session.expect("the step in process 1 goes on")
        (tmp_path / "parent").touch()
        told = session.prompt()
        assert "stepping.py:14" in told
        assert "#0 py   <module>" in session.ask("bt 1")
        assert "#0 work" in session.ask("process 2")
        session.ask("delete")
        session.send("continue")
        session.expect("(dualdbg 1)")
        session.send("continue")
        assert session.finish()[0] == 0


def test_ctrl_c_gives_the_prompt_back_from_a_step_that_waits_for_another_process(tmp_path: Path) -> None:
    program = tmp_path / "stepping.py"
    program.write_text(STEPPING)
    where = ("-b", "stepping.py:13", "-b", "stepping.py:7")
    with terminal("run", "--follow", "python", *where, program, tmp_path, cwd=tmp_path) as session:
        session.prompt()
        session.run_on("next")
        (tmp_path / "child").touch()
        session.expect("the step in process 1 goes on")
        session.control("c")
        session.prompt()
        assert "#0 work" in session.ask("process 2")
        session.send("quit")
        assert session.finish()[0] == 0
