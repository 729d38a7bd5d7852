"""Keeps single threads from running while the target runs: they wait in a system call until they are put back."""

from __future__ import annotations

import gdb
from dualdbg_helpers import language

from .threads import WORD, select_innermost

_parked: dict[int, dict[str, int]] = {}  # gdb's number of a thread -> the registers that it gets back
_PPOLL = 271  # asm/unistd_64.h
_RED_ZONE = 128  # bytes below the stack pointer that a function may use, System V AMD64 ABI
_GENERAL = ("rax", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "rip")


def park(numbers: list[int], instruction: int) -> None:
    """Let these threads wait in ppoll, every signal blocked, from the syscall instruction at this address on.

    ppoll(NULL, 0, NULL, mask, sizeof mask): it never ends by itself, and a tracer's stop restarts it.
    """
    inferior = gdb.selected_inferior()
    selected = gdb.selected_thread()
    for number in numbers:
        if number in _parked:
            continue
        frame = select_innermost(number)
        saved = {name: int(frame.read_register(name)) & WORD for name in (*_GENERAL, "orig_rax")}
        mask = ((int(frame.read_register("rsp")) & WORD) - _RED_ZONE - 16) & ~7
        inferior.write_memory(mask, b"\xff" * 8)
        _parked[number] = saved
        wanted = {"rdi": 0, "rsi": 0, "rdx": 0, "r10": mask, "r8": 8, "rax": _PPOLL, "rip": instruction}
        _set_registers({**wanted, "orig_rax": WORD})
    _select_again(selected)


def unpark() -> None:
    """Every parked thread has its own registers again; the kernel goes on with the system call it was in."""
    selected = gdb.selected_thread()
    for number in list(_parked):
        saved = _parked.pop(number)
        select_innermost(number)
        _set_registers(saved)
    _select_again(selected)


def _select_again(thread: gdb.InferiorThread | None) -> None:
    if thread is not None and thread.is_valid():
        thread.switch()


def _set_registers(values: dict[str, int]) -> None:
    for name, value in values.items():
        language.evaluate("$%s = %d" % (name, value - (1 << 64) if value >> 63 else value))
