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
