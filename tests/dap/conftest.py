"""Fixtures of the adapter's tests: an adapter process with its client, ended and found clean after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .client import Client, StdioAdapter


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[StdioAdapter]:
    """``dualdbg dap``; the test fails when it writes a traceback, or does not end with its input."""
    with clean_adapter(tmp_path / "dualdbg-log") as started:
        yield started


@contextmanager
def clean_adapter(log: Path) -> Iterator[StdioAdapter]:
    started = StdioAdapter("--log-dir", str(log))
    yield started
    errors = started.close()
    assert errors == "", errors
    session_log = log / "session.log"
    assert not session_log.exists() or "Traceback" not in session_log.read_text()


@pytest.fixture
def client(adapter: StdioAdapter) -> Client:
    return adapter.client


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a Python file and returns its path."""

    def write(text: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.fixture
def demo(native_samples: Path, program: Callable[[str], Path]) -> Path:
    """A program that calls into the pybind11 sample, which calls back: lines 10, 11 and 12 are the calls."""
    return program(demo_text(native_samples))


def demo_text(native_samples: Path) -> str:
    return f"""\
import sys
sys.path.insert(0, {str(native_samples)!r})
import sample_pybind

def double(value):
    doubled = value * 2
    return doubled

def main():
    first = sample_pybind.outer(1.0, 3)
    second = sample_pybind.call_back(double, first)
    text = "done"
    print(text, second)

main()
"""
