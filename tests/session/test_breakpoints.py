"""Native breakpoints with all that can follow a place: where they stop, what they say, what they leave alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualdbg.errors import SpecError
from dualdbg.model import BreakpointState, Exited, NativeFrame, PythonFrame, Reason, Stop, Stopped
from dualdbg.session.log_text import split_log
from dualdbg.session.native_expressions import check_expression
from dualdbg.symbols.torch.operators import OperatorTable
from tests import support
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

LOOP = """\
import sample_capi, sample_pybind
total = 0.0
for i in range(10):
    total += sample_pybind.add(float(i), 0.5)
def work(value):
    return sample_pybind.scale(value, 2.0)
work(1.0)
sample_pybind.call_back_from_thread(work, 2.0)  # in a thread named sample-thread
work(3.0)
for wrong in (-1.0, 101.0):
    try:
        sample_pybind.check_reading(wrong)
        sample_pybind.check_positive(wrong)
    except Exception as error:
        total += 1
print(total)
"""


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    path = tmp_path / "loop.py"
    path.write_text(LOOP)
    return path


async def value_of(driver: Driver, name: str) -> float:
    """A number of the frame where it has stopped."""
    return float(await driver.session.native.user_command(f"output {name}"))


def test_a_breakpoint_stops_where_its_condition_thread_and_hits_say(
    loop: Path, env: Env, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each at a place of its own. One that is refused leaves nothing; one that gdb cannot read is told."""

    async def work(driver: Driver) -> None:
        breakpoints, pid = driver.session.breakpoints, driver.session.pid
        stop = await driver.stop()
        assert stop.reason is Reason.BREAKPOINT and stop.breakpoints == (1,)
        assert await value_of(driver, "a") == 8
        message = breakpoints.get(2).message
        assert message is not None and message.startswith("the condition cannot be read")
        with pytest.raises(SpecError):
            await breakpoints.add("capi_outer if x = 3")
        assert [row.id for row in breakpoints.all()] == [1, 2, 3, 4]
        assert breakpoints.get(1).state is BreakpointState.VERIFIED
        (own,) = await breakpoints.add(f"sample_pybind.cpp:22 thread {pid}")
        await driver.resume()
        assert await value_of(driver, "a") == 9
        for id, value in ((own.id, 1), (3, 2), (own.id, 3)):
            stop = await driver.resume()
            assert stop.breakpoints == (id,) and name(stop.frame) == "(anonymous namespace)::scale"
            assert await value_of(driver, "value") == value
            assert (stop.thread.tid == pid) is (id == own.id)
            assert stop.thread.name == "sample-thread" or id == own.id
        stop = await driver.resume()
        assert name(stop.frame) == "sample::check_reading" and stop.breakpoints == (4,)
        row = breakpoints.get(4)
        assert row.hit_count == 3 and len(row.locations) >= 2, "hits over several places count together"
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    scale = "(anonymous namespace)::scale"
    specs = ["sample_pybind.cpp:17 if a > 7", "capi_add if a >"]
    run_session(work, loop, *specs, f'{scale} thread "sample-thread"', "sample::check_* hits 3", env=env)
    assert capfd.readouterr().out == "52.0\n"


def test_hits_temporary_ones_addresses_and_conditions_without_a_value(
    loop: Path, env: Env, native_samples: Path
) -> None:
    [library] = native_samples.glob("sample_pybind*.so")
    symbols = subprocess.run(["nm", "-C", library], capture_output=True, text=True, check=True).stdout
    add = "(anonymous namespace)::add"
    [symbol] = [line for line in symbols.splitlines() if line.endswith(f"{add}(double, double)")]

    async def work(driver: Driver) -> None:
        breakpoints = driver.session.breakpoints

        async def at(stop: Stop, id: int, variable: str, value: float, hits: int) -> None:
            assert stop.breakpoints == (id,) and await value_of(driver, variable) == value
            assert breakpoints.get(id).hit_count == hits

        def without_a_value(stop: Stop, id: int, why: str) -> None:
            assert stop.breakpoints == (id,) and why in (stop.description or "")
            assert breakpoints.get(id).enabled, "the next hit may have one"

        stop = await driver.stop()
        [location] = breakpoints.get(1).locations
        assert isinstance(stop.frame, NativeFrame) and name(stop.frame) == add
        assert stop.frame.pc == location.address and location.library == str(library)
        await breakpoints.remove(1)
        assert (await driver.resume()).breakpoints == (2,)
        assert [row.id for row in breakpoints.all()] == [3, 4, 5, 6], "the temporary one is gone"
        await at(await driver.resume(), 3, "a", 6, hits=7)
        await at(await driver.resume(), 3, "a", 7, hits=8)
        await breakpoints.remove(3)
        without_a_value(await driver.resume(), 4, 'No symbol "nope"')
        await at(await driver.resume(), 5, "value", 2, hits=2)
        await at(await driver.resume(), 5, "value", 3, hits=3)
        without_a_value(await driver.resume(), 6, "Cannot access memory")
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    specs = [
        f"{library.name}+0x{symbol.split()[0]}",
        "sample_pybind.cpp:18 tbreak",
        "sample_pybind.cpp:17 hits 7",
        "sample_pybind.cpp:23 if nope > 1",
        "sample_pybind.cpp:22 hits 2 if factor == 2.0",
        "sample::check_reading if *(int*)0 == 1",
    ]
    run_session(work, loop, *specs, env=env)


