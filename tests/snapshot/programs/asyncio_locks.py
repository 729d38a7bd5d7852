"""Tasks that wait for locks of asyncio: some for ever, and some that look so and are not."""

import asyncio
import sys


async def both(first, second):
    async with first:
        await asyncio.sleep(0)
        async with second:
            pass


async def again(lock):
    async with lock:
        await enter(lock)


async def enter(lock):
    async with lock:
        pass


async def awaits_who_waits(lock):
    async with lock:
        await asyncio.create_task(enter(lock), name="mixed b")


async def in_time(first, second):
    """The same as both, with a time limit."""
    async with first:
        await asyncio.sleep(0)
        await asyncio.wait_for(second.acquire(), 3600)


async def gives_back_for_a_while(lock):
    """Another task has taken it meanwhile, without a block that would tell."""
    async with lock:
        lock.release()
        await asyncio.sleep(0)
        await lock.acquire()


async def takes(lock):
    await lock.acquire()
    await asyncio.sleep(3600)


async def has(lock):
    async with lock:
        await asyncio.sleep(3600)


async def waits_for_places(places):
    async with places, places:
        pass


async def notified(condition):
    async with condition:
        await condition.wait()


async def main():
    def start(name, coroutine):
        tasks.append(asyncio.ensure_future(coroutine))
        getattr(tasks[-1], "set_name", str)(name)

    tasks = []
    a, b, c, d, e, f, g, h = (asyncio.Lock() for _ in range(8))
    start("ring a", both(a, b))
    start("ring b", both(b, a))
    start("self", again(c))
    start("mixed a", awaits_who_waits(d))
    start("limit a", in_time(e, f))
    start("limit b", both(f, e))
    start("gives back", gives_back_for_a_while(g))
    start("takes", takes(g))
    start("has", has(h))
    start("waits for one who has it", enter(h))
    start("waits for the ring", enter(a))
    start("one place", waits_for_places(asyncio.Semaphore(1)))
    start("notified", notified(asyncio.Condition()))
    if sys.version_info >= (3, 11):
        i, j = asyncio.Lock(), asyncio.Lock()
        start("timeout a", within(i, j))
        start("timeout b", both(j, i))
    for _ in range(20):
        await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(lambda: print("ready", flush=True))
    await asyncio.sleep(3600)


if sys.version_info >= (3, 11):

    async def within(first, second):
        async with asyncio.timeout(3600):
            await both(first, second)


asyncio.run(main())
