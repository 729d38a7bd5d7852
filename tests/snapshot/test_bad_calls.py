"""A call through a bad pointer: the caller is where the call returns to, though no code is there to unwind from."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from dualdbg.snapshot.linux.registers import AARCH64, X86_64, registers_from_regset
from dualdbg.snapshot.unwind.calls import LONGEST, ends_with_call
from dualdbg.snapshot.unwind.unwinder import Unwinder
from tests.pytest_plugin.driver import run_pytest
from tests.snapshot.arm64_image import BASE, TEXT, Function, Words, image
from tests.snapshot.test_arm64 import NOP, OUTERMOST, STACK, registers
from tests.snapshot.test_command import dualdbg

BLR = 0xD63F0020  # blr x1

CALLS = {
    "call 0x5": "e800000000",
    "call *%rax": "ffd0",
    "call *%r11": "41ffd3",
    "call *(%rax)": "ff10",
    "call *8(%rbx)": "ff5308",
    "call *(%rsp)": "ff1424",
    "call *8(%rsp)": "ff542408",
    "call *0x100(%rax)": "ff9000010000",
    "call *0(%rip)": "ff1500000000",
    "call *(,%rax,8)": "ff14c500000000",
    "call *0x100(%rsp)": "ff942400010000",
}


@pytest.mark.parametrize("text", CALLS)
def test_each_form_of_a_call_is_known(text: str) -> None:
    assert ends_with_call(X86_64, bytes.fromhex(CALLS[text]).rjust(LONGEST, b"\x90"))


@pytest.mark.parametrize("code", ["90" * 7, "48ffc0", "ffe0", "ff30", "4889d8", "e90000000090"])
def test_what_is_no_call(code: str) -> None:
    assert not ends_with_call(X86_64, bytes.fromhex(code).rjust(LONGEST, b"\x90"))


@pytest.mark.parametrize("target", [0, 0x8, STACK])
def test_a_bad_call_of_arm64(target: int) -> None:
    module = image(Function(0x000, [NOP, BLR, NOP], OUTERMOST))
    code = BASE + TEXT
    end = Unwinder(Words({}), [module], lambda at: code <= at < code + 12)
    assert [one.pc for one in end.unwind(registers(target, x30=code + 8)).frames] == [target, code + 8]
    astray = end.unwind(registers(target, x30=code + 4))  # behind no call
    assert [one.pc for one in astray.frames] == [target]
    assert "no call has led there" in (astray.trouble or "")


def test_a_thread_without_known_registers_has_no_caller_there() -> None:
    assert AARCH64.return_address == 30
    raw = registers_from_regset(struct.pack("<34Q", *([0] * 34)))
    assert [one.pc for one in Unwinder(Words({}), [], lambda _: False).unwind(raw).frames] == [0]


SUITE = """
import ctypes, mmap
DATA = ctypes.create_string_buffer(64)
MAPPED = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)

def call(address):
    libc = ctypes.CDLL(None)
    numbers = (ctypes.c_int * 2)(2, 1)
    libc.qsort(numbers, 2, 4, ctypes.c_void_p(address))

def test_null(): call(0)
def test_unmapped(): call(0xDEAD0000)
def test_data(): call(ctypes.addressof(DATA))
"""


def test_the_caller_is_told_in_reports_and_cores(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"test_it.py": SUITE}, "--dualdbg", "--dualdbg-core=.")
    assert done.totals == {"failed": 3}, done.out
    # What lies between is the C library's own, where it has names and is not left by a jump.
    assert len(re.findall(r" #[12] c\+\+  qsort", done.out)) == 3, done.out
    assert "partial" not in done.out
    cores = sorted(tmp_path.glob("core.*"))
    assert len(cores) == 3
    for core in cores:
        (process,) = map(json.loads, dualdbg("core", str(core), "--json").stdout.splitlines())
        functions = [frame["function"] for frame in process["threads"][0]["frames"]]
        assert any("sort" in (name or "") for name in functions[1:4]), functions
        assert "call" in functions
