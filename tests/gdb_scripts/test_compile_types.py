"""Types that are compiled beside a session: by one process at a time, kept by build-id, and whatever ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT, is_running, require, wait_until

SCRIPT = ROOT / "gdb_scripts" / "dualdbg_types.py"
# Stands for PyTorch's headers, which take a compiler half a minute.
SOURCE = "namespace c10 { struct TensorImpl { long first; int second; }; } c10::TensorImpl object;\n"
# It notes that it runs, and waits for a word.
COMPILER = """\
#!/bin/sh
echo $$ $(nice) >> {folder}/runs
while [ ! -e {folder}/go ]; do sleep 0.05; done
exec {real} -g -c {folder}/source.cpp -o types.o
"""


class Rig:
    """A PyTorch of one header, a compiler that waits for :meth:`go`, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        header = folder / "torch" / "include" / "ATen" / "core" / "ivalue.h"
        header.parent.mkdir(parents=True)
        header.touch()
        (folder / "source.cpp").write_text(SOURCE)
        self.compiler = folder / "compiler"
        real = require(shutil.which("g++"), "a C++ compiler")
        self.compiler.write_text(COMPILER.format(folder=folder, real=real))
        self.compiler.chmod(0o755)

    def go(self) -> None:
        (self.folder / "go").touch()

    def runs(self) -> list[list[int]]:
        """Process id and niceness of each run of the compiler."""
        told = self.folder / "runs"
        lines = told.read_text().splitlines() if told.exists() else []
        return [[int(word) for word in line.split()] for line in lines]

    def start(self, build_id: str | None = "1234", **change: Any) -> subprocess.Popen[str]:
        root = str(change.pop("root", self.folder / "torch"))
        request = {
            "installation": [root, "9.9.0", True, build_id],
            "part": "core",
            "compiler": str(self.compiler),
            "gdb": require(shutil.which("gdb"), "gdb"),
            "beside": None,
            **change,
        }
        return subprocess.Popen(
            [sys.executable, SCRIPT, json.dumps(request)],
            env={**os.environ, "XDG_CACHE_HOME": str(self.cache), "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def layouts(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in self.cache.glob("dualdbg/layouts/*.json")]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_two_at_once_compile_once(rig: Rig) -> None:
    first = rig.start()
    wait_until(rig.runs, what="the compiler runs")
    second = rig.start()
    rig.go()
    assert [one.communicate()[0] for one in (first, second)] == ["", ""]
    assert [first.returncode, second.returncode] == [0, 0]
    ((_, niceness),) = rig.runs()
    assert niceness >= min(os.nice(0) + 10, 19)
    (layout,) = rig.layouts()
    assert layout["records"]["c10::TensorImpl"] == [16, {"first": [0, 8], "second": [8, 4]}]


def test_another_goes_on_where_one_was_killed(rig: Rig) -> None:
    first = rig.start()
    wait_until(rig.runs, what="the compiler runs")
    second = rig.start()
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    wait_until(lambda: len(rig.runs()) == 2, what="the other one compiles")
    assert not is_running(rig.runs()[0][0])
    rig.go()
    second.communicate()
    assert second.returncode == 0
    assert len(rig.layouts()) == 1


@pytest.mark.parametrize(
    ("build_id", "moved", "times"),
    [("1234", True, 1), ("5678", False, 2), (None, False, 2), (None, True, 3)],
)
def test_kept_by_build_id(rig: Rig, build_id: str | None, moved: bool, times: int) -> None:
    """The same libraries elsewhere are the same; without a build-id the place and the age of the headers tell."""
    rig.go()
    runs = [rig.start()]
    runs[0].communicate()
    elsewhere = rig.folder / "elsewhere"
    shutil.copytree(rig.folder / "torch", elsewhere)
    for root in [rig.folder / "torch", *([elsewhere] if moved else [])]:
        runs.append(rig.start(build_id, root=root))
        runs[-1].communicate()
    assert [one.returncode for one in runs] == [0] * len(runs)
    assert len(rig.runs()) == len(rig.layouts()) == times


def test_without_a_folder_for_the_cache(rig: Rig) -> None:
    rig.cache.touch()
    rig.go()
    beside = rig.folder / "beside"
    beside.mkdir()
    process = rig.start(beside=str(beside))
    process.communicate()
    assert process.returncode == 0
    assert [path.suffix for path in sorted(beside.iterdir())] == [".json", ".lock", ".o"]
    process = rig.start()
    assert "cannot be kept" in process.communicate()[0]
    assert process.returncode == 1


def test_a_compiler_that_fails(rig: Rig) -> None:
    rig.compiler.write_text("#!/bin/sh\necho 'types.cpp:1:1: error: out of luck' >&2\nexit 1\n")
    process = rig.start()
    assert "out of luck" in process.communicate()[0]
    assert process.returncode == 1
    assert not rig.layouts()
