"""Watchpoints of Python: what stops, what is told of it, and when they end, in real sessions of several Pythons."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.cli.driver import Done, dualdbg
from tests.support import other_interpreter, wait_until

PROGRAM = """\
import threading
class Counter:
    def __init__(self):
        self.count = 0
        self.rows = [1, {"a": 1}]
    def bump(self, by):
        self.count += by
def fails():
    local = 1
    local = 2
    raise ValueError("left")
def generator(n):
    got = 0
    for i in range(n):
        got = i * 10
        yield got
    got = -1
def loops(n):
    total = 0
    for i in range(n):
        total += i
    other = total
    return total + other
def main():
    counter = Counter()
    begin = True
    counter.bump(1)
    counter.bump(0)
    counter.rows[1]["a"] = 5
    try:
        fails()
    except ValueError:
        pass
    for value in generator(3):
        begin = False
    thread = threading.Thread(target=counter.bump, args=(7,))
    thread.start()
    thread.join()
    loops(10)
    end = True
main()
print("done")
"""


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.strip() == text)


def run(folder: Path, version: str, breakpoints: list[str], *commands: str, program: str = PROGRAM) -> Done:
    (folder / "program.py").write_text(program)
    words = [word for spec in breakpoints for word in ("-b", spec)]
    words += [word for command in commands for word in ("-x", command)]
    python = str(other_interpreter(version))
    done = dualdbg("run", "--batch", "--json", "--python", python, *words, "program.py", cwd=folder)
    assert "Traceback" not in done.stdout + done.stderr, done
    return done


def stops(done: Done) -> list[tuple[list[int], int, str | None]]:
    """Of each stop the breakpoints, the line and what is said of it."""
    return [
        (event["breakpoints"], event["frame"]["line"], event.get("description"))
        for event in done.of("stopped")
    ]


@pytest.mark.parametrize("version", rows.versions())
def test_attributes_and_items_whoever_changes_them(version: str, tmp_path: Path) -> None:
    """Each change is told, with the line that made it; an equal value is none. Two that end are one stop."""
    commands = ["watch counter.count", 'watch counter.rows[1]["a"]', *["c"] * 6]
    done = run(tmp_path, version, [f"program.py:{line_of('begin = True')}"], *commands)
    changed = line_of("self.count += by")
    assert stops(done)[1:] == [
        ([2], line_of("counter.bump(1)"), f"counter.count: 0 -> 1, at program.py:{changed}"),
        ([3], line_of("try:"), f'counter.rows[1]["a"]: 1 -> 5, at program.py:{line_of("try:") - 1}'),
        # In a thread that ends with it, and beside another.
        ([2], changed, f"counter.count: 1 -> 8, after program.py:{changed}"),
        (
            [2, 3],
            line_of("main()"),
            'the function of counter.count, counter.rows[1]["a"] was left: it is watched no more',
        ),
    ]
    assert done.of("exited")[0]["code"] == 0


@pytest.mark.parametrize("version", rows.versions())
def test_local_variables_of_functions_that_return_raise_and_pause(version: str, tmp_path: Path) -> None:
    places = [f"program.py:{line_of(text)}" for text in ("local = 2", "for i in range(n):", "total += i")]
    commands = ["watch local", "c", "c", "delete 1 2", "c", "delete 2", "watch got", *["c"] * 4]
    done = run(tmp_path, version, places[:2], *[one for one in commands if one != "delete 1 2"])
    yields, got = line_of("yield got"), line_of("got = i * 10")
    assert stops(done) == [
        ([1], line_of("local = 2"), None),
        ([3], line_of("local = 2") + 1, f"local: 1 -> 2, at program.py:{line_of('local = 2')}"),
        ([3], line_of("fails()"), "the function of local was left: it is watched no more"),
        ([2], line_of("for i in range(n):"), None),
        ([4], yields, f"got: 0 -> 10, at program.py:{got}"),
        ([4], yields, f"got: 10 -> 20, at program.py:{got}"),
        (
            [4],
            line_of("for value in generator(3):"),
            f"got: 20 -> -1, at program.py:{line_of('got = -1')}; the function of got was left: it is watched no more",
        ),
    ]
    assert done.of("exited")[0]["code"] == 0


@pytest.mark.parametrize("version", rows.some(["3.13", "3.11", "3.8"], 2))
def test_steps_begin_and_end_at_watchpoints(version: str, tmp_path: Path) -> None:
    """A change ends a step; a step from there goes to the next line, also where a breakpoint is in the function."""
    place = f"program.py:{line_of('total += i')}"
    commands = ["watch total", "n", "n", "n", "n", "c", "finish", "n", "n"]
    done = run(tmp_path, version, [place], *commands)
    loop, adds = line_of("total += i") - 1, line_of("total += i")
    told = [
        (event["reason"], event["frame"]["line"], event.get("description")) for event in done.of("stopped")
    ]
    assert told == [
        ("breakpoint", adds, None),
        ("step", loop, None),
        ("breakpoint", adds, None),
        ("breakpoint", loop, f"total: 0 -> 1, at program.py:{adds}"),
        ("breakpoint", adds, None),
        ("breakpoint", loop, f"total: 1 -> 3, at program.py:{adds}"),
        ("breakpoint", adds, None),
        ("breakpoint", loop, f"total: 3 -> 6, at program.py:{adds}"),
        ("breakpoint", adds, None),
    ]


@pytest.mark.parametrize("version", rows.some(["3.13", "3.11", "3.8"], 2))
def test_conditions_counts_and_being_off(version: str, tmp_path: Path) -> None:
    place = f"program.py:{line_of('total += i')}"
    commands = [
        "delete 1", "watch total if total > 5", "c", "condition 2 total > 20", "c", "ignore 2 1", "c", "info b",
        "disable 2", "c",
    ]  # fmt: skip
    done = run(tmp_path, version, [place], *commands)
    loop, adds = line_of("total += i") - 1, line_of("total += i")
    assert stops(done)[1:] == [
        ([2], loop, f"total: 3 -> 6, at program.py:{adds}"),
        ([2], loop, f"total: 15 -> 21, at program.py:{adds}"),
        ([2], loop, f"total: 28 -> 36, at program.py:{adds}"),
    ]
    (row,) = done.of("breakpoints")[-1]["breakpoints"]
    found = [row[key] for key in ("spec", "condition", "kind", "language", "hits")]
    assert found == ["watch:py:total", "total > 20", "python-watch", "python", 4]
    assert done.of("exited")[0]["code"] == 0


def test_a_condition_without_a_value_stops_once_and_one_that_is_off_says_that_it_is_gone(
    tmp_path: Path,
) -> None:
    place = f"program.py:{line_of('total += i')}"
    commands = [
        "delete 1",
        "watch total if nothing > 5",
        "c",
        f"b program.py:{line_of('end = True')}",
        "disable 2",
        "c",
        "enable 2",
    ]
    done = run(tmp_path, "3.11", [place], *commands, "info b")
    why = "the condition 'nothing > 5' cannot be evaluated: NameError: name 'nothing' is not defined"
    assert why in (done.of("stopped")[1]["description"] or "")
    assert [event["message"] for event in done.of("error")] == [
        "the function of total was left meanwhile: it is watched no more, and breakpoint 2 is gone"
    ]
    assert [row["id"] for row in done.of("breakpoints")[-1]["breakpoints"]] == [3]


TELLING = """\
class Told:
    limit = 3
    def __init__(self):
        self.here = 1
        self.told = []
    @property
    def made(self):
        self.told.append("made")
    def __getattr__(self, name):
        self.told.append(name)
        return 1
    def __eq__(self, other):
        self.told.append("eq")
        return True
