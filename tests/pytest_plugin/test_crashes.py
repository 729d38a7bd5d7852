"""Tests that end their interpreter: told with their stacks, and the rest of the suite runs."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests import sanitizers
from tests.pytest_plugin.driver import run_pytest

SUITE = """
import ctypes, os, signal, sys, threading
import pytest

PROCESSES = []

@pytest.fixture(scope="session")
def process():
    PROCESSES.append(os.getpid())
    return os.getpid()

def test_before(process):
    print("said before")

@pytest.mark.skip(reason="not now")
def test_skipped(): pass

@pytest.mark.xfail
def test_expected(): assert 0

def test_crash(process, record_property):
    record_property("kind", "crash")
    print("said \\x1b[31mhere")
    text = "a value"
    ctypes.string_at(0)

@pytest.fixture
def broken():
    os.abort()

def test_setup(broken): pass

@pytest.fixture
def breaks_later():
    yield
    os.kill(os.getpid(), signal.SIGBUS)

def test_teardown(breaks_later): pass

def test_exit(): os._exit(3)

def test_thread():
    thread = threading.Thread(target=ctypes.string_at, args=(1,), name="a-crasher")
    thread.start()
    thread.join()

def test_after(process):
    assert PROCESSES == [os.getpid()]  # the fixture of the session was set up anew, in this process

def test_fails(): assert process is None

def test_last(): os.kill(os.getpid(), signal.SIGFPE)
"""


@pytest.mark.smoke
def test_a_suite_goes_on_after_each_end(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": SUITE}, "--dualdbg", "-rA")
    assert done.status == 1
    assert done.totals == {"failed": 5, "passed": 3, "skipped": 1, "xfailed": 1, "error": 2}
    assert {name: parts for name, parts in done.cases.items() if name not in ("test_crash",)} == {
        "test_before": [],
        "test_skipped": ["skipped"],
        "test_expected": ["skipped"],
        "test_setup": ["error"],
        "test_teardown": ["error"],
        "test_exit": ["failure"],
        "test_thread": ["failure"],
        "test_after": [],
        "test_fails": ["failure"],
        "test_last": ["failure"],
    }
    assert "failure" in done.cases["test_crash"]
    assert done.out.count("test session starts") == 1
    assert "[100%]" in done.out
    # The stack ends at the test: pytest's own frames are left out.
    report = done.out.partition("__ test_crash __")[2].partition("\n____")[0]
    assert "was ended by SIGSEGV (Segmentation fault) at address 0x0" in report
    assert " py   test_crash  test_it.py:25" in report and "text = 'a value'" in report
    assert "_pytest" not in report
    assert "said " in report
    assert "FAILED test_it.py::test_exit - ended with status 3" in done.out
    assert "a-crasher" in done.out


def test_verbose_lines_are_whole(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": SUITE}, "--dualdbg", "-v", "-k", "before or crash or after")
    lines = [line.split()[:2] for line in done.out.splitlines() if line.startswith("test_it.py::")]
    assert lines == [
        ["test_it.py::test_before", "PASSED"],
        ["test_it.py::test_crash", "FAILED"],
        ["test_it.py::test_after", "PASSED"],
    ]


def test_maxfail_counts_crashes(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": SUITE}, "--dualdbg", "-x")
    assert done.status == 1
    assert done.totals == {"failed": 1, "passed": 1, "skipped": 1, "xfailed": 1}
    assert "stopping after 1 failures" in done.out


def test_the_last_failed_are_remembered(tmp_path: Path) -> None:
    suite = {"test_it.py": "import os\ndef test_a(): pass\ndef test_b(): os.abort()\ndef test_c(): pass\n"}
    assert run_pytest(tmp_path, suite, "--dualdbg").totals == {
        "failed": 1,
        "passed": 2,
    }
    again = run_pytest(tmp_path, suite, "--dualdbg", "--lf")
    assert set(again.cases) == {"test_b"}


def test_a_module_that_ends_the_process_is_an_error_of_collection(tmp_path: Path) -> None:
    suite = {"test_a.py": "import os\nos.abort()\n", "test_b.py": "def test_b(): pass\n"}
    done = run_pytest(tmp_path, suite, "--dualdbg")
    assert done.status == 2
    assert "ERROR collecting test_a.py" in done.out and "SIGABRT" in done.out
    assert "Interrupted: 1 error during collection" in done.out
    done = run_pytest(tmp_path, suite, "--dualdbg", "--continue-on-collection-errors")
    assert done.status == 1
    assert done.totals == {"passed": 1, "error": 1}


@pytest.mark.parametrize(
    "suite",
    [
        {"conftest.py": "import os\nos.abort()\n", "test_a.py": "def test_a(): pass\n"},
        {"test_a.py": "import atexit, os\natexit.register(os.abort)\ndef test_a(): pass\n"},
    ],
    ids=["before", "behind"],
)
def test_a_crash_outside_of_tests_is_told_and_is_the_status(tmp_path: Path, suite: dict[str, str]) -> None:
    done = run_pytest(tmp_path, suite, "--dualdbg", env={"GITHUB_ACTIONS": "true"})
    assert done.status == 128 + signal.SIGABRT
    assert "was ended by SIGABRT" in done.err and "raise  libc.so.6" in done.err
    assert "::error " in done.out


def test_github_shows_it_beside_the_line(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        {"test_it.py": "import ctypes\n\ndef test_a():\n    ctypes.string_at(0)\n"},
        "--dualdbg",
        env={"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path.parent)},
    )
    (line,) = (line for line in done.out.splitlines() if line.startswith("::error"))
    assert line.startswith(
        f"::error file={tmp_path.name}/test_it.py,line=4,title=test_it.py%3A%3Atest_a crashed or hung::SIGSEGV in "
    )


def test_a_child_that_a_test_forks_is_told_with_the_test(tmp_path: Path) -> None:
    suite = """
