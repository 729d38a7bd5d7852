"""Divides a run of pytest: a parent watches, a child goes on as pytest. Or the run is handed to the debugger."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

MARK = "DUALDBG_PYTEST"
"""Set in every process below a run that has been divided: ``PID:FOLDER`` of the tests process, or of the debugger."""

DEBUGGED = "DUALDBG_PYTEST_DEBUGGED"
"""Set for the run of pytest that the debugger starts."""


class WithoutFaulthandler:
    """The debugger stops at a crash. A handler that sends the signal once more would have it stop there twice."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """pytest has turned it on by now."""
        import faulthandler

        faulthandler.disable()


def begin(config: pytest.Config) -> None:
    """Returns in the process that is to run tests. In its parent SystemExit is raised when they have all ended."""
    mark = os.environ.get(MARK)
    if mark is not None:
        if (
            os.environ.pop(DEBUGGED, None) is not None
        ):  # so that no run of pytest in a test takes it for its own
            config.pluginmanager.register(WithoutFaulthandler(), "dualdbg-without-faulthandler")
        else:
            _join(config, mark)
        return
    given = config.known_args_namespace
    if given.dualdbg_break or given.dualdbg_ui:
        from .debugger import run_under_debugger

        run_under_debugger(config)
        config.pluginmanager.register(WithoutFaulthandler(), "dualdbg-without-faulthandler")
        return
    from .supervisor import Supervisor, Wishes

    core = Path(config.invocation_params.dir, given.dualdbg_core) if given.dualdbg_core else None
    if core is not None:
        try:
            core.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"--dualdbg-core: {core} cannot be made: {error.strerror}") from error
    if threading.current_thread() is not threading.main_thread():
        raise pytest.UsageError("--dualdbg: pytest was not started by the main thread, which signals go to")
    wishes = Wishes(given.dualdbg_timeout, core, config.rootpath, given.dualdbg_programs or "python")
    started = Supervisor(wishes).run()
    os.environ[MARK] = f"{os.getpid()}:{started.folder}"
    from .tests_process import TestsProcess

    config.pluginmanager.register(TestsProcess(config, started), "dualdbg-tests")


def _join(config: pytest.Config, mark: str) -> None:
    """A worker of pytest-xdist is a tests process like any other; another run of pytest in a test is left alone."""
    pid, _, folder = mark.partition(":")
    if "PYTEST_XDIST_WORKER" not in os.environ or not folder or int(pid) != os.getppid():
        return
    from .supervisor import join
    from .tests_process import TestsProcess

    config.pluginmanager.register(TestsProcess(config, join(Path(folder))), "dualdbg-tests")


def command_of(config: pytest.Config) -> list[str]:
    """How this run was started, as the words behind ``python``."""
    program = Path(sys.argv[0])
    arguments = list(config.invocation_params.args)
    if program.name == "__main__.py" or not program.is_file():
        return ["-m", "pytest", *arguments]
    return [str(program), *arguments]
