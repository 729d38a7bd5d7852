"""The checks that every test relies on find what they are meant to find: leftovers, marks, and skips in CI."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dualdbg.system.patience import patient
from tests import conftest
from tests.support import ROOT, is_running, wait_until

# Starts a process that lives on; its parent dies at once, so that it is nobody's child any more.
ORPHAN = """
import subprocess, sys
command = [sys.executable, "-c", "import time; time.sleep(60)"]
quiet = subprocess.DEVNULL
child = subprocess.Popen(command, start_new_session=True, stdout=quiet, stderr=quiet)
print(child.pid)
"""


HEAD = """\
import os, subprocess, sys
import pytest
from tests import conftest
from tests.support import require
"""


def run_test(folder: Path, body: str, ci: bool = False, options: Sequence[str] = ()) -> tuple[int, str]:
    """The exit status and the output of pytest for a test file, under our conftest."""
    test_file = folder / "test_it.py"
    test_file.write_text(HEAD + body)
    return run_tests(folder, [test_file], ci, options)


def outcomes(
    folder: Path, bodies: Sequence[str], ci: bool = False, options: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """How the one test of each of these files ended, in one run: an outcome, and what was said of it."""
    files = [folder / f"test_{number}.py" for number in range(len(bodies))]
    for file, body in zip(files, bodies, strict=True):
        file.write_text(HEAD + body)
    results = folder / "results.xml"
    run_tests(folder, files, ci, [*options, f"--junitxml={results}", "--continue-on-collection-errors"])
    found = {file.stem: ("left out", "") for file in files}
    for case in ElementTree.parse(results).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}".strip(".").split(".")[0]
        found[name] = next(((one.tag, f"{one.get('message')} {one.text}") for one in case), ("passed", ""))
    return [found[file.stem] for file in files]


def run_tests(folder: Path, files: Sequence[Path], ci: bool, options: Sequence[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", "-ra"]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    if ci:
        environment["CI"] = "true"
    done = subprocess.run(
        [*command, *options, "--rootdir", str(folder), *map(str, files)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=patient(120),
    )
    return done.returncode, done.stdout + done.stderr


def test_a_child_left_behind_fails_the_test_and_is_ended(tmp_path: Path) -> None:
    status, output = run_test(
        tmp_path,
        """
conftest._GRACE_SECONDS = 0.5
def test_it():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open(os.path.dirname(__file__) + "/pid", "w").write(str(child.pid))
""",
    )
    pid = int((tmp_path / "pid").read_text())
    assert status == 1
    assert f"{pid}: {sys.executable} -c import time; time.sleep(60)" in output
    wait_until(lambda: not is_running(pid))


def test_a_process_is_known_as_ours_while_its_program_begins() -> None:
    """subprocess goes on when exec has closed the descriptors; the kernel has no environment of the process yet."""
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    for _ in range(100):
        # In a session of its own: else Python 3.13 uses posix_spawn(), which goes on while the child has our memory.
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as child:
            known = conftest._has_mark(child.pid)
            child.kill()
        assert known is not False


@pytest.mark.smoke
def test_an_orphan_left_behind_is_found(tmp_path: Path) -> None:
    status, output = run_test(
        tmp_path,
        f"""
conftest._GRACE_SECONDS = 0.5
def test_it():
    output = subprocess.run([sys.executable, "-c", {ORPHAN!r}], capture_output=True, text=True).stdout
    open(os.path.dirname(__file__) + "/pid", "w").write(output)
""",
    )
    pid = int((tmp_path / "pid").read_text())
    assert status == 1
    assert f"{pid}: {sys.executable} -c import time; time.sleep(60)" in output
    wait_until(lambda: not is_running(pid))


def test_what_may_be_another_worker_s_is_waited_for_and_not_ended(tmp_path: Path) -> None:
    """A process without an environment, which nobody knows as a child, stands for one in which a program begins."""
    orphan = ORPHAN.replace("start_new_session", "env={}, start_new_session")
    status, output = run_test(
        tmp_path,
        f"""
conftest._GRACE_SECONDS = 0.5
conftest._is_in_exec = lambda pid: True
def test_it():
    output = subprocess.run([sys.executable, "-c", {orphan!r}], capture_output=True, text=True).stdout
    open(os.path.dirname(__file__) + "/pid", "w").write(output)
""",
    )
    pid = int((tmp_path / "pid").read_text())
    lives = is_running(pid)
    os.kill(pid, signal.SIGKILL)
    assert lives and status == 0, output


# How a test starts a process: in its own code, in a fixture, in a class that it names, and so that no code tells.
STARTS = {
    "itself": """
def test_it(): subprocess.run(["true"])
""",
    "by a fixture": """