class Looked(Told):
    def __getattribute__(self, name):
        object.__getattribute__(self, "told").append(name)
        return object.__getattribute__(self, name)
told, looked = Told(), object.__new__(Looked)
object.__setattr__(looked, "told", [])
object.__setattr__(looked, "here", 1)
def work(one, other):
    table = {told: 1, 1: 2, "b": one}
    one.here = 2
    table["b"] = other
    return one
last = Told()
work(told, last)
print("ran", told.told, last.told, looked.told)
"""


def test_nothing_of_the_program_is_run(tmp_path: Path) -> None:
    program = TELLING.replace("    def __eq__", "    __hash__ = object.__hash__\n    def __eq__")
    lines = program.splitlines()
    place = lines.index("    one.here = 2") + 1
    refused = [
        "one.made",
        "one.nothing",
        "looked.here",
        "len(table)",
        "one.told[place]",
        "unknown",
        "table['c']",
        "one =",
    ]
    watched = ["watch one.here", "watch one.limit", "watch table['b']", "watch table[1]"]
    done = run(
        tmp_path, "3.11", [f"program.py:{place}"], *[f"watch {one}" for one in refused], *watched, *["c"] * 4,
        program=program,
    )  # fmt: skip
    assert [event["message"] for event in done.of("error")] == [
        "one.made cannot be watched: made of Told is what code makes of it (property)",
        "one.nothing cannot be watched: it has no value now: <what __getattr__ says>",
        "looked.here cannot be watched: attributes of Looked are looked up by code (__getattribute__)",
        "len(table) cannot be watched: that would run code of the program at each line (Call)",
        "one.told[place] cannot be watched: what stands in brackets has to be a number or a text that is written out",
        "unknown cannot be watched: NameError: name 'unknown' is not defined",
        "table['c'] cannot be watched: it has no value now: <no item 'c'>",
        "one = cannot be watched: it is no expression of Python",
    ]
    told = [re.sub("0x[0-9a-f]+", "0x1", event.get("description") or "") for event in done.of("stopped")]
    assert told == [
        "",
        f"one.here: 1 -> 2, at program.py:{place}",
        f"table['b']: <__main__.Told object at 0x1> -> <__main__.Told object at 0x1>, at program.py:{place + 1}",
        "the function of one.here, one.limit, table['b'], table[1] was left: it is watched no more",
    ]
    assert "ran [] [] ['told']" in done.stdout  # by the print itself


AMONG_NATIVE = """\
import os, sys
class Box:
    pass
