"""Keeps single threads from running while the target runs: they wait in a system call until they are put back."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import gdb
from dualdbg_helpers import language
from dualdbg_shared.requests.process import Park, Unpark

from .registry import answers
from .threads import WORD, select_innermost

_parked: dict[int, dict[str, int]] = {}  # gdb's number of a thread -> the registers that it gets back
_RED_ZONE = 128  # bytes below the stack pointer that a function may use, System V AMD64 ABI; none on AArch64


class _Machine(NamedTuple):
    """How ppoll is called: its number and the registers that it is asked for by; and what else is kept.

    ``arguments`` are the first five; ``no_call`` is set to -1: the thread is in no call that was interrupted.
    """

    number: int
    called_by: str
    arguments: tuple[str, str, str, str, str]
    pc: str
    kept: tuple[str, ...]
    no_call: str | None = None


_X86_64 = _Machine(  # asm/unistd_64.h
    271, "rax", ("rdi", "rsi", "rdx", "r10", "r8"), "rip", ("rcx", "r9", "r11", "orig_rax"), "orig_rax"
)
# asm-generic/unistd.h. The kernel has put an interrupted call back to its instruction, x0 to its first argument: it is
# begun again, and a sleep of a given length lasts that long again.
_AARCH64 = _Machine(73, "x8", ("x0", "x1", "x2", "x3", "x4"), "pc", ())


@answers(Park)
def park(gdb_threads: Sequence[int], instruction: int) -> None:
    """Let these threads wait in ppoll, every signal blocked, from the system call's instruction at this address on.

    ppoll(NULL, 0, NULL, mask, sizeof mask): it never ends by itself, and a tracer's stop restarts it.
    """
    inferior = gdb.selected_inferior()
    selected = gdb.selected_thread()
    for number in gdb_threads:
        if number in _parked:
            continue
        frame = select_innermost(number)
        machine = _AARCH64 if frame.architecture().name().startswith("aarch64") else _X86_64
        names = (machine.called_by, *machine.arguments, machine.pc, *machine.kept)
        saved = {name: int(frame.read_register(name)) & WORD for name in names}
        mask = ((int(frame.read_register("sp")) & WORD) - _RED_ZONE - 16) & ~7
        inferior.write_memory(mask, b"\xff" * 8)
        _parked[number] = saved
        wanted = dict(zip(machine.arguments, (0, 0, 0, mask, 8)))
        wanted.update({machine.called_by: machine.number, machine.pc: instruction})
        if machine.no_call is not None:
            wanted[machine.no_call] = WORD
        _set_registers(wanted)
    _select_again(selected)


@answers(Unpark)
def unpark() -> None:
    """Every parked thread has its own registers again; the kernel goes on with the system call it was in."""
    selected = gdb.selected_thread()
    for number in list(_parked):
        saved = _parked.pop(number)
        select_innermost(number)
        _set_registers(saved)
    _select_again(selected)


def forget() -> None:
    """The program has replaced itself with another: its parked threads are gone."""
    _parked.clear()


def _select_again(thread: gdb.InferiorThread | None) -> None:
    if thread is not None and thread.is_valid():
        thread.switch()


def _set_registers(values: dict[str, int]) -> None:
    for name, value in values.items():
        language.evaluate("$%s = %d" % (name, value - (1 << 64) if value >> 63 else value))
