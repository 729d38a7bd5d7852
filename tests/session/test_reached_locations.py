"""A breakpoint is verified where it stops: the file that is meant, code that has been loaded, the line itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Breakpoint, BreakpointState, Exited, NativeFrame, Notice, Stop, Stopped
from dualdbg.stacks.roles import up_to_no_code
from tests import rows
from tests.session.driver import Driver, name, run_session
from tests.support import find_interpreter, require

VERIFIED, PENDING = BreakpointState.VERIFIED, BreakpointState.PENDING

CODE = """\
#include <initializer_list>
struct Temporary { Temporary(int n) : n(n) {} ~Temporary() { n = 0; } int n; };
struct Sum {
    int total = 0;
    Sum(std::initializer_list<Temporary> all) { for (auto &one : all) total += one.n; }
    ~Sum() { total = -1; }
};
inline namespace v2 { int doubled(int n) { return 2 * n; } }
extern "C" int NAME(int n) {
    Sum first{1, n};
    for (int i = 0; i < 2; i++) {
        Sum inner{i, n};
        n += inner.total;
    }
    if (n > 100)
        return 0;
    int result = n + doubled(first.total);
    return result;
}
extern "C" __attribute__((noinline)) int smash() {
    void *volatile *frame = (void *volatile *)__builtin_frame_address(0);
    for (int i = 1; i < 40; i++)
        frame[i] = (void *)0x4141414141414141;
    return 0;
}
"""
LOADS = """\
import ctypes
for at in ("one", "two", "mapped"):
    print(getattr(ctypes.CDLL(f"./{at}.so"), at)(3))
ctypes.CDLL("./one.so").smash()
"""


def build(folder: Path) -> None:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    for at in ("one", "two", "mapped"):
        (folder / at).mkdir()
        (folder / at / "sum.cpp").write_text(CODE.replace("NAME", at))
        options = [f"-fdebug-prefix-map={folder}=."] if at == "mapped" else []
        source = folder / at / "sum.cpp" if at == "mapped" else "sum.cpp"
        words = [
            "-O0",
            "-g",
            "-fno-stack-protector",
            "-fPIC",
            "-shared",
            *options,
            source,
            "-o",
            folder / f"{at}.so",
        ]
        subprocess.run([compiler, *words], check=True, cwd=folder / at)


def test_native_lines_of_the_file_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path)
    (tmp_path / "link").symlink_to("one")
    (tmp_path / "app.py").write_text(LOADS)
    monkeypatch.chdir(tmp_path)
    of_one = [
        "./one/sum.cpp:19",
        "one//sum.cpp:19",
        "two/../one/sum.cpp:19",
        "link/sum.cpp:19",
        f"{tmp_path}/one/sum.cpp:19",
    ]
    mapped = f"{tmp_path}/mapped/sum.cpp:14"
    others = [mapped, "sum.cpp:17", "one/sum.cpp:600", "/nowhere/one/sum.cpp:19", "doubled"]

    async def work(driver: Driver) -> None:
        table = driver.session.breakpoints
        seen = []
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited) or not event.stop.breakpoints:
                break
            frame = event.stop.frame
            assert isinstance(frame, NativeFrame)
            values = {}
            if frame.line == 19:
                rows_ = await driver.session.inspector.variables(event.stop.thread.tid, frame)
                values = {row.name: row.value for row in rows_}
            seen.append((Path(frame.file or "").parent.name, frame.line, values.get("result")))
            await driver.session.resume()
        ends = [row for row in seen if row[1] in (14, 19)]
        # Where the function ends, not where temporaries end in the middle of it; and each round of a loop.
        assert ends == [("one", 19, "21"), ("mapped", 14, None), ("mapped", 14, None)], seen
        assert [row[0] for row in seen if row[1] == 17] == ["one", "two", "mapped"]
        assert sum(row[1] == 8 for row in seen) == 3  # of an inline namespace
        states = {row.spec.text: row for row in table.all()}
        assert {states[one].state for one in of_one} == {VERIFIED}
        assert states["sum.cpp:17"].message is not None and "means" in states["sum.cpp:17"].message
        assert states["one/sum.cpp:600"].message == "one/sum.cpp has 25 lines"
        assert states["/nowhere/one/sum.cpp:19"].state is PENDING
        # The stack that was overwritten ends where it leads to no code.
        stack = await driver.stack()
        assert name(stack.frames[0]).startswith("smash"), stack
        assert [name(one) for one in stack.frames[1:3]] == ["0x4141414141414141", "app.py:4"]
        assert stack.note is not None and "corrupt stack?" in stack.note
        await driver.session.kill()

    run_session(work, tmp_path / "app.py", *of_one, *others)


FRAMES = [  # (return addresses, those that are code, how many frames are kept)
    ([1, 2, 3], {1, 2, 3}, 3),
    ([1, 9, 9, 9], {1}, 2),
    ([9, 2, 3], {2, 3}, 3),  # a bad pointer was called
    ([9, 9, 9], set(), 1),
    ([1, 2, 9, 4], {1, 2, 4}, 3),
    ([], set(), 0),
]


@pytest.mark.parametrize(("addresses", "code", "kept"), FRAMES)
def test_a_stack_ends_at_a_return_address_that_is_no_code(
    addresses: list[int], code: set[int], kept: int
) -> None:
    frames = [NativeFrame(level, pc, None, None, is_call=level > 0) for level, pc in enumerate(addresses)]
    assert len(up_to_no_code(frames, code.__contains__)) == kept


PROGRAM = """\
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
import pkg.core
def area(w):
    return pkg.core.half(w)