def test_several_at_one_place_and_log_texts(loop: Path, env: Env, capfd: pytest.CaptureFixture[str]) -> None:
    """gdb reports one of its breakpoints at an address; the others are not lost, and the log text is told once.

    The last two are log texts alone at their places; gdb prints the last one by itself.
    """
    suffixes = ['thread "nobody"', "if a > 6", "hits 9", 'log "a is {a}"', "if a > 7"]
    alone = [
        'sample_pybind.cpp:18 hits 3 log "{{{a}}} and {nope}" if a > 4',
        'sample_pybind.cpp:22 log "value is {value}" if value > 1',
    ]

    async def work(driver: Driver) -> None:
        stops = [(await driver.stop()).breakpoints, *[(await driver.resume()).breakpoints for _ in range(2)]]
        assert stops == [(2,), (2, 3, 5), (2, 3, 5)]
        await driver.session.resume()
        await driver.exit()
        said = driver.console.splitlines()
        assert [line for line in said if line.startswith("a ")] == [f"a is {number}" for number in range(10)]
        assert [line for line in said if not line.startswith("a ")] == [
            *(f'{{{number}}} and <No symbol "nope" in current context.>' for number in (7, 8, 9)),
            "value is 2",
            "value is 3",
        ]
        counts = [driver.session.breakpoints.get(id).hit_count for id in range(1, 8)]
        assert counts == [0, 3, 10, 10, 2, 5, 2]

    run_session(work, loop, *(f"sample_pybind.cpp:17 {suffix}" for suffix in suffixes), *alone, env=env)
    assert capfd.readouterr().out == "52.0\n"


def test_throw_shows_type_text_and_both_lines(loop: Path, env: Env) -> None:
    thrown = [
        ("std::runtime_error", "value is negative", "helper.cpp:46", "loop.py:13", (1, 2)),
        ("sample::SensorError", "reading above 100", "helper.cpp:39", "loop.py:12", (1, 2, 3)),
    ]

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for type_, *texts, ids in thrown:
            assert stop.breakpoints == ids
            said = stop.description
            assert said is not None and said.partition(": ")[0] == type_
            assert [text for text in texts if text not in said] == [], said
            await driver.session.resume()
            if type_ == "std::runtime_error":
                stop = await driver.stop()
        await driver.exit()

    run_session(work, loop, "throw", "throw:std::runtime_error", "throw:SensorError", env=env)


def test_what_would_change_the_program_is_refused() -> None:
    for text in ("x = 3", "x++ > 2", "x += 1", "f(x)", "a::f (1)", "x <<= 1"):
        with pytest.raises(SpecError):
            check_expression(text)
    for text in (
        "x == 3",
        "x <= 3 && y >= 2",
        '$_streq(s, "a=b()")',
        "(int)x != 1",
        "sizeof(x) > 4",
        "a[1]->b.c",
    ):
        check_expression(text)


def test_log_texts_are_taken_apart() -> None:
    assert split_log("a {b} c {d[{1}]}") == (["a ", " c ", ""], ["b", "d[{1}]"])
    assert split_log("{{x}} {y}") == (["{x} ", ""], ["y"])
    assert split_log(r"\{x\} {y}") == (["{x} ", ""], ["y"])
    assert split_log("") == ([""], [])


