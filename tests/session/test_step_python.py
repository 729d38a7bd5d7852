"""Steps through what Python and PyTorch programs are made of: generators, coroutines, decorators, autograd, signals."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from dualdbg.model import Language, PythonFrame, Reason, State, Stop, Stopped
from dualdbg.symbols.torch.operators import OperatorTable
from tests import rows, support
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

RAISING = """\
def broken():
    raise ValueError
def numbers():
    yield 1
    yield broken()
    yield 2
def function():
    n = broken()
def generator():
    for n in numbers(): pass
def called():
    function()
for function_of in generator, called, generator, called:
    try:
        function_of()
    except ValueError:
        caught = True
end = True
"""

GENERATOR = """\
def numbers():
    yield 1
    yield 2
total = 0
for n in numbers():
    total += n
print(total)
"""

COROUTINE = """\
import asyncio
async def inner(n):
    await asyncio.sleep(0)
    return n * 2
async def main():
    first = await inner(1)
    task = asyncio.create_task(inner(2))
    second = await task
    return first + second
print(asyncio.run(main()))
print(asyncio.run(main()))
"""

DECORATOR = """\
import functools
def twice(function):
    @functools.wraps(function)
    def wrapper(*args):
        function(*args)
        return function(*args)
    return wrapper
@twice
def double(n):
    return n * 2
x = double(4)
y = functools.reduce(lambda a, b: a + b, [1, 2, 3])
z = 1
"""

AUTOGRAD = """\
import torch
from torch.utils.data import DataLoader
a = torch.ones(3, requires_grad=True)
def hook(grad):
    twice = grad * 2
    return twice
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad
with torch.no_grad():
    still = a * 2
b = Square.apply(a)
b.register_hook(hook)
b.sum().backward()
def collate(rows):
    whole = torch.stack(rows)
    return whole
for batch in DataLoader([torch.ones(1), torch.ones(1)], batch_size=2, collate_fn=collate): pass
@torch.jit.script
def scripted(x):
    return x + 1
c = scripted(still)
compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
d = compiled(still)
e = 1
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


async def steps(driver: Driver, kinds: str) -> list[str]:
    """Where each of these commands ends."""
    return [name((await driver.step(kind)).frame) for kind in kinds.split()]


def lines(*numbers: int) -> list[str]:
    return [f"program.py:{number}" for number in numbers]


@pytest.mark.parametrize("version", rows.versions())
def test_steps_of_generators_and_of_functions_that_an_exception_leaves(tmp_path: Path, version: str) -> None:
    """debugpy lost such a step in generators, and from 3.12 on everywhere: the program ran to its end."""

    async def work(driver: Driver) -> None:
        for kind in ("next", "finish"):
            await (driver.stop() if kind == "next" else driver.resume())
            assert await steps(driver, kind) == lines(10)
            assert lines(16)[0] in await steps(driver, "next next")
            await driver.resume()
            assert await steps(driver, kind) == lines(12)
            assert lines(16)[0] in await steps(driver, "next next next")
        await driver.resume()
        assert await steps(driver, "step") == lines(20)
        assert await steps(driver, "step step step") == lines(24, 23, 21)
        assert await steps(driver, "finish") == lines(23)
        assert (await driver.finish_run()).code == 0

    python = {"python": str(support.other_interpreter(version))}
    places = [f"program.py:{line}" for line in (5, 8, 23)]
    run_session(work, write(tmp_path, RAISING + GENERATOR), *places, launch_options=python)


