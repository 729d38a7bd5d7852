"""The first step into an extension before gdb has read its types: the same stop, and the same values after it."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.model import NativeFrame, State
from dualdbg.session.stepping import foresight
from dualdbg.shared.requests.base import Request
from dualdbg.shared.requests.breakpoints import CountHits, InsertAtFunction, InsertBreakpoints
from dualdbg.shared.requests.code import FindFunctionBodies
from dualdbg.symbols.address_space import Module
from dualdbg.system.gdb_versions import finds_same_code_without_types
from tests import support
from tests.session.driver import Driver, name, run_session
from tests.support import require

Env = dict[str, str]
BEGINS_WITH_INLINED = """\
#include <Python.h>
static volatile long marks;
static inline __attribute__((always_inline)) void mark(long by) {
    long before = marks;
    marks = before + by;
}
static PyObject *begins(PyObject *self, PyObject *value) {
    mark(3);
    long number = PyLong_AsLong(value);
    return PyLong_FromLong(number + marks);
}
static PyMethodDef methods[] = {{"begins", begins, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "begins_inlined", NULL, -1, methods};
PyMODINIT_FUNC PyInit_begins_inlined(void) { return PyModule_Create(&definition); }
"""


def _module(driver: Driver, word: str) -> Module:
    return next(module for module in driver.session.code.image.modules if word in module.path)


async def _seen(driver: Driver, word: str, at_once: bool) -> tuple[list[Any], list[Any]]:
    """A step from a Python stop: the frames where it ends, and what the innermost shows."""
    reader = driver.session.inspector.reader
    whole: list[str] = []
    if not at_once:
        await reader.prepare(_module(driver, word))
    read = reader.read_whole

    async def noted(module: Module | None = None) -> None:
        whole.append(driver.session.state.name)
        await read(module)

    reader.read_whole = noted  # type: ignore[method-assign]
    stop = await driver.step("step")
    frames = [
        (
            name(one) if one.function is not None else None,
            one.file,
            one.line,
            one.role,
            getattr(one, "library", None),
            getattr(one, "inlined", None),
            getattr(one, "source_language", None),
        )
        for one in (await driver.stack()).frames
    ]
    values = await driver.session.inspector.variables(driver.session.pid, stop.frame)
    has_copy = at_once and finds_same_code_without_types(driver.session.native.version)
    assert whole == ([State.RUNNING.name] if has_copy else [])  # it was begun before the stop was told
    after = (await driver.step("next")).frame
    return [*frames, (name(after), after and after.line)], [(one.name, one.type) for one in values]


def _steps(
    script: Path, env: Env, words: dict[int, str], at_once: bool
) -> dict[int, tuple[list[Any], list[Any]]]:
    """What is seen of a step from each of these lines, in one session."""

    async def work(driver: Driver) -> dict[int, tuple[list[Any], list[Any]]]:
        found = {}
        for line, word in words.items():
            await (driver.resume() if found else driver.stop())
            found[line] = await _seen(driver, word, at_once)
        await driver.finish_run()
        return found

    return run_session(work, script, *(f"{script.name}:{line}" for line in words), env=env)


def test_the_stop_and_its_values_are_those_of_a_step_that_came_later(
    crossing: Path, env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "_LOOK", 1000.0)  # nobody looks ahead
    words = {6: "sample_capi", 7: "sample_pybind", 10: "sample_pybind"}
    later = _steps(crossing, env, words, at_once=False)
    for lines in ((6, 7), (10,)):  # of each extension the types are read once
        at_once = _steps(crossing, env, {line: words[line] for line in lines}, at_once=True)
        for line in lines:
            assert at_once[line] == later[line], line
            assert at_once[line][1]


@pytest.fixture
def inlined(tmp_path: Path) -> Callable[[str], tuple[Path, Env]]:
    """A script that calls a function of C on its line 3, which begins with an inlined one; and what it needs."""
    compiler = support.require(shutil.which("cc"), "a C compiler")

    def build(level: str) -> tuple[Path, Env]:
        source = tmp_path / "begins_inlined.c"
        source.write_text(BEGINS_WITH_INLINED)
        options = ["-shared", "-fPIC", "-g", level, f"-I{sysconfig.get_paths()['include']}"]
        module = source.with_name(f"{source.stem}.abi3.so")
        subprocess.run([compiler, *options, source, "-o", module], check=True)
        script = tmp_path / "program.py"
        script.write_text("import begins_inlined\nx = 1\nbegins_inlined.begins(x)\n")
        return script, {"PYTHONPATH": str(tmp_path)}

    return build


@pytest.mark.parametrize(("level", "lines"), [("-O0", {8}), ("-O2", {7, 8})])
def test_a_function_that_begins_with_an_inlined_one(
    level: str,
    lines: set[int],
    inlined: Callable[[str], tuple[Path, Env]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """gdb hides the inlined one by a pointer to its symbol, which is gone once all symbols are read."""
    monkeypatch.setattr(foresight, "_LOOK", 1000.0)
    script, env = inlined(level)
    at_once, later = (_steps(script, env, {3: "begins_inlined"}, now)[3] for now in (True, False))
    assert at_once == later
    # Debug info of -O2 has the first instruction on line 4, which is not this function's; GCC 16's knows the call.
    function, line = at_once[0][0][::2][:2]
    assert function == "begins" and line in lines


def test_symbols_that_gdb_needs_at_a_stop_stay(
    inlined: Callable[[str], tuple[Path, Env]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "_LOOK", 1000.0)
    script, env = inlined("-O0")

    async def work(driver: Driver) -> None:
        await driver.stop()
        reader, native = driver.session.inspector.reader, driver.session.native

        ask = native.ask

        async def hidden(request: Request[Any], deadline: float | None = None) -> Any:
            if isinstance(request, InsertBreakpoints):
                at = request.addresses
                return [await ask(InsertAtFunction(one, None, request.gdb_thread)) for one in at]
            return await ask(request, deadline)

        monkeypatch.setattr(native, "ask", hidden)  # as a breakpoint of the user's was set before
        stop = await driver.step("step")
        assert isinstance(stop.frame, NativeFrame) and (name(stop.frame), stop.frame.line) == ("begins", 8)
        if not finds_same_code_without_types(native.version):
            return
        await driver.session.inspector.variables(driver.session.pid, stop.frame)
        await reader.read_whole()
        assert reader.has_more_to_read
        after = await driver.step("next")
        assert name(after.frame) == "begins"
        await reader.read_whole()
        assert not reader.has_more_to_read
        values = await driver.session.inspector.variables(driver.session.pid, after.frame)
        assert "number" in [one.name for one in values]
        await driver.finish_run()

    run_session(work, script, f"{script}:3", env=env)


def test_a_breakpoint_finds_what_it_needs_while_gdb_has_lines_alone(
    crossing: Path, env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "_LOOK", 1000.0)

    async def work(driver: Driver) -> None:
        await driver.stop()
        reader, module = driver.session.inspector.reader, _module(driver, "sample_pybind")
        await reader.prepare_lines(module)
        has_copy = finds_same_code_without_types(driver.session.native.version)
        assert reader.has_more_to_read is has_copy and reader.is_prepared(module)
        (add,) = driver.session.code.image.find("add", [module])
        places = await driver.session.native.ask(FindFunctionBodies([add.address]))
        (number,) = await driver.session.native.ask(InsertBreakpoints(1, places))
        rows = await driver.session.breakpoints.add("call_back if value == 10.0")
        assert not reader.has_more_to_read
        assert any(one.address for row in rows for one in row.locations)
        assert await driver.session.native.ask(FindFunctionBodies([add.address])) == places
        stop = await driver.resume()
        assert await driver.session.native.ask(CountHits(number)) == 1  # it is where it was
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        values = await driver.session.inspector.variables(driver.session.pid, stop.frame)
        assert ("value", "10") in [(one.name, one.value) for one in values]
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:5", env=env)


def test_what_was_damaged_in_the_cache_is_made_anew(
    crossing: Path, env: Env, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(foresight, "_LOOK", 1000.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def frames() -> list[Any]:
        return _steps(crossing, env, {7: "sample_pybind"}, at_once=True)[7][0]

    before = frames()
    made = [one for one in (tmp_path / "dualdbg").iterdir() if one.suffix == ".elf"]
    assert any(one.name.startswith("unwind") for one in made)
    for one in made:
        one.write_bytes(bytes(one.stat().st_size))
    assert frames() == before
    assert all(any(one.read_bytes()) for one in made)


INLINED = """\
#include <Python.h>
namespace geo {
int deep(int value) { return value + 1; }
static inline __attribute__((always_inline)) int middle(int value) { return deep(value) * 2; }
}
static PyObject *call(PyObject *, PyObject *value) { return PyLong_FromLong(geo::middle(PyLong_AsLong(value))); }
static PyMethodDef methods[] = {{"call", call, METH_O, 0}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "always", 0, -1, methods};
PyMODINIT_FUNC PyInit_always() { return PyModule_Create(&module); }
"""


def test_what_was_inlined_has_its_scopes_where_gdb_has_lines_alone(tmp_path: Path) -> None:
    source, script = tmp_path / "always.cpp", tmp_path / "program.py"
    source.write_text(INLINED)
    script.write_text("import always\nx = 1\nalways.call(3)\n")
    output = tmp_path / f"always{sysconfig.get_config_var('EXT_SUFFIX')}"
    options = ["-shared", "-fPIC", "-g", "-O0", f"-I{sysconfig.get_path('include')}", "-o", str(output)]
    subprocess.run([require(shutil.which("g++"), "g++"), *options, str(source)], check=True)

    async def work(driver: Driver) -> None:
        await driver.stop()
        reader, module = driver.session.inspector.reader, _module(driver, "always")
        (deep,) = driver.session.code.image.find("deep", [module])
        await driver.session.breakpoints.add(f"*{deep.address:#x}")
        await reader.prepare_lines(module)
        await driver.resume()
        frames = [one for one in (await driver.stack()).frames if isinstance(one, NativeFrame)][:3]
        assert [(name(one), one.inlined, one.source_language) for one in frames] == [
            ("geo::deep", False, "c++"),
            ("geo::middle", True, "c++"),
            ("call", False, "c++"),
        ]
        await driver.finish_run()

    run_session(work, script, "program.py:2", env={"PYTHONPATH": str(tmp_path)})
