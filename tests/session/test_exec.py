"""A program that replaces itself with another (exec): the session goes on in that one, in both languages."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from dualdbg.model import BreakpointState, PythonFrame, Reason, SessionStarted, State
from tests import rows
from tests.session.driver import Driver, name, run_session
from tests.support import build_native, other_interpreter, wait_until

SECOND = """\
import os, sys
sys.path.insert(0, {native!r})
import sample_capi

def work(a):
    b = a + 1
    return sample_capi.add(b, 2)

ours = [name for name in os.environ if name in ("DUALDBG_TARGET", "DUALDBG_FOLLOW")]
print("second", sys.argv[1:], work(1), ours, os.environ.get("PYTHONPATH"))
sys.exit(7)
"""
PRINTED = "second ['a b', ''] 4.0 [] {}\n"


def second(tmp_path: Path, python: str | Path = sys.executable) -> Path:
    path = tmp_path / "second.py"
    path.write_text(SECOND.format(native=str(build_native(python))))
    return path


def first(tmp_path: Path, call: str, before: str = "") -> Path:
    """A program whose second line replaces it."""
    path = tmp_path / "first.py"
    path.write_text(f"import os, sys; {before}\n{call}\n")
    return path


def call(python: str | Path, script: Path, *options: str) -> str:
    words = ["python", *options, str(script), "a b", ""]
    return f"os.execv({str(python)!r}, {words!r})"


async def both_languages(driver: Driver, script: Path) -> None:
    """At a breakpoint in Python: a step into native code, a native breakpoint, and back."""
    stop = await driver.stop()
    assert stop.reason is Reason.BREAKPOINT and name(stop.frame) == f"{script.name}:6", (stop, driver.notices)
    assert (await driver.names())[:2] == [f"{script.name}:6", f"{script.name}:10"]
    assert name((await driver.step("next")).frame) == f"{script.name}:7"
    stop = await driver.resume()
    assert name(stop.frame) == "capi_add" and stop.reason is Reason.BREAKPOINT
    frames = (await driver.stack()).visible()
    own = next(frame for frame in frames if isinstance(frame, PythonFrame))
    assert (Path(own.file or "").name, own.line) == (script.name, 7)
    assert name((await driver.step("finish")).frame) == f"{script.name}:7"


@pytest.mark.parametrize("version", rows.versions())
def test_another_python_is_debugged_as_the_first_was(
    version: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    python = other_interpreter(version)
    script = second(tmp_path, python)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        pid = driver.session.pid
        assert name(stop.frame) == "first.py:2"
        await driver.session.resume()
        await both_languages(driver, script)
        assert driver.session.pid == pid
        started = [event for event in driver.seen if isinstance(event, SessionStarted)]
        assert [one.pid for one in started] == [pid, pid]
        assert (started[1].python or "").startswith(version)
        exit = await driver.finish_run()
        assert exit.code == 7
        assert not [notice for notice in driver.notices if notice.level != "info"], driver.notices

    run_session(work, first(tmp_path, call(python, script)), "first.py:2", f"{script}:6", "capi_add")
    assert capfd.readouterr().out == PRINTED.format(
        os.pathsep.join([str(Path(__file__).parents[2] / "samples")])
    )


# How a program may replace itself with the next. Each of them is debugged, the last one is ``second.py``.
WAYS = {
    "shell": "os.execv('/bin/sh', ['sh', '-c', 'exec {python} {next} \"a b\" \"\"'])",
    "env": "os.execvp('env', ['env', '{python}', '{next}', 'a b', ''])",
    "thread": "import threading; t = threading.Thread(target=lambda: "
    "os.execv('{python}', ['python', '{next}', 'a b', ''])); t.start(); t.join()",
    "failure": "try: os.execv('/nonexistent', ['x'])\nexcept OSError: pass\n"
    "os.execv('{python}', ['python', '{next}', 'a b', ''])",
    "script": "os.execv('{next}', ['{next}', 'a b', ''])",
    "empty": "os.execve('{python}', ['python', '{next}', 'a b', ''], {{}})",
}


def test_by_whichever_way(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    last = second(tmp_path)
    scripts = [tmp_path / f"{way}.py" for way in list(WAYS)[1:]] + [last]
    text = f"#!{sys.executable}\n" + SECOND.format(native=str(build_native(sys.executable)))
    head = text.replace("\nimport os, sys\n", "\nimport os, sys; ", 1).partition("\nours = ")[0]
    calls = [
        way.format(python=sys.executable, next=script)
        for way, script in zip(WAYS.values(), scripts, strict=True)
    ]
    for script, call_ in zip(scripts[:-1], calls[1:], strict=True):
        script.write_text(f"{head}\n\nwork(1)\n{call_}\n")
        script.chmod(0o755)

    async def work(driver: Driver) -> None:
        for script in scripts[:-1]:
            await both_languages(driver, script)
            await (
                driver.session.resume()
            )  # from a native stop: gdb may still let threads run when the exec comes
        await both_languages(driver, last)
        assert (await driver.finish_run()).code == 7

    places = [f"{script}:6" for script in scripts]
    run_session(work, first(tmp_path, calls[0]), *places, "capi_add")
    assert capfd.readouterr().out == PRINTED.format("None")


# Options that keep what the environment says from Python.
KEPT_OUT = [
    (["-I"], "-I keeps the debugger out"),
    (["-X", "dev", "-SB"], "-SB keeps"),
    (["-E"], "-E keeps"),
    ([], ""),
]


@pytest.mark.parametrize(("options", "words"), KEPT_OUT)
def test_a_python_that_reads_no_environment_says_so(options: list[str], words: str, tmp_path: Path) -> None:
    script = second(tmp_path)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        if words:
            assert name(stop.frame) == "capi_add", "native debugging goes on"
            [told] = [notice.message for notice in driver.notices if notice.level == "warning"]
            assert words in told
            [row] = [row for row in driver.session.breakpoints.all() if row.id == 1]
            assert row.state is BreakpointState.REJECTED and words in (row.message or "")
        else:
            assert name(stop.frame) == "second.py:6"
        assert (await driver.finish_run()).code == 7

    path = first(tmp_path, call(sys.executable, script, *options))
    run_session(work, path, f"{script}:6", "capi_add")


def compiled(tmp_path: Path, text: str) -> Path:
    source, program = tmp_path / "tool.cpp", tmp_path / "tool"
    source.write_text(text)
    subprocess.run(["g++", "-g", "-O0", "-o", str(program), str(source)], check=True)
    return program


def test_a_native_program_is_debugged_natively_and_its_exec_leads_back(tmp_path: Path) -> None:
    script = second(tmp_path)
    words = ", ".join(f'"{word}"' for word in (sys.executable, "python", script, "a b", ""))
    tool = compiled(
        tmp_path,
        "#include <unistd.h>\nint work(int value) {\n    return value + 1;\n}\n"
        f"int main() {{\n    work(6);\n    return execl({words}, nullptr);\n}}\n",
    )

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "work" and stop.origin.value == "native", driver.notices
        assert [name(frame) for frame in (await driver.stack()).visible()][:2] == ["work", "main"]
        assert any("it is no Python" in notice.message for notice in driver.notices)
        await driver.session.resume()
        await both_languages(driver, script)
        assert (await driver.finish_run()).code == 7

    path = first(tmp_path, f"os.execv({str(tool)!r}, ['tool'])")
    run_session(work, path, f"{script}:6", "capi_add", f"{tool.parent}/tool.cpp:3")


def test_a_breakpoint_that_both_programs_have_is_bound_in_each(tmp_path: Path) -> None:
    """The library lies elsewhere in the second one, and gdb's breakpoints of the first are gone."""
    script = second(tmp_path)
    native = str(build_native(sys.executable))
    before = f"sys.path.insert(0, {native!r}); import sample_capi; sample_capi.add(1, 2)"

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "capi_add"
        [row] = driver.session.breakpoints.all()
        there = {place.address for place in row.locations}
        stop = await driver.resume()
        assert name(stop.frame) == "capi_add"
        own = next(one for one in (await driver.stack()).visible() if isinstance(one, PythonFrame))
        assert Path(own.file or "").name == "second.py"
        [row] = driver.session.breakpoints.all()
        assert len(row.locations) == len(there)
        assert (await driver.finish_run()).code == 7

    run_session(work, first(tmp_path, call(sys.executable, script), before), "capi_add")