def test_steps_of_coroutines_decorated_functions_and_callbacks_of_libraries(tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        assert await steps(driver, "next next next") == lines(7, 8, 9)
        await driver.resume()
        assert await steps(driver, "step") == lines(3)
        assert await steps(driver, "next next") == lines(4, 6)
        await driver.resume()
        assert await steps(driver, "step step finish finish") == lines(16, 21, 16, 22)
        await driver.resume()
        stop = await driver.step("step")
        assert isinstance(stop.frame, PythonFrame) and stop.frame.function == "<lambda>"
        await driver.finish_run()

    places = ("program.py:6", "program.py:22", "program.py:23")
    run_session(work, write(tmp_path, COROUTINE + DECORATOR), *places)


async def where(driver: Driver, line: int) -> Stop:
    stop = await driver.resume()
    assert name(stop.frame) == f"program.py:{line}"
    return stop


@pytest.mark.torch
def test_autograd_collate_and_compiled_functions(operators: OperatorTable, tmp_path: Path) -> None:
    """Stops in Python that C++ calls, steps out of it, and steps over what has no Python line."""

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "program.py:17"  # under no_grad
        assert await steps(driver, "next next") == lines(16, 18)
        stop = await driver.step("step")  # THPFunction_apply calls forward
        assert name(stop.frame) == "program.py:10"
        assert "(anonymous namespace)::THPFunction_apply" in await driver.names()
        stop = await driver.step("finish")
        assert name(stop.frame) == "(anonymous namespace)::THPFunction_apply"
        stop = await driver.step("finish")
        assert name(stop.frame).startswith("function.py:")  # of torch.autograd
        assert await steps(driver, "next") == lines(19)
        for row in driver.session.breakpoints.all():
            await driver.session.breakpoints.remove(row.id)
        await driver.session.breakpoints.add("program.py:5")
        await driver.session.breakpoints.add("program.py:14")
        stop = await where(driver, 5)  # the hook
        stack = await driver.stack()
        natives = [frame for frame in stack.visible() if frame.language is Language.NATIVE]
        assert any("Engine" in (frame.function or "") for frame in natives)  # type: ignore[union-attr]
        assert await steps(driver, "next") == lines(6)
        stop = await where(driver, 14)  # backward of the Function
        assert any("PyNode::apply" in one for one in await driver.names())
        assert await steps(driver, "next") == lines(15)
        for row in driver.session.breakpoints.all():
            await driver.session.breakpoints.remove(row.id)
        await driver.session.breakpoints.add("program.py:22")
        await where(driver, 22)
        assert await steps(driver, "next finish") == lines(23, 24)
        await driver.session.breakpoints.add("program.py:28")
        await where(driver, 28)
        assert await steps(driver, "next next next") == lines(29, 30, 31)
        assert (await driver.finish_run()).code == 0

    run_session(work, write(tmp_path, AUTOGRAD), "program.py:17", operators=operators)


CRASHES = {
    signal.SIGSEGV: "sample_capi.crash(7)",
    signal.SIGABRT: "os.abort()",
    signal.SIGFPE: "signal.raise_signal(signal.SIGFPE)",
    signal.SIGBUS: "page = mmap.mmap(os.open(__file__ + '.empty', os.O_RDWR | os.O_CREAT), 0) if 0 else bus()",
    signal.SIGILL: "signal.raise_signal(signal.SIGILL)",
}
CRASHING = """\
import mmap, os, signal, sys, threading, sample_capi
def bus():  # a page of a file that has become shorter
    with open(__file__ + ".page", "w+b") as file:
        file.truncate(4096)
        page = mmap.mmap(file.fileno(), 4096)
        file.truncate(0)
        return page[0]
def crash():
    ACTION
if sys.argv[1] == "thread":
    thread = threading.Thread(target=crash, name="unlucky")
    thread.start()
    thread.join()
else:
    crash()
"""


@pytest.mark.parametrize("place", ["main", "thread"])
@pytest.mark.parametrize("number", rows.some(CRASHES, 2), ids=lambda number: number.name)
def test_a_crash_stops_with_the_merged_stack_and_ends_with_its_signal(
    number: signal.Signals, place: str, env: Env, tmp_path: Path
) -> None:
    action = "bus()" if number is signal.SIGBUS else CRASHES[number]
    script = write(tmp_path, CRASHING.replace("ACTION", action))

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.SIGNAL and stop.origin is Language.NATIVE
        assert (stop.description or "").startswith(number.name)
        python = [frame for frame in (await driver.stack()).visible() if isinstance(frame, PythonFrame)]
        expected = "crash" if "kill" in action or number is not signal.SIGBUS else "bus"
        assert expected in [frame.function for frame in python]
        await driver.session.resume()
        exit = await driver.exit()
        assert (exit.code, exit.signal) == (None, number)

    run_session(work, script, env=env, launch_options={"args": (place,)})


def test_signals_that_programs_use_do_not_stop(capfd: pytest.CaptureFixture[str]) -> None:
    async def work(driver: Driver) -> None:
        driver.session.interrupt_pauses = True
        assert (await driver.exit()).code == 0
        assert not [event for event in driver.seen if isinstance(event, Stopped)]

    run_session(work, support.SAMPLES / "signals.py")
    out = capfd.readouterr().out.split()
    assert {"SIGINT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD"} <= set(out)


def test_a_method_that_throws_ends_a_step_at_the_handler(env: Env, tmp_path: Path) -> None:
    text = (
        "import sample_pybind\ntry:\n    sample_pybind.check_positive(-1.0)\n"
        "except Exception as error:\n    kept = str(error)\nprint(kept)\n"
    )

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("step")
        assert name(stop.frame) == "sample::check_positive"
        stop = await driver.step("finish")
        assert name(stop.frame) in lines(3, 4)
        assert driver.session.state in (State.NATIVE_STOPPED, State.PYTHON_STOPPED)
        if name(stop.frame) == "program.py:3":
            assert await steps(driver, "next") == lines(4)
        assert await steps(driver, "next") == lines(5)
        await driver.finish_run()

    run_session(work, write(tmp_path, text), "program.py:3", env=env)
