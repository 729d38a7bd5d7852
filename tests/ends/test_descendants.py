"""A launched program and all that descends from it end with the session, in whatever way that ends; unless detached."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.driver import Terminal, json_run
from tests.support import is_running, wait_until

from .front_ends import ADAPTERS, COMMAND_LINES, EVERY, Started

pytestmark = pytest.mark.processes

FAMILY = Path(__file__).with_name("family.py")
SIGNALS = {"TERM": signal.SIGTERM, "HUP": signal.SIGHUP, "KILL": signal.SIGKILL}


def family_in(path: Path) -> dict[str, int]:
    """Waits until the family is complete; the process ids, by their kinds."""
    wait_until(path.exists, 90, "the family")
    family = {kind: int(pid) for kind, pid in map(str.split, path.read_text().splitlines())}
    assert len(family) == 6
    return family


def all_end(family: dict[str, int]) -> None:
    living: list[str] = []

    def none_lives() -> bool:
        living[:] = [kind for kind, pid in family.items() if is_running(pid)]
        return not living

    try:
        wait_until(none_lives, 20, "the end of all")
    except pytest.fail.Exception:
        for kind in living:
            os.kill(family[kind], signal.SIGKILL)
        pytest.fail(f"these outlived the session: {living}", pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS.values(), ids=SIGNALS)
@pytest.mark.parametrize("start", EVERY.values(), ids=EVERY)
def test_dualdbg_is_ended_by_a_signal(
    start: Callable[..., Started], number: signal.Signals, tmp_path: Path
) -> None:
    with start(FAMILY, str(tmp_path / "family"), "stay") as started:
        family = family_in(tmp_path / "family")
        os.kill(started.pid, number)
        all_end(family)


@pytest.mark.slow
@pytest.mark.parametrize("start", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_the_program_ends_by_itself(start: Callable[..., Started], tmp_path: Path) -> None:
    with start(FAMILY, str(tmp_path / "family"), "end") as started:
        family = family_in(tmp_path / "family")
        if start is COMMAND_LINES["dashboard"]:  # it stays until the user leaves
            os.kill(started.pid, signal.SIGTERM)
        elif start is not COMMAND_LINES["prompt"]:
            assert started.finish()[1] == 0
        all_end(family)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["terminate", "disconnect", "by itself"])
@pytest.mark.parametrize("start", ADAPTERS.values(), ids=ADAPTERS)
def test_the_editor_ends_the_program(start: Callable[..., Started], how: str, tmp_path: Path) -> None:
    with start(FAMILY, str(tmp_path / "family"), "end" if how == "by itself" else "stay") as started:
        family = family_in(tmp_path / "family")
        client = started.client
        assert client is not None
        if how == "terminate":
            client.request("terminate")
            assert client.event("exited") == {"exitCode": 137}
        if how != "disconnect":
            client.event("terminated")
        if how == "terminate":
            all_end(family)
        client.request("disconnect")
        all_end(family)


@pytest.mark.smoke
def test_a_batch_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    with COMMAND_LINES["batch"](FAMILY, str(tmp_path / "family"), "stay") as started:
        family = family_in(tmp_path / "family")
        os.kill(started.pid, signal.SIGKILL)
        all_end(family)


@pytest.mark.parametrize("then", ["quit", "KILL"])
def test_what_was_detached_lives_on(tmp_path: Path, then: str) -> None:
    with json_run(FAMILY, tmp_path / "family", "stay") as run:
        family = family_in(tmp_path / "family")
        try:
            run.process.send_signal(signal.SIGINT)
            run.next("stopped")
            run.send("detach")
            run.next("detached")
            if then == "KILL":
                run.process.kill()
            run.finish()
            assert [kind for kind, pid in family.items() if not is_running(pid)] == []
        finally:
            for pid in family.values():
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("start", ["dap", "dap, noDebug", "dap, noDebug in a terminal"])
def test_what_an_editor_lets_go_of_lives_on(tmp_path: Path, start: str) -> None:
    with ADAPTERS[start](FAMILY, str(tmp_path / "family"), "stay") as started:
        family = family_in(tmp_path / "family")
        try:
            assert started.client is not None
            started.client.request("disconnect", {"terminateDebuggee": False})
            started.finish()
            assert [kind for kind, pid in family.items() if not is_running(pid)] == []
        finally:
            for pid in family.values():
                os.kill(pid, signal.SIGKILL)


def test_who_was_started_on_a_terminal_can_read_from_it_and_be_interrupted(tmp_path: Path) -> None:
    """The program is the terminal's foreground group, and not an orphaned one: job control works in it."""
    path = tmp_path / "reads.py"
    path.write_text(
        "import os\nprint(input('name? '), os.tcgetpgrp(0) == os.getpgrp())\nwhile True: os.getpid()\n"
    )
    terminal = Terminal("run", path)
    terminal.expect("name? ")
    terminal.type("me\r")
    terminal.expect("me True")
    terminal.control("c")
    terminal.prompt()
    terminal.send("quit")
    terminal.finish()
