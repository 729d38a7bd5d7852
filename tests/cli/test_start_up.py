"""The way to the first stop is short: nothing is imported that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg import __version__
from dualdbg.cli import main as entry
from tests.cli.driver import dualdbg

# What the first stop of a batch needs is asyncio, gdb's and debugpy's protocols and the symbol search.
LATER = ("prompt_toolkit", "pygments", "textual", "pystack", "psutil", "yaml", "dualdbg.tui", "dualdbg.dap")

# What gdb and the program do not need to be started: it is imported while they do imports of their own.
MEANWHILE = (
    *(
        "dualdbg.session.session",
        "dualdbg.session.assembly",
        "dualdbg.session.breakpoints",
        "dualdbg.session.stepping",
    ),
    *(
        "dualdbg.symbols.address_space",
        "dualdbg.symbols.objfile",
        "dualdbg.symbols.torch",
        "dualdbg.symbols.callables",
    ),
    *("dualdbg.snapshot", "dualdbg.stacks", "dualdbg.trace", "dualdbg.probes"),
    *(
        "dualdbg.console.console",
        "dualdbg.console.commands",
        "dualdbg.console.printer",
        "dualdbg.session.inferiors",
    ),
)


def imported_by(code: str) -> set[str]:
    report = f"import sys; {code}; print('\\n'.join(sys.modules))"
    command = [sys.executable, "-c", report]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["dualdbg.cli.main", "dualdbg.cli.run_session"])
def test_what_is_needed_later_is_imported_later(module: str) -> None:
    modules = imported_by(f"import {module}")
    assert module in modules
    assert not modules.intersection(LATER)


def test_gdb_and_the_program_are_started_before_most_is_imported() -> None:
    modules = imported_by("import dualdbg.cli.run_session")
    assert {"dualdbg.session.start", "dualdbg.backends.gdb", "dualdbg.target.launcher"} <= modules
    assert not modules.intersection(MEANWHILE)


def test_the_program_s_interpreter_loads_little() -> None:
    """What pydevd imports for a console of its own, and which libraries come with it."""
    report = "print([name for name in ('_ssl', 'libssl', 'pyexpat', '_bz2') if name in open('/proc/self/maps').read()])"
    assert "[]\n" in dualdbg("run", "-c", report).stdout


def test_the_entry_imports_next_to_nothing() -> None:
    ours = {name for name in imported_by("import dualdbg.cli.main") if name.startswith("dualdbg")}
    assert ours == {
        "dualdbg",
        "dualdbg.cli",
        "dualdbg.cli.kept_code",
        "dualdbg.cli.main",
        "dualdbg.cli.streams",
        "dualdbg.errors",
        "dualdbg.shared",
        "dualdbg.shared.python_versions",
        "dualdbg.system",
        "dualdbg.system.environment",
        "dualdbg.system.open_files",
    }


def test_version_and_help() -> None:
    assert dualdbg("--version").stdout == f"dualdbg {__version__}\n"
    shown = dualdbg("--help")
    assert shown.status == 0
    assert "dualdbg COMMAND" in shown.stdout and "run" in shown.stdout and "doctor" in shown.stdout
    assert dualdbg("run", "--help").stdout.startswith("usage: dualdbg run [OPTIONS] SCRIPT")


def test_nothing_at_all_is_wrong_usage() -> None:
    done = dualdbg()
    assert done.status == 2
    assert done.stdout.startswith("usage: dualdbg")


def test_a_mistyped_command_has_a_hint() -> None:
    done = dualdbg("rnu")
    assert done.status == 2
    done.complains("there is no command 'rnu'", "did you mean run?")


def test_a_script_in_place_of_a_command_has_a_hint() -> None:
    done = dualdbg("train.py")
    assert done.status == 2
    done.complains("dualdbg run train.py")


def test_an_unforeseen_error_is_one_line_that_names_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_words: list[str]) -> int:
        raise RuntimeError("nobody thought of that")

    monkeypatch.setattr(entry, "_dispatch", fail)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert entry.main([]) == 3
    written = capsys.readouterr()
    (report,) = (tmp_path / "dualdbg").iterdir()
    assert written.err == (
        f"dualdbg: something went wrong that dualdbg did not foresee; the report is in {report}\n"
    )
    assert written.out == ""
    assert "RuntimeError: nobody thought of that" in report.read_text()
