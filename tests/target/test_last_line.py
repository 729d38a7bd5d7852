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
# Where the call is in each source; whether a line follows it.
SOURCES = {
    "breakpoint()": False,
    "breakpoint()\nx = 1": True,
    "x = 1; breakpoint(); y = 2": False,
    "for i in range(2):\n    breakpoint()": True,
    "while True: breakpoint()": True,
    "if 1 < x:\n    breakpoint()\nelse:\n    y = 2": False,
    "if 1 < x:\n    breakpoint()\nelse:\n    y = 2\nz = 3": True,
    _WITH: True,
    "try:\n    breakpoint()\nfinally:\n    y = 2": True,
    "try:\n    breakpoint()\nexcept ValueError:\n    y = 2": False,
    "assert breakpoint(), (\n    'text')": True,
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
        frames.append((frame.f_lasti, frame.f_lineno))
        raise KeyError
    try:
        exec(code, {"breakpoint": call, "x": Managed() if "with" in text else 2})
    except KeyError:
        pass
    answers.append(names["line_follows"](code, *frames[0]))
print(json.dumps(answers))
"""


@pytest.mark.parametrize("version", python_versions.NAMES)
def test_whether_a_line_follows(version: str) -> None:
    module = ROOT / "dualdbg/target/bootstrap/dualdbg_last_line.py"
    python = str(support.other_interpreter(version))
    told = subprocess.run(
        [python, "-I", "-c", ASK, str(module), json.dumps([*SOURCES])],
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {**SOURCES, _WITH: version not in ("3.8", "3.9")}  # before 3.10 the end of a block is no line
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