def work():
    box = Box()
    box.here = 0
    parent = os.getppid()
    box.here = 1
    box.here = 2
    parent = os.getppid()
    return leaves_nothing()
def leaves_nothing():
    if sys.version_info >= (3, 12):
        return [sys.monitoring.get_tool(one) for one in range(6)]
    return [sys.gettrace(), sys._getframe(1).f_trace]
with open("part", "w") as file:
    file.write(str(work()))
os.rename("part", "left")
"""


@pytest.mark.parametrize("version", rows.some(["3.13", "3.11", "3.8"], 2))
def test_deleted_at_a_native_stop(version: str, tmp_path: Path) -> None:
    """debugpy is mute there: what was deleted stops no more when the target runs again, and nothing can be set."""
    commands = ["watch box.here", "b getppid", "c", "up", "watch parent", "delete 2 3", "c"]
    done = run(tmp_path, version, ["program.py:7"], *commands, program=AMONG_NATIVE)
    assert [event["origin"] for event in done.of("stopped")] == ["python", "native"]
    assert [event["message"] for event in done.of("error")] == [
        "parent cannot be watched: debugpy does not hold this frame"
    ]
    assert done.of("exited")[0]["code"] == 0, done


@pytest.mark.parametrize("version", rows.some(["3.13", "3.11", "3.8"], 2))
def test_after_a_detach_nothing_is_left(version: str, tmp_path: Path) -> None:
    commands = ["watch box.here", "watch parent", "c", "detach"]
    done = run(tmp_path, version, ["program.py:8"], *commands, program=AMONG_NATIVE)
    assert stops(done)[-1] == ([2], 9, "box.here: 0 -> 1, at program.py:8"), done
    wait_until((tmp_path / "left").exists, what="the end of the program, which runs on alone")
    left = (tmp_path / "left").read_text()
    assert "None" in left and "watch" not in left and "dualdbg_traced" not in left


THAT_RUNS = """\
import os, sys, threading, time; open("begun", "w").close()
class Box:
    pass
def turn(box):
    box.here += 1
    return box
def turns(box):
    while not os.path.exists("stop"):
        turn(box)
        time.sleep(0.01)
box = Box()
box.here = 0
thread = threading.Thread(target=turns, args=(box,))
thread.start()
thread.join()
def left():
    if sys.version_info >= (3, 12):
        return [sys.monitoring.get_tool(one) for one in range(6)]
    return [sys.gettrace(), sys._getframe(1).f_trace]
with open("part", "w") as file:
    file.write(str(left()))
os.rename("part", "left")
"""


@pytest.mark.parametrize("version", rows.some(["3.13", "3.11", "3.8"], 2))
def test_in_a_process_that_was_attached_to(version: str, tmp_path: Path) -> None:
    """It is left as it was, with the watchpoint still set when the session ends."""
    (tmp_path / "program.py").write_text(THAT_RUNS)
    with subprocess.Popen([str(other_interpreter(version)), "program.py"], cwd=tmp_path) as process:
        try:
            wait_until((tmp_path / "begun").exists, what="the program")
            commands = ["c", "watch box.here", "delete 1", "c", "watch box.here", "c"]
            words = [word for command in commands for word in ("-x", command)]
            done = dualdbg(
                "attach",
                "--no-stacks",
                "--batch",
                "--json",
                "-b",
                "program.py:6",
                *words,
                str(process.pid),
                cwd=tmp_path,
            )
            told = [re.sub(r"\d+ -> \d+", "N -> N", text or "") for _, _, text in stops(done)]
            over = "the function of box.here was left: it is watched no more"
            assert told == ["attached", "", over, "box.here: N -> N, after program.py:5"], done
        finally:
            (tmp_path / "stop").touch()
        assert process.wait(patient(60)) == 0
    left = (tmp_path / "left").read_text()
    assert left in (str([None] * 6), str([None] * 2)), left
