"""Operators are found in a process's dispatcher also where PyTorch's libraries were stripped, as distributions do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from dualdbg.shared.dispatcher import REFERENCE, SINGLETON
from dualdbg.symbols.objfile import Objfile
from dualdbg.symbols.torch.operator_registry import registered_kernels
from tests.symbols.conftest import run

SOURCE = f"""\
static long object[4] __asm__("{SINGLETON}");
long *reference __asm__("{REFERENCE}");
long *use(void) {{ return object; }}
"""
BIAS, DISPATCHER, NODE, NAME = 0x100000, 0x5000, 0x6000, 0x8000


class Memory:
    """A process in which the dispatcher has one operator, ``mylib::myop``."""

    def __init__(self, words: dict[int, int]) -> None:
        self.words = words
        self.asked: list[int] = []

    def u64(self, address: int) -> int:
        self.asked.append(address)
        return self.words.get(address, 0)

    def read(self, address: int, size: int) -> bytes:
        assert (address, size) == (NAME, len("mylib::myop"))
        return b"mylib::myop"


@pytest.mark.parametrize("stripped", [False, True])
def test_the_dispatcher_of_a_library(tmp_path: Path, stripped: bool) -> None:
    source, path = tmp_path / "torch.c", tmp_path / "libtorch_cpu.so.9.9"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O0", "-o", path, source], check=True)
    full = Objfile.open(path)
    (reference,), (singleton,) = full.find_data(REFERENCE), full.find_data(SINGLETON)
    dispatcher = DISPATCHER if stripped else singleton.address + BIAS
    if stripped:
        run("strip", path)
    words = {reference.address + BIAS: DISPATCHER, dispatcher: NODE, NODE: dispatcher}
    memory = Memory({**words, NODE + 16: NAME, NODE + 24: len("mylib::myop")})
    # Another library has a reference too, which the loader has not used.
    other = SimpleNamespace(path="/x/libtorch_python.so", library=Objfile.open(path), bias=2 * BIAS)
    module = SimpleNamespace(path=str(path), library=Objfile.open(path), bias=BIAS)
    image = SimpleNamespace(modules=[other, module])
    assert registered_kernels(image, memory, "mylib::myop") == []  # type: ignore[arg-type]
    assert NODE + 16 in memory.asked, "the operator's name was not looked at"
