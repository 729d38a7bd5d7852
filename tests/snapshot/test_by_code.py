"""Frames of code without unwind tables, by what the code goes on to do."""

from __future__ import annotations

import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.probes.placement import iced
from dualdbg.shared.libraries import is_c_library
from dualdbg.snapshot.capture import Captured, capture
from dualdbg.snapshot.linux.registers import X86_64
from dualdbg.snapshot.report.assemble import Assembler
from dualdbg.snapshot.unwind import by_code
from dualdbg.snapshot.unwind.by_code import rows_by_code
from dualdbg.snapshot.unwind.cfi import CallFrames, How, Row
from dualdbg.snapshot.unwind.unwinder import Unwinder
from dualdbg.symbols.address_space import AddressSpace, Module
from tests.snapshot.programs_running import PROGRAMS, musl_python, running
from tests.snapshot.test_command import dualdbg
from tests.support import require, wait_until

pytestmark = pytest.mark.skipif(
    iced is None or platform.machine() != "x86_64", reason="needs iced-x86, on x86-64"
)


def rows(code: str, is_behind_call: bool = False) -> list[list[tuple[int, int]]]:
    """Register and offset of the CFA by each answer, for code in hexadecimal at 0x1000."""
    data = bytes.fromhex(code)

    def read(address: int, size: int) -> bytes | None:
        return data[address - 0x1000 :][:size] if 0x1000 <= address < 0x1000 + len(data) else None

    groups = rows_by_code(0x1000, read, is_behind_call)
    assert groups is not None
    return [[(row.cfa_register, row.cfa_offset) for row in group] for group in groups]


RSP, RBP = X86_64.stack_pointer, X86_64.frame_pointer
CODES = {
    "ret": ("c3", [[(RSP, 8)]]),
    "pop rbx; ret": ("5bc3", [[(RSP, 16)]]),
    "add rsp,0x98; pop rbp; ret": ("4881c4980000005dc3", [[(RSP, 0xA8)]]),
    "lea rsp,[rsp+8]; ret": ("488d642408c3", [[(RSP, 16)]]),
    "leave; ret": ("c9c3", [[(RBP, 16)]]),
    "lea rsp,[rbp-8]; pop rbx; pop rbp; ret": ("488d65f85b5dc3", [[(RBP, 16)]]),
    "push rbx; mov rbx,rdi; pop rbx; ret": ("534889fb5bc3", [[(RSP, 8)]]),
    "je +1; ret; pop rbx; ret: one of them is another function's": (
        "7401c35bc3",
        [[(RSP, 8), (RSP, 16)]],
    ),
    "call; ret; and behind another call: the fewest calls first": (
        "7406e800000000c35be800000000c3",
        [[(RSP, 8), (RSP, 16)]],
    ),
    "jne +1; ret; call; pop rbx; ret": ("7501c3e8000000005bc3", [[(RSP, 8)], [(RSP, 16)]]),
    "call; nop; ret: it does not return": ("e80000000090c3", []),
    "hlt; ret": ("f4c3", []),
    "jmp rax": ("ffe0", []),
    "and rsp,-16; ret": ("4883e4f0c3", []),
    "push rax; ret: no return address": ("50c3", []),
    "cut off": ("4883", []),
}


@pytest.mark.parametrize("text", CODES)
def test_what_code_says(text: str) -> None:
    code, expected = CODES[text]
    assert rows(code) == expected


def test_a_call_that_padding_follows_does_not_return() -> None:
    assert rows("90c3", is_behind_call=True) == []
    assert rows("90c3") == [[(RSP, 8)]]


def test_without_the_decoder_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_code, "iced", None)
    assert rows_by_code(0x1000, lambda *_: b"\xc3", is_behind_call=False) is None


class _Places:
    """Instructions of the C library, drawn at random, with what its unwind table says there."""

    def __init__(self) -> None:
        space = AddressSpace(os.getpid())
        space.refresh()
        (self.library,) = [
            module.library
            for module in space.modules
            if module.library is not None and Path(module.path).name.startswith("libc.so")
        ]
        self.text = self.library.elf.section(".text")
        self.table = CallFrames(self.library.elf)

    def read(self, address: int, size: int) -> bytes | None:
        offset = self.library.elf.offset_of(address)
        return self.library.elf.bytes_at(offset, size) if offset is not None else None

    def draw(self, drawn: random.Random) -> tuple[int, Row] | None:
        assert self.text is not None
        fde = self.library.frames.find(drawn.randrange(self.text.address, self.text.address + self.text.size))
        if fde is None:
            return None
        code = self.read(fde.start, fde.end - fde.start)
        assert code is not None
        place = drawn.choice([one.ip for one in iced.Decoder(64, code, ip=fde.start)])
        row = self.table.row(fde, place)
        return (place, row) if row.cfa_expression is None else None


def test_the_code_says_what_the_unwind_table_says() -> None:
    """Anywhere in the C library: code without a return is rare, and what is told of other code is right."""
    places, drawn = _Places(), random.Random(7)
    found = [one for _ in range(400) if (one := places.draw(drawn)) is not None]
    told = right = 0
    for place, row in found:
        groups = rows_by_code(place, places.read, is_behind_call=False)
        if groups:
            told += 1
            right += all(_is_same_place(row, answer) for answer in groups[0])
    assert len(found) > 300
    assert told > 0.9 * len(found)
    assert right > 0.97 * told  # a call that does not return has no padding behind it everywhere


def _is_same_place(row: Row, answer: Row) -> bool:
    """Whether both find the same CFA; by two registers they cannot be compared without a stack."""
    if row.cfa_register != answer.cfa_register:
        return True
    return row.cfa_offset == answer.cfa_offset and (16, How.AT_CFA, -8) in answer.rules


