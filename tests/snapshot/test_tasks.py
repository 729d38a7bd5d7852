"""Tasks of asyncio, read from memory, against what the program itself sees of them; for every version of Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.model import Task, Tasks, TaskState
from dualdbg.shared import python_versions
from dualdbg.snapshot.capture import Wanted
from dualdbg.snapshot.cpython import futures, tasks
from dualdbg.snapshot.take import take
from tests import rows
from tests.snapshot.programs_running import PROGRAMS, core_of
from tests.snapshot.test_command import dualdbg
from tests.support import other_interpreter


@pytest.fixture(params=python_versions.NAMES)
def python(request: pytest.FixtureRequest) -> Path:
    return other_interpreter(request.param)


@contextmanager
def program(python: str | Path, *arguments: str) -> Iterator[tuple[int, dict[int, dict[str, object]]]]:
    """Its PID, and what it says of its tasks, by their ids, when all stand still."""
    words = [str(python), str(PROGRAMS / "asyncio_tasks.py"), *arguments]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            rows = json.loads(process.stdout.readline() or "null")
            assert rows is not None, f"the program ended with {process.wait()}"
            yield process.pid, {row["id"]: row for row in rows}
        finally:
            process.kill()


def tasks_of(pid: int) -> Tasks:
    reports, failures = take([pid], wanted=Wanted(tasks=True))
    assert not failures
    assert reports[0].tasks is not None
    return reports[0].tasks


def as_the_program_says(task: Task) -> dict[str, object]:
    return {
        "id": task.address,
        "name": task.name,
        "coroutine": task.coroutine,
        "frames": [[frame.function, frame.file, frame.line] for frame in task.frames],
        "waits": task.state is TaskState.WAITING,
        "loop": task.loop,
        "loop_type": task.loop_type,
        "thread": task.thread,
    }


def test_every_kind(python: Path) -> None:
    with program(python) as (pid, expected):
        found = tasks_of(pid)
    assert found.notes == ()
    assert {task.address: as_the_program_says(task) for task in found.tasks} == expected
    assert len(found.tasks) == len(expected)


# What each waits for and who waits for it, as the program is written: name -> (words, its tasks, tasks that await it).
WAITS: dict[str, tuple[str | None, set[str], set[str]]] = {
    "sleeper 1": ("a future", set(), set()),
    "awaited ü": ("a future", set(), {"direct"}),
    "direct": ("awaited ü", {"awaited ü"}, set()),
    "gathered 1": ("a future", set(), {"gathers"}),
    "gathers": ("gather of 3", {"gathered 1", "gathered 2"}, set()),
    "gathered twice": ("a future", set(), {"gathers a gather"}),
    "gathers a gather": ("gather of 2, 1 done", {"gathered twice"}, set()),
    "waited 2": ("a future", set(), {"waits"}),
    "waits": ("wait of 2 tasks", {"waited 1", "waited 2"}, set()),
    "waited for": ("a future", set(), {"wait_for"}),
    "shielded": ("a future", set(), {"shields"}),
    "shields": ("shield of shielded", {"shielded"}, set()),
    "row 1": ("a future", set(), {"row 2"}),
    "row 2": ("row 1", {"row 1"}, {"row 3"}),
    "cycle a": ("cycle b", {"cycle b"}, {"cycle b"}),
    "cycle b": ("cycle a", {"cycle a"}, {"cycle a"}),
    "nobody": ("a future", set(), {"two of one name"}),
    "in Python": ("a future", set(), {"awaits one in Python"}),
    "awaits one in Python": ("in Python", {"in Python"}, set()),
    "Python awaits": ("by one in Python", {"by one in Python"}, set()),
    "all in Python": ("a future", set(), set()),
    "main": (None, set(), set()),
    "to be woken": (None, set(), set()),
    "not started": (None, set(), set()),
}
OF_GROUPS: dict[str, tuple[str | None, set[str], set[str]]] = {  # 3.11 and later
    "grouped 1": ("a future", set(), {"group waits"}),
    "group waits": ("TaskGroup of 2 tasks", {"grouped 1", "grouped 2"}, set()),
    # A task that still works in its group waits for none of the group's, but will.
    "grouped 3": ("a future", set(), {"group works"}),
    "group works": ("a future", set(), set()),
}


def test_what_they_wait_for(python: Path) -> None:
    """While a task runs; and two are to run next, of which one has not begun."""
    with program(python, "running") as (pid, expected):
        found = tasks_of(pid)
    assert found.notes == ()
    assert {task.address for task in found.tasks} == expected.keys()
    names = {task.address: task.name for task in found.tasks}
    waits = {
        task.name: (
            task.waits_for,
            {names[one] for one in task.awaits},
            {names[one] for one in task.awaited_by},
        )
        for task in found.tasks
    }
    table = {**WAITS, **OF_GROUPS} if "group waits" in waits else dict(WAITS)
    # From 3.12 on wait_for awaits the task itself.
    one = waits.pop("wait_for")
    assert one in (
        ("wait_for of waited for", {"waited for"}, set()),
        ("waited for", {"waited for"}, set()),
    )
    assert {name: waits[name] for name in table} == table
    states = {task.name: task.state for task in found.tasks}
    assert states["main"] is TaskState.RUNNING
    assert states["to be woken"] is TaskState.READY
    assert states["not started"] is TaskState.NOT_STARTED
    running = next(task for task in found.tasks if task.name == "main")
    assert [frame.function for frame in running.frames] == ["hold", "main"]
    (begins,) = next(task for task in found.tasks if task.name == "not started").frames
    assert begins.line == expected_line(expected, "not started")


def expected_line(expected: dict[int, dict[str, object]], name: str) -> object:
    (row,) = (row for row in expected.values() if row["name"] == name)
    frames = row["frames"]
    assert isinstance(frames, list)
    return frames[0][2]


def test_the_command_for_a_process_and_its_core(tmp_path: Path) -> None:
    with program(sys.executable) as (pid, expected):
        quiet = dualdbg("stacks", str(pid))
        live = dualdbg("stacks", "--tasks", "--json", str(pid))
        text = dualdbg("stacks", "--tasks", "--diagnose", str(pid))
        core = core_of(pid, tmp_path)
    assert f"The tasks that its event loop runs: dualdbg stacks {pid} --tasks\n" in quiet.stdout
    (process,) = map(json.loads, live.stdout.splitlines())
    assert {int(task["id"], 16) for task in process["tasks"]} == expected.keys()
    assert process["task_notes"] == []
    (dead,) = map(json.loads, dualdbg("stacks", "--tasks", "--json", str(core)).stdout.splitlines())
    assert dead["tasks"] == process["tasks"]

    assert "deadlock: 2 tasks await each other, and none can go on unless one is cancelled\n" in text.stdout
    assert (
        f"{len(expected) - 2} tasks in thread {pid} (asyncio.unix_events._UnixSelectorEventLoop"
        in text.stdout
    )
    alike = ["of a class of its own", "sleeper 1", "sleeper 2", "sleeper 10"]
    if sys.version_info >= (3, 12):
        alike.insert(0, "eager")
    assert f"\n- {', '.join(alike)}, {len(alike)} tasks: sleeper, waits for a future\n" in text.stdout
    assert "\n- gathers: gathers, waits for gather of 3 (gathered 1, gathered 2)\n" in text.stdout
    prompt = dualdbg("core", str(core), "-x", "tasks deep", "-x", "tasks nosuch")
    assert "1 task in thread" in prompt.stdout and "- deep: outer_one, waits for a future\n" in prompt.stdout
    assert "no task has 'nosuch' in its name or coroutine" in prompt.stderr + prompt.stdout


# Each version's layout is read above, from processes; a core differs by where memory and registers come from.
@pytest.mark.parametrize("version", rows.versions())
def test_tasks_of_a_core_are_those_of_the_process(version: str, tmp_path: Path) -> None:
    """What the program itself said of them."""
    with program(other_interpreter(version)) as (pid, expected):
        core = core_of(pid, tmp_path)
    told = dualdbg("stacks", "--tasks", "--json", str(core)).stdout
    (dead,) = map(json.loads, told.splitlines())
    assert dead["task_notes"] == []
    assert {int(task["id"], 16): (task["name"], task["coroutine"]) for task in dead["tasks"]} == {
        id: (row["name"], row["coroutine"]) for id, row in expected.items()
    }


ANYIO = """\
import asyncio, anyio
async def waits():
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 3600, name="one")
        group.start_soon(anyio.sleep, 3600, name="two")
