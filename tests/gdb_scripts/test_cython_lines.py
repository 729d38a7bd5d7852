"""The line of the author's that code of Python's headers is shown with, where debug info has no call of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests import support
from tests.gdb_scripts.gdb_run import HERE, answer_of

# The code of the header ends in a jump. Behind it lies code of line 20, to which control does not come from there.
SOURCE = """\
#ifdef __aarch64__
#define JUMP "b"
#else
#define JUMP "jmp"
#endif
int count;
void __pyx_pf_1m_f(void) {
#line 10 "m.pyx"
    count += 1;
#line 1046 "object.h"
    count *= 2;
    __asm__ volatile(JUMP " 1f");
#line 20 "m.pyx"
    count -= 3;
#line 12 "m.pyx"
    __asm__ volatile("1: nop");
}
"""


def test_it_is_the_line_to_which_control_comes(tmp_path: Path) -> None:
    gcc = support.require(shutil.which("gcc"), "GCC")
    (tmp_path / "m.c").write_text(SOURCE)
    library = tmp_path / "m.so"
    subprocess.run([gcc, "-g", "-O0", "-shared", "-fPIC", "-o", library, tmp_path / "m.c"], check=True)
    found = answer_of(HERE / "targets" / "look_at_cython_lines.py", library)
    assert found == [[1046, 12], [1047, 12]]
