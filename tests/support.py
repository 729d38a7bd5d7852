"""What tests of every area share: missing components, deadlines, interpreters, building the samples."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from dualdbg.shared import python_versions
from dualdbg.system.patience import patient
from dualdbg.target import launcher

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
SHARED = ROOT.parent / "shared"

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
NO_SKIPS = (
    IN_CI or os.environ.get("DUALDBG_TEST_EDITORS") == "1"
)  # components that were asked for by name: a test fails without them
OUTSIDE = "outside of this project: "  # the beginning of the reason of a skip that is allowed in CI
# How a process ended that is reaped.
KERNEL_TELLS = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 15)

PROGRAM_COUNTER = {"x86_64": "rip", "aarch64": "pc"}[os.uname().machine]

T = TypeVar("T")


def require(component: T | None, reason: str, *, outside: bool = False) -> T:
    """``component``, or no test: skipped on a user's machine, failed in CI and in `make test-editors`.

    ``component`` is whatever shows that it is there: ``shutil.which("gdb")``, a module spec, a bool.
    ``reason`` says what is missing. ``outside`` is for what the project cannot provide, such as
    ``../shared``: that is skipped in CI too.
    """
    if component:
        return component
    if NO_SKIPS and not outside:
        pytest.fail(f"missing {'in CI' if IN_CI else 'for what was asked for'}: {reason}", pytrace=False)
    pytest.skip(OUTSIDE + reason if outside else reason)


def require_compiled_debugpy() -> None:
    """No test where debugpy is the wheel of Python alone, as on AArch64 and for a Python newer than it."""
    package = Path(launcher.debugpy_package())
    compiled = next(package.rglob(f"*{EXTENSION_SUFFIXES[0]}"), None)
    require(compiled, "this debugpy has no compiled part for this Python and processor", outside=True)


def wait_until(predicate: Callable[[], T], seconds: float = 60.0, what: str = "") -> T:
    """The first true answer of ``predicate``, asked again and again; fails after ``seconds``, times the patience.

    For conditions that can be seen but not waited for: a file, a process state, a line in a log.
    """
    seconds = patient(seconds)
    deadline = time.monotonic() + seconds
    pause = 0.001
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} s: {what or getattr(predicate, '__name__', predicate)}")
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def wait_until_gone(processes: Iterable[psutil.Process], seconds: float = 120.0) -> None:
    """Until all of them have ended. psutil's own wait raises EINVAL of pidfd_open(2), where one is reaped just then."""

    def lives(process: psutil.Process) -> bool:
        try:
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    left = list(processes)
    wait_until(lambda: not any(map(lives, left)), seconds, f"the end of {left}")


def is_running(pid: int) -> bool:
    """Whether the process exists and is more than a zombie that waits for its parent."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    """Its name; empty when it has ended: dualdbg asks this and that of processes that are soon gone."""
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def children_of(pid: int) -> list[psutil.Process]:
    """The children of a process, none when it has ended."""
    try:
        return list(psutil.Process(pid).children())
    except psutil.NoSuchProcess:
        return []


def limit_processes(pid: int) -> None:
    """From now on the process can start no other process and no thread, unless it is root's."""
    user = psutil.Process(pid).uids().real
    words = [require(shutil.which("prlimit"), "prlimit (util-linux)"), f"--pid={pid}", "--nproc=1"]
    # As that user: for another one's process more rights are needed.
    subprocess.run(words, check=True, user=user, group=user, extra_groups=[])


def read_ready(process: subprocess.Popen[str]) -> dict[str, list[int]]:
    """Reads a sample's output up to ``ready pid=1 workers=2,3``: ``{"pid": [1], "workers": [2, 3]}``."""
    assert process.stdout is not None
    before = []
    for line in process.stdout:
        if line.startswith("ready "):
            pairs = (word.split("=", 1) for word in line.split()[1:])
            return {name: [int(number) for number in numbers.split(",")] for name, numbers in pairs}
        before.append(line)
    pytest.fail(f"the sample ended with {process.wait()} and was never ready; it printed: {''.join(before)}")


FREE_THREADED = ("3.13t", "3.14t", "3.15t")
"""The builds that ``scripts/free-threaded`` makes; no distribution of Debian has one."""


