"""One row of the table in docs/systems.md: what works on this system, with the interpreter that runs this file.

    python scripts/systems.py            the row of this system
    python scripts/systems.py --head     the table's head

Run it where dualdbg is installed for that interpreter. Each cell is a session of the command line, which either does
what it says or not; takes about half a minute.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 120.0
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
    return dualdbg(
        "run", "--batch", "--json", "--python", sys.executable, "-b", "getsid", *words, str(program)
    )


def names(events: list[dict[str, Any]]) -> list[list[tuple[str, str]]]:
    """The frames of each stack that was told in full."""
    stacks = [event for event in events if event["event"] == "stack" and event["quality"] == "full"]
    return [[(row["kind"], row["function"]) for row in event["frames"]] for event in stacks]


def doctor(program: Path) -> bool:
    findings = [event for event in dualdbg("doctor", "--json", "--python", sys.executable) if "area" in event]
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
    with subprocess.Popen([sys.executable, program, how], stdout=subprocess.PIPE) as process:
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


def main() -> None:
    if sys.argv[1:] == ["--head"]:
        columns = ["system", "Python", "gdb", "processor", *CHECKS]
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "systems_program.py")
        program.write_text(PROGRAM)
        cells = ["yes" if check(program) else "**no**" for check in CHECKS.values()]
    row = [system(), platform.python_version(), gdb_version(), platform.machine(), *cells]
    print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
