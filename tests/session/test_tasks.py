"""Tasks of asyncio at a stop of either language: the same ones, without the debugger's own frames."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import State, Task, TaskState
from tests.session.driver import Driver, run_session

Env = dict[str, str]

TASKS = """\
import asyncio, sample_capi
async def waits():
    await asyncio.sleep(3600)
def works():
    return sample_capi.add(1.0, 2.0)
async def main():
    others = [asyncio.create_task(waits(), name=f"waits {n}") for n in (1, 2)]
    await asyncio.sleep(0)
    works()
    for other in others: other.cancel()
asyncio.run(main())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.py"
    path.write_text(TASKS)
    return path


def of_name(tasks: tuple[Task, ...]) -> dict[str, tuple[TaskState, list[tuple[str, int | None]]]]:
    return {
        task.name: (task.state, [(frame.function.rpartition(".")[2], frame.line) for frame in task.frames])
        for task in tasks
    }


def test_tasks_at_a_stop(script: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        for state in (State.PYTHON_STOPPED, State.NATIVE_STOPPED):
            stop = await (driver.resume() if state is State.NATIVE_STOPPED else driver.stop())
            assert driver.session.state is state
            found = await driver.session.inspector.tasks()
            assert found.notes == ()
            rows = of_name(found.tasks)
            assert rows["Task-1"] == (TaskState.RUNNING, [("works", 5), ("main", 9)])
            assert rows["waits 1"] == rows["waits 2"]
            waits, ((innermost, _), outermost) = rows["waits 1"]
            assert (waits, innermost, outermost) == (TaskState.WAITING, "sleep", ("waits", 3))
            assert {task.thread for task in found.tasks} == {stop.thread.tid}
            threads, tasks = await driver.session.inspector.threads_and_tasks()
            assert [row.tid for row in threads] == [stop.thread.tid]
            assert tasks == found
            assert driver.session.state is state
        await driver.session.kill()

    run_session(work, script, "tasks.py:5", "capi_add", env=env)
