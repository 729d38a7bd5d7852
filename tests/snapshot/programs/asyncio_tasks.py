"""Tasks of every kind, which stand still; what they are is printed as the program itself sees it.

With the argument "running" a task of it holds its loop, so that others wait for their turn.
"""

import asyncio
import json
import sys
import threading
import types

RUNNING = sys.argv[1:] == ["running"]
NEWER = sys.version_info >= (3, 11)


async def sleeper():
    await asyncio.sleep(3600)


async def outer_one(event):
    await middle(event)


async def middle(event):
    try:
        await inner(event)
    finally:
        pass


async def inner(event):
    await event.wait()


async def of(awaitable):
    return await awaitable


async def gathers(*awaitables):
    await asyncio.gather(*awaitables)


async def waits(*tasks):
    await asyncio.wait(set(tasks))


async def wait_for(task):
    await asyncio.wait_for(task, 3600)


async def shields(task):
    await asyncio.shield(task)


async def numbers():
    for number in range(3):
        if number == 1:
            await asyncio.sleep(3600)
        yield number


async def iterates():
    async for number in numbers():
        str(number)


async def next_of():
    iterator = numbers()
    await iterator.__anext__()
    await (anext(iterator, None) if sys.version_info >= (3, 10) else iterator.__anext__())


async def closes():
    iterator = finishing()
    await iterator.__anext__()
    await iterator.aclose()


async def finishing():
    try:
        yield 1
    finally:
        await asyncio.sleep(3600)


@types.coroutine
def from_generator():
    for _ in range(2):
        yield from asyncio.sleep(3600).__await__()


class Awaitable:
    def __await__(self):
        yield from sleeper().__await__()


async def of_objects():
    await Awaitable()


async def in_thread(started):
    await asyncio.get_event_loop().run_in_executor(None, started.wait)


async def until_there(names):
    found = {}
    while not names <= found.keys():
        await asyncio.sleep(0)
        found = {name_of(task): task for task in asyncio.all_tasks()}
    return [found[name] for name in sorted(names)]


async def cycle(names):
    (other,) = await until_there(names)
    await other


async def settled(tasks):
    """Until every task that is not done waits for something."""
    while any(not task.done() and task._fut_waiter is None for task in tasks):
        await asyncio.sleep(0)


async def group_waits():
    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper(), name="grouped 1")
        group.create_task(sleeper(), name="grouped 2")


async def group_works():
    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper(), name="grouped 3")
        await asyncio.sleep(3600)


class OwnTask(asyncio.Task):
    pass


def name_of(task):
    return task.get_name()


# -- what the program sees --------------------------------------------------------------------------


def qualified(code):
    return code.co_qualname if NEWER else code.co_name


def next_in(link):
    """The frame of a coroutine, and the object that it awaits."""
    if isinstance(link, types.CoroutineType):
        return link.cr_frame, link.cr_await
    if isinstance(link, types.GeneratorType):
        return link.gi_frame, link.gi_yieldfrom
    if isinstance(link, types.AsyncGeneratorType):
        return link.ag_frame, link.ag_await
    return None, None


def unwrapped(link):
    """The coroutine or generator that an object of a type in C without attributes stands for."""
    kind = type(link).__name__
    if kind in ("coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable"):
        import gc

        (inner,) = [
            each
            for each in gc.get_referents(link)
            if next_in(each) != (None, None) or type(each).__name__.startswith("async_generator")
        ]
        return unwrapped(inner)
    return link