import ctypes, os, subprocess, sys
def child():
    pid = os.fork()
    if pid == 0:
        ctypes.string_at(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def test_fails(): assert child() == 0
def test_passes(): assert child() == -11
def test_programs():
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\\n"
    assert subprocess.run([sys.executable, "-c", "import os; os.abort()"]).returncode == -6
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.totals == {"failed": 1, "passed": 2}
    assert "a child of the test, was ended by SIGSEGV" in done.out
    assert " py   test_fails  test_it.py:8" in done.out


def test_a_run_of_pytest_in_a_test_is_left_alone(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "test_i.py").write_text("import os\ndef test_i(): os.abort()\n")
    suite = f"""
import subprocess, sys
def test_inner():
    command = [sys.executable, "-m", "pytest", "--dualdbg", "-p", "no:cacheprovider", {str(inner)!r}]
    assert subprocess.run(command).returncode == -6
"""
    assert run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg", "test_it.py").totals == {"passed": 1}


def test_standard_input_and_output_are_the_tests_own(tmp_path: Path) -> None:
    suite = (
        "import sys, os\ndef test_a(): assert sys.stdin.readline() == 'a line\\n'; print('seen at once')\n"
    )
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg", "-s", stdin="a line\n")
    assert done.totals == {"passed": 1}
    assert "seen at once" in done.out


def test_a_handler_of_the_program_is_no_crash(tmp_path: Path) -> None:
    suite = """
import faulthandler, os, signal
def test_handled():
    seen = []
    signal.signal(signal.SIGFPE, lambda *_: seen.append(1))
    os.kill(os.getpid(), signal.SIGFPE)
    assert seen == [1]
def test_faulthandler():
    faulthandler.enable()
    value = 5
    os.kill(os.getpid(), signal.SIGSEGV)
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.totals == {"failed": 1, "passed": 1}
    # What faulthandler does between the crash and its own signal is cut away.
    assert "signal handler called" not in done.out
    assert " py   test_faulthandler  test_it.py:11" in done.out


def test_what_a_dead_process_has_started_is_ended_with_it(tmp_path: Path) -> None:
    suite = """
import os, signal, subprocess
from pathlib import Path
def test_a():
    server = subprocess.Popen(["sleep", "1000"])
    Path("server").write_text(str(server.pid))
    os.abort()
def test_b():
    pid = Path("server").read_text()
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return
    assert state == "Z"
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.totals == {"failed": 1, "passed": 1}


def test_the_whole_run_ends_by_the_signal_that_asks_it_to(tmp_path: Path) -> None:
    suite = "import os, signal\ndef test_a(): os.kill(os.getppid(), signal.SIGTERM); signal.pause()\n"
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.status == 128 + signal.SIGTERM
    assert "was ended" not in done.err


def test_an_end_from_outside_is_a_failure_too(tmp_path: Path) -> None:
    suite = """
import os, pytest, signal
def test_a(): os.kill(os.getpid(), signal.SIGKILL)
@pytest.mark.xfail
def test_b(): os.abort()
def test_c(): pass
"""
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.totals == {"failed": 2, "passed": 1}
    assert "was ended by SIGKILL" in done.out


ENDS = """
import os, signal, sys, threading
def test_exits():
    print("said 1", file=sys.stderr)
    os._exit(3)
def test_is_killed():
    print("said 2")
    os.kill(os.getpid(), signal.SIGKILL)
def ends(): os._exit(4)
def test_thread():
    thread = threading.Thread(target=ends)
    thread.start()
    thread.join()
def test_after(): pass
"""


def test_an_end_within_a_test_is_shown_with_its_stack_and_its_output(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": ENDS}, "--dualdbg")
    assert done.totals == {"failed": 3, "passed": 1}, done.out
    reports = re.split(r"\n_+ (test_\w+) _+\n", done.out)[1:]
    texts = dict(zip(reports[::2], reports[1::2], strict=True))
    assert " py   test_exits  test_it.py:5" in texts["test_exits"] and "said 1" in texts["test_exits"]
    assert "said 2" in texts["test_is_killed"]
    assert " py   ends  test_it.py:9" in texts["test_thread"]
    assert "FAILED test_it.py::test_exits - ended with status 3 in test_exits (test_it.py:5)" in done.out


def test_a_report_of_a_sanitizer_is_shown_with_the_stack(tmp_path: Path) -> None:
    library, environment = sanitizers.library(tmp_path, "asan")
    suite = f"import ctypes\ndef call(): ctypes.CDLL({str(library)!r}).beyond(4)\n"
    suite += "def test_it(): call()\ndef test_after(): pass\n"
    done = run_pytest(
        tmp_path, {"test_it.py": suite}, "--dualdbg", env={**environment, "ASAN_OPTIONS": "detect_leaks=0"}
    )
    assert done.totals == {"failed": 1, "passed": 1}, done.out
    assert "ERROR: AddressSanitizer: heap-buffer-overflow" in done.out  # the captured output
    assert re.search(r" c\+\+  beyond  \S*faults.c:\d+\n +n = 4\n", done.out), done.out
    place = f"in beyond (faults.c:{sanitizers.line_of('asan')}), called in call (test_it.py:2)"
    assert f"FAILED test_it.py::test_it - was ended by a sanitizer, with status 1 {place}" in done.out


def test_a_test_that_is_there_twice_runs_twice(tmp_path: Path) -> None:
    suite = {"test_it.py": "import os\ndef test_a(): pass\ndef test_b(): os.abort()\n"}
    done = run_pytest(tmp_path, suite, "--dualdbg", "--keep-duplicates", "test_it.py", "test_it.py")
    assert done.totals == {"failed": 2, "passed": 2}


def test_the_tests_do_not_outlive_their_parent(tmp_path: Path) -> None:
    suite = "import os, signal\ndef test_a(): os.kill(os.getppid(), signal.SIGKILL); signal.pause()\n"
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg")
    assert done.status == -signal.SIGKILL  # the harness looks for processes that are left


def test_the_frame_of_the_fault_is_told(tmp_path: Path) -> None:
    """In the stack, in the last lines, in JUnit XML and in GitHub's annotations."""
    suite = "import ctypes\ndef helper(): ctypes.string_at(0)\ndef test_it(): helper()\n"
    env = {"GITHUB_ACTIONS": "true"}
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg", env=env)
    # Debug info of libc and _ctypes has the names.
    without = r"|\?\?" if os.uname().machine == "aarch64" else ""
    strlen = rf"(\w*strlen\w*{without})"
    stack = rf" #0 c\+\+  {strlen}  libc\S*\n #1 c\+\+  (string_at{without})  _ctypes"
    assert re.search(stack, done.out), done.out
    place = rf"SIGSEGV in {strlen} \(libc[^)]*\), called in helper \(test_it.py:2\)"
    for start, text in (("FAILED ", done.out), ("::error ", done.out), ('message="', done.xml)):
        assert re.search(re.escape(start) + ".*" + place, text), text


RECURSION = """
import ctypes, resource, sys
sys.setrecursionlimit(10**9); resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
def f(n): return g(n + 1)
def g(n): return h(back, n)
def h(c, n): return c(n)
back = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(f)
def test_it(): f(0)
"""


def test_a_stack_that_is_full(tmp_path: Path) -> None:
    """Cycles of several frames are folded, in both languages; and it is said what the matter is."""
    done = run_pytest(tmp_path, {"test_it.py": RECURSION}, "--dualdbg")
    assert done.totals == {"failed": 1}
    assert "- the stack of the thread is full: " in done.out
    assert re.search(r"\.\.\. the same \d+ frames [\d]+ more times", done.out), done.out
    assert " py   test_it  test_it.py:8" in done.out
    assert len(done.out.splitlines()) < 200


def test_that_tests_are_collected_is_said_once(tmp_path: Path) -> None:
    suite = {"test_bad.py": "import os\nos.abort()\n", "test_good.py": "def test_a(): pass\n"}
    done = run_pytest(tmp_path, suite, "--dualdbg", "-v", "--continue-on-collection-errors")
    assert done.out.count("collecting ...") == 1, done.out
    assert "1 passed, 1 error" in done.out
