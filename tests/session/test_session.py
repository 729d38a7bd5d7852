"""The owner: states, epochs, the race between the two engines, and what happens when one of them dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from dualdbg.errors import CommandError, StaleHandle, WrongState
from dualdbg.model import (
    Exited,
    Language,
    NativeFrame,
    PythonFrame,
    Quality,
    Reason,
    Resumed,
    State,
    Stopped,
)
from dualdbg.session import assembly
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.target import launcher
from tests.session.driver import Driver, name, run_session
from tests.support import SAMPLES, require_compiled_debugpy, wait_until

Env = dict[str, str]


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "program.py"
    path.write_text(text)
    return path


@pytest.mark.smoke
def test_a_program_that_ends_at_once(tmp_path: Path) -> None:
    async def work(driver: Driver) -> int | None:
        return (await driver.exit()).code

    assert run_session(work, script(tmp_path, "raise SystemExit(7)")) == 7


def test_a_program_that_a_signal_ends(tmp_path: Path) -> None:
    async def work(driver: Driver) -> int | None:
        return (await driver.exit()).signal

    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_session(work, script(tmp_path, text)) == signal.SIGKILL


def test_stop_on_entry_is_the_first_line(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.ENTRY and name(stop.frame) == "program.py:2"
        assert (await driver.finish_run()).code == 0

    run_session(work, script(tmp_path, "\nx = 1\ny = 2\n"), stop_on_entry=True)


def test_every_stop_and_resume_is_an_epoch_and_old_handles_are_refused(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        first = await driver.stop()
        stack = await driver.stack()
        assert isinstance(stack.visible()[0], PythonFrame)
        values = await driver.session.inspector.variables(first.thread.tid, stack.visible()[0])
        reference = next(value.reference for value in values if value.reference)
        second = await driver.step("next")
        assert second.epoch > first.epoch
        resumed = [event.epoch for event in driver.seen if isinstance(event, Resumed)]
        assert first.epoch < resumed[-1] < second.epoch
        with pytest.raises(StaleHandle):
            await driver.session.inspector.children(reference)
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:6", env=env)


BUSY = "x = 0\ndef spin():\n    global x\n    while True:\n        x += 1\nspin()\n"
ASLEEP = "import time\nready = 1\ntime.sleep(1000)\n"


def test_a_pause_in_python_code_becomes_a_python_stop_that_can_be_stepped(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.remove(1)
        await driver.session.resume()
        await driver.session.pause()
        stop = await driver.stop()
        assert stop.reason is Reason.PAUSE and stop.origin is Language.PYTHON
        assert name(stop.frame) in {"program.py:4", "program.py:5"}
        assert name((await driver.step("next")).frame) in {"program.py:4", "program.py:5"}

    run_session(work, script(tmp_path, BUSY), "program.py:5")


CROWDED = """\
import threading
x = 0
def spin():
    global x
    while True:
        x += 1
for _ in range(4):
    threading.Thread(target=spin, daemon=True).start()
y = 1
spin()
"""


def test_a_pause_is_a_python_stop_where_the_thread_waits_for_the_gil(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.remove(1)
        for _ in range(4):
            await driver.session.resume()
            wait_until(lambda: _system_call(driver.session.pid) in FUTEX, 60, "it waits for the GIL")
            await driver.session.pause()
            stop = await driver.stop()
            assert (stop.reason, stop.origin) == (Reason.PAUSE, Language.PYTHON), await driver.stack()

    run_session(work, script(tmp_path, CROWDED), "program.py:9")


def test_a_running_target_refuses_what_needs_a_stop_and_a_pause_in_native_code_shows_the_python_line(
    tmp_path: Path,
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.resume()
        with pytest.raises(WrongState, match="running"):
            await driver.session.inspector.stack()
        with pytest.raises(WrongState):
            await driver.session.resume()
        wait_until(lambda: _system_call(driver.session.pid) in NANOSLEEP, 60, "the program sleeps")
        await driver.session.pause()
        stop = await driver.stop()
        assert stop.reason is Reason.PAUSE and stop.origin is Language.NATIVE
        stack = await driver.stack()
        assert stack.quality is Quality.FULL
        assert isinstance(stack.visible()[0], NativeFrame)
        assert name(stack.visible()[-1]) == "program.py:3"

    run_session(work, script(tmp_path, ASLEEP), "program.py:2")


def test_debugpy_is_known_by_the_files_that_the_kernel_maps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment that is reached by a link: Python names its files by the link, the kernel does not."""
    require_compiled_debugpy()
    debugpy = launcher.debugpy_package()
    (tmp_path / "link").symlink_to(debugpy.parent)
    linked = tmp_path / "link" / "debugpy"
    for module in (launcher, assembly):
        monkeypatch.setattr(module, "debugpy_package", lambda: linked)

    async def work(driver: Driver) -> None:
        await driver.stop()
        rules = driver.session.inspector.reader.rules
        mapped = Path(f"/proc/{driver.session.pid}/maps").read_text().splitlines()
        tracer = {line.split()[-1] for line in mapped if line.endswith(".so") and "pydevd" in line}
        assert tracer and all(map(rules.is_ours, tracer)), tracer
        assert rules.is_ours(str(linked / "_vendored" / "pydevd" / "pydevd.py"))

    run_session(work, script(tmp_path, BUSY), "program.py:5")


