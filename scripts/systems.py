"""Rows of the tables in docs/systems.md: what works on this system, with the interpreter that runs this file.

    python scripts/systems.py                        the row of this system
    python scripts/systems.py --python PYTHON        ... with programs of another interpreter
    python scripts/systems.py --head                 the table's head
    python scripts/systems.py --tests [FOLDER...]    the row of its tests, then why some were skipped, and which failed

Run it where dualdbg is installed for that interpreter. Each cell of the first table is a session of the command line,
which either does what it says or not; takes about half a minute. The tests are those that need no PyTorch, with
``[dev]`` installed: all folders of ``tests/``, or those that are named, one after the other; takes about an hour.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dualdbg.system.patience import patient

SECONDS = patient(120.0)  # for a session; DUALDBG_PATIENCE multiplies it
PROGRAM = """\
import os, sys, time

def called(number):
    return os.getsid(0)

def turn(numbers):
    return sorted(numbers, key=called)

print("ready", flush=True)
while "forever" in sys.argv:
    turn([1])
if "asleep" in sys.argv:
    time.sleep(3600)
turn([1])
"""
PYTHON = sys.argv[2] if sys.argv[1:2] == ["--python"] else sys.executable
# What its row says of an interpreter: its version, and the system that it was built for.
ABOUT = (
    "import platform, sysconfig; print(platform.python_version(), sysconfig.get_config_var('HOST_GNU_TYPE'))"
)
NAMES = [("native", "getsid"), ("python", "called"), ("python", "turn"), ("python", "<module>")]


def dualdbg(*words: str) -> list[dict[str, Any]]:
    """The objects that a command line of ours writes with --json; none where it does not end in time."""
    command = [sys.executable, "-m", "dualdbg", *words]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run(program: Path, *steps: str) -> list[dict[str, Any]]:
    words = [word for step in steps for word in ("-x", step)]
    return dualdbg("run", "--batch", "--json", "--python", PYTHON, "-b", "getsid", *words, str(program))


def names(events: list[dict[str, Any]]) -> list[list[tuple[str, str]]]:
    """The frames of each stack that was told in full."""
    stacks = [event for event in events if event["event"] == "stack" and event["quality"] == "full"]
    return [[(row["kind"], row["function"]) for row in event["frames"]] for event in stacks]


def doctor(program: Path) -> bool:
    findings = [event for event in dualdbg("doctor", "--json", "--python", PYTHON) if "area" in event]
    return bool(findings) and findings[-1]["area"] == "session" and findings[-1]["status"] == "ok"


def native_stop(program: Path) -> bool:
    return names(run(program, "bt"))[:1] == [NAMES]


def back_to_python(program: Path) -> bool:
    stops = [event for event in run(program, "finish") if event["event"] == "stopped"]
    return (
        len(stops) > 1 and stops[1]["frame"]["kind"] == "python" and stops[1]["frame"]["function"] == "called"
    )


def values(program: Path) -> bool:
    events = run(program, "up", "print number")
    return any(event["event"] == "value" and event["value"] == "1" for event in events)


def attached(program: Path, how: str) -> list[dict[str, Any]]:
    with subprocess.Popen([PYTHON, program, how], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            if how == "forever":
                stop = ("-b", f"{program.name}:4", "-x", "continue", "-x", "bt")
                return dualdbg("attach", "--batch", "--json", "--no-stacks", *stop, str(process.pid))
            return dualdbg("stacks", "--json", str(process.pid))
        finally:
            process.kill()


def stacks(program: Path) -> bool:
    threads = [row for event in attached(program, "asleep") for row in event.get("threads", [])]
    frames = [row for thread in threads for row in thread["frames"]]
    whole = all(thread["quality"] == "full" for thread in threads)
    return whole and any(row.get("function") == "<module>" for row in frames)


def attach(program: Path) -> bool:
    return any(("python", "called") in frames for frames in names(attached(program, "forever")))


CHECKS: dict[str, Callable[[Path], bool]] = {
    "`doctor`": doctor,
    "native stop, merged `bt`": native_stop,
    "`finish` to Python": back_to_python,
    "values below C": values,
    "`stacks`": stacks,
    "`attach`, Python breakpoint": attach,
}


def system() -> str:
    return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())


def gdb_version() -> str:
    shown = subprocess.run(["gdb", "--version"], capture_output=True, text=True).stdout
    return shown.partition("\n")[0].rpartition(" ")[2]


# -- tests -----------------------------------------------------------------------------------------------------------

TESTS = Path(__file__).parent.parent / "tests"
OUTCOMES = ("passed", "failed", "skipped")
# What differs from run to run, or from one row of a table of tests to the next.
_SPECIAL = re.compile(r"Python 3\.\d+ (is not installed)|/\S+ (has no libpython)")


def outcomes(folder: str, report: Path) -> list[tuple[str, str]]:
    """What became of each test of a folder, with the reason of a skip or the name of what failed."""
    words = ["-m", "pytest", "-q", "-m", "not torch and not vm", f"--junitxml={report}", str(TESTS / folder)]
    done = subprocess.run(
        [sys.executable, *words], cwd=TESTS.parent, stdin=subprocess.DEVNULL, stdout=sys.stderr
    )
    if done.returncode == 5:  # none was chosen
        return []
    cases = ElementTree.parse(report).iter("testcase")
    return [outcome(case) for case in cases]


def outcome(case: ElementTree.Element) -> tuple[str, str]:
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed", f"{case.get('classname')}::{case.get('name')}"
    if skipped is not None:
        reason = str(skipped.get("message")).removeprefix("outside of this project: ")
        return "skipped", _SPECIAL.sub(lambda found: "a Python " + (found[1] or found[2]), reason)
    return "passed", ""


def tested(folders: list[str]) -> str:
    """The row of this system, and a list of reasons and failures."""
    found: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, folder in enumerate(folders):
            found += outcomes(folder, Path(temporary, f"{number}.xml"))
    counts = Counter(what for what, _ in found)
    row = " | ".join(str(counts[what]) for what in OUTCOMES)
    lines = [f"| {system()} | {platform.python_version()} | {gdb_version()} | {row} |"]
    for what in OUTCOMES[1:]:
        reasons = Counter(why for one, why in found if one == what)
        lines += [
            f"- {what}: {why}" + (f" ({count})" if count > 1 else "") for why, count in reasons.most_common()
        ]
    return "\n".join(lines)


def folders_of_tests() -> list[str]:
    return sorted(
        one.parent.name for one in TESTS.glob("*/__init__.py") if list(one.parent.glob("test_*.py"))
    )


def main() -> None:
    if sys.argv[1:] == ["--head"]:
        columns = ["system", "Python", "gdb", "processor", *CHECKS]
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        return
    if sys.argv[1:2] == ["--tests"]:
        print(tested(sys.argv[2:] or folders_of_tests()))
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "systems_program.py")
        program.write_text(PROGRAM)
        cells = ["yes" if check(program) else "**no**" for check in CHECKS.values()]
    about = subprocess.run([PYTHON, "-c", ABOUT], capture_output=True, text=True, check=True).stdout
    version, built_for = about.split()
    library = ", musl" if built_for.endswith("musl") else ""
    row = [system() + library, version, gdb_version(), platform.machine(), *cells]
    print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
