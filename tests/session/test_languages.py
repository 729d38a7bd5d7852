"""Sessions in code that is written in Rust, Cython, Fortran and assembly or made by numba, and in workers of OpenMP."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, PythonFrame, Reason, Role, Stopped
from dualdbg.shared.requests.values import Assign
from tests.session.driver import Driver, name, run_session
from tests.support import require

LEVELS = ("O0", "O2")

RUST = """\
import sample_rust
def twice(v):
    w = v * 2
    return w
a = sample_rust.tally(2)
b = sample_rust.area(3)
c = sample_rust.call_back(twice)
for _ in range(3):
    try:
        sample_rust.checked(-1)
    except RuntimeError as error:
        kept = error
print(a, b, c, kept)
"""

CYTHON = """\
import sample_fast as f
def double(v):
    w = v * 2
    return w
a = f.poly_sum([1.0, 2.0], 3.0)
b = f.is_prime(5)
c = f.twice(4)
d = f.call_back(double, 3.0)
e = list(f.numbers(2))
g = f.outer(1)(2)
k = f.Counter()
h = k.increase(2)
v = k.value
try:
    f.fail("no")
except ValueError as error:
    kept = error
"""

LIBRARIES = """\
import ctypes, os
here = os.environ["SAMPLES"]
def load(name):
    return ctypes.CDLL(os.path.join(here, name))
values = (ctypes.c_double * 3)(1, 2, 2)
count = ctypes.byref(ctypes.c_int(3))
if os.path.exists(os.path.join(here, "libsample_fortran.so")):
    fortran = load("libsample_fortran.so")
    fortran.scale_all_(count, values, ctypes.byref(ctypes.c_double(2.0)))
    getattr(fortran, "__geometry_MOD_norm")(count, values)
workers = load("libsample_workers.so")
workers.workers_first.restype = ctypes.c_double
workers.workers_first(values)
workers.workers_thread()
load("libsample_assembly.so").assembly_add(1, 2)
"""


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def env(samples: Path, level: str) -> dict[str, str]:
    return {"PYTHONPATH": str(samples / level)}


async def lines(driver: Driver, kinds: Sequence[str]) -> list[str]:
    """Where each of these steps ends: ``function:line`` of the user's innermost frame."""
    found = []
    for kind in kinds:
        await driver.step(kind)
        found.append(await where(driver))
    return found


async def where(driver: Driver) -> str:
    frame = next(one for one in (await driver.stack()).visible() if one.role.value == "user")
    return name(frame) if isinstance(frame, PythonFrame) else f"{name(frame)}:{frame.line}"


# -- Rust -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_functions_of_rust_and_their_panics(tmp_path: Path, rust_samples: Path, level: str) -> None:
    """One run: by name, variables, expressions and results; steps through the languages; a panic is an exception."""

    async def work(driver: Driver) -> None:
        breakpoints = driver.session.breakpoints
        stop = await driver.stop()
        assert (stop.reason, stop.breakpoints) == (Reason.BREAKPOINT, (1,))
        frames = (await driver.stack()).visible()
        assert [name(frame) for frame in frames[:3]] == [
            "sample_rust::tally",
            "sample_rust::rust_tally",
            "program.py:5",
        ]
        assert all(isinstance(one, NativeFrame) and one.source_language == "rust" for one in frames[:2])
        if level == "O0":
            await variables_expressions_and_lines(driver)
        await driver.step("finish")
        assert (await driver.names())[0] == "sample_rust::rust_tally"
        await driver.step("finish")
        assert (await driver.names())[0] == "program.py:5"
        if level == "O0":
            await results_and_callbacks(driver)

        throws = [
            (await breakpoints.add(f"throw{type_}"))[0].id for type_ in ("", ":panic", ":std::exception")
        ]
        stop = await driver.resume()
        assert stop.breakpoints == tuple(throws[:2]) and stop.description is not None
        assert stop.description.startswith(
            "panic: negative: -1, thrown in sample_rust::check at sample_rust.rs:104"
        )
        assert stop.description.endswith("called from program.py:10")
        for id in throws:
            await breakpoints.remove(id)
        await breakpoints.add("sample_rust::check if value < 0")
        for kind in ("next", "finish"):
            await driver.resume()
            for _ in range(3):
                await driver.step(kind)
                if (found := await where(driver)).startswith("sample_rust::rust_checked:"):
                    break
                assert found.startswith("sample_rust::check:"), (kind, found)
            assert found.startswith("sample_rust::rust_checked:"), kind
        assert (await driver.finish_run()).code == 0

    spec = "sample_rust::tally" + (" if step == 2" if level == "O0" else "")
    run_session(work, program(tmp_path, RUST), spec, env=env(rust_samples, level))


