"""Tasks of asyncio that wait: for a lock that another holds, for each other, for a time."""

import asyncio


async def produce(lock: asyncio.Lock, queue: "asyncio.Queue[int]") -> None:
    async with lock:
        await queue.put(1)
        await queue.put(2)  # the queue is full, and whoever empties it waits for the lock


async def consume(lock: asyncio.Lock, queue: "asyncio.Queue[int]") -> None:
    async with lock:
        print(await queue.get())


async def main() -> None:
    lock, queue = asyncio.Lock(), asyncio.Queue(1)
    tasks = [
        asyncio.create_task(produce(lock, queue), name="producer"),
        asyncio.create_task(consume(lock, queue), name="consumer"),
    ]
    await asyncio.sleep(0.2)
    print("waiting", flush=True)
    await asyncio.wait(tasks)


asyncio.run(main())