area(4)
"""
CORE = '''\
top = 1
def half(x):
    """Halve.

    It does."""
    # nothing
    y = x // 2
    return y
'''


_Outcome = tuple[list[Stop], dict[str, list[BreakpointState]], dict[str, Breakpoint], list[Notice]]


@pytest.mark.parametrize("version", rows.versions())
def test_python_waits_for_code_of_the_very_file(tmp_path: Path, version: str) -> None:
    interpreter = require(find_interpreter(version), f"Python {version} is not installed", outside=True)
    for folder in ("lib", "src"):
        (tmp_path / folder / "pkg").mkdir(parents=True)
        (tmp_path / folder / "pkg" / "__init__.py").touch()
        (tmp_path / folder / "pkg" / "core.py").write_text(CORE)
    (tmp_path / "app.py").write_text(PROGRAM)
    imported, copy = "lib/pkg/core.py", "src/pkg/core.py"
    specs = [
        "./app.py:6",
        f"{imported}:8",
        f"{copy}:8",
        f"{imported}:4",
        "pkg/core.py:1",
        "py:pkg.core.half",
        "py:__main__.area",
        "nowhere.py:1",
    ]

    async def work(driver: Driver) -> _Outcome:
        history = {row.spec.text: [row.state] for row in driver.session.breakpoints.all()}
        seen: list[Stop] = []
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            seen.append(event.stop)
            await driver.session.resume()
        for event in driver.breakpoint_events():
            history[event.breakpoint.spec.text].append(event.breakpoint.state)
        return seen, history, {row.spec.text: row for row in driver.session.breakpoints.all()}, driver.notices

    options = {"python": str(interpreter), "cwd": str(tmp_path)}
    seen, history, rows_, notices = run_session(work, tmp_path / "app.py", *specs, launch_options=options)
    stops = [(name(stop.frame), [specs[id - 1] for id in stop.breakpoints]) for stop in seen]
    assert stops == [
        ("core.py:1", ["pkg/core.py:1"]),
        ("core.py:2", [f"{imported}:4"]),
        ("app.py:6", ["./app.py:6"]),
        ("app.py:4", ["py:__main__.area"]),
        ("core.py:2", ["py:pkg.core.half"]),
        ("core.py:8", [f"{imported}:8"]),
    ]
    waited = [spec for spec in specs if history[spec][0] is PENDING]
    assert set(specs) - set(waited) == {"./app.py:6", "py:__main__.area"}
    assert {spec for spec in specs if rows_[spec].state is PENDING} == {f"{copy}:8", "nowhere.py:1"}
    moved = rows_[f"{imported}:4"]
    assert moved.locations[0].line == 2 and "has no code: it stops at line 2" in (moved.message or "")
    hints = {
        notice.message.partition(" never ")[0]: notice
        for notice in notices
        if " never reached" in notice.message
    }
    assert hints[f"breakpoint 3 ({copy}:8)"].hint == f"the program has imported {tmp_path / imported}"
    assert "there is no file" in hints["breakpoint 8 (nowhere.py:1)"].hint
