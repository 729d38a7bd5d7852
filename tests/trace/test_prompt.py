"""``trace`` at the prompt: the same as ``dualdbg trace``, from any moment of a session on and at any stop of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import warm
from tests.cli.driver import DUALDBG, Done, JsonRun, dualdbg, terminal
from tests.dap.client import StdioAdapter
from tests.support import wait_until
from tests.trace.test_counts import calls, pytestmark
from tests.trace.test_records import library

__all__ = ["calls", "library", "pytestmark"]

_SCRIPT = """\
import ctypes, os, sys
library = ctypes.CDLL({library!r})
def once(n):
    return library.twice(n)
def many(n):
    for i in range(n):
        library.twice(i)
many(10)
print("first")
many(1000)
once(-3)
print("second")
many(500)
print("third")
"""
_STOPS = (9, 12, 14)  # lines at which everything has been called that stands above


@pytest.fixture
def script(library: Path, tmp_path: Path) -> Path:
    made = tmp_path / "script.py"
    made.write_text(_SCRIPT.format(library=str(library)))
    return made


def session(script: Path, *commands: str, stops: Sequence[int] = _STOPS, json: bool = True) -> Done:
    words = [word for line in stops for word in ("-b", f"{script}:{line}")]
    words += [word for one in commands for word in ("-x", one)]
    return dualdbg("run", *words, *(["--json"] if json else []), "--batch", script)


def hits(report: dict[str, Any]) -> int:
    return sum(row["hits"] or 0 for row in report["functions"])


def counted(breakpoints: dict[str, Any]) -> list[int]:
    return [one["hits"] for one in breakpoints["breakpoints"] if " trace" in one["spec"] or one["evaluated"]]


def test_at_each_stop_the_report_has_what_was_called(script: Path) -> None:
    """From the moment of the command on, as often as `info breakpoints` says; twice at one stop it is the same."""
    looks = ("trace", "trace", "info breakpoints", "continue")
    done = session(script, "trace twice", *looks, *looks, *looks)
    reports, lists = done.of("trace"), done.of("breakpoints")
    assert [hits(one) for one in reports] == [0, 0, 1001, 1001, 1501, 1501, 1501]
    for first, second in zip(reports[:6:2], reports[1:6:2], strict=True):
        assert first == second  # the time of the program stands too
    assert [counted(one) for one in lists] == [[0], [1001], [1501]]
    last = reports[-1]["functions"][0]
    assert last["recorded"] == 1501 and last["numbers"]["number"] == {
        "least": -3,
        "most": 999,
        "sum": 499500 - 3 + 124750,
    }
    lines = {(one["python"]["function"], one["python"]["line"]): one["hits"] for one in last["callers"]}
    assert lines == {("many", 7): 1500, ("once", 4): 1}
    assert [event["event"] for event in done.events][-2:] == ["exited", "trace"]


def test_calls_are_timed_where_that_is_wanted(script: Path) -> None:
    """Beside functions that are not; and a place that was counted before begins anew, for all who count there."""
    done = session(
        script, "break twice count", "continue", "trace --time twice", "trace getppid", "continue", "info breakpoints",
        "delete 6", "continue",
    )  # fmt: skip
    assert counted(done.of("breakpoints")[0]) == [1501, 500, 0]
    report = done.of("trace")[-1]
    (row,) = report["functions"]
    assert (row["hits"], row["recorded"], row["timed"]) == (1501, 500, 500)
    assert 0 < row["longest"] <= row["time"] and "only counted" in " ".join(row["untimed"])


def test_what_is_changed_at_a_python_stop_counts_from_then_on(script: Path) -> None:
    """gdb does not hold the process there: what counts is in its code, or is put into it, all the same."""
    done = session(
        script,
        *("break twice count", "trace getppid", "disable 4", "continue", "info breakpoints"),
        *("enable 4", "condition 4 number >= 490", "continue", "info breakpoints", "delete 5", "continue"),
    )
    assert [counted(one) for one in done.of("breakpoints")] == [[0, 0], [10, 0]]
    assert not done.of("trace") and not done.of("error")


def test_what_is_deleted_leaves_the_report(script: Path) -> None:
    """As it leaves the list; a later trace of the same begins at 0. What is disabled stays, and counts no more."""
    done = session(
        script,
        *(
            "trace twice",
            "continue",
            "delete 4",
            "trace",
            "trace twice",
            "trace",
            "continue",
            "trace",
            "disable 5",
        ),
        "continue",
    )
    assert [hits(one) for one in done.of("trace")] == [0, 500, 500]
    assert [one["message"] for one in done.of("error")] == ["nothing is traced"]


def test_the_report_comes_by_itself_and_once(script: Path) -> None:
    """Where there was a trace; where hits were only counted there is none, as the test above has it."""
    said = session(script, "trace twice", "continue", "continue", "continue", json=False).stdout
    assert len(re.findall(r"(?m)^1,501 hits of 1 function in [\d.]+ m?s$", said)) == 1
    assert said.index("ended with status 0") < said.index("1,501 hits")


def test_a_native_step_between_changes_nothing_of_it(calls: Path) -> None:
    """At a native stop, with eight threads that call on: what is counted and what is taken down stay the same."""
    commands = [
        "trace work on_even",
        *["continue", "stepi", "trace", "info breakpoints"] * 3,
        "delete 1",
        "continue",
    ]
    words = [word for one in commands for word in ("-x", one)]
    done = dualdbg("run", "-b", "on_even hits 1000", *words, "--json", "--batch", "--native", calls, "20000")
    for report, listed in zip(done.of("trace"), done.of("breakpoints"), strict=False):
        rows = {row["function"]: row for row in report["functions"]}
        assert rows["work"]["hits"] == rows["work"]["recorded"]
        found = {one["spec"]: one["hits"] for one in listed["breakpoints"] if one["id"] > 1}
        assert {name: row["hits"] or 0 for name, row in rows.items()} == found


def test_an_attached_process_goes_on_with_its_memory(calls: Path) -> None:
    """Traced from before its first call to after its last: its own numbers; then nothing of ours takes room in it."""
    target = subprocess.Popen(
        [calls, "20000", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert target.stdin is not None and target.stdout is not None
    assert target.stdout.readline() == "ready\n"
    maps, status = Path(f"/proc/{target.pid}/smaps"), Path(f"/proc/{target.pid}/status")
    with warm.Popen(
        [*DUALDBG, "attach", str(target.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as debugger:
        assert debugger.stdin is not None
        debugger.stdin.write("trace work on_even\nbreak getchar\ncontinue\ntrace\ndetach\n")
        debugger.stdin.flush()
        wait_until(
            lambda: "memfd" in maps.read_text() and "(sleeping)" in status.read_text(), 60, "it is traced"
        )
        target.stdin.write("g")
        target.stdin.flush()
        own = re.search(r"work (\d+), on_even (\d+), right", target.stdout.readline())
        said, _ = debugger.communicate(timeout=patient(60))
    assert own and own.groups() == ("160000", "80000")
    assert len(re.findall(r"(?m)^ +160,000 +[\d,]+  work  calls$", said)) == 2, (
        said
    )  # at the stop, and at the end
    assert "not taken down" not in said
    assert "TracerPid:\t0\n" in status.read_text()
    (shared,) = re.findall(r"(?s)memfd.*?Rss: +(\d+) kB", maps.read_text())
    assert int(shared) == 0
    target.communicate("over\n", timeout=patient(60))
    assert target.returncode == 7


def test_the_last_delete_gives_the_memory_back(calls: Path) -> None:
    """While the program stands, and for a thread of ours that reads; a later trace has memory of its own."""
    with closing(JsonRun("-b", "on_even hits % 300", "--native", calls, "500")) as run:
        maps = Path(f"/proc/{run.next('session')['pid']}/smaps")
        run.next("stopped")

        def resident() -> list[int]:
            return [int(size) for size in re.findall(r"(?s)memfd.*?Rss: +(\d+) kB", maps.read_text())]

        for number, before in ((2, 0), (3, 1)):
            run.send("trace work")
            run.send("continue")
            run.next("stopped")
            run.send("trace")
            assert hits(run.next("trace")) > 0
            *earlier, last = sorted(resident())
            assert len(earlier) == before and last > 1000 > sum(earlier)
            run.send(f"delete {number}")
            wait_until(lambda: sum(resident()) < 1000, 60, "it is given back")
        run.send("delete 1")
        run.send("continue")
        assert run.finish() == 7
        assert not [event for event in run.seen if event["event"] == "error"]


_FORKING = """
many(100)
if os.fork() == 0:
    many(1000)
    os._exit(0)
