"""Hands the run to the debugger: to its prompt or dashboard, or to an editor that attaches."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any

import pytest

from ...system.environment import own_module
from .beginning import DEBUGGED, MARK, command_of

_LOOK_AGAIN = 0.1  # seconds


def run_under_debugger(config: pytest.Config) -> None:
    """Becomes ``dualdbg run`` with the same run of pytest in it; returns only once an editor has attached."""
    given = config.known_args_namespace
    if getattr(given, "numprocesses", None):
        raise pytest.UsageError(
            "--dualdbg-break and --dualdbg-ui are for one process: leave -n away, or say -n 0"
        )
    if given.dualdbg_ui == "editor":
        if given.dualdbg_break:
            raise pytest.UsageError(
                "--dualdbg-ui=editor: set breakpoints in the editor, not by --dualdbg-break"
            )
        _wait_for_editor()
        return
    _check_surroundings(given.dualdbg_ui)
    options = ["--python", sys.executable, "--must-end"]
    for spec in given.dualdbg_break:
        options += ["--break", spec]
    if given.dualdbg_ui == "tui":
        options.append("--tui")
    os.environ[MARK] = f"{os.getpid()}:"  # the run of pytest below does not divide itself
    os.environ[DEBUGGED] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    command = [*own_module("dualdbg"), "run", *options, *command_of(config)]
    os.execv(command[0], command)


def _check_surroundings(ui: str | None) -> None:
    """What would be said in words of ``dualdbg run``, which the user has not typed. Raises pytest.UsageError."""
    from ...cli.dashboard import check_terminal
    from ...errors import DualdbgError

    try:
        if ui == "tui":
            check_terminal(option="--dualdbg-ui=tui")
    except DualdbgError as error:
        raise pytest.UsageError(f"{error.message}: {error.hint}") from error
    if shutil.which("gdb") is None:
        raise pytest.UsageError(
            "--dualdbg-break and --dualdbg-ui need gdb, and there is none in PATH: apt-get install gdb (or dnf install "
            "gdb)"
        )


def _wait_for_editor() -> None:
    """Until a debugger has attached, has set its breakpoints, and has let the program go on."""
    from ... import allow  # noqa: F401 (importing it is what allows)

    os.environ[MARK] = f"{os.getpid()}:"
    number = os.getpid()
    print(
        f"process {number} waits for a debugger: attach to it in the editor, or dualdbg attach {number}",
        flush=True,
    )
    while not _is_debugged():
        time.sleep(_LOOK_AGAIN)


def _is_debugged() -> bool:
    """Return whether a debugger has set its breakpoints, and pydevd, which comes with it, traces our threads."""
    pydevd = sys.modules.get("pydevd")
    debugger: Any = getattr(pydevd, "get_global_debugger", lambda: None)()
    return debugger is not None and bool(debugger.is_attached())
