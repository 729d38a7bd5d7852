"""Every sample runs by itself, as a user would run it, and does what its first line says."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.support import SAMPLES, build_native, other_interpreter, read_ready, require


def run(script: str, *arguments: str, python: str | Path = sys.executable, **environment: str):
    return subprocess.run(
        [str(python), str(SAMPLES / script), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(120),
        env={**os.environ, **environment},
    )


def test_testdebug_is_the_script_that_the_walk_through_names_by_line() -> None:
    lines = (SAMPLES / "testdebug.py").read_text().splitlines()
    assert lines == ["import torch", "", "d = torch.randn(2, 3)", "print(d)"]


@pytest.mark.smoke
def test_native_demo_without_preparation(native_samples: Path) -> None:
    # No PYTHONPATH: the script finds, or makes, the build by itself.
    done = run("native_demo.py")
    assert (done.returncode, done.stderr) == (0, "")
    expected = [
        "numbers: 3.5 14.0",
        "outer -> helper -> inner_loop: 4.833",
        "callbacks: 21.0 20.0",
        "a Python exception: ValueError: raised in C++",
        "an exception of the callback: LookupError: no 1.0",
        "the same, in a C++ thread: LookupError: no 1.0",
        "an argument check: ValueError: steps is negative",
        "objects: Vec2(5.0, 5.0) Vec2(6.0, 8.0) True [3.0, 4.0] 5.0 5.0",
        "blocking: [65, 66]",
    ]
    only_pybind = [
        "std::runtime_error: RuntimeError: value is negative",
        "a C++ type of our own: SensorError: reading above 100",
    ]
    assert done.stdout.splitlines() == [
        "sample_capi",
        *expected,
        "sample_pybind",
        *expected[:7],
        *only_pybind,
        *expected[7:],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_native_demo_with_another_interpreter(version: str, native_samples: Path) -> None:
    python = other_interpreter(version)
    folder = build_native(python)
    other = run("native_demo.py", python=python, PYTHONPATH=str(folder))
    ours = run("native_demo.py", PYTHONPATH=str(native_samples))
    assert (other.returncode, other.stdout) == (0, ours.stdout), other.stderr


@pytest.mark.parametrize("binding", ["capi", "pybind"])
def test_crash_ends_by_a_segmentation_fault(binding: str, native_samples: Path) -> None:
    done = run("crash.py", binding, PYTHONPATH=str(native_samples))
    assert done.returncode == -signal.SIGSEGV
    assert done.stdout == f"about to crash in sample_{binding}\n"


@pytest.mark.slow
@pytest.mark.exhaustive  # all samples are compiled for it
def test_crash_also_with_optimisation() -> None:
    done = run("crash.py", PYTHONPATH=str(build_native(optimize="2")))
    assert done.returncode == -signal.SIGSEGV


def test_threads_count_alike() -> None:
    done = run("threads.py", "100")
    assert done.stdout.splitlines() == ["parser 4950", "reader 4950", "writer 4950"], done.stderr


def test_signals_are_all_received() -> None:
    done = run("signals.py")
    got = {name: int(times) for name, times in (line.split() for line in done.stdout.splitlines())}
    # The interval timer may fire again while the handler runs; the others are sent one by one.
    assert got.pop("SIGALRM") >= 6, done.stderr
    assert got == {"SIGCHLD": 3, "SIGINT": 1, "SIGUSR1": 1, "SIGUSR2": 1}


def test_signals_listens() -> None:
    command = [sys.executable, str(SAMPLES / "signals.py"), "--listen"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert read_ready(process) == {"pid": [process.pid]}
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=patient(120))
    assert output.splitlines() == ["SIGTERM 1", "SIGUSR1 1"]
    assert process.returncode == 0


@pytest.mark.torch
@pytest.mark.parametrize(
    ("script", "expected"),
    rows.some(
        [
            ("jit_trace.py", "torch.Size([3, 2])"),
            ("testdebug.py", "tensor(["),  # test_walkthrough.py debugs it
            ("jit_script.py", "tensor([[4., 4.],\n        [4., 4.]])"),
        ],
        1,
    ),
)
def test_torch_samples(script: str, expected: str) -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")
    done = run(script)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