async def variables_expressions_and_lines(driver: Driver) -> None:
    tid, inspector = driver.session.pid, driver.session.inspector
    frame = (await driver.stack()).visible()[0]
    values = {row.name: (row.type, row.value) for row in await inspector.variables(tid, frame)}
    assert values == {"values": ("&[i64]", "&[i64] [1, 2, 3]"), "step": ("i64", "2")}
    for expression, value in (("step + 1", "3"), ("values[1]", "2"), ("step == 2", "true")):
        assert (await inspector.evaluate(expression, tid, frame, frame.language)).value == value
    assert await lines(driver, ["next", "next", "step", "step", "finish"]) == [
        *("sample_rust::tally:78", "sample_rust::tally:79"),
        *("sample_rust::weigh:86", "sample_rust::weigh:87", "sample_rust::tally:79"),
    ]


async def results_and_callbacks(driver: Driver) -> None:
    breakpoints, found = driver.session.breakpoints, []
    for spec in ("grown", "area", "program.py:7"):
        await breakpoints.add(spec)
    for _ in range(2):
        await driver.resume()
        result = (await driver.step("finish")).result
        assert result is not None
        found.append((result.type, result.value.partition(";")[0]))
    # Rust has no rules for how a structure comes back.
    unknown = "<not known: where such a value is returned"
    assert found == [("sample_rust::shapes::Square", unknown), ("i64", "16")]
    await driver.resume()
    assert await lines(driver, ["step"] * 8) == [
        *("sample_rust::rust_call_back:123", "sample_rust::rust_call_back:124"),
        *("program.py:3", "program.py:4"),
        *("sample_rust::rust_call_back:124", "sample_rust::rust_call_back:125"),
        *("sample_rust::rust_call_back:127", "program.py:7"),
    ]


# -- Cython ---------------------------------------------------------------------------------------

# How often each line of sample_fast.pyx is come to by the program, as its source says.
COUNTS = {
    5: 1,
    6: 1,
    8: 3,
    9: 2,
    14: 2,
    18: 1,
    20: 4,
    21: 3,
    23: 1,
    27: 1,
    32: 1,
    33: 1,
    44: 1,
    53: 1,
    57: 1,
    61: 1,
    65: 1,
}


def test_a_line_of_cython_is_hit_as_often_as_the_source_says(tmp_path: Path, language_samples: Path) -> None:
    async def work(driver: Driver) -> Counter[int]:
        hits: Counter[int] = Counter()
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return hits
            assert event.stop.reason is Reason.BREAKPOINT
            assert (await where(driver)).startswith("sample_fast.")
            hits.update(list(COUNTS)[number - 1] for number in event.stop.breakpoints)
            await driver.session.resume()

    lines = [f"sample_fast.pyx:{line}" for line in COUNTS]
    hits = run_session(work, program(tmp_path, CYTHON), *lines, env=env(language_samples, "O0"))
    assert hits == COUNTS


def test_lines_of_optimised_cython_are_hit_and_not_at_import(tmp_path: Path, language_samples: Path) -> None:
    async def work(driver: Driver) -> set[int]:
        hit: set[int] = set()
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return hit
            assert event.stop.breakpoints
            hit.update(event.stop.breakpoints)
            caller = next(one for one in (await driver.stack()).visible() if isinstance(one, PythonFrame))
            assert caller.line is not None and caller.line > 1
            await driver.session.resume()

    lines = [f"sample_fast.pyx:{line}" for line in (5, 8, 9, 13, 14, 20, 32, 44, 53, 65)]
    hit = run_session(work, program(tmp_path, CYTHON), *lines, env=env(language_samples, "O2"))
    assert hit == set(range(1, len(lines) + 1))


