"""Threads: the list, switching to another one on either side, freezing and thawing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.errors import CommandError, WrongState
from dualdbg.model import Language, NativeFrame, PythonFrame, Reason, State, Thread
from dualdbg.session.stepping.freezing import Unsafe
from dualdbg.snapshot.cpython.reader import PythonReader
from tests import support
from tests.cli.driver import dualdbg
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

# Two threads that count, and the main one, which calls native code in every round.
COUNTING = """\
import os, threading, sample_capi
counts = {"one": 0, "two": 0}
goes = True
def count(name):
    while goes:
        counts[name] += 1
        sample_capi.scale(1.0, 2.0)
threads = [threading.Thread(target=count, args=(name,), name=name) for name in counts]
for thread in threads: thread.start()
while not all(counts.values()): pass
for _ in range(int(os.environ.get("ROUNDS", 10**9))):
    before = dict(counts)
    while not any(counts[name] > before[name] + 100 for name in counts): pass
    sample_capi.add(1.0, 2.0)
    seen = counts["one"], counts["two"]
    kept = 1
goes = False
for thread in threads: thread.join()
"""


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    path = tmp_path / "counting.py"
    path.write_text(COUNTING)
    return path


async def called(driver: Driver, python_name: str) -> Thread:
    rows = await driver.session.inspector.threads()
    return next(row for row in rows if row.python_name == python_name)


async def counts(driver: Driver) -> tuple[int, int]:
    """What the main thread saw, at a Python stop of it."""
    stop = driver.session.stop
    assert stop is not None and stop.frame is not None
    value = await driver.session.inspector.evaluate("seen", stop.thread.tid, stop.frame, Language.PYTHON)
    one, two = value.value.strip("()").split(", ")
    return int(one), int(two)


def test_a_frozen_thread_stands_while_the_others_run_and_another_one_steps(counting: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        session = driver.session
        one = (await called(driver, "one")).tid
        await session.freezer.freeze([one])
        await driver.resume()
        assert "frozen" in ((await called(driver, "one")).state or "")
        first = await counts(driver)
        before = [name(frame) for frame in (await session.inspector.stack(one)).visible()]
        await driver.resume()
        second = await counts(driver)
        assert second[0] == first[0] and second[1] > first[1]
        assert [name(frame) for frame in (await session.inspector.stack(one)).visible()] == before
        await driver.step("next")
        await session.freezer.thaw([one])
        deadline = time.monotonic() + 20
        while (await counts(driver))[0] == second[0] and time.monotonic() < deadline:
            await driver.resume()
        assert (await counts(driver))[0] > second[0]
        assert session.state is State.PYTHON_STOPPED
        two = (await called(driver, "two")).tid
        for row in session.breakpoints.all():
            await session.breakpoints.remove(row.id)
        for kind in ("next", "next", "step"):
            await session.step(kind, tid=two)
            stop = await driver.stop()
            entered = kind == "step" and name(stop.frame) == "capi_scale"  # where it stands on that line
            assert stop.thread.tid == two and (entered or name(stop.frame).startswith("counting.py:")), stop
        await session.kill()

    run_session(work, counting, "counting.py:16", env=env)


def test_the_list_says_who_holds_the_gil_who_may_not_be_frozen_and_nobody_is_after_detaching(
    counting: Path, env: Env
) -> None:
    async def work(driver: Driver) -> int:
        stop = await driver.stop()
        rows = await driver.session.inspector.threads()
        assert [row.python_name for row in rows] == ["MainThread", "one", "two"]
        assert rows[0].tid == stop.thread.tid and rows[0].holds_gil and rows[0].state == "capi_add"
        assert [row.holds_gil for row in rows[1:]] == [False, False]
        waiting = [row for row in rows[1:] if row.waits_for_gil]
        assert waiting and all(row.state and ".py:" in row.state for row in waiting)
        freezer = driver.session.freezer
        with pytest.raises(WrongState, match="the one that stopped"):
            await freezer.freeze([stop.thread.tid])
        ours = next(iter(driver.session.inspector.thread_list.ours))
        with pytest.raises(CommandError, match="debugpy's own"):
            await freezer.freeze([ours])
        with pytest.raises(CommandError, match="not frozen"):
            await freezer.thaw([stop.thread.tid])
        waiting = next(row for row in await driver.session.inspector.threads() if row.waits_for_gil)
        with pytest.raises(Unsafe, match="waits for the GIL"):
            await freezer.freeze([waiting.tid])
        await driver.session.breakpoints.remove(stop.breakpoints[0])
        await driver.session.breakpoints.add("counting.py:16")
        await driver.resume()
        two = (await called(driver, "two")).tid
        await freezer.freeze([two])
        with pytest.raises(WrongState, match="is frozen"):
            await driver.session.step("next", tid=two)
        await driver.session.detach()  # a thread that stayed frozen would hang the program
        return driver.session.pid

    pid = run_session(work, counting, "capi_add", env=env, launch_options={"env": {**env, "ROUNDS": "100"}})
    support.wait_until(lambda: not support.is_running(pid), 60, "the end of the program")


# One thread is blocked in C++ without the GIL; the main one lets it go on.
BLOCKED = """\
import os, threading, sample_capi, sample_pybind
READ = {"x86_64": "0 ", "aarch64": "63 "}[os.uname().machine]
reader, writer = os.pipe()
thread = threading.Thread(target=lambda: sample_pybind.wait_for_byte(reader), name="blocked")
thread.start()
while not open(f"/proc/self/task/{thread.native_id}/syscall").read().startswith(READ): pass
sample_capi.add(1.0, 2.0)
os.write(writer, b"A")
thread.join()
"""


def test_a_step_of_another_thread_at_a_native_stop(tmp_path: Path, env: Env) -> None:
    script = tmp_path / "blocked.py"
    script.write_text(BLOCKED)

    async def work(driver: Driver) -> None:
        await driver.stop()
        session = driver.session
        blocked = (await called(driver, "blocked")).tid
        names = [name(frame) for frame in (await session.inspector.stack(blocked)).visible()]
        assert "sample::read_byte" in names
        await session.step("finish", tid=blocked)
        stop = await driver.stop()
        while name(stop.frame) != "(anonymous namespace)::wait_for_byte":
            assert stop.thread.tid == blocked and stop.reason is Reason.STEP
            stop = await driver.step("finish")
        assert stop.thread.tid == blocked and name(stop.frame) == "(anonymous namespace)::wait_for_byte"
        assert (await driver.finish_run()).code == 0

    run_session(work, script, "capi_add", env=env)


def test_a_thread_of_the_program_is_one_thread_to_gdb(tmp_path: Path) -> None:
    """pydevd starts others for each that it traces, up to Python 3.11; each would cost gdb a stop or two."""
    script = tmp_path / "many.py"
    script.write_text(
        "import threading\n"
        "def work(number):\n"
        "    return number\n"  # 3
        "for number in range(60):\n"
        "    thread = threading.Thread(target=work, args=(number,)); thread.start(); thread.join()\n"
    )
    logs = tmp_path / "logs"
    done = dualdbg("run", "--log-dir", logs, "-b", "many.py:3 hits 60", "-x", "locals", "--batch", script)
    assert "number = 59" in done.stdout, done  # each of them is traced
    created = (logs / "gdb.log").read_text().count("=thread-created")
    assert 60 < created < 60 + 20, created


FORKING = """\
import os, threading
def work():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
thread = threading.Thread(target=work)
ready = 1
thread.start()
while thread.is_alive(): pass
"""


def test_a_fork_that_the_user_has_gdb_catch_is_shown_in_its_thread(tmp_path: Path) -> None:
    """It is no pause, which debugpy would make in the main thread."""
    script = tmp_path / "forking.py"
    script.write_text(FORKING)

    async def work(driver: Driver) -> None:
        session = driver.session
        await driver.stop()

        async def catch() -> None:
            await session.native.user_command("catch fork")

        await session.interrupted(catch)
        stop = await driver.resume()
        assert (stop.origin, stop.reason, stop.description) == (Language.NATIVE, Reason.BREAKPOINT, "fork")
        assert stop.thread.tid != session.pid
        assert "forking.py:3" in await driver.names()
        await session.resume()
        assert (await driver.exit()).code == 0

    run_session(work, script, "forking.py:8")


DEEP = """\
import os, threading
def wait(depth):
    wait(depth - 1) if depth else event.wait()