class _WithoutTables(Unwinder):
    """What it finds in files of a kind is found without their tables, and without frame pointers."""

    def __init__(self, captured: Captured, hidden: Callable[[Module], bool]) -> None:
        super().__init__(captured.memory, captured.modules, captured.is_code)
        self._hidden = hidden

    def _find_row(self, address: int) -> Row | None:
        module = self.module_at(address)
        return None if module is not None and self._hidden(module) else super()._find_row(address)

    def _by_frame_pointer(self, *_: object) -> None:
        return None


def _both(pid: int, hidden: Callable[[Module], bool]) -> list[tuple[list[int], list[int]]]:
    """The frames of each thread with all tables, and without those of the files."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: "T" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2], what="stopped")
    try:
        captured = capture(pid)
        unwinders = Assembler(captured).unwinder, _WithoutTables(captured, hidden)
        return [
            ([f.pc for f in one.unwind(registers).frames], [f.pc for f in two.unwind(registers).frames])
            for registers in captured.registers.values()
            for one, two in [unwinders]
        ]
    finally:
        os.kill(pid, signal.SIGCONT)


def test_stacks_without_the_tables_of_the_c_library(native_samples: Path) -> None:
    """As with them, but for what starts a thread or main, which never returns."""
    with running("many_stacks.py", PYTHONPATH=str(native_samples)) as pid:
        stacks = _both(pid, lambda module: is_c_library(module.path))
    assert len(stacks) > 5
    for with_tables, without in stacks:
        assert without == with_tables[: len(without)]
        assert len(without) >= len(with_tables) - 2


def test_without_any_table_no_frame_is_wrong(native_samples: Path) -> None:
    with running("many_stacks.py", PYTHONPATH=str(native_samples)) as pid:
        stacks = _both(pid, lambda module: True)
    with running("busy.py") as pid:
        stacks += [stack for _ in range(5) for stack in _both(pid, lambda module: True)]
    assert all(without == with_tables[: len(without)] for with_tables, without in stacks)


WAITS = {
    "main": ["__uflow", "fgets", "main"],
    "in_sleep": ["clock_nanosleep", "nanosleep", "sleep", "in_sleep"],
    "in_cond_wait": ["pthread_cond_timedwait", "in_cond_wait"],  # musl's pthread_cond_wait jumps there
    "in_poll": ["poll", "in_poll"],
    "in_qsort": ["pause", "comparing", "qsort_r", "in_qsort"],
    "in_handler": ["pause", "<signal handler called>", "raise", "in_handler"],
}
# Of a look that comes after another one.
CALLS = {
    "main": "read",
    "in_sleep": "nanosleep",
    "in_cond_wait": "futex",
    "in_poll": "poll",
    "in_qsort": "pause",
    "in_handler": "pause",
}


def test_a_c_library_without_tables(tmp_path: Path) -> None:
    """musl's: each thread of a program is shown down to the function in which it begins, and past a signal handler.

    In a core too, of which gdb writes no code that is in files.
    """
    compiler = require(shutil.which("musl-gcc"), "musl-gcc is not installed", outside=True)
    program, core = tmp_path / "waits", tmp_path / "waits.core"
    subprocess.run([compiler, "-O2", "-g", "-o", program, PROGRAMS / "musl_waits.c"], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        wait_until(lambda: _are_waiting(process.pid, len(WAITS)), what="all threads wait")
        # The first look turns waits with a time limit into restart_syscall.
        told = [_told("stacks", str(process.pid)) for _ in range(2)]
        gdb = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(process.pid)]
        subprocess.run([*gdb, "-ex", f"gcore {core}"], check=True, capture_output=True)
        process.kill()
    told.append(_told("core", str(core)))
    (tmp_path / "iced_x86.py").write_text("raise ImportError\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-m", "dualdbg", "core", str(core)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "leads on; the package iced-x86 is not installed: pip install 'dualdbg[fast]'" in done.stdout
    for threads in told:
        assert {names[-1]: names for names, _ in threads} == WAITS
        assert [thread["note"] for _, thread in threads] == [None] * len(WAITS)
    assert {names[-1]: thread["system_call"]["name"] for names, thread in told[1]} == CALLS


def _told(*words: str) -> list[tuple[list[str], dict[str, Any]]]:
    """Of each thread the functions that have a name, and all that is told."""
    (found,) = map(json.loads, dualdbg(words[0], "--json", *words[1:]).stdout.splitlines())
    return [
        ([frame["function"] for frame in thread["frames"] if frame["function"] is not None], thread)
        for thread in found["threads"]
    ]


def _are_waiting(pid: int, count: int) -> bool:
    threads = list(Path(f"/proc/{pid}/task").iterdir())
    calls = [(one / "syscall").read_text() for one in threads]
    return len(threads) == count and "running\n" not in calls


ASLEEP = """
import queue, sys, threading, time
def sleeps(): time.sleep(1000)
def waits(): threading.Event().wait()
def waits_long(): queue.Queue().get(timeout=900)
for one in (sleeps, waits, waits_long): threading.Thread(target=one, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_python_with_musl() -> None:
    python = musl_python()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([python, "-c", ASLEEP], **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"ready\n"
        wait_until(lambda: _are_waiting(process.pid, 4), what="all threads wait")
        threads = _told("stacks", str(process.pid))
        process.kill()
    assert [(thread["quality"], thread["note"]) for _, thread in threads] == [("full", None)] * 4
    assert {"sleeps", "waits", "waits_long", "<module>"} <= {name for names, _ in threads for name in names}