NAMED = {
    "sample_fast.poly_sum": 5,
    "sample_fast.twice": 7,
    "sample_fast.numbers": 9,
    "sample_fast.outer.inner": 10,
    "Counter.increase": 12,
    "Counter.value": 13,
}


@pytest.mark.parametrize("level", [*LEVELS, "bare"])
def test_functions_of_cython_stop_by_their_own_names_and_steps_enter_them(
    tmp_path: Path, language_samples: Path, level: str
) -> None:
    """By steps: a constructor, and what is inlined into its wrapper where it is optimised."""
    text = f"{CYTHON}n = f.Named('x')\na = f.poly_sum([1.0, 2.0], 3.0)\n"
    last = len(text.splitlines())

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for number, (spec, line) in enumerate(NAMED.items(), 1):
            while stop.breakpoints != (number,):  # a generator is come to more than once
                assert stop.breakpoints == (number - 1,)
                stop = await driver.resume()
            stack = await driver.stack()
            native = [
                one for one in stack.visible() if isinstance(one, NativeFrame) and one.role is Role.USER
            ]
            assert spec.rpartition(".")[2] in (native[0].function or "")
            assert (native[0].function or "").startswith("sample_fast.")
            assert native[0].source_language == "cython"
            python = next(one for one in stack.visible() if isinstance(one, PythonFrame))
            assert python.line == line
            stop = await driver.resume()
        for row in driver.session.breakpoints.all():
            await driver.session.breakpoints.remove(row.id)
        if level != "bare":
            await driver.session.breakpoints.add(f"program.py:{last - 1}")
            await driver.resume()
            constructed = ["sample_fast.Named.__init__:72", f"program.py:{last - 1}"]
            assert await lines(driver, ["step", "finish", "next"]) == [*constructed, f"program.py:{last}"]
            await driver.step("step")
            assert (await where(driver)).startswith("sample_fast.poly_sum:")
        await driver.finish_run()

    run_session(
        work, program(tmp_path, text), *NAMED, f"program.py:{last - 2}", env=env(language_samples, level)
    )


