"""Where less is to be had: without gdb, without the right to trace, without the plugin being asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import support
from tests.pytest_plugin.driver import run_pytest
from tests.refused_calls import PTRACE, without

SUITE = {"test_it.py": "import ctypes\ndef test_a(): ctypes.string_at(0)\ndef test_b(): pass\n"}


def test_a_container_without_the_capability_will_do(tmp_path: Path) -> None:
    setpriv = support.require(shutil.which("setpriv"), "setpriv (util-linux)")
    prefix = (setpriv, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace") if os.getuid() == 0 else ()
    done = run_pytest(tmp_path, SUITE, "--dualdbg", prefix=prefix)
    assert done.totals == {"failed": 1, "passed": 1}
    assert " py   test_a  test_it.py:2" in done.out


def test_where_nothing_may_be_traced_the_suite_still_goes_on(tmp_path: Path) -> None:
    prefix = without(PTRACE)
    done = run_pytest(tmp_path, SUITE, "--dualdbg", prefix=prefix)
    assert done.totals == {"failed": 1, "passed": 1}
    assert "was ended by SIGSEGV" in done.out
    assert "there are no stacks:" in done.out and "seccomp" in done.out
    assert "Fatal Python error: Segmentation fault" in done.err  # faulthandler is left on


def test_without_gdb_the_stacks_are_there(tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    done = run_pytest(tmp_path, SUITE, "--dualdbg", env={"PATH": str(empty)})
    assert done.totals == {"failed": 1, "passed": 1}
    assert " py   test_a  test_it.py:2" in done.out and "string_at" in done.out


def test_a_plugin_that_is_off_imports_next_to_nothing(tmp_path: Path) -> None:
    suite = """
import sys
def test_a():
    ours = {name for name in sys.modules if name.partition(".")[0] == "dualdbg"}
    assert ours == {"dualdbg", "dualdbg.plugins", "dualdbg.plugins.pytest_plugin"}
"""
    assert run_pytest(tmp_path, {"test_it.py": suite}).totals == {"passed": 1}


def test_a_run_in_which_nothing_happens_reads_no_symbols(tmp_path: Path) -> None:
    suite = "def test_a(): pass\n"
    (tmp_path / "test_it.py").write_text(suite)
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "pytest",
        "--dualdbg-timeout=60",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:anyio",  # another plugin, which reads asyncio
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=patient(120)
    )
    for heavy in ("dualdbg.symbols", "dualdbg.watch.incident", "dualdbg.session.", "asyncio"):
        assert heavy not in done.stderr.replace("dualdbg.system.session_folders", ""), heavy


def test_what_hangs_on_pytest_is_let_go_at_the_end(tmp_path: Path) -> None:
    """A file that nobody closes is written all the same, as without the plugin."""
    suite = {
        "conftest.py": "def pytest_configure(config):\n    config.mine, config.written = config, open('written', 'w')\n"
        "    config.written.write('all of it')\n",
        "test_it.py": "def test_a(): pass\n",
    }
    run_pytest(tmp_path, suite, "--dualdbg")
    assert (tmp_path / "written").read_text() == "all of it"


def test_it_can_be_left_out(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": "def test_a(): pass\n"}, "-p", "no:dualdbg")
    assert done.totals == {"passed": 1}
    assert run_pytest(tmp_path, {}, "-p", "no:dualdbg", "--dualdbg").status == 4


@pytest.mark.parametrize(
    "options", [("--dualdbg-break", "f", "-n", "2"), ("--dualdbg-ui=editor", "--dualdbg-break=f")]
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_pytest(tmp_path, {}, *options)
    assert done.status == 4
    assert "--dualdbg-break" in done.err
