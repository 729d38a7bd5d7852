"""What gdb, with every symbol of every library, says about a process: the measure for our own unwinding."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from dualdbg.system.patience import patient
from tests.support import require

_SCRIPT = Path(__file__).parent / "programs" / "gdb_stacks.py"


def gdb_stacks(target: int | Path) -> dict[int, list[tuple[int, str]]]:
    """Thread id -> (pc, function) of each physical frame, innermost first, of a process or a core."""
    gdb = require(shutil.which("gdb"), "gdb")
    command = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off"]
    command += ["-p", str(target)] if isinstance(target, int) else ["-c", str(target)]
    done = subprocess.run(
        [*command, "-x", str(_SCRIPT)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(300),
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("stacks: ")]
    assert lines, done.stderr
    return {int(tid): [(pc, name) for pc, name in rows] for tid, rows in json.loads(lines[0][8:]).items()}
