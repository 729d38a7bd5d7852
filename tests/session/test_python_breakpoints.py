"""Python breakpoints with all that can follow a place, functions by their qualified names, exceptions."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dualdbg.model import BreakpointState, Exited, Reason, Stop, Stopped
from dualdbg.session.breakpoints.python_suffixes import join, suffixes
from dualdbg.symbols.callables.python_functions import FunctionDefinition, NoFunction, find_function
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import threading
from helpers import Model, renamed
class Other:
    def forward(self, x):
        return x
def work(value):
    total = value + 1
    return total
Other().forward(1)
Model().forward(2)
results = [work(i) for i in range(6)]
side = threading.Thread(target=work, args=(9,), name="side")
side.start()
side.join()
renamed()
try:
    int("x")
except ValueError:
    pass
print(results)
raise KeyError("gone")
"""
HELPERS = """\
def decorate(f):
    return f
class Model:
    @decorate
    def forward(self, x):
        \"\"\"Doubles.\"\"\"
        return 2 * x
def original():
    return 1
renamed = original
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def stops(program: Path, *specs: str) -> tuple[list[Stop], Driver]:
    """Every stop of the program with these breakpoints, to its end."""

    async def work(driver: Driver) -> tuple[list[Stop], Driver]:
        seen = []
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return seen, driver
            seen.append(event.stop)
            await driver.session.resume()

    return run_session(work, program, *specs)


BLANK_LINES = """\
first = 1