async def settled():
    tasks = []
    while len(tasks) < 4 or any(task._fut_waiter is None for task in tasks if task is not asyncio.current_task()):
        await asyncio.sleep(0)
        tasks = asyncio.all_tasks()
async def main():
    waiting = asyncio.create_task(waits(), name="waits")
    await settled()
    asyncio.get_running_loop().call_soon(lambda: print(flush=True))
    await waiting
asyncio.run(main())
"""


def tasks_of_code(code: str) -> Tasks:
    """Those of a program, once it has printed a line."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        found = tasks_of(process.pid)
        process.kill()
    return found


def test_task_groups_of_anyio() -> None:
    found = tasks_of_code(ANYIO)
    names = {task.address: task.name for task in found.tasks}
    rows = {task.name: (task.waits_for, [names[one] for one in task.awaited_by]) for task in found.tasks}
    assert rows["waits"] == ("TaskGroup of 2 tasks", ["Task-1"])
    assert rows["one"] == rows["two"] == ("a future", ["waits"])


FOREIGN = """\
import asyncio, time
class Steps:
    def __await__(self): return self
    def __iter__(self): return self
    def __next__(self): return None
class Other:
    _loop = None
    def done(self): return False
    def get_loop(self): return asyncio.get_running_loop()
async def waits(): await Steps()
async def main():
    other = Other()
    asyncio.tasks._register_task(other)
    asyncio.create_task(waits(), name="waits")
    await asyncio.sleep(0)
    print(flush=True)
    time.sleep(3600)
asyncio.run(main())
"""


