"""The checks that every test relies on find what they are meant to find: leftovers, and skips in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, is_running, wait_until

# Starts a process that lives on; its parent dies at once, so that it is nobody's child any more.
ORPHAN = """
import subprocess, sys
command = [sys.executable, "-c", "import time; time.sleep(60)"]
quiet = subprocess.DEVNULL
child = subprocess.Popen(command, start_new_session=True, stdout=quiet, stderr=quiet)
print(child.pid)
"""


def run_test(folder: Path, body: str, ci: bool = False) -> tuple[int, str]:
    """The exit status and the output of pytest for a test file, under our conftest."""
    test_file = folder / "test_it.py"
    test_file.write_text(
        "import os, subprocess, sys\nimport pytest\nfrom tests.support import require\n" + body
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", "-ra"]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    if ci:
        environment["CI"] = "true"
    done = subprocess.run(
        [*command, "--rootdir", str(folder), str(test_file)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_child_left_behind_fails_the_test_and_is_ended(tmp_path: Path) -> None:
    status, output = run_test(
        tmp_path,
        """
def test_it():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open(os.path.dirname(__file__) + "/pid", "w").write(str(child.pid))
""",
    )
    pid = int((tmp_path / "pid").read_text())
    assert status == 1
    assert f"{pid}: {sys.executable} -c import time; time.sleep(60)" in output
    wait_until(lambda: not is_running(pid))


def test_an_orphan_left_behind_is_found(tmp_path: Path) -> None:
    status, output = run_test(
        tmp_path,
        f"""
def test_it():
    output = subprocess.run([sys.executable, "-c", {ORPHAN!r}], capture_output=True, text=True).stdout
    open(os.path.dirname(__file__) + "/pid", "w").write(output)
""",
    )
    pid = int((tmp_path / "pid").read_text())
    assert status == 1
    assert f"{pid}: {sys.executable} -c import time; time.sleep(60)" in output
    wait_until(lambda: not is_running(pid))


@pytest.mark.parametrize(
    ("body", "ci", "status", "said"),
    [
        ("def test_it(): require(None, 'a thing')", False, 0, "SKIPPED"),
        ("def test_it(): require(None, 'a thing')", True, 1, "missing in CI: a thing"),
        (
            "def test_it(): require(None, 'a thing', outside=True)",
            True,
            0,
            "outside of this project: a thing",
        ),
        ("def test_it(): assert require('there', 'a thing') == 'there'", True, 0, "1 passed"),
        ("def test_it(): pytest.skip('not here')", False, 0, "SKIPPED"),
        ("def test_it(): pytest.skip('not here')", True, 1, "skipped in CI"),
        ("@pytest.mark.skipif(True, reason='not here')\ndef test_it(): pass", True, 1, "skipped in CI"),
        ("pytest.importorskip('no_such_module')", True, 2, "skipped in CI"),
        ("@pytest.mark.xfail\ndef test_it(): assert False", True, 0, "1 xfailed"),
    ],
)
def test_missing_components(tmp_path: Path, body: str, ci: bool, status: int, said: str) -> None:
    actual, output = run_test(tmp_path, body, ci)
    assert (actual, said in output) == (status, True), output
