"""``breakpoint()`` where no line follows: the program stops, on the line of the call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dualdbg.shared import python_versions
from tests import rows, support
from tests.cli.driver import dualdbg
from tests.support import ROOT

_WITH = "with x:\n    breakpoint()"
_FINALLY = "try:\n    pass\nfinally:\n    breakpoint()\ny = 2"
# Where the call is in each source; what follows it.
SOURCES = {
    "breakpoint()": "return",
    "breakpoint()\nx = 1": "line",
    "x = 1; breakpoint(); y = 2": "return",
    "breakpoint(); raise ValueError": "raise",
    "y = 1 if x == 1 else breakpoint()\nz = 3": "line",
    "y = breakpoint() if x else 1\nz = 3": "line",
    "for i in range(2):\n    breakpoint()": "line",
    "for i in range(2): breakpoint()": "return",
    "while True: breakpoint()": "return",
    "if 1 < x:\n    breakpoint()\nelse:\n    y = 2": "return",
    "if 1 < x:\n    breakpoint()\nelse:\n    y = 2\nz = 3": "line",
    _WITH: "line",
    "try:\n    breakpoint()\nfinally:\n    y = 2": "line",
    "try:\n    breakpoint()\nexcept ValueError:\n    y = 2": "return",
    "try:\n    1 / 0\nfinally:\n    breakpoint()\ny = 2": "raise",
    _FINALLY: "line",
    "assert breakpoint()": "raise",
    "for y in breakpoint():\n    pass": "return",
    "def f():\n    yield breakpoint()\n    y = 2\nnext(f())": "return",
    "def f():\n    yield from breakpoint()\n    y = 2\nnext(f())": "line",
    "async def f():\n    await breakpoint()\nf().send(None)": "return",
    "async def f():\n    await breakpoint()\n    y = 2\nf().send(None)": "line",
}
ASK = """\
import json, sys
names = {"__name__": "last_line"}
exec(open(sys.argv[1]).read(), names)
answers = []
for text in json.loads(sys.argv[2]):
    code = compile(text, "source", "exec")
    frames = []
    class Managed:
        __enter__ = __exit__ = lambda *given: None
    def call():
        frame = sys._getframe(1)
        frames.append((frame.f_code, frame.f_lasti, frame.f_lineno))
        raise KeyError
    try:
        exec(code, {"breakpoint": call, "x": Managed() if "with" in text else 2})
    except KeyError:
        pass
    answers.append(names["what_follows"](*frames[0]))
print(json.dumps(answers))
"""


@pytest.mark.parametrize("version", python_versions.NAMES)
def test_what_follows(version: str) -> None:
    module = ROOT / "dualdbg/target/bootstrap/pydevd_patches/dualdbg_last_line.py"
    python = str(support.other_interpreter(version))
    told = subprocess.run(
        [python, "-I", "-c", ASK, str(module), json.dumps([*SOURCES])],
        capture_output=True,
        text=True,
        check=True,
    )
    of_version = {}
    if version in ("3.8", "3.9"):  # the end of a block is no line
        of_version[_WITH] = "raise" if version == "3.8" else "return"
    if version == "3.8":  # one code for both ways
        of_version[_FINALLY] = "raise"
    expected = {**SOURCES, **of_version}
    assert dict(zip(SOURCES, json.loads(told.stdout), strict=True)) == expected


@pytest.mark.processes
@pytest.mark.parametrize("version", rows.versions())
def test_the_last_line_of_a_program_stops(version: str, tmp_path: Path) -> None:
    """In the module, and in a function that is called by the last line."""
    python = str(support.other_interpreter(version))
    script = tmp_path / "last.py"
    script.write_text(
        "import sys\ndef f(x):\n    breakpoint()\nif len(sys.argv) > 1:\n    f(7)\nelse:\n    breakpoint()\n"
    )
    words = ["run", "--batch", "--python", python, "-x", "bt", "-x", "locals", "-x", "continue"]
    module = dualdbg(*words, str(script)).stdout
    assert "* Breakpoint: Python" in module and f">#0 py   <module>  {script}:7\n" in module
    function = dualdbg(*words, str(script), "function").stdout
    assert f">#0 py   f  {script}:3\n #1 py   <module>  {script}:5\n" in function
    assert "x = 7" in function or "x  7" in function
    assert module.endswith("The program ended with status 0\n") and function.endswith(
        "The program ended with status 0\n"
    )


@pytest.mark.processes
@pytest.mark.parametrize("version", rows.versions())
def test_a_loop_in_one_line_stops_in_each_round(version: str, tmp_path: Path) -> None:
    python = str(support.other_interpreter(version))
    script = tmp_path / "loop.py"
    script.write_text("for i in range(2): breakpoint()\n")
    shown = dualdbg("run", "--batch", "--python", python, *["-x", "continue"] * 2, str(script)).stdout
    assert shown.count("* Breakpoint: Python") == 2
    assert shown.endswith("The program ended with status 0\n")