def test_what_is_not_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects in place of coroutines, tasks that are none of asyncio's, and more tasks than are read."""
    found = tasks_of_code(FOREIGN)
    # From 3.14 on _asyncio keeps such tasks where nobody sees them.
    others = () if sys.version_info >= (3, 14) else ("__main__.Other",)
    assert found.notes == tuple(f"1 task of the type {each}, which is not known, left out" for each in others)
    (waits,) = (task for task in found.tasks if task.name == "waits")
    assert waits.note == "it goes on in an object of the type __main__.Steps, whose frames are not known"
    assert [frame.function for frame in waits.frames] == ["waits"]
    monkeypatch.setattr(tasks, "MOST_TASKS", 1)
    found = tasks_of_code(ANYIO)
    assert len(found.tasks) == 1
    assert found.notes == ("only the first 1 tasks were read",)


def test_a_process_without_asyncio() -> None:
    words = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        done = dualdbg("stacks", "--tasks", str(process.pid))
        quiet = dualdbg("stacks", str(process.pid))
        process.kill()
    assert "\nThere are no tasks of asyncio.\n" in done.stdout
    assert "--tasks" not in quiet.stdout


def test_a_layout_that_is_not_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A _asyncio of another size is not read by a table that was made for this one."""
    version = sys.version_info[:2]
    if version >= (3, 14):
        pytest.skip("it describes itself")
    size, *others = futures._KNOWN[version]
    monkeypatch.setitem(futures._KNOWN, version, (size + 8, *others))
    with program(sys.executable) as (pid, _):
        found = tasks_of(pid)
    (note, *_) = found.notes
    assert "tasks of asyncio cannot be read: this Python" in note
    assert found.tasks == ()


# What CPython's own reader of other processes says: python -m asyncio ps (3.14 and later).
ORACLE = """\
import json, sys
from asyncio.tools import get_all_awaited_by
rows = [task for thread in get_all_awaited_by(int(sys.argv[1])) for task in thread.awaited_by]
print(json.dumps({task.task_id: [one.task_name for one in task.awaited_by] for task in rows}))
"""


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_who_awaits_whom_as_python_itself_reads_it(version: str) -> None:
    interpreter = other_interpreter(version)
    with program(interpreter) as (pid, expected):
        words = [str(interpreter), "-c", ORACLE, str(pid)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = tasks_of(pid)
    names = {task.address: task.name for task in found.tasks}
    read = {task.address: {names[one] for one in task.awaited_by} for task in found.tasks}
    told = {int(key): {names[one] for one in awaiters} for key, awaiters in json.loads(done.stdout).items()}
    # asyncio.gather notes the task that calls it; another one awaits that future.
    assert told.pop(next(key for key in told if names[key] == "gathered twice")) == {"main"}
    compared = [key for key in told if "Python" not in names[key]]  # it leaves out the tasks in Python
    assert len(compared) > 30
    in_python = {row["name"] for row in expected.values() if "Python" in str(row["name"])}
    for key in compared:
        assert read[key] - in_python == told[key] - in_python, names[key]
