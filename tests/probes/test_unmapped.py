"""A condition that follows a pointer while another thread unmaps the memory: the program goes on as without it."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.probes import placement

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]
CALLS = 3_000_000


def test_what_is_unmapped_between_the_look_and_the_read_does_no_harm(tmp_path: Path) -> None:
    """Some calls in a million meet just that moment."""
    program = tmp_path / "unmapped"
    source = Path(__file__).with_name("unmapped.c")
    subprocess.run(["gcc", "-O2", "-g", "-pthread", source, "-o", program], check=True)
    words = [
        "trace",
        "--count",
        "--json",
        "-b",
        "work if *(char*)$rdi == 'x'",
        "--native",
        program,
        str(CALLS),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "dualdbg", *words], capture_output=True, text=True, timeout=300
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    said = "".join(one["text"] for one in events if one["event"] == "output")
    assert said == f"{CALLS * (CALLS - 1) // 2 * 3 + CALLS}\n"
    (work,) = events[-1]["functions"]
    assert (work["hits"], work["why"]) == (0, None)
