"""The dashboard in a real terminal: time from a stop to the whole screen, from a key to its effect, load at rest.

python -m bench.tui
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.tui.terminal import RealTerminal

COLUMNS, LINES = 120, 40

DEEP = """
def level(depth, first):
    if depth:
        return level(depth - 1, first)
{variables}
    step = 0
{steps}
    return step


level(59, 0)
"""

NOISY = """
import sys
line = "x" * 39 + chr(10)
count = 0
while True:
    sys.stdout.write(line)
    count += 1
"""


@contextmanager
def dashboard(folder: Path, script: str, *options: str) -> Iterator[RealTerminal]:
    path = folder / "program.py"
    path.write_text(script)
    terminal = RealTerminal(
        [sys.executable, "-m", "dualdbg", "run", "--tui", *options, str(path)],
        COLUMNS,
        LINES,
        {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")},
    )
    try:
        yield terminal
    finally:
        terminal.close()


def stop_to_screen(folder: Path) -> list[float]:
    """Seconds from F10 to the complete screen of the next line: 60 Python frames, 200 variables.

    The step itself is in it. The screen is complete when nothing more is drawn.
    """
    variables = "\n".join(f"    value_{n} = [first + {n}, {{'key': {n}}}]" for n in range(200))
    steps = "\n".join(f"    step = {n + 1}" for n in range(40))
    script = DEEP.format(variables=variables, steps=steps)
    line = script.split("\n").index("    step = 0") + 1
    with dashboard(folder, script, "--break", f"program.py:{line}") as terminal:
        terminal.until(
            lambda: terminal.shows("stopped in Python") and terminal.shows("1/61"), "the first stop"
        )
        settle(terminal)
        results = []
        for number in range(20):
            wanted = f"program.py:{line + number + 1},"
            start = time.monotonic()
            terminal.send("f10")
            terminal.until(lambda wanted=wanted: terminal.shows(wanted), "the next line")  # type: ignore[misc]
            results.append(last_change(terminal, start))
    return results


def key_to_effect(folder: Path) -> tuple[list[float], float]:
    """Seconds from a key to its effect while the program prints as fast as it can; and its lines per second."""
    with dashboard(folder, NOISY) as terminal:
        terminal.until(lambda: terminal.shows("running"), "the running program")
        terminal.send("8")  # the program's pane: what it prints is drawn
        terminal.until(lambda: terminal.shows("xxxxxxxx"), "what the program prints")
        results = []
        for pane in ("Stack", "Variables", "Breakpoints", "Source", "Program") * 6:
            shown = title(pane)
            wait(terminal, 0.1)
            start = time.monotonic()
            terminal.send("f7")
            terminal.until(lambda shown=shown: shown(terminal), f"the pane {pane}")  # type: ignore[misc]
            results.append(time.monotonic() - start)
        before, begin = written(terminal), time.monotonic()
        wait(terminal, 3.0)
        rate = (written(terminal) - before) / 40 / (time.monotonic() - begin)
        start = time.monotonic()
        terminal.send("f6")
        terminal.until(lambda: terminal.shows("stopped"), "the pause")
        print(f"  pause of the printing program   {(time.monotonic() - start) * 1000:7.1f} ms")
    return results, rate


def at_rest(folder: Path) -> float:
    """The part of a core that the dashboard takes at a stop when nobody does anything."""
    with dashboard(folder, "x = 1\ny = 2\n", "--stop-on-entry") as terminal:
        terminal.until(lambda: terminal.shows("stopped in Python"), "the stop")
        wait(terminal, 3.0)
        before, begin = processor_time(terminal.pid), time.monotonic()
        wait(terminal, 10.0)
        return (processor_time(terminal.pid) - before) / (time.monotonic() - begin)


# -- measuring ------------------------------------------------------------------------------------


def title(name: str) -> Callable[[RealTerminal], bool]:
    """Whether a pane is in front and has the focus: its title is underlined."""

    def shown(terminal: RealTerminal) -> bool:
        for row in terminal.screen.rows:
            for text, look in row.runs():
                if look.underline and name in text:
                    return True
        return False

    return shown


def last_change(terminal: RealTerminal, start: float) -> float:
    """Seconds from ``start`` to the last drawing, after which nothing was drawn for 0.3 s."""
    last = time.monotonic()
    while time.monotonic() - last < 0.3:
        size = len(terminal.raw), terminal.raw[-64:]
        terminal.pump(0.02)
        if (len(terminal.raw), terminal.raw[-64:]) != size:
            last = time.monotonic()
    return last - start


def settle(terminal: RealTerminal) -> None:
    last_change(terminal, 0.0)


def wait(terminal: RealTerminal, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        terminal.pump(0.02)


def processor_time(pid: int) -> float:
    used = psutil.Process(pid).cpu_times()
    return used.user + used.system


def written(terminal: RealTerminal) -> int:
    """Characters that the program has written: the write_bytes of proc(5) do not count a terminal, wchar does."""
    for child in psutil.Process(terminal.pid).children():
        if any("program.py" in word for word in child.cmdline()):
            return int(child.io_counters().write_chars)
    raise AssertionError("the program is not there")


def report(what: str, seconds: list[float], limit: float) -> None:
    ordered = sorted(seconds)
    median, most = statistics.median(ordered), ordered[-1]
    numbers = f"median of {len(ordered)}; most {most * 1000:.1f}; wanted {limit * 1000:.0f}"
    print(f"  {what:<31} {median * 1000:7.1f} ms ({numbers})")


def main() -> None:
    print(f"dashboard, {COLUMNS}x{LINES}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report("F10 to the whole next screen", stop_to_screen(folder), 0.1)
        effects, rate = key_to_effect(folder)
        report("key to effect, program printing", effects, 0.05)
        print(f"  the program prints              {rate:7.0f} lines/s of 40 letters")
        print(f"  at rest                         {at_rest(folder) * 100:7.1f} % of a core (wanted 2)")


if __name__ == "__main__":
    main()