@functools.cache
def find_interpreter(version: str) -> Path | None:
    """An interpreter of this machine, ``3.12`` or ``3.13t``: on PATH, or where pyenv, uv and our script put theirs."""
    on_path = shutil.which(f"python{version}")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    candidates = [
        *([Path(on_path)] if on_path else []),
        *Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python{version}"),
        *Path("~/.local/share/uv/python").expanduser().glob(f"cpython-{version}.*/bin/python{version}"),
        *Path(cache).expanduser().glob(f"dualdbg-pythons/python{version}/bin/python{version}"),
    ]
    for candidate in candidates:
        # pyenv's shims are on PATH also for versions that are not switched on, and then refuse to run.
        command = [
            candidate,
            "-c",
            "import sys; print('%d.%d' % sys.version_info[:2] + sys.abiflags.replace('d', ''))",
        ]
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return candidate
    return None


def other_interpreter(version: str) -> Path:
    """The interpreter of this machine for ``version``. CI has neither the newest two nor FREE_THREADED."""
    outside = version in (*python_versions.NAMES[-2:], *FREE_THREADED)
    return require(find_interpreter(version), f"Python {version} is not installed", outside=outside)


def sanitizer(name: str) -> str:
    """The run-time library of a sanitizer of gcc's, for LD_PRELOAD: ``asan``, ``tsan`` or ``ubsan``."""
    compiler = require(shutil.which("gcc"), "gcc")
    asked = [compiler, f"-print-file-name=lib{name}.so"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    require(Path(library).is_absolute(), f"lib{name}")
    return library


def build_native(python: str | Path = sys.executable, optimize: str = "0") -> Path:
    """The folder with sample_capi, sample_pybind and sample_locks for ``python``; to be put on PYTHONPATH."""
    return built(SAMPLES / "native/build.py", "--python", str(python), "--optimize", optimize)


def build_torch_extension() -> Path:
    """The folder with sample_operators.so and sample_values.so, for ``torch.ops.load_library``."""
    return built(SAMPLES / "torch_extension/build.py")


def build_languages() -> Path:
    """The folder with O0, O2 and bare: libraries in Cython, assembly, C++ with threads, and where there is a compiler
    for it in Rust and Fortran.
    """
    return built(SAMPLES / "languages/build.py")


def why_no_pyo3() -> str | None:
    """Why no extension can be compiled with PyO3; None when one can."""
    check = "import cargo_build; print(cargo_build.missing() or '')"
    command = [sys.executable, "-c", check]
    done = subprocess.run(command, cwd=SAMPLES, capture_output=True, text=True, check=True)
    return done.stdout.strip() or None


def build_pyo3(level: str) -> Path:
    """The folder with sample_pyo3, by the optimisation level: O0 or O2."""
    return built(SAMPLES / "pyo3/build.py", level)


def build_corpus() -> Path:
    """The folder with sample_corpus.so."""
    return built(SAMPLES / "torch_extension/corpus/build.py")


def built(script: Path, *arguments: str) -> Path:
    """The folder that a build script prints."""
    require(shutil.which(os.environ.get("CXX", "g++")), "a C++ compiler")
    command = [sys.executable, str(script), *arguments]
    with script.open() as only_one:  # of the workers that run the tests builds it
        fcntl.flock(only_one, fcntl.LOCK_EX)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def with_libcxx(source: Path, program: Path) -> list[str | Path]:
    """The command that builds a program with libc++, by GCC: Clang need not be there."""
    headers = next(iter(sorted(Path("/usr/lib").glob("llvm-*/include/c++/v1"))), None)
    headers = require(headers, "libc++ (libc++-dev)", outside=True)
    folder = headers.parents[2] / "lib"
    words = [
        "g++",
        "-std=c++17",
        "-g",
        "-O0",
        "-w",
        "-nostdinc++",
        f"-isystem{headers}",
        source,
        "-o",
        program,
    ]
    libraries = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lc++", "-lc++abi", "-lm", "-lc", "-lgcc_s", "-lgcc"]
    return [*words, "-nodefaultlibs", *libraries]
