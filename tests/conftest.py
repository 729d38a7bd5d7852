"""Fixtures of every test, the marks `pure` and `processes`, and the check that no process is left behind."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import signal
import sys
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest

from dualdbg.shared.proc_files import stat_of
from tests import reach, rows, support, warm

# Every process of this run inherits it, so that it is found even when its parent has died.
_MARK = "DUALDBG_TEST_RUN"
os.environ[_MARK] = uuid.uuid4().hex

# Containers often set these. With the first, each of the thousands of interpreters that the tests start would compile
# all of dualdbg again; with the second, a test whose program forgets to flush passes there and nowhere else.
for _variable in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
    os.environ.pop(_variable, None)
sys.dont_write_bytecode = False
warm.usual.update(os.environ)

# PyTorch's threads (libgomp) compute in a loop while they wait for the next piece of work: half of what a small program
# uses of the processors, which other workers need. What is computed, and by which threads, stays the same.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# NumPy's do so too: the number is of what they wait, log2.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# A shell that starts the run in the background has it ignore Ctrl-C and Ctrl-\, nohup the end of its terminal, and so
# would the programs of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# How long an example takes says more of the machine's other work than of the code; what has to be fast is measured.
hypothesis.settings.register_profile("dualdbg", deadline=None)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20)  # for `make check`
hypothesis.settings.load_profile("dualdbg")

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD in include/linux/sched.h

# A process that has been killed needs a moment until it is gone.
_GRACE_SECONDS = 10.0

# Audit events (PEP 578) of everything that makes a process, or replaces ours.
_STARTS = {
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
}


@pytest.fixture(scope="session")
def native_samples() -> Path:
    """The folder with sample_capi, sample_pybind and sample_locks for this interpreter (``-g -O0``)."""
    return support.build_native()


@pytest.fixture(scope="session")
def language_samples() -> Path:
    """The folder with O0, O2 and bare, of libraries in languages other than C++."""
    return support.build_languages()


@pytest.fixture(scope="session")
def rust_samples(language_samples: Path) -> Path:
    """The same, where they have the module in Rust."""
    there = any((language_samples / "O0").glob("sample_rust*.so"))
    support.require(there, "rustc, which compiles the sample in Rust", outside=True)
    return language_samples


@pytest.fixture(scope="session")
def pyo3_crates() -> None:
    """No test where cargo or the crates of PyO3 are missing."""
    reason = support.why_no_pyo3()
    support.require(reason is None, reason or "", outside=True)


@pytest.fixture(scope="session")
def fortran_samples(language_samples: Path) -> Path:
    """The same, where they have the library in Fortran."""
    there = (language_samples / "O0" / "libsample_fortran.so").is_file()
    support.require(there, "gfortran, which compiles the sample in Fortran", outside=True)
    return language_samples


@pytest.fixture(scope="session")
def torch_extension() -> Path:
    """The folder with the libraries of ``sample::`` operators; compiled once, which takes a while."""
    support.require(importlib.util.find_spec("torch"), "PyTorch")
    return support.build_torch_extension()


# -- what is pure, and what starts processes ----------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector away from what is collected: all of it stays, and each worker has thousands of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test as `processes` or `pure`, by what its code and its fixtures lead to, where no hand has."""
    for item in items:
        if item.get_closest_marker("processes") is None and item.get_closest_marker("pure") is None:
            item.add_marker("processes" if reach.starts_processes(_code_of(item)) else "pure")
    for item in rows.beyond_first([item for item in items if item.get_closest_marker("smoke") is not None]):
        item.add_marker("slow")
    if os.environ.get("DUALDBG_TEST_ALL") != "1":
        # A machine that boots takes more time of the processors than any other test, so that only CI has it always.
        marks = ["exhaustive"] if os.environ.get("CI") == "true" else ["exhaustive", "vm"]
        marked = {item for item in items if any(item.get_closest_marker(mark) for mark in marks)}
        left_out = marked | rows.beyond_cover([item for item in items if item not in marked])
        if left_out:
            items[0].config.hook.pytest_deselected(items=[item for item in items if item in left_out])
            items[:] = [item for item in items if item not in left_out]
    if "PYTEST_XDIST_WORKER" in os.environ:
        _begin_with_long_files(items)


