"""From a breakpoint's first hit to its last: what changes, commands, watchpoints, signals, saved breakpoints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests import support
from tests.cli.driver import Done, at_one_stop, dualdbg, terminal

EXTENSION = """\
#include <Python.h>
int counter = 0, latest = 0; long row[17];
static int helper(int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += i;
        counter++;
    }
    return total;
}
static PyObject *bump(PyObject *self, PyObject *argument)
{
    int n = (int)PyLong_AsLong(argument);
    int sum = helper(n);
    latest = sum;
    return PyLong_FromLong(latest);
}
static PyMethodDef methods[] = {{"bump", bump, METH_O, ""}, {0, 0, 0, 0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "counting", 0, -1, methods};
PyMODINIT_FUNC PyInit_counting(void) { return PyModule_Create(&module); }
"""
PROGRAM = """\
import counting
def work(i):
    return counting.bump(i)
for i in range(12):
    work(i)
print("end")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With program.py and the extension that it calls, which has debug info."""
    compiler = support.require(shutil.which("gcc"), "a C compiler")
    folder = tmp_path_factory.mktemp("counting")
    (folder / "counting.c").write_text(EXTENSION)
    (folder / "program.py").write_text(PROGRAM)
    include = f"-I{sysconfig.get_path('include')}"
    command = [compiler, "-g", "-O0", "-shared", "-fPIC", include, "counting.c", "-o", "counting.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def run(folder: Path, *commands: str, breakpoints: tuple[str, ...] = ("helper",), program: str = "") -> Done:
    words = [word for spec in breakpoints for word in ("-b", spec)]
    words += [word for command in commands for word in ("-x", command)]
    script = ("-c", program) if program else ("program.py",)
    done = dualdbg("run", "--batch", "--json", *words, *script, cwd=folder)
    assert "Traceback" not in done.stdout + done.stderr, done
    return done


WRITES = ("watch counter = 7", "watch counter++", "watch helper(3)", "watch -l counter = 7")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Done]:
    """What is answered where helper(0) begins."""
    os.mkfifo(folder / "pipe")
    (folder / "itself").write_text(f"p n + 10\nsource {folder / 'itself'}\np n + 20\n")
    sources = (f"source {folder / 'pipe'}", f"source {folder}", f"save breakpoints {folder / 'no' / 'file'}")
    scenes = {
        "refused": ("watch nosuch", "watch 3", "watch", "watch -l n + 1", "watch n", "info b", "delete 2"),
        "only looks": (*WRITES, "p counter", "info b"),
        "displays": (
            *("display n", "display n + 1", "delete display 1", "display", "delete display", "display"),
            "info b",
        ),
        "files": (*sources, f"source {folder / 'itself'}", "p n + 30"),
    }
    return at_one_stop(scenes, "-b", "helper", "program.py", cwd=folder)


def values(done: Done) -> list[str]:
    return [event["value"] for event in done.of("value")]


def stops(done: Done) -> list[tuple[list[int], str | None]]:
    return [(event["breakpoints"], event.get("description")) for event in done.of("stopped")]


def last(done: Done, id: int) -> dict[str, object]:
    """What was told of a breakpoint last."""
    return [event for event in done.of("breakpoint") if event["id"] == id][-1]


@pytest.mark.parametrize("spec", ["helper", "program.py:3"], ids=["native", "Python"])
def test_conditions_and_counts_change(folder: Path, spec: str) -> None:
    name = "n" if spec == "helper" else "i"
    done = run(
        folder, f"p {name}", "ignore 1 3", "c", f"p {name}", f"condition 1 {name} % 2 == 0", "c", f"p {name}",
        "ignore 1 1", "c", f"p {name}", "condition 1", "ignore 1 0", "c", f"p {name}",
        breakpoints=(spec,),
    )  # fmt: skip
    assert done.status == 0, done
    assert values(done) == ["0", "4", "6", "10", "11"]


def test_what_would_call_the_program_is_no_condition_and_the_old_one_stays(folder: Path) -> None:
    done = run(folder, "condition 1 helper(3)", "c", "p n", breakpoints=("helper if n > 3",))
    assert done.status == 3 and [event["message"] for event in done.of("error")]
    assert values(done) == ["5"]


def test_once_and_until_the_next_hit(folder: Path) -> None:
    done = run(
        folder, "disable 1", "enable once 2", "c", "p i", "enable delete 2", "c", "p i", "enable once 1", "c", "p n",
        "info b", "c", breakpoints=("helper", "program.py:3 if i > 5"),
    )  # fmt: skip
    assert values(done) == ["6", "7", "7"]
    assert [row["id"] for row in done.of("breakpoints")[-1]["breakpoints"]] == [1]
    assert done.of("exited")


def test_commands_of_a_breakpoint(folder: Path) -> None:
    """They run at each stop; what follows one that lets the program run is not done; silent tells nothing."""
    words = "-b helper -x commands -x silent -x p_n -x c -x not_done -x end -x b_program.py:6 -x commands -x p_i -x end"
    done = dualdbg(
        "run",
        "--batch",
        *(word.replace("_", " ") for word in words.split()),
        "-x",
        "c",
        "program.py",
        cwd=folder,
    )
    assert done.status == 0, done
    told = done.stdout.partition("(dualdbg) c\n")[2]
    assert re.findall(r"^(?:\d+|\* Breakpoint \d)", told, re.MULTILINE) == [
        *map(str, range(1, 12)),
        "* Breakpoint 2",
        "11",
    ]


def test_commands_within_commands(folder: Path) -> None:
    done = run(
        folder,
        "commands 1",
        "commands 1",
        "p n + 100",
        "end",
        "p n",
        "end",
        "c",
        "c",
        breakpoints=("helper",),
    )
    assert values(done) == ["1", "102"] and not done.of("error")


def test_files_that_cannot_be_read_or_written(told: dict[str, Done]) -> None:
    """A pipe has no end, a file that reads itself neither."""
    assert values(told["files"]) == ["10", "30"]
    assert len(told["files"].of("error")) == 4


def test_a_file_is_read_up_to_the_first_line_that_fails(folder: Path, tmp_path: Path) -> None:
    """Also by the file that reads it. What was typed, or was due at the stop besides, is done."""
    (tmp_path / "inner").write_text("p n + 10\nframe 99\np n + 20\n")
    (tmp_path / "outer").write_text(f"source {tmp_path / 'inner'}\np n + 30\n")
    done = run(
        folder, "commands 1", f"source {tmp_path / 'outer'}", "p n + 40", "end", "c", f"source {tmp_path / 'outer'}",
        "p n + 50", "frame 99",
    )  # fmt: skip
    assert values(done) == ["11", "41", "11", "51"]
    messages = [error["message"] for error in done.of("error")]
    assert [message.endswith("; what follows in the file is not done") for message in messages] == [
        True,
        True,
        False,
    ]


def test_a_file_among_the_commands_of_a_breakpoint(folder: Path, tmp_path: Path) -> None:
    """It is read in its place; what follows is not done once the program runs on."""
    (tmp_path / "lines").write_text("p n + 10\np n + 20\n")
    (tmp_path / "goes_on").write_text("c\np n + 1000\n")
    done = run(
        folder, "commands 1", f"source {tmp_path / 'lines'}", "p n + 30", "end", "c", "commands 1", "p n",
        f"source {tmp_path / 'goes_on'}", "p n + 2000", "end", "c",
    )  # fmt: skip
    assert values(done) == ["11", "21", "31", *map(str, range(2, 12))]


def test_saved_and_read_again(folder: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    specs = (
        "helper hits 3 if n > 1",
        'program.py:3 log "{i} of it"',
        "SIGUSR1",
        "raise:ValueError temporary",
    )
    first = run(
        folder, "disable 3", "commands 1", "p n", "end", f"save breakpoints {saved}", breakpoints=specs
    )
    assert first.status == 0, first
    lines = saved.read_text().splitlines()
    assert lines == [
        "break helper hits 3 if n > 1",
        "commands",
        "  p n",
        "end",
        'break program.py:3 log "{i} of it"',
        "break signal:SIGUSR1",
        "disable $bpnum",
        "break raise:ValueError temporary",
    ]
    assert run(folder, f"save breakpoints {saved}").of("error")[0]["message"] == f"{saved} is there already"
    commands = (f"source {saved}", "c", "info b", "delete 1", "c")
    words = [word for command in commands for word in ("-x", command)]
    again = dualdbg("run", "--batch", "--stop-on-entry", *words, "program.py", cwd=folder)
    assert again.status == 0, again
    assert re.search(r"^4$", again.stdout, re.MULTILINE) and "11 of it\n" in again.stdout
    assert "3   signal:SIGUSR1: verified  (disabled)" in again.stdout


def test_values_that_are_shown_at_each_stop(folder: Path) -> None:
    done = run(
        folder, "display n", "display nosuch", "c", "undisplay 2", "c", "display", "undisplay", "c", "display"
    )
    shown = [[(row["name"], row["value"]) for row in event["variables"]] for event in done.of("variables")]
    missing = ("2: nosuch", '<gdb: No symbol "nosuch" in current context.>')
    assert shown == [
        [("1: n", "0")],
        [missing],
        [("1: n", "1"), missing],
        [("1: n", "2")],
        [("1: n", "2")],
        [],
    ]


# -- watchpoints ------------------------------------------------------------------------------------


def test_a_watchpoint_is_a_breakpoint_like_the_others(folder: Path) -> None:
    done = run(
        folder, "watch counter if counter != 2", "c", "c", "p n", "disable 2", "enable 2", "delete 1", "c", "delete 2",
        "info b", "c", breakpoints=("helper if n == 1",),
    )  # fmt: skip
    assert done.status == 0, done
    assert stops(done) == [
        ([1], None),
        ([2], "counter: 0 -> 1"),
        ([2], "counter: 2 -> 3"),
        ([2], "counter: 3 -> 4"),
    ]
    assert values(done) == ["2"]
    assert done.of("breakpoints")[-1]["breakpoints"] == [] and done.of("exited")


def test_two_at_once_are_told_once_and_each_is_counted(folder: Path) -> None:
    done = run(
        folder,
        "watch counter",
        "watch counter",
        "c",
        "info b",
        "delete 2",
        "c",
        breakpoints=("helper if n == 1",),
    )
    assert stops(done)[1:] == [([2, 3], "counter: 0 -> 1"), ([3], "counter: 1 -> 2")]
    rows = done.of("breakpoints")[-1]["breakpoints"]
    assert [(row["id"], row["hits"]) for row in rows] == [(1, 1), (2, 1), (3, 1)]


def test_a_local_is_watched_until_its_function_is_left(folder: Path) -> None:
    done = run(
        folder, "delete 1", "watch total", "c", "c", "info b", "c", breakpoints=("counting.c:6 if n == 2",)
    )
    assert stops(done)[1:] == [
        ([2], "total: 0 -> 1"),
        ([2], "the function of total was left: it is watched no more"),
    ]
    assert done.of("stopped")[-1]["frame"]["function"] == "bump"
    assert done.of("breakpoints")[-1]["breakpoints"] == []


def test_what_cannot_be_watched_is_refused_and_takes_no_number(told: dict[str, Done]) -> None:
    done = told["refused"]
    assert [event["message"].split(" cannot")[0] for event in done.of("error")] == [
        "nosuch", "3", "watch wants an expression", "n + 1",
    ]  # fmt: skip
    assert [row["id"] for row in done.of("breakpoints")[-1]["breakpoints"]] == [1, 2]


def test_where_a_value_lies_is_watched_after_its_function(folder: Path) -> None:
    done = run(folder, "watch -l n", "c", breakpoints=("helper if n == 2",))
    (id,), told = stops(done)[-1]
    assert id == 2 and told is not None and re.fullmatch(r"n: 2 -> -?\d+", told)


def test_a_global_is_watched_before_its_library_is_there(folder: Path) -> None:
    done = run(folder, "p n", "c", "info b", breakpoints=("watch:counter", "watch:nosuch"))
    assert stops(done) == [([1], "counter: 0 -> 1"), ([1], "counter: 1 -> 2")]
    assert [row["state"] for row in done.of("breakpoints")[-1]["breakpoints"]] == ["verified", "pending"]


def test_a_watchpoint_only_looks(told: dict[str, Done]) -> None:
    """gdb would evaluate what is watched, and so call it or write, before it refuses."""
    done = told["only looks"]
    assert len(done.of("error")) == len(WRITES) and values(done) == ["0"]
    assert [row["id"] for row in done.of("breakpoints")[-1]["breakpoints"]] == [1]


def test_conditions_of_watchpoints(folder: Path) -> None:
    """One that cannot be read is refused, and the one before stays; none means none."""
    done = run(
        folder, "watch counter if nosuch > 1", "watch counter if counter == 2", "condition 2 nosuch > 1", "c",
        "condition 2", "c", "info b", breakpoints=("helper if n == 1",),
    )  # fmt: skip
    assert len(done.of("error")) == 2
    assert stops(done)[1:] == [([2], "counter: 1 -> 2"), ([2], "counter: 2 -> 3")]
    assert [row["id"] for row in done.of("breakpoints")[-1]["breakpoints"]] == [1, 2]


def test_a_watchpoint_that_was_off_while_its_function_was_left_is_not_on_again(folder: Path) -> None:
    done = run(
        folder, "watch total", "disable 2", "finish", "enable 2", "info b", breakpoints=("helper if n == 2",)
    )
    assert ["the function of total was left" in event["message"] for event in done.of("error")] == [True]
    assert [row["id"] for row in done.of("breakpoints")[-1]["breakpoints"]] == [1]


def test_a_condition_beside_a_watchpoint_that_triggers(folder: Path) -> None:
    """At the place of a breakpoint whose condition is false: that one is not told."""
    beside = ("helper if n == 2", "counting.c:17 if n > 99")
    done = run(folder, "watch latest", "c", breakpoints=beside)
    assert stops(done)[-1] == ([3], "latest: 0 -> 1")


def test_more_than_the_processor_can_watch_is_told_and_the_program_stays_stopped(folder: Path) -> None:
    """gdb finds out when the program is to run on (AArch64 has sixteen such registers at most)."""
    words = [f"watch row[{number}]" for number in range(17)]
    done = run(folder, *words, "c", "p n", "delete", "c", breakpoints=("helper if n == 2",))
    assert done.of("error") and values(done) == ["2"]
    assert done.of("exited")[0]["code"] == 0


def test_a_range_of_breakpoints_is_deleted(folder: Path) -> None:
    breakpoints = ("helper", "program.py:3", "program.py:6", "PyInit_counting")
    done = run(folder, "delete 2-3", "delete 7-9", "info b", breakpoints=breakpoints)
    assert [row["id"] for row in done.of("breakpoints")[0]["breakpoints"]] == [1, 4]
    assert [row["message"] for row in done.of("error")] == ["there is no breakpoint from 7 to 9"]


def test_the_table_has_what_is_done_where_it_stops_and_watchpoints_alone(folder: Path) -> None:
    done = dualdbg(
        "run", "--batch", "-b", "helper", "-x", "commands 1", "-x", "p n", "-x", "end", "-x", "tbreak program.py:6",
        "-x", "watch counter", "-x", "info b", "-x", "info watchpoints", "program.py", cwd=folder,
    )  # fmt: skip
    assert done.status == 0, done
    table, watches = (
        part.partition("\n\n")[0] for part in re.split(r"\(dualdbg\) info \w+\n", done.stdout)[1:]
    )
    assert re.search(r"^1   helper: .*\n(?:      .*\n)+        p n$", table, re.MULTILINE), done
    assert re.search(r"^2   program.py:6 temporary: ", table, re.MULTILINE), table
    assert [line for line in watches.splitlines() if line[0] != " "] == ["3   watch:counter: verified"]


def test_watchpoints_of_python_are_among_them(folder: Path) -> None:
    done = run(folder, "info watchpoints", "watch i", "info watchpoints", breakpoints=("program.py:3",))
    [event] = done.of("breakpoints")
    assert [row["spec"] for row in event["breakpoints"]] == ["watch:py:i"]
    assert "No watchpoints.\n" in [event["text"] for event in done.of("output")]


def test_conditions_as_pdb_has_them_and_places_that_are_cleared(folder: Path) -> None:
    done = run(
        folder, "c", "p i", "tbreak work, i == 7", "clear 3", "clear ./program.py:3", "c", "p i", "cl helper",
        "clear nowhere", "b helper, n > 8", "c", "p n", "clear", "info b",
        breakpoints=("program.py:3 if i > 4",),
    )  # fmt: skip
    assert values(done) == ["6", "7", "9"]
    assert [event["message"] for event in done.of("error")] == [
        "clear 3 could mean a breakpoint or a line",
        "there is no breakpoint at helper",
        "there is no breakpoint at nowhere",
    ]
    assert done.of("breakpoints")[-1]["breakpoints"] == []


def test_displays_are_deleted_as_gdb_does(told: dict[str, Done]) -> None:
    done = told["displays"]
    assert [[one["value"] for one in event["variables"]] for event in done.of("variables")][2:] == [["1"], []]
    assert [row["spec"] for row in done.of("breakpoints")[-1]["breakpoints"]] == ["helper"]


# -- signals ----------------------------------------------------------------------------------------

SIGNALS = """\
import os, signal
for name in ("SIGUSR1", "SIGSEGV"):
    signal.signal(signal.Signals[name], lambda *_: None)
for _ in range(2):
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGSEGV)
"""


def test_a_signal_whose_breakpoint_is_deleted_does_what_it_did_before(folder: Path) -> None:
    done = run(
        folder,
        "delete 2",
        "c",
        "delete 1 3",
        "c",
        "c",
        breakpoints=("SIGUSR1", "SIGSEGV", "SIGSEGV"),
        program=SIGNALS,
    )
    reasons = [(event["reason"], event["breakpoints"]) for event in done.of("stopped")]
    assert reasons == [("signal", [1]), ("signal", [3]), ("signal", [])]
    assert done.of("exited")[0]["code"] == 0


def test_a_crash_stops_after_a_breakpoint_on_its_signal_is_gone(folder: Path) -> None:
    crash = "import os, signal; os.getsid(0); os.kill(os.getpid(), signal.SIGSEGV)"
    done = run(folder, "delete 2", "c", "delete", "c", breakpoints=("getsid", "SIGSEGV"), program=crash)
    assert done.of("stopped")[-1]["reason"] == "signal"


def test_commands_are_typed_at_the_prompt_and_can_be_given_up(folder: Path) -> None:
    with terminal("run", "-b", "helper", "program.py", cwd=folder) as one:
        one.prompt()
        one.ask("commands 1")
        one.child.send("p n\r")
        one.prompt()
        one.control("c")
        one.prompt()
        assert "\n1 \n" not in one.ask("continue")  # they were given up: nothing is done
        one.ask("commands 1")
        one.ask("p n + 100")
        one.ask("end")
        assert "102" in one.ask("continue")
        one.send("quit")
        assert one.finish()[0] == 0