NANOSLEEP = {"35", "230", "101", "115"}  # nanosleep, clock_nanosleep: x86-64, aarch64
FUTEX = {"202", "98"}  # the same


def _system_call(pid: int) -> str:
    """The number of the system call in which the main thread is, or a word for none."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0]


TWO_THREADS = """\
import threading, sample_capi
entered = threading.Barrier(2)
def in_python():
    entered.wait()
    for _ in range(50):
        here = 1
def in_native():
    entered.wait()
    for _ in range(50):
        sample_capi.outer(1.0, 1)
threads = [threading.Thread(target=f) for f in (in_python, in_native)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")
"""


def test_stops_of_both_engines_at_once_are_shown_one_after_the_other_and_none_is_lost(
    tmp_path: Path, env: Env
) -> None:
    async def work(driver: Driver) -> dict[Language, int]:
        counts = dict.fromkeys(Language, 0)
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                assert event.exit.code == 0
                return counts
            counts[event.stop.origin] += 1
            await driver.session.resume()

    counts = run_session(work, script(tmp_path, TWO_THREADS), "program.py:6", "capi_outer", env=env)
    assert counts == {Language.PYTHON: 50, Language.NATIVE: 50}


@pytest.mark.parametrize("where", ["running", "python", "native"])
@pytest.mark.parametrize("victim", ["gdb", "target"])
def test_kill_9_of_an_engine_or_the_target_leaves_nothing(
    crossing: Path, env: Env, tmp_path: Path, victim: str, where: str
) -> None:
    async def work(driver: Driver) -> tuple[State, list[str]]:
        await driver.stop()
        if where == "running":
            await driver.session.resume()
        pid = driver.session.pid if victim == "target" else driver.session.native.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        exited = await driver.next(Exited)
        assert exited.exit.signal == signal.SIGKILL
        return driver.session.state, [notice.message for notice in driver.notices]

    program = crossing if where != "running" else script(tmp_path, BUSY)
    with program.open("a") as more:  # it does not end by itself while it is freed and killed
        more.write("\nimport signal\nsignal.pause()\n")
    spec = {"running": "program.py:6", "python": "crossing.py:6", "native": "capi_outer"}[where]
    state, messages = run_session(work, program, spec, env=env)
    if victim == "gdb":
        assert state is State.LOST and any("gdb is gone" in message for message in messages)
    else:
        assert state is State.EXITED


def test_detach_leaves_a_program_that_runs_to_its_end(tmp_path: Path, env: Env) -> None:
    result = tmp_path / "result"
    text = (
        "import sample_capi\ntotal = sum(sample_capi.add(i, 1) for i in range(5))\n"
        f"open({str(result)!r}, 'w').write(str(total))\n"
    )

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.detach()
        assert driver.session.state is State.DETACHED
        wait_until(lambda: result.exists() and result.read_text(), 60, "the program has ended by itself")

    run_session(work, script(tmp_path, text), "capi_add", env=env)
    assert result.read_text() == "15.0"


def test_exec_ends_the_python_side_and_says_so(tmp_path: Path) -> None:
    text = "import os\nx = 1\nos.execv('/bin/sh', ['sh', '-c', 'exit 5'])\n"

    async def work(driver: Driver) -> None:
        await driver.stop()
        exit = await driver.finish_run()
        assert exit.code == 5
        assert any("exec" in notice.message for notice in driver.notices)

    run_session(work, script(tmp_path, text), "program.py:2")


def test_a_forked_child_runs_without_us(tmp_path: Path, capfd: pytest.CaptureFixture[str], env: Env) -> None:
    text = (
        "import os, sample_capi\npid = os.fork()\nif pid == 0:\n"
        "    print('child', sample_capi.add(1, 2), flush=True)\n    os._exit(3)\n"
        "status = os.waitpid(pid, 0)[1]\nprint('status', os.WEXITSTATUS(status), flush=True)\n"
    )

    async def work(driver: Driver) -> int | None:
        return (await driver.exit()).code

    assert run_session(work, script(tmp_path, text), "capi_add", env=env) == 0
    assert capfd.readouterr().out.split() == ["child", "3.0", "status", "3"]


CALLING = (
    "import sample_capi\ndef work(a, b):\n    c = [a, b]\n    return sample_capi.add(a, b)\nwork(3.5, 2)\n"
)


def test_at_a_native_stop_python_values_come_from_memory_and_nothing_is_run(tmp_path: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        frame = next(one for one in (await driver.stack()).visible() if isinstance(one, PythonFrame))
        with pytest.raises(CommandError, match="gdb holds"):
            await driver.session.inspector.evaluate("1 + 1", stop.thread.tid, frame, Language.PYTHON)
        values = await driver.session.inspector.variables(stop.thread.tid, frame)
        assert {value.name: value.value for value in values} == {"a": "3.5", "b": "2", "c": "[3.5, 2]"}
        await driver.finish_run()

    run_session(work, script(tmp_path, CALLING), "capi_add", env=env)


def test_a_native_stop_in_an_expression_leads_back_to_the_python_stop(tmp_path: Path, env: Env) -> None:
    path = script(tmp_path, "import sample_capi\nprint('ready')\nprint('done')\n")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        frame = (await driver.stack()).visible()[0]
        with pytest.raises(WrongState, match="native stop came"):
            await driver.session.inspector.evaluate(
                "sample_capi.add(1, 2)", stop.thread.tid, frame, Language.PYTHON
            )
        stop = await driver.stop()
        assert (stop.origin, stop.reason) == (Language.NATIVE, Reason.BREAKPOINT)
        assert name((await driver.stack()).visible()[-1]) == name(frame)
        await driver.session.resume()
        stop = await driver.stop()
        assert (stop.origin, stop.reason, name(stop.frame)) == (Language.PYTHON, Reason.PAUSE, name(frame))
        await driver.session.step("next")
        assert name((await driver.stop()).frame) != name(frame)
        await driver.finish_run()

    run_session(work, path, f"{path}:2", "capi_add", env=env)


@pytest.mark.torch
@pytest.mark.exhaustive  # tests/cli/test_walkthrough.py walks it at the prompt
def test_the_walk_through(operators: OperatorTable, capfd: pytest.CaptureFixture[str]) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.ENTRY and name(stop.frame) == "testdebug.py:1"
        stop = await driver.step("next")
        assert stop.origin is Language.NATIVE and name(stop.frame) == "THPModule_initExtension"
        names = await driver.names()
        assert names[1].startswith("__init__.py:") and names[-1] == "testdebug.py:1"
        stop = await driver.resume()
        assert stop.reason is Reason.STEP and name(stop.frame) == "testdebug.py:3"
        stop = await driver.step("next")
        assert stop.reason is Reason.BREAKPOINT and name(stop.frame) == "at::native::randn"
        stack = await driver.stack()
        functions = [name(frame) for frame in stack.visible()]
        assert stack.quality is Quality.FULL
        order = ["at::native::randn", "at::_ops::randn::call", "torch::autograd::THPVariable_randn"]
        assert [one for one in functions if one in order] == order
        assert functions[-1] == "testdebug.py:3"
        stop = await driver.resume()
        assert name(stop.frame) == "testdebug.py:4"
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    run_session(
        work,
        SAMPLES / "testdebug.py",
        "THPModule_initExtension",
        "randn",
        operators=operators,
        stop_on_entry=True,
    )
    assert capfd.readouterr().out.startswith("tensor(")


def test_the_target_is_known_to_stand_after_a_call_by_an_expression(crossing: Path, env: Env) -> None:
    """Whatever gdb reports of the call."""

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        session = driver.session
        for may_stop in (False, True):
            for expression, value in (("(int)getpid()", str(session.pid)), ("(int)abs(-3)", "3")):
                found = await session.inspector.evaluate(
                    expression, stop.thread.tid, stop.frame, Language.NATIVE, may_stop
                )
                assert found.value == value
                assert not session.native.running and session.state is State.NATIVE_STOPPED
        await session.detach()

    run_session(work, crossing, "capi_outer", env=env)