os.wait()
many(10)
if len(sys.argv) < 2:
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
"""


def test_children_and_a_new_program_are_counted(script: Path) -> None:
    """The hits of a forked child are its parent's; the program after an exec is traced too."""
    script.write_text(script.read_text().partition("many(10)")[0] + _FORKING)
    done = dualdbg("run", "-b", "twice trace", "--json", "--batch", script)
    (report,) = done.of("trace")
    (row,) = report["functions"]
    assert row["hits"] == row["recorded"] == 2220


def test_a_halt_behind_another_one_is_not_lost(script: Path) -> None:
    """An interrupt that gdb gets before it lets the target run would be: each `bt` would wait for its halt in vain."""
    done = session(script, "trace twice", *["bt", "threads"] * 10, stops=[9])
    assert not done.of("error")
    assert len(done.of("stack")) == len(done.of("threads")) == 10


def test_an_editor_traces_in_its_debug_console(script: Path) -> None:
    """The report is there before the editor is told that the program has ended."""
    with closing(StdioAdapter()) as adapter:
        client = adapter.client
        client.start({"program": str(script)}, lines={script: list(_STOPS[:2])})
        thread = client.stopped()["threadId"]
        client.evaluate("`trace twice")
        client.go("continue", thread)
        client.stopped()
        assert "1,001 hits of 1 function" in client.evaluate("`trace")["result"]
        client.request("continue", {"threadId": thread})
        client.wait_output(r"1,501 hits of 1 function")
        client.event("terminated")


def test_a_user_traces_a_program_that_runs(script: Path) -> None:
    """From a stop at a prompt, in colours and all."""
    with terminal("run", "-b", f"{script}:9", script) as prompt:
        prompt.prompt()
        assert "Breakpoint 2 (twice)" in prompt.ask("trace --time twice")
        prompt.run_on("continue")
        _, said = prompt.finish()
    assert re.search(r"1,501 hits of 1 function", said), said


def test_a_json_session_takes_commands_as_they_come(script: Path) -> None:
    with closing(JsonRun("-b", f"{script}:9", script)) as run:
        run.next("stopped")
        run.send("trace 'twice if number > 989'")
        run.send("continue")
        assert hits(run.next("trace")) == 10
        assert run.finish() == 0
