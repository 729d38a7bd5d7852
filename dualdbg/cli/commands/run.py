"""``dualdbg run``: start a program with both debuggers in it."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...config import Asked, Config, configuration
from ...errors import DualdbgError, UsageError
from ...known.generated_code import COMPILED_DEBUG
from ...system.folders import here
from ...target import interpreter
from ..arguments import (
    SEPARATOR,
    Parser,
    Program,
    add_session_options,
    asked,
    option_of_ours,
    seconds,
    split_program,
)
from ..program_options import add_program_options, assignments, checked_program


@dataclass(frozen=True)
class RunOptions:
    """What the user asked for, checked as far as it can be without starting anything.

    ``native``: the program is no script but an executable. ``python`` may then be empty: no interpreter is known.
    """

    program: Program
    native: bool
    python: str
    cwd: str | None
    env: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    batch: bool
    json: bool
    tui: bool
    asked: Asked
    must_end: bool = False
    follow: str | None = None
    report: Path | None = None
    timeout: float | None = None  # seconds
    config: Config = field(default_factory=Config)


def main(words: list[str]) -> int:
    options = read_options(words)
    if options.report is not None:
        from ..report_run import run_with_report

        return run_with_report(options)
    from ..event_loop import run
    from ..run_session import debug, debug_in_dashboard  # the session and its engines: not needed for --help

    if options.tui:
        return run(debug_in_dashboard(options))
    if not options.json:
        return run(debug(options))
    from ...console.reports import ErrorReport
    from .. import json_lines

    try:
        return run(debug(options))
    except DualdbgError as error:
        sys.stdout.write(json_lines.line(ErrorReport(error.message, error.hint)))
        return error.exit_status


def read_options(words: list[str]) -> RunOptions:
    """The options of the command line. Raises UsageError for those that have no meaning together."""
    parser = make_parser()
    ours, program = split_program(parser, words)
    if ours and SEPARATOR not in words:
        _say_whose(option_of_ours(parser, program.args))
    given = parser.parse_args(ours)
    if program.script is None and program.module is None and program.code is None:
        raise UsageError("run: nothing to run was given", "dualdbg run SCRIPT, -m MODULE or -c CODE")
    if given.native and given.stop_on_entry and program.script is not None:
        raise UsageError(
            "run: --stop-on-entry is for Python programs: --native has no first line",
            "stop there with -b main",
        )
    program = checked_program(given, program, "run")
    python = given.python or ("" if given.native else interpreter.default_python(os.environ.get))
    if given.tui and (given.batch or given.json):
        raise UsageError("run: --tui goes with neither --batch nor --json", "leave one of them away")
    _check_report(given)
    core_folder = here() / (given.cwd or "") if given.on_crash else None
    return RunOptions(
        program=program,
        native=given.native,
        python=interpreter.find(python) if python else "",
        cwd=given.cwd,
        env=(
            *(COMPILED_DEBUG if given.compiled_debug else ()),
            *assignments(given),
            *_jit_log(given.jit_log),
        ),
        commands=tuple(given.commands),
        batch=given.batch,
        json=given.json,
        tui=given.tui,
        must_end=given.must_end,
        asked=replace(asked(given), stop_on_entry=given.stop_on_entry, core_folder=core_folder),
        follow=given.follow,
        report=here() / given.report if given.report is not None else None,
        timeout=given.timeout,
        config=configuration(given.config),
    )


def _check_report(given: argparse.Namespace) -> None:
    """With --report nobody is at a prompt. Raises UsageError."""
    if given.report is None:
        if given.timeout is not None:
            raise UsageError(
                "run: --timeout goes with --report", "dualdbg run --report DIR --timeout S PROGRAM"
            )
        return
    others = {
        "--break": given.breakpoints,
        "-x": given.commands,
        "--batch": given.batch,
        "--json": given.json,
        "--tui": given.tui,
        "--must-end": given.must_end,
        "--stop-on-entry": given.stop_on_entry,
        "--all-code": given.all_code,
        "--symbols": given.symbols,
        "--log-dir": given.log_dir,
    }
    found = next((name for name, value in others.items() if value), None)
    if found is not None:
        text = f"run: --report does not go with {found}: the program runs without a session"
        raise UsageError(text, "leave one of them away")
    if given.follow not in (None, "children", "python"):
        raise UsageError(
            f"run: --report cannot follow {given.follow}", "--follow python, or --follow children"
        )


def _say_whose(option: str | None) -> None:
    """An option behind the program may have been meant for us."""
    if option is not None:
        text = f"dualdbg: {option} goes to the program: options of dualdbg stand before the script"
        print(text, file=sys.stderr)


def jit_log_level(passes: str) -> str:
    """The value of PYTORCH_JIT_LOG_LEVEL for names of passes, separated by colons or commas.

    ``>>`` asks for the graph updates of a pass (torch/csrc/jit/jit_log.h); a bare name gets it, and a name that has a
    level already keeps it.
    """
    names = [name.strip() for name in passes.replace(",", ":").split(":")]
    return ":".join(name if name.startswith(">") else f">>{name}" for name in names if name)


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg run",
        allow_abbrev=False,
        usage="dualdbg run [OPTIONS] SCRIPT | -m MODULE | -c CODE | --native PROGRAM [ARGS…]",
        description="Start a Python program with both debuggers in it. All that follows the program is its own; only "
        "where no option stands before it may options follow it, up to the first other word or --.",
        epilog="The exit status is the program's own when it ran to its end; 0 for a batch that did all its "
        "commands; 2 for wrong usage; 3 when dualdbg could not do what was asked.",
    )
    add = parser.add_argument
    add_session_options(parser)
    add("-x", dest="commands", metavar="CMD", action="append", default=[],
        help="a command of the prompt to run at the first stop; repeatable, in order")  # fmt: skip
    add(
        "--batch", action="store_true", help="end after the last -x; without -x: show the stack of every stop"
    )
    add("--json", action="store_true", help="write events as JSON lines (docs/json.md)")
    add("--tui", action="store_true", help="show the whole debugger in this terminal (docs/dashboard.md)")
    add("--must-end", action="store_true", help="exit with 3 where the program has not ended when you leave")
    add("--stop-on-entry", action="store_true", help="stop before the first line of the program")
    add(
        "--native",
        action="store_true",
        help="PROGRAM is no script but an executable; Python in it joins when it starts there",
    )
    add_program_options(parser)
    add(
        "--jit-log",
        metavar="PASSES",
        default="",
        help="set PYTORCH_JIT_LOG_LEVEL, e.g. dead_code_elimination",
    )
    add(
        "--compiled-debug",
        action="store_true",
        help="torch.compile keeps debug info of its kernels, and from which lines each comes",
    )
    add(
        "--follow",
        metavar="WHAT",
        help="debug child processes too: children (all programs), python (all Python ones), or a PATTERN of their "
        "command lines or functions",
    )
    add(
        "--report",
        metavar="DIR",
        help="run without a session; a crash is written into files there: text, JSON and HTML",
    )
    add("--timeout", type=seconds, metavar="S",
        help="with --report: a program that has not ended after S seconds is reported too, and ended")  # fmt: skip
    add("--on-crash", choices=["core"], help="core: keep the core of a program that crashes, in its folder")
    return parser


def _jit_log(passes: str) -> list[tuple[str, str]]:
    return [("PYTORCH_JIT_LOG_LEVEL", jit_log_level(passes))] if passes else []
