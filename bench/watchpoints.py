"""What a watchpoint of Python costs the program, by Python, beside a condition that debugpy evaluates at each line.

The program times its own loop of four lines, one of them in a function that it calls.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import find_interpreter

VERSIONS = ("3.11", "3.13")
ROUNDS = 3
COUNT = 50_000
PROGRAM = f"""\
import time
class Box:
    def __init__(self):
        self.count = 0
        self.table = {{"key": 1}}
def other(n):
    return n + 1
def work():
    for i in range({COUNT}):
        a = i + 1
        b = a * 2
        c = other(b)
def here():
    kept = 0
    box = Box()
    begin = time.perf_counter()
    for i in range({COUNT}):
        a = i + 1
        b = a * 2
        c = other(b)
    print("took", (time.perf_counter() - begin) / {COUNT} / 5 * 1e6)
def elsewhere():
    kept = 0
    box = Box()
    begin = time.perf_counter()
    work()
    print("took", (time.perf_counter() - begin) / {COUNT} / 5 * 1e6)
import sys
globals()[sys.argv[1]]()
"""
CASES = {
    "no watchpoint": ("here", ()),
    "a variable of the function": ("here", ("watch kept",)),
    "an attribute": ("here", ("watch box.count",)),
    "an item of a dictionary of it": ("here", ('watch box.table["key"]',)),
    "a variable, in functions that it calls": ("elsewhere", ("watch kept",)),
    "an attribute, in functions that it calls": ("elsewhere", ("watch box.count",)),
    "deleted again": ("here", ("watch box.count", "delete 2")),
    "a false condition at each of three lines": (
        "here",
        tuple(f"b program.py:{line} if box.count > 0" for line in (18, 19, 20)),
    ),
}


def line_of(function: str) -> int:
    lines = PROGRAM.splitlines()
    return lines.index("    begin = time.perf_counter()", lines.index(f"def {function}():")) + 1


def microseconds(python: Path, folder: Path, function: str, commands: tuple[str, ...] | None) -> float:
    """Of one line of the program; ``commands`` are given before it runs on, None is without a debugger."""
    words = [str(python)]
    if commands is not None:
        place = f"program.py:{line_of(function)} temporary"
        words = [sys.executable, "-m", "dualdbg", "run", "--batch", "--python", str(python), "-b", place]
        words += [word for command in (*commands, "continue", "continue") for word in ("-x", command)]
    done = subprocess.run(
        [*words, "program.py", function], cwd=folder, capture_output=True, text=True, check=True
    )
    found = re.search(r"took (\S+)", done.stdout)
    assert found is not None, done
    return float(found[1])


def main() -> None:
    print(f"microseconds a line; the least of {ROUNDS}")
    pythons = {version: find_interpreter(version) for version in VERSIONS}
    there = {version: python for version, python in pythons.items() if python is not None}
    print(f"{'':42}" + "".join(f"{version:>9}" for version in there))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM)
        for label, (function, commands) in {"no debugger": ("here", None), **CASES}.items():
            least = [
                min(microseconds(python, folder, function, commands) for _ in range(ROUNDS))
                for python in there.values()
            ]
            print(f"{label:42}" + "".join(f"{one:9.2f}" for one in least), flush=True)


if __name__ == "__main__":
    main()