def test_steps_go_from_line_to_line_of_cython_and_into_callbacks(
    tmp_path: Path, language_samples: Path
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        poly, term = "sample_fast.poly_sum", "sample_fast.term"
        assert await lines(driver, ["step"] * 14) == [
            *(f"{poly}:6", f"{poly}:8", f"{poly}:9", f"{term}:14", f"{term}:15"),
            *(f"{poly}:9", f"{poly}:8", f"{poly}:9", f"{term}:14", f"{term}:15"),
            *(f"{poly}:9", f"{poly}:8", f"{poly}:10", "program.py:5"),
        ]
        assert await lines(driver, ["next", "next", "next"]) == [f"program.py:{line}" for line in (6, 7, 8)]
        assert await lines(driver, ["step"] * 5) == [
            *("sample_fast.call_back:32", "program.py:3", "program.py:4"),
            *("sample_fast.call_back:32", "sample_fast.call_back:33"),
        ]
        await driver.finish_run()

    run_session(work, program(tmp_path, CYTHON), "program.py:5", env=env(language_samples, "O0"))


def test_variables_of_cython_have_their_own_names(tmp_path: Path, language_samples: Path) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        tid, inspector = stop.thread.tid, driver.session.inspector
        frame = (await driver.stack()).visible()[0]
        rows = {row.name: row.value for row in await inspector.variables(tid, frame)}
        assert set(rows) == {"xs", "scale", "total", "x"}
        assert rows["xs"].endswith("[1.0, 2.0]") and rows["total"] == "3" and rows["x"] == "2"
        for expression, value in (("total + x", "5"), ("x > 1 ? scale : 0", "3")):
            assert (await inspector.evaluate(expression, tid, frame, frame.language)).value == value
        changed = await driver.session.native.ask(
            Assign(await inspector.gdb_thread(tid), 0, None, "total", "x * 5", 60.0)
        )
        assert changed.value == "10"
        await driver.session.resume()
        stop = await driver.stop()
        frame = (await driver.stack()).visible()[0]
        rows = {row.name: row.value for row in await inspector.variables(stop.thread.tid, frame)}
        assert rows == {"i": "0", "n": "2"}  # a generator keeps them in an object
        await driver.finish_run()

    specs = ("sample_fast.pyx:9 if x > 1.5", "sample_fast.pyx:39 temporary")
    run_session(work, program(tmp_path, CYTHON), *specs, env=env(language_samples, "O0"))


# -- Fortran, assembly, workers -------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("spec", "function"),
    [
        *(("scale_all", "scale_all"), ("scale_all_", "scale_all"), ("SCALE_ALL", "scale_all")),
        *(("geometry::norm", "geometry::norm"), ("norm", "geometry::norm")),
    ],
)
def test_a_function_of_fortran_stops_by_its_name(
    tmp_path: Path, fortran_samples: Path, level: str, spec: str, function: str
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        frame = (await driver.stack()).visible()[0]
        assert isinstance(frame, NativeFrame)
        assert (frame.function, frame.source_language) == (function, "fortran")
        await driver.step("next")
        await driver.finish_run()

    folder = str(fortran_samples / level)
    run_session(work, program(tmp_path, LIBRARIES), spec, env={"SAMPLES": folder})


def test_a_parallel_region_says_who_started_it_and_a_thread_of_the_c_library_does_not(
    tmp_path: Path, language_samples: Path
) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert stop.thread.tid != driver.session.pid
        stack = await driver.session.inspector.stack(stop.thread.tid)
        assert name(stack.frames[0]) == "work::first_by_worker [parallel region]"
        said = f"in a parallel region that thread {driver.session.pid} started at sample_workers.cpp:"
        assert stack.origin is not None and stack.origin.startswith(said)
        assert stack.origin.endswith(" in work::first_by_worker")
        main = await driver.session.inspector.stack(driver.session.pid)
        assert main.origin is None
        stop = await driver.resume()
        stack = await driver.session.inspector.stack(stop.thread.tid)
        assert name(stack.frames[0]) == "work::count_up"
        assert stack.origin is None
        await driver.finish_run()

    line = _line_of("sample_workers.cpp", "first = values[0]")
    run_session(
        work,
        program(tmp_path, LIBRARIES),
        f"sample_workers.cpp:{line}",
        "work::count_up",
        env={"SAMPLES": str(language_samples / "O0")},
    )


def _line_of(file: str, text: str) -> int:
    source = Path(__file__).parents[2] / "samples" / "languages" / file
    return next(number for number, line in enumerate(source.read_text().splitlines(), 1) if text in line)


NUMBA = """\
import ctypes, numba
getppid = ctypes.CDLL(None).getppid
getppid.argtypes, getppid.restype = [], ctypes.c_int
@numba.njit
def total(n):
    found = 0
    for i in range(n):
        found += i + getppid() * 0
    return found
total(1)
a = total(3)
print(a)
"""


def test_functions_that_numba_has_compiled_are_named_and_left(tmp_path: Path) -> None:
    spec = require(importlib.util.find_spec("numba"), "numba: pip install numba", outside=True)
    assert spec.origin is not None
    environment = {"NUMBA": str(Path(spec.origin).parents[1])}

    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.session.breakpoints.add("getppid")
        await driver.resume()
        frames = (await driver.stack()).visible()
        assert [name(frame) for frame in frames if not is_glue(frame)] == [
            "getppid",
            "__main__.total",
            "Dispatcher_call",
            "program.py:11",
        ]
        jitted = frames[1]
        assert isinstance(jitted, NativeFrame) and jitted.source_language == "numba" and jitted.line is None
        assert name((await driver.step("finish")).frame) == "__main__.total"
        for row in driver.session.breakpoints.all():
            await driver.session.breakpoints.remove(row.id)
        ends = [name((await driver.step("finish")).frame) for _ in range(2)]
        assert ends == ["Dispatcher_call", "program.py:11"]
        assert (await driver.finish_run()).code == 0

    run_session(work, program(tmp_path, NUMBA), "program.py:11", env=environment)


def is_glue(frame: NativeFrame | PythonFrame) -> bool:
    return frame.role is Role.GLUE
