"""How large a page is, where gdb looks at a process of this machine, and at a core from another one."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

from tests.gdb_scripts.gdb_run import run_gdb

_LOOK = "python from dualdbg_helpers import inferior; print(inferior.page())"


def test_a_process_and_its_core(tmp_path: Path) -> None:
    here, core = os.sysconf("SC_PAGE_SIZE"), tmp_path / "core"
    script = tmp_path / "program.py"
    script.write_text("import os, signal; os.kill(os.getpid(), signal.SIGTRAP)")
    program = [sys.executable, script]
    live = run_gdb(program, [_LOOK, f"gcore {core}"], tmp_path)
    assert live.results[-1]["error"] is None
    assert live.output(0).strip() == str(here)
    data = core.read_bytes()
    told = struct.pack("<QQ", 6, here)  # AT_PAGESZ
    assert data.count(told) >= 1
    core.write_bytes(data.replace(told, struct.pack("<QQ", 6, 65536)))
    assert run_gdb(program, [_LOOK], tmp_path, core=core).output(0).strip() == "65536"