def test_a_step_over_the_call_ends_with_the_program_and_exceptions_of_the_new_one_stop(
    tmp_path: Path,
) -> None:
    kinds = ["next", "step", "finish"]
    scripts = [tmp_path / f"{kind}.py" for kind in kinds] + [tmp_path / "raises.py"]
    for script, following in pairwise(scripts):
        script.write_text(f"import os\n{call(sys.executable, following)}\n")
    scripts[-1].write_text("def f():\n    raise KeyError('x')\nf()\n")

    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "next.py:2"
        for kind, following in zip(kinds, scripts[1:], strict=True):
            stop = await driver.step(kind)
            assert name(stop.frame) == f"{following.name}:2"
        assert stop.reason is Reason.EXCEPTION
        assert (await driver.finish_run()).code == 1

    run_session(work, scripts[0], *(f"{script}:2" for script in scripts[:-1]), "uncaught")


LONG = """\
import os, sys, time
print("ready", flush=True)
while not os.path.exists({mark!r}):
    time.sleep(0.01)
time.sleep(0.1)
sys.exit(3)
"""


@pytest.mark.parametrize("end", ["pause", "detach", "kill"])
def test_what_is_asked_of_the_new_program(
    end: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script, mark = tmp_path / "second.py", tmp_path / "mark"
    script.write_text(LONG.format(mark=str(mark)))

    async def work(driver: Driver) -> None:
        started = await driver.next(SessionStarted)
        assert (await driver.next(SessionStarted)).pid == started.pid
        text = ""
        while "ready" not in text:
            text += capfd.readouterr().out
            await asyncio.sleep(0.02)
        session = driver.session
        if end == "pause":
            await session.pause()
            stop = await driver.stop()
            names = [name(frame) for frame in (await driver.stack()).visible()]
            assert any(one.startswith("second.py:") for one in names), stop
            mark.touch()
            assert (await driver.finish_run()).code == 3
        elif end == "detach":
            await session.detach()
            assert session.state is State.DETACHED
            mark.touch()
            wait_until(lambda: not Path(f"/proc/{session.pid}").exists(), 30, "it ran on to its end")
        else:
            await session.kill()
            assert (await driver.exit()).signal == 9

    run_session(work, first(tmp_path, call(sys.executable, script)))


def test_names_and_bare_files_are_those_of_the_new_program(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    script = second(folder)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "second.py:10"
        stop = await driver.resume()
        assert name(stop.frame) == "second.py:5"
        assert (await driver.finish_run()).code == 7

    run_session(work, first(tmp_path, call(sys.executable, script)), "py:work", "second.py:10")
