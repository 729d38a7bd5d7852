"""Native breakpoints with all that can follow a place: where they stop, what they say, what they leave alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dualdbg.errors import SpecError
from dualdbg.model import BreakpointState, Exited, NativeFrame, PythonFrame, Reason, Stopped
from dualdbg.session.log_text import split_log
from dualdbg.session.native_expressions import check_expression
from dualdbg.symbols.torch.operators import OperatorTable
from tests import support
from tests.session.driver import Driver, functions_to_the_end, name, run_session

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


async def a_of(driver: Driver) -> float:
    """The argument a of sample_pybind's add at a stop in it."""
    return float(await driver.session.native.user_command("output a"))


def test_a_condition_stops_where_it_holds(loop: Path, env: Env, capfd: pytest.CaptureFixture[str]) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.reason is Reason.BREAKPOINT and await a_of(driver) == 8
        assert await (await driver.resume() and a_of(driver)) == 9
        await driver.session.resume()
        assert (await driver.exit()).code == 0

    run_session(work, loop, "sample_pybind.cpp:17 if a > 7", env=env)
    assert capfd.readouterr().out == "52.0\n"


@pytest.mark.parametrize(
    ("condition", "why"), [("nope > 1", 'No symbol "nope"'), ("*(int*)0 == 1", "Cannot access memory")]
)
def test_a_condition_without_a_value_stops_once_and_says_why(
    loop: Path, env: Env, condition: str, why: str
) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.description is not None and why in stop.description
        assert not driver.session.breakpoints.get(1).enabled
        await driver.session.resume()
        await driver.exit()

    run_session(work, loop, f"sample_pybind.cpp:17 if {condition}", env=env)


