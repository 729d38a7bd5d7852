"""Fixtures of every test: the compiled samples, and the check that no process is left behind."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import psutil
import pytest

from tests import support

# Every process of this run inherits it, so that it is found even when its parent has died.
_MARK = "DUALDBG_TEST_RUN"
os.environ[_MARK] = uuid.uuid4().hex

# A process that has been killed needs a moment until it is gone.
_GRACE_SECONDS = 3.0


@pytest.fixture(scope="session")
def native_samples() -> Path:
    """The folder with sample_capi, sample_pybind and sample_locks for this interpreter (``-g -O0``)."""
    return support.build_native()


@pytest.fixture(scope="session")
def torch_extension() -> Path:
    """The folder with the libraries of ``sample::`` operators; compiled once, which takes a while."""
    support.require(importlib.util.find_spec("torch"), "PyTorch")
    return support.build_torch_extension()


@pytest.fixture(autouse=True)
def leftovers() -> Iterator[None]:
    """Fails a test that leaves a process behind, child or orphan, and ends that process."""
    before = _processes_of_this_run()
    yield
    left: set[psutil.Process] = set()

    def nothing_is_left() -> bool:
        left.clear()
        left.update(_processes_of_this_run() - before)
        return not left

    try:
        support.wait_until(nothing_is_left, _GRACE_SECONDS, "every process that the test started has ended")
    except pytest.fail.Exception:
        lines = [f"{process.pid}: {_command_line(process)}" for process in left]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        pytest.fail("processes left behind:\n  " + "\n  ".join(lines), pytrace=False)


def _processes_of_this_run() -> set[psutil.Process]:
    """Descendants, and processes with our mark in their environment; zombies are not running any more."""
    me = os.getpid()
    mark = f"{_MARK}={os.environ[_MARK]}".encode()
    found = set(psutil.Process(me).children(recursive=True))
    known = {me, *(process.pid for process in found)}
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            if pid not in known and mark in Path(f"/proc/{pid}/environ").read_bytes():
                found.add(psutil.Process(pid))
    return {process for process in found if support.is_running(process.pid)}


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error as error:
        return str(error)


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
    """In CI a skip hides a missing component: it fails, unless ``require(..., outside=True)`` granted it."""
    if not support.IN_CI or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if support.OUTSIDE not in reason:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {reason}"
