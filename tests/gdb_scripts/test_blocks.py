"""The functions around an address, where debug info has mixed them: made by hand, so that each gdb reads the same."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import support
from tests.gdb_scripts.gdb_run import HERE, answer_of

HELPER, BEHIND, EMPTY, LAST, RETURN = 5, 10, 12, 17, 19  # bytes behind the entry


@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64")
def test_rows_of_one_line_and_functions_without_code_hide_no_function(tmp_path: Path) -> None:
    """gdb 18 takes rows of a line together, also over the entry of what was inlined; and an inlined function without
    code has the first byte of what is at its entry there.
    """
    gcc = support.require(shutil.which("gcc"), "GCC")
    library = tmp_path / "mixed.so"
    targets = HERE / "targets"
    subprocess.run([gcc, "-shared", "-nostdlib", "-o", library, targets / "mixed_blocks.s"], check=True)
    found = answer_of(targets / "look_at_blocks.py", library)
    assert {0, HELPER, EMPTY, LAST} <= set(found["lines"])
    assert found["inlined"]["helper"] == [HELPER]
    assert found["functions"] == [
        [0, "outer"],
        [HELPER, "helper", "outer"],
        [BEHIND, "outer"],
        [EMPTY, "outer"],
        [LAST, "outer"],
        [RETURN, "outer"],
    ]