def _begin_with_long_files(items: list[pytest.Item]) -> None:
    """Slow files first, then those that start the most processes: no worker is left alone with one at the end."""
    weights: dict[Path, tuple[int, int]] = {}
    for item in items:
        slow, processes = weights.get(item.path, (0, 0))
        marks = {mark.name for mark in item.iter_markers()}
        weights[item.path] = (slow + ("slow" in marks), processes + ("processes" in marks))
    items.sort(key=lambda item: weights[item.path], reverse=True)


def _code_of(item: pytest.Item) -> list[object]:
    assert isinstance(item, pytest.Function)
    fixtures = (found for found in item._fixtureinfo.name2fixturedefs.values())  # no public way leads to them
    return [item.obj, *(one.func for found in fixtures for one in found)]


class _NoProcesses:
    """Refuses to start a process while a pure test runs."""

    def __init__(self) -> None:
        self.is_on = False
        self.refused: list[str] = []
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.is_on and event in _STARTS:
            self.refused.append(f"{event} {arguments[:2]}")
            raise PermissionError(f"a pure test starts no process: {self.refused[-1]}")


_no_processes = _NoProcesses()


@pytest.fixture(autouse=True)
def only_what_is_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that starts processes is marked so, and leaves none behind; a pure one starts none."""
    if request.node.get_closest_marker("processes") is not None:
        with _nothing_left_behind():
            yield
        return
    _no_processes.refused.clear()
    _no_processes.is_on = True
    try:
        yield
    finally:
        _no_processes.is_on = False
    if _no_processes.refused:
        refused = "\n  ".join(_no_processes.refused)
        pytest.fail(f"add @pytest.mark.processes to a test that starts some:\n  {refused}", pytrace=False)


@contextlib.contextmanager
def _nothing_left_behind() -> Iterator[None]:
    """Fails a test that leaves a process behind, child or orphan, and ends that process."""
    before = set(psutil.pids())
    yield
    left: dict[psutil.Process, bool] = {}

    def nothing_is_left() -> bool:
        left.clear()
        left.update(_processes_of_this_run(set(psutil.pids()) - before - warm.servers()))
        return not left

    try:
        support.wait_until(nothing_is_left, _GRACE_SECONDS, "every process that the test started has ended")
    except pytest.fail.Exception:
        ours = [process for process, is_ours in left.items() if is_ours]
        lines = [f"{process.pid}: {_command_line(process)}" for process in ours]
        for process in ours:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if ours:
            pytest.fail("processes left behind:\n  " + "\n  ".join(lines), pytrace=False)


def _processes_of_this_run(pids: set[int]) -> dict[psutil.Process, bool]:
    """Those of ``pids`` that descend from us or have our mark in their environment; zombies do not run any more.

    False for one that may have it: a program begins there. It is waited for and not ended, as it may be another
    worker's. Most of ``pids`` are, and this is asked after each test: what costs little is asked first.
    """
    found = {}
    for pid in pids:
        has_mark = _has_mark(pid)
        is_ours = has_mark or _descends_from_us(pid)
        if (is_ours or has_mark is None) and support.is_running(pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                found[psutil.Process(pid)] = is_ours
    return found


def _has_mark(pid: int) -> bool | None:
    """None: not yet known."""
    try:
        environ = Path(f"/proc/{pid}/environ")
        found = environ.read_bytes()
        if not found:
            if _is_in_exec(pid):
                return None
            found = environ.read_bytes()  # it is there since
        return f"{_MARK}={os.environ[_MARK]}".encode() in found
    except OSError:  # it has ended, or is another user's
        return False


def _is_in_exec(pid: int) -> bool:
    """Whether a new program begins there, which has its descriptors closed and no environment yet: it may be ours."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # proc_pid_stat(5): 3, 9, 27. The kernel sets the end of the code behind the last of the environment.
    state, flags, code_ends = fields[0], int(fields[6]), int(fields[24])
    return state not in "ZX" and not flags & _KERNEL_THREAD and code_ends == 0


def _descends_from_us(pid: int) -> bool:
    us = os.getpid()
    while pid > 1 and pid != us:
        try:
            pid = stat_of(pid).parent
        except OSError:  # it has ended
            return False
    return pid == us


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error as error:
        return str(error)


# -- skips --------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip_in_ci(report)
    return report


def _refuse_skip_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Where nothing may be missing a skip fails, unless ``require(..., outside=True)`` granted it."""
    if not support.NO_SKIPS or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if support.OUTSIDE not in reason:
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be missing: {reason}"
