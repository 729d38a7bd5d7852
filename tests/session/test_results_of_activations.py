"""The result that is told is that of the very call in which the step began, whoever has called it, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, Reason, Stopped
from tests import rows
from tests.session.driver import Driver, name, run_session
from tests.support import other_interpreter

# Each function whose name is in EXPECTED has its breakpoint on the last line, and ends on the line that has its name.
PROGRAM = """\
import asyncio, contextlib, copy, functools, json, re, threading, timeit, unittest, weakref

def timed():
    value = 1
    return value  # stop

def described(thing):
    value = "thing"
    return value  # stop

def replaced(match):
    value = "yy"
    return value  # stop

def doubled(x):
    value = x * 2
    return value  # stop

@functools.lru_cache(maxsize=None)
def cached(x):
    value = x + 4
    return value  # stop

class Box:
    @property
    def prop(self):
        value = 5
        return value  # stop
    def __deepcopy__(self, memo):
        value = 6
        return value  # stop
    def __bool__(self):
        value = True
        return value  # stop
    def __del__(self):
        value = 8
        return value  # stop

def ordered(x):
    value = -x
    return value  # stop

def raising():
    value = 1
    raise KeyError(value)  # stop

def suppressed():
    value = 1
    raise KeyError(value)  # stop

def asserted():
    value = 1
    raise KeyError(value)  # stop

def nothing():
    value = None
    return value  # stop

def recursive(n):
    below = recursive(n - 1) if n else 100
    return below + n  # stop

def numbers():
    yield 1
    value = 2
    return value  # stop

async def awaited():
    value = 11
    return value  # stop

def wrapped(x):
    value = x + 14
    return value  # stop

def decorator(f):
    @functools.wraps(f)
    def wrapper(*given):
        return f(*given)  # wrapped
    return wrapper

def finalizer():
    value = 15
    return value  # stop

def threaded():
    value = 16
    return value  # stop

class Thread(threading.Thread):
    def run(self):
        super().run()  # threaded

def sibling(value=1):
    return value

def test_asserted():
    unittest.TestCase().assertRaises(KeyError, asserted)  # asserted

async def main():
    return await awaited() + sibling()  # awaited

timeit.timeit(timed, number=1) + sibling()  # timed
json.dumps({"a": Box}, default=described) + sibling("")  # described
re.sub("x", replaced, "axb") + sibling("")  # replaced
space = {"doubled": doubled, "sibling": sibling}
exec(compile("def late(x):\\n    return doubled(x) + sibling() * 100\\n", "<generated>", "exec"), space)
space["late"](5) + sibling()  # doubled
cached(1) + sibling()  # cached
box = Box()
box.prop + sibling()  # prop
copy.deepcopy([box])[0] + sibling()  # __deepcopy__
(not box) + sibling()  # __bool__
sorted([7], key=ordered) + [sibling()]  # ordered
try:
    sibling() + raising()  # raising
except KeyError:
    pass
with contextlib.suppress(KeyError):
    suppressed()  # suppressed
test_asserted()
[nothing(), sibling()]  # nothing
recursive(0)  # recursive
sum(numbers()) + sibling()  # numbers
asyncio.run(main())
decorator(wrapped)(1) + sibling()
weakref.finalize(box, finalizer)() + sibling()  # finalizer
del box  # __del__
thread = Thread(target=threaded)
thread.start()
thread.join()
"""
EXPECTED = {
    "timed": "1",
    "described": "'thing'",
    "replaced": "'yy'",
    "doubled": "10",
    "cached": "5",
    "prop": "5",
    "__deepcopy__": "6",
    "__bool__": "True",
    "ordered": "-7",
    "raising": None,
    "suppressed": None,
    "asserted": None,
    "nothing": "None",
    "recursive": "100",
    "numbers": "2",
    "awaited": "11",
    "wrapped": "15",
    "finalizer": "15",
    "__del__": "8",
    "threaded": "16",
}


@pytest.mark.parametrize("kind", ["finish", "next", "until"])
@pytest.mark.parametrize("version", rows.versions())
def test_a_step_out_tells_the_result_of_its_call_and_ends_where_that_was_made(
    tmp_path: Path, version: str, kind: str
) -> None:
    """Not what a library has made of it, nor in a function that the line, or the library, calls next."""
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    lines = PROGRAM.splitlines()
    ends = {text.partition("  # ")[2]: f"script.py:{number}" for number, text in enumerate(lines, 1)}

    async def work(driver: Driver) -> dict[str, str | None]:
        found = {}
        await driver.stop()
        for function in EXPECTED:
            frame = driver.session.stop.frame if driver.session.stop else None
            assert frame is not None and frame.function == function
            stop = await driver.step(kind)
            assert (name(stop.frame), stop.reason) == (ends[function], Reason.STEP), function
            result = stop.result
            assert result is None or result.name == f"(return) {function}"
            found[function] = None if result is None else result.value
            assert stop.frame is not None
            shown = await driver.session.inspector.variables(stop.thread.tid, stop.frame)
            told = [one.value for one in shown if one.name.startswith("(return)")]
            assert told == [one for one in [found[function]] if one is not None]
            await driver.session.resume()
            await driver.next(Stopped, Exited)
        return found

    breakpoints = [f"script.py:{number}" for number, text in enumerate(lines, 1) if text.endswith("# stop")]
    options = {"python": str(other_interpreter(version))}
    assert run_session(work, script, *breakpoints, launch_options=options) == EXPECTED


CALLS = """\
def known():
    return 111
def raising():
    raise KeyError
def nothing():
    pass
def caller():
    a = known()
    b = 1
    try:
        b = known() + raising()
    except KeyError:
        nothing()
    return a
caller()
"""


@pytest.mark.parametrize("version", rows.versions())
def test_what_calls_have_returned_is_shown_after_the_step_over_them_alone(
    tmp_path: Path, version: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(CALLS)

    async def work(driver: Driver) -> dict[str, list[tuple[str, str]]]:
        stop, found = await driver.stop(), {}
        while not name(stop.frame).endswith(":15"):
            stop = await driver.step("next")
            assert stop.frame is not None
            shown = await driver.session.inspector.variables(stop.thread.tid, stop.frame)
            told = [(one.name, one.value) for one in shown if one.name.startswith("(return)")]
            found[name(stop.frame)] = told
        await driver.finish_run()
        return found

    options = {"python": str(other_interpreter(version))}
    found = run_session(work, script, "script.py:8", launch_options=options)
    known = ("(return) known", "111")
    knows_none = int(version.partition(".")[2]) >= 12  # before, pydevd notes it for what has raised, too
    assert {place: told for place, told in found.items() if told} == {
        "script.py:9": [known],
        "script.py:12": [known],  # and not None of the one that has raised
        **({"script.py:14": [("(return) nothing", "None")]} if knows_none else {}),
        "script.py:15": [("(return) caller", "111")],
    }