JIT_RUN = [
    "runAndInsertCall",
    "GraphFunction::run",
    "GraphExecutorImplBase::run",
    "getPlanFor",
    "InterpreterState::run",
]


@pytest.mark.torch
@pytest.mark.slow
def test_the_preset_jit_run_walks_the_chain_in_order(operators: OperatorTable) -> None:
    async def work(driver: Driver) -> list[str]:
        seen = []
        stop = await driver.stop()
        while "InterpreterState::run" not in name(stop.frame):
            assert any(
                frame.startswith("jit_trace.py:") for frame in map(name, (await driver.stack()).visible())
            )
            seen.append(name(stop.frame))
            stop = await driver.resume()
        seen.append(name(stop.frame))
        await driver.finish_run()
        return seen

    script = support.SAMPLES / "jit_trace.py"
    seen = run_session(work, script, "preset:jit-run", operators=operators)
    places = [next((at for at, one in enumerate(seen) if part in one), -1) for part in JIT_RUN]
    assert -1 not in places and places == sorted(places), seen


RECURSIVE = """\
def count_down(n):
    left = n
    left = n
    left = n
    return left and count_down(n - 1)

def twice():
    count_down(2)
    count_down(1)

twice()
"""


def test_only_the_outermost_call_stops(tmp_path: Path) -> None:
    program = tmp_path / "recursive.py"
    program.write_text(RECURSIVE)

    async def work(driver: Driver) -> dict[tuple[int, ...], list[str]]:
        seen: dict[tuple[int, ...], list[str]] = {}
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = next(one for one in (await driver.stack()).visible() if isinstance(one, PythonFrame))
            value = await driver.session.inspector.evaluate("n", event.stop.thread.tid, frame, frame.language)
            seen.setdefault(event.stop.breakpoints, []).append(value.value)
            await driver.session.resume()
        return seen

    functions = ["count_down", "recursive.count_down", "other.count_down"]
    places = [f"recursive.py:{line} outermost {function}" for line, function in enumerate(functions, 2)]
    # Of a function that is not on the stack no call is an inner one.
    assert run_session(work, program, *places) == {
        (1,): ["2", "1"],
        (2,): ["2", "1"],
        (3,): ["2", "1", "0", "1", "0"],
    }


SIGNALS = """\
import os, signal
signal.signal(signal.SIGUSR1, lambda number, frame: print("got it", flush=True))
signal.signal(signal.SIGRTMIN + 3, lambda number, frame: print("and this", flush=True))
os.kill(os.getpid(), signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGRTMIN + 3)
os.kill(os.getpid(), signal.SIGRTMIN + 3)
os.kill(os.getpid(), signal.SIGUSR1)
"""


def test_signals(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "signals.py"
    program.write_text(SIGNALS)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.SIGNAL and (stop.description or "").startswith("SIGUSR1, ")
        assert stop.breakpoints == (1,) and "signals.py:4" in map(name, (await driver.stack()).visible())
        for text in ("SIGUSR2 if errno = 3", "SIGUSR2 log {abort()}"):
            with pytest.raises(SpecError):  # as at every other native breakpoint
                await driver.session.breakpoints.add(text)
        assert [row.id for row in driver.session.breakpoints.all()] == [1, 2]
        stop = await driver.resume()
        assert stop.reason is Reason.SIGNAL and stop.breakpoints == (2,)
        assert "signals.py:6" in map(name, (await driver.stack()).visible())
        await driver.session.breakpoints.remove(1)
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    run_session(work, program, "SIGUSR1", "signal:SIGRTMIN+3 hits 2")
    assert capfd.readouterr().out == "got it\nand this\nand this\ngot it\n"  # each got its signal


def test_a_temporary_breakpoint_on_many_places_is_met_while_it_is_set(tmp_path: Path) -> None:
    """debugpy's threads run on at a Python stop, and what they call has such names too."""
    path = tmp_path / "program.py"
    path.write_text("x = 1\ny = 2\n")

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add("*0", temporary=True)
        while (await driver.stop()).reason is not Reason.BREAKPOINT:
            await driver.session.resume()
        assert driver.session.breakpoints.all() == []
        assert (await driver.resume()).description == "back where Python had stopped"
        assert (await driver.finish_run()).code == 0
        assert not [notice for notice in driver.notices if notice.level == "error"]

    run_session(work, path, stop_on_entry=True)
