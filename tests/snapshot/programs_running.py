"""Starts the programs that the snapshot tests look at, and ends them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import read_ready, require

PROGRAMS = Path(__file__).parent / "programs"


def musl_python() -> Path:
    """A Python with musl in the place of glibc, as ``scripts/musl-python`` builds it; the test is skipped without."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    built = sorted(cache.glob("dualdbg-pythons/python3.*-musl/bin/python3.*[0-9]"))
    return require(built, "no Python with musl: scripts/musl-python builds it", outside=True)[-1]


@contextmanager
def running(program: str, *arguments: str, python: str | Path = sys.executable, **env: str) -> Iterator[int]:
    """The PID of a program that has printed its line ``ready``."""
    with subprocess.Popen(
        [str(python), str(PROGRAMS / program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    ) as process:
        try:
            assert read_ready(process)["pid"] == [process.pid]
            yield process.pid
        finally:
            process.kill()


def core_of(pid: int, folder: Path) -> Path:
    """A core file of a process, which goes on."""
    gcore = require(shutil.which("gcore"), "gcore (it comes with gdb)")
    command = [gcore, "-o", str(folder / "core"), str(pid)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return folder / f"core.{pid}"
