"""A program that ends while it starts, by any signal or by itself, ends the session with its own status."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.driver import dualdbg
from tests.dap.client import Refused, StdioAdapter
from tests.support import children_of, name_of, wait_until

from .front_ends import COMMAND_LINES, command_line

pytestmark = pytest.mark.processes

# The user's sitecustomize, which is imported before debugpy is: it ends the process there, or at the first audit event
# (PEP 578) of a kind. The bootstrap calls the session with `socket.connect`, and debugpy begins with `sys.settrace`.
SITE = """\
import os, signal, sys

def end(*_):
    how = os.environ["HOW"]
    if how.isdigit():
        os._exit(int(how))
    os.kill(os.getpid(), getattr(signal, how))
    signal.pause()

when = os.environ["WHEN"]
if when == "site":
    end()
elif when:
    sys.addaudithook(lambda event, arguments: event == when and end())
"""
# An interpreter that ends in place of the program's start, and is one when dualdbg asks it for facts.
NO_PYTHON = """\
#!/bin/sh
[ -n "$DUALDBG_TARGET" ] || exec {python} "$@"
case $HOW in SIG*) kill -s "${{HOW#SIG}}" $$;; *) exit "$HOW";; esac
"""
MOMENTS = ["before the interpreter", "site", "socket.connect"]
ENDS = {"SIGKILL": 137, "SIGTERM": 143, "SIGUSR1": 138, "5": 5, "0": 0}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text("print('it ran')\n")
    return path


def options(folder: Path, moment: str, how: str) -> list[str]:
    """Options of ``dualdbg run`` for a program that ends at a moment of its start."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(SITE)
    given = [f"--env=PYTHONPATH={folder / 'site'}", f"--env=HOW={how}", f"--env=WHEN={moment}"]
    if moment != "before the interpreter":
        return given
    python = folder / "python"
    python.write_text(NO_PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    return [*given, f"--python={python}"]


def says(text: str, how: str) -> None:
    assert "it ran" not in text
    assert "Traceback" not in text and "did not foresee" not in text, text
    assert (
        f"The program was ended by {how}" if how.startswith("SIG") else f"ended with status {how}"
    ) in text


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_its_end_is_told_and_its_status_is_ours(tmp_path: Path, program: Path, moment: str, how: str) -> None:
    done = dualdbg("run", "--batch", *options(tmp_path, moment, how), program)
    assert done.status == ENDS[how], done
    says(done.stdout, how)
    assert done.stderr == ""


@pytest.mark.parametrize("how", ["SIGKILL", "5"])
def test_in_json(tmp_path: Path, program: Path, how: str) -> None:
    done = dualdbg("run", "--json", *options(tmp_path, "socket.connect", how), program)
    assert done.status == ENDS[how], done
    code, number = (None, signal.SIGKILL) if how == "SIGKILL" else (5, None)
    assert done.events[-1] == {"event": "exited", "code": code, "signal": number}
    assert done.of("error") == []


@pytest.mark.parametrize("front_end", ["prompt", "dashboard", "follow"])
def test_on_a_terminal_and_with_follow(tmp_path: Path, program: Path, front_end: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    env = {"PYTHONPATH": str(site), "HOW": "SIGKILL", "WHEN": "site"}
    with COMMAND_LINES[front_end](program, env=env) as started:
        if front_end == "dashboard":
            wait_until(lambda: "SIGKILL" in started.written(), 90, "the end is shown")
            started.type("q")
        text, status = started.finish()
    assert status == 137
    if front_end != "dashboard":
        says(text, "SIGKILL")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", ["it is there", "gdb holds it"])
def test_somebody_else_ends_it(tmp_path: Path, program: Path, moment: str, number: signal.Signals) -> None:
    """From the moment it exists, which may be before exec, and while gdb begins with it."""
    program.write_text("import time\ntime.sleep(300)\n")  # it does not end before it is looked at
    with COMMAND_LINES["batch"](program) as started:
        pid = wait_until(lambda: program_of(started.pid), 90, "the program")
        if moment == "gdb holds it":
            wait_until(lambda: tracer_of(pid), 90, "gdb attaches")
        os.kill(pid, number)
        text, status = started.finish()
    assert status == 128 + number, text
    says(text, number.name)


HANGING = """\
import os, time
while True:
    with open(os.environ["TICKS"], "a") as file:
        file.write(".")
    time.sleep(0.05)
"""


def test_an_interpreter_that_hangs_before_it_calls_can_be_paused(tmp_path: Path, program: Path) -> None:
    """gdb waits for its call before it attaches, but not for ever."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HANGING)
    ticks = tmp_path / "ticks"
    env = {"PYTHONPATH": str(tmp_path / "site"), "TICKS": str(ticks)}
    with command_line("--batch", "-xbt")(program, env=env) as started:
        pid = wait_until(lambda: program_of(started.pid), 90, "the program")
        wait_until(lambda: tracer_of(pid), 90, "gdb attaches")
        before = ticks.stat().st_size
        # gdb has stopped it, and let it go.
        wait_until(lambda: ticks.stat().st_size > before + 2, 90, "it goes on")
        os.kill(started.pid, signal.SIGINT)
        text, _status = started.finish()
    assert "Paused" in text and "sitecustomize.py" in text and "it ran" not in text, text


def program_of(dualdbg: int) -> int:
    """The process id of the child of the keeper; 0 while there is none."""
    keepers = [child.pid for child in children_of(dualdbg) if name_of(child) != "gdb"]
    return next((one.pid for keeper in keepers for one in children_of(keeper)), 0)


def tracer_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("TracerPid:")[2].split()[0])


@pytest.mark.parametrize("moment", ["site", "socket.connect"])
def test_in_an_editor_the_launch_is_refused_and_the_end_told(
    tmp_path: Path, program: Path, moment: str
) -> None:
    with closing(StdioAdapter()) as adapter:
        client = adapter.client
        (tmp_path / "sitecustomize.py").write_text(SITE)
        env = {"PYTHONPATH": str(tmp_path), "HOW": "SIGTERM", "WHEN": moment}
        client.initialize()
        launched = client.send("launch", {"program": str(program), "env": env})
        with pytest.raises(Refused, match="ended before it was let run"):
            client.answer(launched)
        assert client.event("exited") == {"exitCode": 143}
        client.event("terminated")
        client.request("disconnect")
        client.wait_end()
