"""Pictures of what commands print on a terminal, for the README: real sessions, as SVG."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pexpect
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100
SECONDS = 300
JOB = "JOB"  # in a command: the process of a job that hangs
_MORE = "  ..."


@dataclass(frozen=True)
class Terminal:
    """A command line behind ``dualdbg``, and what of its output is shown: from the line that has ``begin`` on."""

    command: str
    begin: str = ""
    lines: int = 40


TERMINALS = {
    "terminal-stack": Terminal("run samples/testdebug.py --break randn -x bt --batch", begin="* Breakpoint"),
    "terminal-step": Terminal(
        "run samples/native_demo.py -b native_demo.py:23 -x step -x bt -x finish --batch",
        begin="* Breakpoint",
    ),
    "terminal-hang": Terminal(f"stacks --tree {JOB} --diagnose", begin="What is seen", lines=4),
}


def take(name: str) -> str:
    """The picture as SVG."""
    terminal = TERMINALS[name]
    if JOB not in terminal.command:
        return drawn(terminal, output_of(terminal.command), terminal.command)
    with hanging_job() as pid:
        text = output_of(terminal.command.replace(JOB, str(pid)))
    return drawn(terminal, text, terminal.command.replace(JOB, str(pid)))


def output_of(command: str) -> str:
    """What ``dualdbg COMMAND`` writes to a terminal, with its colours. Raises SystemExit where it fails."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "dualdbg", *shlex.split(command)],
        env={**os.environ, "TERM": "xterm-256color"},
        cwd=ROOT,
        dimensions=(200, COLUMNS),
        encoding="utf-8",
        timeout=SECONDS,
    )
    text = str(child.read())
    child.close()
    if child.exitstatus:
        raise SystemExit(f"dualdbg {command}: status {child.exitstatus}\n{text}")
    return text.replace("\r\n", "\n")


def drawn(terminal: Terminal, text: str, command: str) -> str:
    """The lines that are wanted below the command, as SVG."""
    lines = text.rstrip("\n").split("\n")
    plain = [Text.from_ansi(line).plain for line in lines]
    first = next(at for at, line in enumerate(plain) if terminal.begin in line)
    shown = [re.sub(rf"{re.escape(str(ROOT))}/+", "", line) for line in lines[first : first + terminal.lines]]
    if first:
        shown.insert(0, _MORE)
    if first + terminal.lines < len(lines):
        shown.append(_MORE)
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text(f"$ dualdbg {command}", style="bold"))
    for line in shown:
        console.print(Text.from_ansi(line))
    # An id by the name of the picture's own: else every run makes another file.
    return re.sub(r"\s+\n", "\n", console.export_svg(title="dualdbg", unique_id="terminal"))


@contextmanager
def hanging_job() -> Iterator[int]:
    """A job of torch.distributed in which one rank never comes; gives its launcher's PID."""
    command = [sys.executable, str(ROOT / "samples/hangs/gloo_collective.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "samples")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            while not (line := process.stdout.readline()).startswith("ready"):
                if not line:
                    raise SystemExit("the job ended before it hung")
            yield process.pid
        finally:
            process.kill()
