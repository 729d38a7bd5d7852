"""What gdb keeps for a breakpoint of the session goes with it, whoever deletes it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from dualdbg.system.patience import patient
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.support import require

SOURCE = """\
volatile int seen;
static inline __attribute__((always_inline)) int inner(int x) { seen = x; return x * seen; }
__attribute__((noinline)) int outer(int x) { seen += 1; return inner(x) + seen; }
int main(void) { return outer(3); }
"""


def test_nothing_is_kept_for_a_breakpoint_that_is_gone(tmp_path: Path) -> None:
    source, program = tmp_path / "inlined.c", tmp_path / "inlined"
    source.write_text(SOURCE)
    compiler = require(shutil.which("gcc"), "a C compiler")
    subprocess.run([compiler, "-g", "-O1", source, "-o", program], check=True)
    gdb = require(shutil.which("gdb"), "gdb")
    settings = ("set debuginfod enabled off", "set auto-load off", "set startup-with-shell off")
    words = [word for setting in settings for word in ("-iex", setting)]
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", *words, "-x", HERE / "targets" / "look_at_breakpoints.py", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(120),
        env={**os.environ, "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent)},
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout + done.stderr
    assert json.loads(answers[0].removeprefix("answer: ")) == [
        [3, [True, True, False], 5],
        [1, [False, True, False], 2],
        [1, [True, True, False], 3],
        [0, [False, False, False], 0],
    ]
