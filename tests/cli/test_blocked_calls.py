"""Where no process may be traced, by a seccomp filter or in a sandbox: every command says so, and what works."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.refused_calls import KILLED, PTRACE, READ, without

REPOSITORY = Path(__file__).parents[2]
SLEEPER = """\
import time
def nap():
    print("ready", flush=True)
    time.sleep(600)
nap()
"""
REFUSED = (
    "dualdbg: ptrace(2) is refused here, whatever it asks (Operation not permitted): that is a seccomp filter"
)
# What they do without ptrace(2), for which a name has to be typed.
WORKS = ("dualdbg stacks --no-stop", "dualdbg core", "dualdbg run --report")


def dualdbg(*words: str, prefix: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, sys.executable, "-m", "dualdbg", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(120),
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


@pytest.fixture(scope="module")
def sleeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    program = tmp_path_factory.mktemp("sleeper") / "sleeper.py"
    program.write_text(SLEEPER)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


@pytest.mark.parametrize(
    "words",
    [
        "attach --batch PID",
        "run --batch -c pass",
        "run --native --batch /bin/true",
        "trace -b getsid -c pass",
    ],
)
def test_a_session_is_refused_with_what_was_tried_and_what_works(
    words: str, sleeper: int, tmp_path: Path
) -> None:
    done = dualdbg(*words.replace("PID", str(sleeper)).split(), prefix=without(PTRACE), folder=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    first, hint = done.stderr.splitlines()
    assert first == REFUSED
    assert all(command in hint for command in WORKS) and "--security-opt seccomp=unconfined" in hint


def test_what_only_looks_says_so_once(sleeper: int, tmp_path: Path) -> None:
    reason = REFUSED.removeprefix("dualdbg: ")
    done = dualdbg("stacks", str(sleeper), prefix=without(PTRACE), folder=tmp_path)
    assert done.returncode == 3 and f"process {sleeper} was not read: {reason}" in done.stderr
    done = dualdbg("job", "--via", "local", str(sleeper), prefix=without(PTRACE), folder=tmp_path)
    assert done.returncode == 3 and reason in done.stderr
    done = dualdbg("doctor", "--json", prefix=without(PTRACE), folder=tmp_path)
    findings = {row["area"]: row for row in map(json.loads, done.stdout.splitlines()) if "area" in row}
    assert done.returncode == 3 and findings["ptrace"]["status"] == "error"
    assert findings["ptrace"]["text"].startswith(reason) and findings["gdb"]["status"] == "ok"
    done = dualdbg("ps", prefix=without(PTRACE), folder=tmp_path)
    rows = [line for line in done.stdout.splitlines() if line.endswith(reason)]
    assert done.returncode == 0 and len(rows) == 1 and str(sleeper) in rows[0]


@pytest.mark.parametrize(
    ("calls", "answer"),
    [((PTRACE,), errno.EPERM), ((PTRACE, READ), errno.ENOSYS), ((PTRACE, READ), KILLED)],
    ids=["one", "both, as a sandbox", "both, fatal"],
)
def test_the_stacks_are_read_without_it(
    calls: tuple[str, ...], answer: int, sleeper: int, tmp_path: Path
) -> None:
    """By process_vm_readv(2), or by /proc/PID/mem. A filter that ends who asks does not end us."""
    prefix = without(*calls, answer=answer)
    done = dualdbg("stacks", str(sleeper), prefix=prefix, folder=tmp_path)
    how = "whoever calls it is ended by SIGSYS" if answer == KILLED else os.strerror(answer)
    assert done.returncode == 3 and f"refused here, whatever it asks ({how})" in done.stderr
    done = dualdbg("stacks", "--no-stop", str(sleeper), prefix=prefix, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "/sleeper.py:4\n" in done.stdout and "clock_nanosleep" in done.stdout


def test_run_report_runs_the_program(tmp_path: Path) -> None:
    """How it ends is known, and its output; its own status is that of dualdbg."""
    (tmp_path / "ends.py").write_text("print('said')\nraise SystemExit(4)\n")
    done = dualdbg("run", "--report", "reports", "ends.py", prefix=without(PTRACE), folder=tmp_path)
    assert (done.returncode, done.stdout) == (4, "said\n")
    assert (
        "the program runs untraced, and a report of a crash has no stacks: ptrace(2) is refused"
        in done.stderr
    )
    assert not list((tmp_path / "reports").iterdir())
    (tmp_path / "dies.py").write_text("import os\nprint('said', flush=True)\nos.abort()\n")
    done = dualdbg("run", "--report", "reports", "dies.py", prefix=without(PTRACE), folder=tmp_path)
    assert (done.returncode, done.stdout) == (134, "said\n")
    (report,) = (tmp_path / "reports").glob("crash-*.json")
    told = json.loads(report.read_text())
    assert (told["kind"], told["signal"], told["processes"]) == ("crash", 6, [])
    assert told["output"] == {"stdout": "said\n"} and "there are no stacks" in told["failures"][0]["message"]


def test_a_hang_is_read_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(SLEEPER)
    words = ("run", "--report", "reports", "--timeout", "2", "hangs.py")
    done = dualdbg(*words, prefix=without(PTRACE), folder=tmp_path)
    assert done.returncode == 143  # it is sent SIGTERM
    (report,) = (tmp_path / "reports").glob("hang-*.txt")
    assert "nap  hangs.py:4\n" in report.read_text()
