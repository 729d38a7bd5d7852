"""Where a step may end: what the processor watches, and what breakpoints do."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import support
from tests.gdb_scripts.gdb_run import ENTRY, HERE

SOURCE = """\
int sink;
__attribute__((noinline)) int deeper(int n) { sink += 1; return n + 1; }
__attribute__((noinline)) int middle(int n) { int more = deeper(n); sink += more; return more; }
int main() { return middle(1) + middle(2) + middle(3) + middle(4) - 14; }
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="other processors have no return address on the stack"
)
def test_a_result_is_watched_for_beside_the_end_of_the_step(tmp_path: Path) -> None:
    """A breakpoint where the function returns to may be passed hundreds of times. Watchpoints of the user go first."""
    support.require(shutil.which("gcc"), "GCC")
    (tmp_path / "ends.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "ends.c", "-o", "ends"], cwd=tmp_path, check=True)
    gdb = support.require(shutil.which("gdb"), "gdb")
    script = HERE / "targets" / "look_at_step_ends.py"
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-x", script, tmp_path / "ends"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent)},
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(answers[0].removeprefix("answer: "))
    assert found == {"alone": [True, "main", "2"], "with the user's": [False, "main", "3"]}