def chain(task):
    frames, link = [], task.get_coro()
    while link is not None:
        link = unwrapped(link)
        frame, link = next_in(link)
        if frame is not None:
            frames.append([qualified(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
    return frames[::-1]


def described(task, thread):
    waiter = task._fut_waiter
    return {
        "id": id(task),
        "name": name_of(task),
        "coroutine": getattr(task.get_coro(), "__qualname__", "?"),
        "frames": chain(task),
        "waits": waiter is not None and not waiter.done(),
        "loop": id(task._loop if not hasattr(task, "get_loop") else task.get_loop()),
        "loop_type": type(task.get_loop()).__module__ + "." + type(task.get_loop()).__qualname__,
        "thread": thread,
    }


def all_tasks():
    """Every task of this loop. What asyncio.all_tasks is in C leaves out those in Python (3.14 and later)."""
    in_python = getattr(asyncio.tasks, "_py_all_tasks", asyncio.all_tasks)
    return asyncio.all_tasks() | in_python()


def report(tasks, other):
    return json.dumps([described(task, threading.get_native_id()) for task in tasks] + other)


# -- where they come from ---------------------------------------------------------------------------


def beside(started, ready, rows):
    """Another loop in another thread."""

    async def main():
        loop = asyncio.get_running_loop()
        one = loop.create_task(sleeper(), name="in the other loop")
        await settled([one])
        loop.call_soon(tell, [one, asyncio.current_task()])
        await asyncio.Event().wait()

    def tell(tasks):
        rows.extend(described(task, threading.get_native_id()) for task in tasks)
        ready.set()

    asyncio.run(main())


async def main():
    loop = asyncio.get_running_loop()
    started, ready, other = threading.Event(), threading.Event(), []
    threading.Thread(target=beside, args=(started, ready, other), daemon=True).start()
    kept = []

    def task(coroutine, name):
        kept.append(loop.create_task(coroutine, name=name))
        return kept[-1]

    asyncio.current_task().set_name("main")
    for number in (1, 2, 10):
        task(sleeper(), f"sleeper {number}")
    task(outer_one(asyncio.Event()), "deep")
    task(of(task(sleeper(), "awaited \u00fc")), "direct")
    task(
        gathers(task(sleeper(), "gathered 1"), task(sleeper(), "gathered 2"), loop.create_future()), "gathers"
    )
    task(
        gathers(asyncio.gather(task(sleeper(), "gathered twice")), asyncio.sleep(0, "done at once")),
        "gathers a gather",
    )
    task(waits(task(sleeper(), "waited 1"), task(sleeper(), "waited 2")), "waits")
    task(wait_for(task(sleeper(), "waited for")), "wait_for")
    task(shields(task(sleeper(), "shielded")), "shields")
    task(of(task(of(task(sleeper(), "row 1")), "row 2")), "row 3")
    task(iterates(), "iterates")
    task(next_of(), "next of")
    task(closes(), "closes")
    task(of(from_generator()), "from a generator")
    task(of_objects(), "of objects")
    task(in_thread(started), "in a thread")
    task(cycle({"cycle b"}), "cycle a")
    task(cycle({"cycle a"}), "cycle b")
    nobody = task(of(loop.create_future()), "nobody")
    for _ in range(2):
        task(of(nobody), "two of one name")
    kept.append(OwnTask(sleeper(), loop=loop, name="of a class of its own"))
    python_task = asyncio.tasks._PyTask(sleeper(), loop=loop, name="in Python")
    kept.append(python_task)
    task(of(python_task), "awaits one in Python")
    kept.append(
        asyncio.tasks._PyTask(of(task(sleeper(), "by one in Python")), loop=loop, name="Python awaits")
    )
    kept.append(
        asyncio.tasks._PyTask(of(asyncio.futures._PyFuture(loop=loop)), loop=loop, name="all in Python")
    )
    if NEWER:
        task(group_waits(), "group waits")
        task(group_works(), "group works")
    if sys.version_info >= (3, 12):
        kept.append(asyncio.eager_task_factory(loop, sleeper(), name="eager"))
    done = task(asyncio.sleep(0), "done")
    await done
    await settled(kept)
    await asyncio.get_running_loop().run_in_executor(None, ready.wait)
    if RUNNING:
        future = loop.create_future()
        late = loop.create_task(of(future), name="to be woken")
        await asyncio.sleep(0)
        future.set_result(None)
        fresh = loop.create_task(sleeper(), name="not started")
        hold(other, [late, fresh])
    loop.call_soon(lambda: print(report(all_tasks(), other), flush=True))
    await asyncio.Event().wait()


def hold(other, also):
    text = report(all_tasks(), other)
    print(text, flush=True)  # from here on no function of Python is called: this is the innermost frame
    sys.stdin.read()


asyncio.run(main())