last = 2
"""


# Of a file of such lines: the breakpoints, and which of them stop.
MOVED = [
    ([":2", ":3"], [0, 1]),
    ([":2 if False", ":3"], [1]),
    ([":1", ":3 if False"], [0]),
    ([":2", ":3", ":1 if not __name__"], [0, 1]),
]


def test_lines_that_are_moved_to_one(tmp_path: Path) -> None:
    """debugpy would stop for one of them alone, and would not say for which."""
    specs, expected = [], []
    for number, (places, stopping) in enumerate(MOVED):
        (tmp_path / f"lines{number}.py").write_text(BLANK_LINES)
        expected.append((f"lines{number}.py:1", tuple(len(specs) + 1 + at for at in stopping)))
        specs += [f"lines{number}.py{place}" for place in places]
    path = tmp_path / "program.py"
    path.write_text("import lines0, lines1, lines2, lines3\n")
    seen, driver = stops(path, *specs)
    found = [(name(stop.frame), stop.breakpoints) for stop in seen]
    assert [one for one in found if one[0].endswith(":1")] == expected
    assert {row.state for row in driver.session.breakpoints.all()} == {BreakpointState.VERIFIED}


def test_functions_conditions_hits_threads_and_exceptions(program: Path) -> None:
    specs = ["py:Model.forward", "py:helpers.Model.forward", "py:Other.forward", "program.py:7 if value > 3"]
    specs += ["program.py:8 hits 4 if total > 1", "program.py:7 thread side", "raise:ValueError", "uncaught"]
    seen, driver = stops(program, *specs)
    assert [(name(stop.frame), stop.breakpoints) for stop in seen] == [
        ("program.py:4", (3,)),
        ("helpers.py:4", (1, 2)),
        *[("program.py:7", (4,)), ("program.py:8", (5,))] * 2,  # of 4 and 5
        *[("program.py:7", (4, 6)), ("program.py:8", (5,))],  # of 9
        ("program.py:17", (7,)),
        ("program.py:21", (8,)),
    ]
    one = driver.session.breakpoints.get(2)
    assert one.state is BreakpointState.VERIFIED and Path(one.locations[0].file or "").name == "helpers.py"
    for stop, text in zip(seen[-2:], ("ValueError: invalid literal", "KeyError"), strict=True):
        assert stop.reason is Reason.EXCEPTION
        assert stop.description is not None and stop.description.startswith(text)


def test_a_built_in_is_told_with_the_native_place_and_another_name_is_followed(program: Path) -> None:
    async def work(driver: Driver) -> None:
        breakpoints = driver.session.breakpoints
        await driver.stop()
        for number, (module, function) in enumerate([("math", "sin"), ("time", "sleep")], 1):
            await breakpoints.add(f"py:{module}.{function}")
            while len(driver.notices) < number:
                await driver.next(object)
            notice = driver.notices[-1]
            assert "built in" in notice.message
            if module in sys.builtin_module_names:  # in an interpreter that may be stripped
                assert re.search(r"break (\w+|\S+\+0x[0-9a-f]+)$", notice.hint)
            else:
                assert notice.hint.endswith("break math_sin")
        [row] = await breakpoints.add("py:helpers.renamed")
        while breakpoints.get(row.id).state is not BreakpointState.VERIFIED:
            await driver.next(object)
        assert name((await driver.resume()).frame) == "helpers.py:8"
        await driver.finish_run()

    run_session(work, program, "program.py:9")


def test_a_condition_without_a_value_stops_once_and_says_why(program: Path) -> None:
    seen, driver = stops(program, "program.py:7 if nope > 1", 'program.py:8 log "{value}" if nope')
    assert [stop.breakpoints for stop in seen] == [(1,), (2,)]
    for stop in seen:
        assert stop.description is not None and "name 'nope' is not defined" in stop.description
    assert all(row.enabled for row in driver.session.breakpoints.all()) and not driver.console.strip()


def test_log_texts_and_what_fails_in_them_is_said_once_and_counted_at_the_end(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a condition leaves out is not evaluated. debugpy writes a failure at each hit, as if it were the text."""
    logs = ['program.py:7 log "{nope} of {value}"', 'program.py:8 log "{6 // (value - 4)}" if value > 4']
    logs += [
        'raise:KeyError log "at {nope!r}"',
        'program.py:7 log "{{v}} {value:.1f} {[value][0:1]}" if value > 4',
    ]
    seen, driver = stops(program, *logs)
    lines = [line for line in driver.console.splitlines() if line]
    assert seen == [] and lines[-1] == "at <NameError>"
    assert [line for line in lines if "of" in line] == [
        f"<NameError> of {value}" for value in (0, 1, 2, 3, 4, 5, 9)
    ]
    assert [line for line in lines if line.isdecimal()] == ["6", "1"]
    assert [line for line in lines if line.startswith("{")] == ["{v} 5.0 [5]", "{v} 9.0 [9]"]
    why = "in its log text has no value: NameError: name 'nope' is not defined"
    assert [notice.message for notice in driver.notices if "log text" in notice.message] == [
        f"breakpoint 1: {{nope}} {why}",
        f"breakpoint 3: {{nope!r}} {why}",
        "breakpoint 1: {nope} in its log text had no value 7 times",
    ]
    assert capfd.readouterr().out == "[1, 2, 3, 4, 5, 6]\n"


def test_functions_are_found_in_the_source(program: Path) -> None:
    path = [str(program.parent), *sys.path]
    found = find_function("Model.forward", program, path)
    assert found == FunctionDefinition(str(program.parent / "helpers.py"), 4, "forward")
    assert find_function("helpers.renamed", program, path) == NoFunction(
        str(program.parent / "helpers.py"), f"{program.parent / 'helpers.py'} defines no function renamed"
    )
    missing = find_function("nowhere.f", program, path)
    assert isinstance(missing, NoFunction) and missing.module is None
    assert isinstance(find_function("json.dumps", None, path), FunctionDefinition)
    assert "helpers" not in sys.modules


def test_rows_of_one_place_are_joined() -> None:
    texts = ["p.py:1 if a", "p.py:2", "p.py:1 hits 2", 'p.py:1 log "{x:.1f}" if c']
    breakpoints = list(enumerate(map(parse_spec, texts), 1))
    rows = [{"line": spec.line, **suffixes(str(id), spec, None)} for id, spec in breakpoints]
    joined, sources = join(rows, "line", [(id, str(id), spec) for id, spec in breakpoints])
    assert sources == [[0, 2, 3], [1]] and joined[1] == {"line": 2}
    assert set(joined[0]) == {"line", "condition"}
    compile(joined[0]["condition"], "condition", "eval")


