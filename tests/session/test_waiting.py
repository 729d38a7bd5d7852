"""A cancellation that comes with the result is not lost."""

from __future__ import annotations

import asyncio
import gc

import pytest

from dualdbg.system.waiting import settled, to_its_end, together


def test_a_cancellation_together_with_the_result() -> None:
    async def main() -> None:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(settled(future, 60))
        await asyncio.sleep(0)
        future.set_result(1)
        await asyncio.sleep(0)  # the wait has heard of it, the task has not
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_the_result_and_the_deadline() -> None:
    async def main() -> None:
        assert await settled(asyncio.sleep(0, 5), 60) == 5
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with pytest.raises(asyncio.TimeoutError):
            await settled(future, 0.01)
        assert future.cancelled()

    asyncio.run(main())


def test_what_must_be_done_is_done_whole_and_the_cancellation_comes_afterwards() -> None:
    async def scenario() -> tuple[list[str], bool]:
        done: list[str] = []
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            begun.set()
            await may_end.wait()
            done.append("all of it")

        task = asyncio.ensure_future(to_its_end(work()))
        await begun.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        may_end.set()
        await asyncio.wait([task])
        return done, task.cancelled()

    assert asyncio.run(scenario()) == (["all of it"], True)


@pytest.mark.parametrize("way", ["the deadline", "a cancellation"])
def test_a_failure_that_comes_too_late_is_no_news(way: str) -> None:
    async def fails_when_it_is_cancelled() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise BrokenPipeError

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        task = asyncio.ensure_future(settled(fails_when_it_is_cancelled(), 0.01))
        await asyncio.sleep(0)
        if way == "a cancellation":
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while len(asyncio.all_tasks()) > 1:  # the work has not ended yet
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # who waits for its end is called
        gc.collect()

    told: list[dict[str, object]] = []
    asyncio.run(main())
    assert not told


def test_of_two_works_the_other_is_done_when_one_fails() -> None:
    async def main() -> None:
        done = []
        failed = asyncio.Event()

        async def fails() -> None:
            failed.set()
            raise BrokenPipeError

        async def lasts() -> int:
            await failed.wait()
            await asyncio.sleep(0)
            done.append(True)
            return 5

        with pytest.raises(BrokenPipeError):
            await together(lasts(), fails())
        assert done
        assert await together(lasts(), asyncio.sleep(0, "text")) == (5, "text")

    asyncio.run(main())
