"""Hundreds of functions get counters while threads run through them: right results, the same code, the same counts.

bench/torture.py does it, with thousands where there is time.
"""

from __future__ import annotations

import asyncio
import platform
import shutil
from pathlib import Path

import pytest

from bench import torture
from bench._torture_corpus import make
from dualdbg.probes import placement

pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(any(shutil.which(name) is None for name in ("g++", "nm")), reason="needs g++ and nm"),
]


def test_some_hundreds_of_functions(tmp_path: Path) -> None:
    """Of a compiled corpus, whose own counts are the same, and of the interpreter."""
    corpus = make(tmp_path, 250)
    with torture.running(corpus, 3, with_torch=False) as program:
        found = asyncio.run(torture.torture(program, 400, 2, by_gdb=8))
        program.end()
    assert found.placed > 350 and found.called > 230, found
    assert found.equal > 200 and found.equal_by_gdb >= 3, found


@pytest.mark.torch
@pytest.mark.exhaustive
def test_ten_thousand_functions(tmp_path: Path) -> None:
    """Most of them of PyTorch, which trains meanwhile."""
    corpus = make(tmp_path, torture.CORPUS)
    with torture.running(corpus, 4, with_torch=True) as program:
        found = asyncio.run(torture.torture(program, 10_000, 30, torture.BY_GDB))
        program.end()
    assert found.placed > 9_900 and found.equal > 1_000 and found.equal_by_gdb == torture.BY_GDB, found