event = threading.Event()
threads = [threading.Thread(target=wait, args=(20,)) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(3): os.getppid()
event.set()
"""


def test_a_stop_reads_the_python_frames_of_its_own_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 3.12 on the evaluation loops are known by the frames, which were read of every thread."""
    program = tmp_path / "deep.py"
    program.write_text(DEEP)
    walked: list[int] = []
    frames_of = PythonReader._frame_addresses

    def addresses(reader: PythonReader, thread: int) -> Iterator[int]:
        walked.append(thread)
        return frames_of(reader, thread)

    async def work(driver: Driver) -> None:
        await driver.stop()
        monkeypatch.setattr(PythonReader, "_frame_addresses", addresses)
        await driver.resume()
        innermost = (await driver.stack()).frames[0]
        assert isinstance(innermost, NativeFrame) and innermost.evaluates is False  # the loops were found
        assert len(walked) == 1
        await driver.finish_run()

    run_session(work, program, "getppid", launch_options={"python": str(support.other_interpreter("3.13"))})


MANY = """\
import threading
event = threading.Event()
threads = [threading.Thread(target=event.wait, name="worker \\"%d\\"" % number) for number in range(100)]
for thread in threads: thread.start()
here = 1
event.set()
"""


def test_a_hundred_threads_have_their_names(tmp_path: Path, env: Env) -> None:
    path = tmp_path / "many.py"
    path.write_text(MANY)

    async def work(driver: Driver) -> None:
        await driver.stop()
        names = {row.python_name for row in await driver.session.inspector.thread_list.all()}
        assert names == {"MainThread", *(f'worker "{number}"' for number in range(100))}
        await driver.session.kill()

    run_session(work, path, "many.py:5", env=env)


@pytest.mark.parametrize(
    "start", ["threading.Thread(target=work).start()", "_thread.start_new_thread(work, ())"]
)
def test_steps_in_a_thread_that_the_program_has_started(tmp_path: Path, env: Env, start: str) -> None:
    """pydevd puts a function of its own around what such a thread runs."""
    script = tmp_path / "starts.py"
    script.write_text(
        "import _thread, os, threading, sample_capi\nover = _thread.allocate_lock()\nover.acquire()\n"
        "def work():\n    os.getppid()\n    sample_capi.scale(1.0, 2.0)\n    over.release()\n"
        f"{start}\nover.acquire()\n"
    )

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.thread.tid != driver.session.pid
        assert name((await driver.step("finish")).frame) == "starts.py:5"
        stop = await driver.step("next")
        assert isinstance(stop.frame, PythonFrame) and stop.frame.line == 6
        assert name((await driver.step("step")).frame) == "capi_scale"
        assert (await driver.finish_run()).code == 0

    run_session(work, script, "getppid", env=env)


# A thread of the debugger's and one of the user's that have begun, and are not in threading's table yet.
BEGINNING = """\
import threading, _thread, time
class Late(threading.Thread):
    def _set_native_id(self):
        begins.release()
        goes_on.wait()
        super()._set_native_id()
def start(name, debuggers):
    thread = Late(target=time.sleep, args=(60,), name=name, daemon=True)
    thread.is_pydev_daemon_thread = debuggers
    _thread.start_new_thread(thread.start, ())
    begins.acquire()
begins, goes_on = threading.Semaphore(0), threading.Event()
start("users", False)
first = 1
start("debuggers", True)
second = 2
goes_on.set()
while len(threading._limbo): time.sleep(0.01)
third = 3
"""


def test_a_thread_that_begins_gets_its_name_and_one_of_the_debugger_is_not_shown(
    tmp_path: Path, env: Env
) -> None:
    path = tmp_path / "begins.py"
    path.write_text(BEGINNING)

    async def work(driver: Driver) -> None:
        async def names() -> list[str | None]:
            await driver.stop()
            rows = await driver.session.inspector.thread_list.all()
            await driver.session.resume()
            return sorted(row.python_name or "" for row in rows if row.python_name != "MainThread")

        assert await names() == ["", ""]  # the one that begins, and the one that starts it
        assert await names() == ["", ""]
        assert "users" in (last := await names()) and "debuggers" not in last
        await driver.exit()

    run_session(work, path, *(f"begins.py:{line}" for line in (14, 16, 19)), env=env)