def test_each_of_several_on_one_line_is_named_when_it_holds(tmp_path: Path) -> None:
    """The last one is temporary, on another line that runs as often."""
    path = tmp_path / "line.py"
    path.write_text("def g(i):\n    return i\nfor i in range(4):\n    g(i)\n")
    log = 'line.py:2 log "at {i:.1f} {nope}" if i > 1'
    specs = ["line.py:2 if i == 1", "line.py:2 if i >= 2", log, "line.py:2 hits 3", "line.py:4 tbreak"]
    seen, driver = stops(path, *specs)
    assert [stop.breakpoints for stop in seen] == [(5,), (1,), (2, 4), (2, 4)]
    assert [row.id for row in driver.session.breakpoints.all()] == [1, 2, 3, 4]
    lines = [line for line in driver.console.splitlines() if line]
    assert lines == ["at 2.0 <NameError>", "at 3.0 <NameError>"]


def test_an_exception_names_the_breakpoints_that_it_meets(tmp_path: Path) -> None:
    path = tmp_path / "raising.py"
    path.write_text('import json\ntry:\n    int("x")\nexcept ValueError:\n    pass\njson.loads("{")\n')
    specs = ("raise:ValueError", "raise:KeyError", "raise:json.JSONDecodeError", "uncaught", "raise")
    seen, _ = stops(path, *specs)
    assert [stop.breakpoints for stop in seen] == [(1, 5), (1, 3, 5), (4,)]
    assert seen[2].description is not None and seen[2].description.startswith("JSONDecodeError: Expecting")


FROM_CXX = """\
import sample_pybind
calls = [(sample_pybind.check_reading, 101.0), (sample_pybind.check_positive, -1.0)]
for f, argument in [*calls, (int, "value is negative"), (sample_pybind.raise_error, "boo")]:
    try:
        f(argument)
    except Exception as error:
        print(error)
"""


def test_an_exception_that_came_out_of_cxx_says_where_it_was_thrown(
    tmp_path: Path, env: dict[str, str]
) -> None:
    path = tmp_path / "from_cxx.py"
    path.write_text(FROM_CXX)

    async def work(driver: Driver) -> list[str]:
        texts = [(await driver.stop()).description or ""]
        texts += [(await driver.resume()).description or "" for _ in range(3)]
        await driver.session.breakpoints.remove(1)
        await driver.finish_run()
        return texts

    reading, positive, plain, raised = run_session(work, path, "raise", env=env)
    assert "thrown in sample::check_reading at helper.cpp:39 as sample::SensorError" in reading
    assert "thrown in sample::check_positive at helper.cpp:46 as std::runtime_error" in positive
    assert "thrown" not in plain and "value is negative" in plain
    assert "raise_error at sample_pybind.cpp" in raised


def test_a_bare_name_is_bound_when_a_function_of_that_name_is_known(program: Path) -> None:
    """debugpy takes any name. Written in the program: bound. Made at run time: bound by its first hit. Else: never."""
    hidden = 'import importlib\nimportlib.import_module("la" + "te").made()\n'
    source = program.read_text().replace("\nrenamed()\n", f"\nrenamed()\n{hidden}")
    program.write_text(source)
    (program.parent / "late.py").write_text("def made():\n    pass\n")
    states: list[tuple[int, str]] = []

    async def work(driver: Driver) -> None:
        await driver.stop()
        states.extend((row.id, row.state.value) for row in driver.session.breakpoints.all())
        await driver.session.resume()
        stop = await driver.stop()
        while stop.breakpoints != (2,):
            await driver.session.resume()
            stop = await driver.stop()
        states.append((2, driver.session.breakpoints.get(2).state.value))
        await driver.session.resume()
        await driver.exit()

    told: list[str] = []

    async def both(driver: Driver) -> None:
        await work(driver)
        told.extend(notice.message for notice in driver.notices)

    run_session(both, program, "py:forward", "py:made", "py:nosuch")
    assert states == [(1, "verified"), (2, "pending"), (3, "pending"), (2, "verified")]
    assert [text for text in told if "never bound" in text] == ["breakpoint 3 (py:nosuch) never bound"]
