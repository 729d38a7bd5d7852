"""A name that debug info does not have is not looked for in every line of a library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dualdbg.system.patience import patient
from tests.gdb_scripts.gdb_run import ENTRY
from tests.support import require

FUNCTIONS = 300
SOURCE = "".join(
    f"int function_{number}(int value) {{\n" + "    value += 1;\n" * 20 + "    return value;\n}\n"
    for number in range(FUNCTIONS)
)
SCRIPT = f"""
import sys
sys.path.insert(0, {str(ENTRY.parent)!r})
import gdb
from dualdbg_engine import function_locations
asked = [0]
def counted(function):
    def call(*arguments):
        asked[0] += 1
        return function(*arguments)
    return call
gdb.find_pc_line, gdb.block_for_pc = counted(gdb.find_pc_line), counted(gdb.block_for_pc)
starts = [int(gdb.parse_and_eval("(long) function_%d" % number)) for number in range({FUNCTIONS})]
found = function_locations.function_instances(["bare"], ["bare"], starts, [])
print("found", len(found), "asked", asked[0])
"""


def test_each_function_is_asked_for_once(tmp_path: Path) -> None:
    source, script, program = tmp_path / "many.c", tmp_path / "look.py", tmp_path / "many"
    source.write_text(SOURCE + 'asm(".globl bare\\nbare: ret");\nint main(void) { return 0; }\n')
    script.write_text(SCRIPT)
    subprocess.run([require(shutil.which("gcc"), "gcc"), "-g", "-O0", "-o", program, source], check=True)
    gdb = require(shutil.which("gdb"), "gdb")
    done = subprocess.run(
        [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", script, program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(120),
    )
    words = done.stdout.split()
    assert words[:3] == ["found", "0", "asked"], done
    assert int(words[3]) < FUNCTIONS * 4, done.stdout
