"""``dualdbg trace``: count the calls of functions while the program runs on, and say who calls them."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path

from ...config import Asked, Config, configuration
from ...errors import UsageError
from ...system.folders import here
from ...target import interpreter
from ..arguments import (
    Parser,
    Program,
    add_fix_ptrace,
    add_session_options,
    asked,
    seconds,
    split_program,
)
from ..program_options import add_program_options, assignments, checked_program


@dataclass(frozen=True)
class TraceOptions:
    """What the user asked for. Either ``pid`` or a ``program`` is given; ``native``: that is an executable.

    ``counts``: nothing but counters. ``seconds``: the trace ends then.
    """

    specs: tuple[str, ...]
    program: Program
    pid: int | None
    native: bool
    python: str
    cwd: str | None
    env: tuple[tuple[str, str], ...]
    counts: bool
    times: bool
    live: bool
    perfetto: Path | None
    folded: Path | None
    seconds: float | None
    json: bool
    fix_ptrace: bool
    asked: Asked
    config: Config


def main(words: list[str]) -> int:
    options = read_options(words)
    from ..event_loop import run
    from ..trace_session import trace  # the session and its engines: not needed for --help

    return run(trace(options))


def read_options(words: list[str]) -> TraceOptions:
    """The options of the command line. Raises UsageError for those that have no meaning together."""
    parser = make_parser()
    ours, program = split_program(parser, words)
    given = parser.parse_args(ours)
    if not given.specs:
        raise UsageError("trace: nothing to trace was given", "dualdbg trace -b malloc PROGRAM")
    if program == Program():
        raise UsageError(
            "trace: no program was given", "dualdbg trace -b SPEC SCRIPT, --native PROGRAM or PID"
        )
    if given.count and (given.perfetto is not None or given.folded is not None):
        raise UsageError(
            "trace: --count takes nothing down that --perfetto or --folded could write", "leave --count away"
        )
    pid = _pid(given, program)
    if pid is None:
        program = checked_program(given, program, "trace")
    is_python = pid is None and not given.native
    python = (given.python or interpreter.default_python(os.environ.get)) if is_python else ""
    return TraceOptions(
        specs=tuple(given.specs),
        program=program,
        pid=pid,
        native=given.native,
        python=interpreter.find(python) if python else "",
        cwd=given.cwd,
        env=assignments(given),
        counts=given.count,
        times=given.time,
        live=not given.json and not given.no_live,
        perfetto=here() / given.perfetto if given.perfetto is not None else None,
        folded=here() / given.folded if given.folded is not None else None,
        seconds=given.seconds,
        json=given.json,
        fix_ptrace=given.fix_ptrace,
        asked=asked(given),
        config=replace(configuration(given.config), breakpoints=()),
    )


def _pid(given: argparse.Namespace, program: Program) -> int | None:
    """The process that is meant: a number alone, which is no script's name."""
    name = program.script
    if given.native or name is None or not name.isdecimal() or (Path(given.cwd or ".") / name).exists():
        return None
    if program.args or given.env or given.cwd or given.python:
        raise UsageError(
            f"trace: process {name} runs already: it takes no arguments, and no --env, --cwd or --python",
            f"dualdbg trace -b SPEC {name}",
        )
    return int(name)


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg trace",
        allow_abbrev=False,
        usage="dualdbg trace -b SPEC [OPTIONS] SCRIPT | -m MODULE | -c CODE | --native PROGRAM [ARGS…] | PID",
        description="Machine code in the process counts each call of a native function, at some nanoseconds; the "
        "program never stops for it. All that follows the program is its own.",
        epilog="The exit status is the program's own when it ran to its end; 0 for a process that goes on; 2 for wrong "
        "usage; 3 when dualdbg could not do what was asked; 130 after Ctrl-C.",
    )
    add = parser.add_argument
    add("-b", "--break", dest="specs", metavar="SPEC", action="append", default=[],
        help="trace it: randn (an operator), a C or C++ function, 'malloc if $rdi > 4096'; repeatable")  # fmt: skip
    add("--count", action="store_true", help="count hits, and no more")
    add("--time", action="store_true", help="time each call too, until it returns")
    add("--no-live", action="store_true", help="no table on the terminal while the program runs")
    add("--perfetto", metavar="FILE", help="write each hit for https://ui.perfetto.dev and chrome://tracing")
    add("--folded", metavar="FILE", help="write who called what, as flamegraph.pl and speedscope read it")
    add("--for", dest="seconds", type=seconds, metavar="S", help="end the trace after S seconds")
    add("--json", action="store_true", help="write the result, and what the program writes, as JSON lines")
    add("--native", action="store_true", help="PROGRAM is no script but an executable")
    add_program_options(parser)
    add_session_options(parser, runs=False)
    add_fix_ptrace(parser, "gdb has attached")
    return parser