def test_a_condition_that_gdb_cannot_read_is_told_with_the_breakpoint(loop: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        message = driver.session.breakpoints.get(1).message
        assert message is not None and message.startswith("the condition cannot be read")
        assert (await driver.finish_run()).code == 0

    run_session(work, loop, "sample_pybind.cpp:17 if a >", env=env)


@pytest.mark.parametrize("place", ["sample_pybind.cpp:17", "sample_pybind.cpp:17 if b == 0.5"])
def test_hits(loop: Path, env: Env, place: str) -> None:
    spec, _, condition = place.partition(" if ")

    async def work(driver: Driver) -> None:
        await driver.stop()
        assert await a_of(driver) == 6
        assert driver.session.breakpoints.get(1).hit_count == 7
        await driver.resume()
        assert await a_of(driver) == 7 and driver.session.breakpoints.get(1).hit_count == 8
        await driver.finish_run()

    run_session(work, loop, f"{spec} hits 7" + (f" if {condition}" if condition else ""), env=env)


def test_hits_over_several_places_count_together(loop: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "sample::check_reading"
        row = driver.session.breakpoints.get(1)
        assert row.hit_count == 3 and len(row.locations) >= 2
        await driver.session.resume()
        await driver.exit()

    run_session(work, loop, "sample::check_* hits 3", env=env)


def test_a_log_text_is_printed_without_a_stop(
    loop: Path, env: Env, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(driver: Driver) -> None:
        await driver.exit()
        lines = driver.console.splitlines()
        assert lines[:2] == [
            '{7} and <No symbol "nope" in current context.>',
            '{8} and <No symbol "nope" in current context.>',
        ]
        assert len(lines) == 3
        assert driver.session.breakpoints.get(1).hit_count == 5

    run_session(work, loop, 'sample_pybind.cpp:17 hits 3 log "{{{a}}} and {nope}" if a > 4', env=env)
    assert capfd.readouterr().out == "52.0\n"


def test_several_at_one_place(loop: Path, env: Env, capfd: pytest.CaptureFixture[str]) -> None:
    """gdb reports one of its breakpoints at an address; the others are not lost, and the log text is told once."""
    place = "sample_pybind.cpp:17"
    suffixes = ['thread "nobody"', "if a > 6", "hits 9", 'log "a is {a}"', "if a > 7"]

    async def work(driver: Driver) -> None:
        stops = [(await driver.stop()).breakpoints, *[(await driver.resume()).breakpoints for _ in range(2)]]
        assert stops == [(2,), (2, 3, 5), (2, 3, 5)]
        await driver.session.resume()
        await driver.exit()
        assert driver.console == "".join(f"a is {number}\n" for number in range(10))
        counts = [driver.session.breakpoints.get(id).hit_count for id in range(1, 6)]
        assert counts == [0, 3, 10, 10, 2]

    run_session(work, loop, *(f"{place} {suffix}" for suffix in suffixes), env=env)
    assert capfd.readouterr().out == "52.0\n"


def test_temporary(loop: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        assert driver.session.breakpoints.all() == []
        await driver.session.resume()
        await driver.exit()

    run_session(work, loop, "sample_pybind.cpp:17 tbreak", env=env)


def test_a_thread_by_name(loop: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.thread.name == "sample-thread" and stop.thread.tid != driver.session.pid
        await driver.session.resume()
        await driver.exit()

    run_session(work, loop, '(anonymous namespace)::scale thread "sample-thread"', env=env)


def test_a_thread_by_its_id(loop: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add(f"sample_pybind.cpp:22 thread {driver.session.pid}")
        values = []
        for _ in range(2):
            stop = await driver.resume()
            assert (
                stop.thread.tid == driver.session.pid and name(stop.frame) == "(anonymous namespace)::scale"
            )
            values.append(await driver.session.native.user_command("output value"))
        assert values == ["1", "3"]
        await driver.session.resume()
        await driver.exit()

    run_session(work, loop, "sample_pybind.cpp:17 tbreak", env=env)


def test_an_address_in_a_library(loop: Path, env: Env, native_samples: Path) -> None:
    [library] = native_samples.glob("sample_pybind*.so")
    symbols = subprocess.run(["nm", "-C", library], capture_output=True, text=True, check=True).stdout
    [row] = [
        line for line in symbols.splitlines() if line.endswith("(anonymous namespace)::add(double, double)")
    ]
    offset = int(row.split()[0], 16)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert isinstance(stop.frame, NativeFrame)
        [location] = driver.session.breakpoints.get(1).locations
        assert stop.frame.pc == location.address and location.library == str(library)
        assert name(stop.frame) == "(anonymous namespace)::add"
        await driver.finish_run()

    run_session(work, loop, f"{library.name}+{offset:#x}", env=env)


THROWN = [
    ("throw", ["sample::SensorError", "std::runtime_error"]),
    ("throw:std::runtime_error", ["sample::SensorError", "std::runtime_error"]),
    ("throw:SensorError", ["sample::SensorError"]),
]


@pytest.mark.parametrize(("spec", "types"), THROWN)
def test_throw_shows_type_text_and_both_lines(loop: Path, env: Env, spec: str, types: list[str]) -> None:
    texts = {"sample::SensorError": "reading above 100", "std::runtime_error": "value is negative"}
    lines = {"sample::SensorError": (39, 12), "std::runtime_error": (46, 13)}

    async def work(driver: Driver) -> None:
        seen = []
        stop = await driver.stop()
        for number in range(len(types)):
            assert stop.description is not None and stop.frame is not None
            type_ = stop.description.partition(": ")[0]
            seen.append(type_)
            native, python = lines[type_]
            assert texts[type_] in stop.description
            assert f"helper.cpp:{native}" in stop.description and f"loop.py:{python}" in stop.description
            if number + 1 < len(types):
                stop = await driver.resume()
        assert sorted(seen) == sorted(types)
        await driver.session.resume()
        await driver.exit()

    run_session(work, loop, spec, env=env)


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


def test_a_refused_breakpoint_leaves_nothing(loop: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        with pytest.raises(SpecError):
            await driver.session.breakpoints.add("capi_outer if x = 3")
        assert [row.id for row in driver.session.breakpoints.all()] == [1]
        assert driver.session.breakpoints.get(1).state is BreakpointState.VERIFIED
        await driver.finish_run()

    run_session(work, loop, "sample_pybind.cpp:17", env=env)


def test_log_texts_are_taken_apart() -> None:
    assert split_log("a {b} c {d[{1}]}") == (["a ", " c ", ""], ["b", "d[{1}]"])
    assert split_log("{{x}} {y}") == (["{x} ", ""], ["y"])
    assert split_log(r"\{x\} {y}") == (["{x} ", ""], ["y"])
    assert split_log("") == ([""], [])


def test_gdb_prints_a_log_text_by_itself(loop: Path, env: Env, capfd: pytest.CaptureFixture[str]) -> None:
    async def work(driver: Driver) -> None:
        await driver.exit()
        assert driver.console == "a is 8\na is 9\n"
        assert driver.session.breakpoints.get(1).hit_count == 2

    run_session(work, loop, 'sample_pybind.cpp:17 log "a is {a}" if a > 7', env=env)
    assert capfd.readouterr().out == "52.0\n"


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


JIT_SCRIPT = [
    "script",
    "get_jit_def",
    "build_def",
    "script_compile_function",
    "didFinishEmitFunction",
    "preoptimizeGraph",
]


@pytest.mark.torch
@pytest.mark.slow
def test_the_preset_jit_script_stops_once_at_each_place_of_a_users_call(operators: OperatorTable) -> None:
    async def work(driver: Driver) -> list[str]:
        seen: list[str] = []
        stop = await driver.stop()
        while True:
            lines = list(map(name, (await driver.stack()).visible()))
            assert any(line.startswith("jit_script.py:") for line in lines), lines
            seen.append((stop.frame.function if stop.frame else "").removeprefix("torch::jit::"))
            if "preoptimizeGraph" in seen[-1]:
                break
            stop = await driver.resume()
        await driver.finish_run()
        return seen

    script = support.SAMPLES / "jit_script.py"
    seen = run_session(work, script, "preset:jit-script", operators=operators, just_my_code=False)
    assert seen == JIT_SCRIPT


JIT_HELPERS = """\
import torch

def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2

def doubled_and_one(x: torch.Tensor) -> torch.Tensor:
    return doubled(x) + 1

@torch.jit.script
def first(x: torch.Tensor) -> torch.Tensor:
    return doubled_and_one(x) + doubled(x)

@torch.jit.script
def second(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(first(x), 0.5)

for _ in range(3):
    second(torch.ones(2))
"""


@pytest.mark.torch
@pytest.mark.slow
def test_the_preset_jit_script_stops_for_the_users_calls_and_not_for_the_functions_that_they_call(
    tmp_path: Path, operators: OperatorTable
) -> None:
    program = tmp_path / "helpers.py"
    program.write_text(JIT_HELPERS)

    seen = run_session(
        functions_to_the_end, program, "preset:jit-script", operators=operators, just_my_code=False
    )
    assert seen == [*JIT_SCRIPT[:-1], *JIT_SCRIPT]


RECURSIVE = """\
def count_down(n):
    left = n
    return left and count_down(n - 1)

def twice():
    count_down(2)
    count_down(1)

twice()
"""


@pytest.mark.parametrize("function", ["count_down", "recursive.count_down"])
def test_only_the_outermost_call(tmp_path: Path, function: str) -> None:
    program = tmp_path / "recursive.py"
    program.write_text(RECURSIVE)

    async def work(driver: Driver) -> list[str]:
        seen: list[str] = []
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = next(one for one in (await driver.stack()).visible() if isinstance(one, PythonFrame))
            tid, inspector = event.stop.thread.tid, driver.session.inspector
            seen.append((await inspector.evaluate("n", tid, frame, frame.language)).value)
            await driver.session.resume()
        return seen

    assert run_session(work, program, f"recursive.py:2 outermost {function}") == ["2", "1"]
    # Of a function that is not on the stack no call is an inner one.
    assert run_session(work, program, "recursive.py:2 outermost other.count_down") == [
        "2",
        "1",
        "0",
        "1",
        "0",
    ]


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
