"""The table of ``dualdbg trace`` while the program runs: what it says, and what it leaves on the terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from dualdbg.console.live_table import LiveRow, lines
from dualdbg.trace.python_lines import PythonLine
from tests import warm
from tests.trace import test_counts

_LINE = PythonLine("Model.forward", "/a/very/long/folder/of/some/project/with/a/model/train.py", 14)


@pytest.mark.pure
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_lines_fit(width: int) -> None:
    rows = [
        LiveRow("at::native::a_function_with_a_rather_long_name", "first", 123456789, _LINE, 1.5),
        LiveRow("copy_", "copy_", 20, _LINE, 2e-6),
        LiveRow("never", "never", 0, None, 0.0),
    ]
    said = lines(rows, {"copy_": 10}, 0.5, 6, width)
    assert len(said) == 6 and all(len(line) <= width for line in said)
    assert said[0].split()[:4] == ["hits", "a", "second", "time"]
    assert said[1].split()[0] == "123,456,789"
    assert said[2].split()[:2] == ["20", "20"]
    assert said[3:] == ["", "", ""]
    if width >= 80:
        assert said[2].endswith("train.py:14 Model.forward") and " copy_ " in said[2]


@pytest.mark.pure
def test_the_functions_with_the_most_hits_are_shown() -> None:
    rows = [LiveRow(f"function_{at}", f"function_{at}", at) for at in range(50)]
    said = lines(rows, {}, 1.0, 4, 80)
    assert [line.split()[-1] for line in said] == ["function", "function_49", "function_48", "function_47"]


@pytest.mark.pure
def test_overloads_have_rates_of_their_own() -> None:
    rows = [LiveRow("f", "f(int)", 30), LiveRow("f", "f(double)", 10), LiveRow("g", "g()", 5)]
    said = lines(rows, {"f(int)": 20, "f(double)": 8}, 1.0, 4, 80)
    assert [line.split()[:2] for line in said[1:]] == [["30", "10"], ["10", "2"], ["5", "0"]]


@pytest.mark.processes
@test_counts.pytestmark[1]
@test_counts.pytestmark[2]
def test_a_terminal_has_it_while_the_program_runs(tmp_path: Path) -> None:
    """The lines of the program stay whole, and the terminal is as before at the end."""
    script = tmp_path / "program.py"
    script.write_text(
        "import ctypes, time\nlibrary = ctypes.CDLL(None)\nbegan = time.monotonic()\nnumber = 0\n"
        "while time.monotonic() - began < 4:\n    for i in range(100): library.getppid()\n"
        "    number += 1\n    print('line', number, flush=True)\n    time.sleep(0.05)\nprint('last', number)\n"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    words = [sys.executable, "-m", "dualdbg", "trace", "-b", "getppid", str(script)]
    process = warm.Popen(words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:  # EIO: all have closed it
        pass
    os.close(ours)
    assert process.wait() == 0
    text = said.decode()
    assert "\x1b[1;16r" in text  # what is above scrolls
    assert text.rindex("\x1b[r") > text.rindex("\x1b[1;16r")  # all of it again
    assert "getppid" in text[: text.rindex("\x1b[r")] and "a second" in text[: text.rindex("\x1b[r")]
    assert "line 1\r\n" in text and "last " in text
