"""Where a step may end: what the processor watches, and what breakpoints do."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import support
from tests.gdb_scripts.gdb_run import HERE, answer_of

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
    found = answer_of(HERE / "targets" / "look_at_step_ends.py", tmp_path / "ends")
    assert found == {"alone": [True, "main", "2"], "with the user's": [False, "main", "3"]}