@pytest.fixture
def started(): return subprocess.run(["true"])
@pytest.fixture
def thing(started): return started
def test_it(thing): pass
""",
    "by a class": """
from tests.cli.driver import JsonRun
def test_it(): JsonRun
""",
    "by a function of dualdbg": """
from dualdbg.target import doctor
def test_it(): doctor.check_gdb(None)
""",
    "unseen": """
import importlib
def test_it(): importlib.import_module("sub" + "process").run(["true"])
""",
    "unseen, and keeps quiet about it": """
import contextlib, importlib
def test_it():
    with contextlib.suppress(OSError):
        importlib.import_module("sub" + "process").run(["true"])
""",
    "unseen, with the mark": """
import importlib
@pytest.mark.processes
def test_it(): importlib.import_module("sub" + "process").run(["true"])
""",
}


def test_only_what_is_marked_starts_processes(tmp_path: Path) -> None:
    for how, (outcome, said) in zip(
        STARTS, outcomes(tmp_path, list(STARTS.values()), options=["-m", "pure"]), strict=True
    ):
        if how.startswith("unseen") and "mark" not in how:
            assert outcome in ("failure", "error"), (how, outcome, said)
            assert "add @pytest.mark.processes to a test that starts some:\n  subprocess.Popen" in said, how
        else:
            assert outcome == "left out", (how, outcome, said)


# A test; how it ends on a user's machine, and in CI, and what is said of it.
COMPONENTS = [
    ("def test_it(): require(None, 'a thing')", "skipped: a thing", "failure: missing in CI: a thing"),
    (
        "def test_it(): require(None, 'a thing', outside=True)",
        "skipped: outside of this project: a thing",
        "skipped: outside of this project: a thing",
    ),
    ("def test_it(): assert require('there', 'a thing') == 'there'", "passed: ", "passed: "),
    (
        "def test_it(): pytest.skip('not here')",
        "skipped: not here",
        "failure: skipped where nothing may be missing",
    ),
    (
        "@pytest.mark.skipif(True, reason='not here')\ndef test_it(): pass",
        "skipped: not here",
        "error: skipped where nothing may be missing",
    ),
    (
        "pytest.importorskip('no_such_module')",
        "skipped: could not import",
        "error: skipped where nothing may be missing",
    ),
    ("@pytest.mark.xfail\ndef test_it(): assert False", "skipped: ", "skipped: "),
]


@pytest.mark.parametrize("ci", [False, True])
def test_missing_components(tmp_path: Path, ci: bool) -> None:
    found = outcomes(tmp_path, [body for body, *_ in COMPONENTS], ci)
    for (body, *wanted), (outcome, said) in zip(COMPONENTS, found, strict=True):
        expected, _, text = wanted[ci].partition(": ")
        assert outcome == expected and text in said, (body, outcome, said)


def test_every_area_has_a_few_quick_tests_with_real_processes() -> None:
    """The folders whose tests start processes have some in `make check`, and not many."""
    tests = ROOT / "tests"
    slow = {tests / "vscode" / "editors", tests / "native_corpus"}  # an editor starts, or much is compiled
    folders = {path.parent for path in tests.rglob("test_*.py")} - slow
    for folder in folders - {
        tests / area for area in ("console", "known", "protocol", "shared", "specs", "stacks", "toolchains")
    }:
        marks = sum(path.read_text().count("\n@pytest.mark.smoke\n") for path in folder.glob("test_*.py"))
        assert 1 <= marks <= 3, f"{folder}: {marks} smoke tests"


def test_workers_begin_with_what_takes_long(tmp_path: Path) -> None:
    quick, busy, slow = (
        "def test_it(): pass\n",
        f"{STARTS['itself']}",
        "@pytest.mark.slow\ndef test_it(): pass\n",
    )
    for name, text in {"test_a.py": quick, "test_b.py": busy, "test_c.py": slow}.items():
        (tmp_path / name).write_text("import pytest, subprocess\n" + text)
    options = ["-vv", "-n", "1", "--dist", "loadfile", "--no-loadscope-reorder"]
    _, output = run_test(tmp_path, "def test_it(): pass", options=[*options, str(tmp_path)])
    assert re.findall(r"PASSED (?:\S*/)?test_(\w+)\.py", output) == ["c", "b", "a", "it"], output


def test_what_was_asked_for_by_name_is_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUALDBG_TEST_EDITORS", "1")
    status, output = run_test(tmp_path, "def test_it(): require(None, 'chromium')")
    assert (status, "missing for what was asked for: chromium" in output) == (1, True), output


def test_programs_of_tests_can_be_interrupted_in_a_run_that_a_shell_started_in_the_background(
    tmp_path: Path,
) -> None:
    body = """
def test_it():
    shown = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True).stdout == "True\\n"
"""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status, output = run_test(tmp_path, body)
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 0, output
