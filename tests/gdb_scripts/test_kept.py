"""Which registers hold arguments behind the entry, by the instructions of a function. Pure."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY

pytestmark = pytest.mark.pure


@pytest.fixture(scope="module")
def kept() -> Any:
    """The module, which needs no gdb."""
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_helpers import kept
    finally:
        sys.path.remove(str(ENTRY.parent))
    return kept


def code(*texts: str) -> list[tuple[int, str]]:
    """Instructions of four bytes, from 0x100 on."""
    return [(0x100 + 4 * at, text) for at, text in enumerate(texts)]


CALL = "call   0x900 <leaf>"
BEGINNING = ("push   %rbx", "mov    %rdi,%rbx", "push   %rbp", "mov    %esi,%ebp", CALL)
END = ("pop    %rbp", "pop    %rbx", "ret")
FIRST, SECOND = {"rdi": ("rbx", 8)}, {"rsi": ("rbp", 4)}
BOTH = {**FIRST, **SECOND}
HELD = {
    "behind a call": ([*BEGINNING, "nop", *END], 0x114, BOTH),
    "in front of the copies": ([*BEGINNING, "nop", *END], 0x104, {}),
    "behind the end of the one": ([*BEGINNING, "nop", *END], 0x11C, FIRST),
    "the one is written to": ([*BEGINNING, "add    $0x1,%bpl", CALL, *END], 0x114, FIRST),
    "the one is written to on the way out": ([*BEGINNING, "mov    %rbp,%rbx", *END], 0x114, BOTH),
    "the same, a moment later": ([*BEGINNING, "mov    %rbp,%rbx", *END], 0x118, SECOND),
    "the one is only read": ([*BEGINNING, "cmp    %rbx,%rbp", "push   %rbx", CALL, *END], 0x114, BOTH),
    "both are exchanged": ([*BEGINNING, "xchg   %rbx,%rbp", CALL, *END], 0x114, {}),
    "a hidden write": ([*BEGINNING, "cpuid", CALL, *END], 0x114, SECOND),
    "given back before a call": ([*BEGINNING, "pop    %rbx", CALL, "pop    %rbp", "ret"], 0x114, SECOND),
    "a jump through a table": ([*BEGINNING, "notrack jmp *%rax", *END], 0x114, {}),
    "a jump to the beginning": ([*BEGINNING, "jne    0x104 <f+4>", *END], 0x114, {}),
    "an argument that is changed first": (["add    $0x1,%rdi", *BEGINNING, "nop", *END], 0x118, SECOND),
    "no instruction": ([*BEGINNING, "(bad)", *END], 0x114, {}),
}


@pytest.mark.parametrize("what", HELD)
def test_which_registers_hold_arguments(kept: Any, what: str) -> None:
    texts, pc, expected = HELD[what]
    found = kept.kept([code(*texts)], pc)
    assert {name: tuple(one) for name, one in found.kept.items()} == expected


def test_jumps_to_code_that_was_not_looked_at(kept: Any) -> None:
    first = code(*BEGINNING, "jne    0x700 <f.cold>", *END)
    assert kept.kept([first], 0x114).outside == [0x700]
    cold = [(0x700, "mov    %rax,%rbx"), (0x704, "jmp    0x118 <f+24>")]
    found = kept.kept([first, cold], 0x114)
    assert (dict(found.kept), found.outside) == ({"rsi": ("rbp", 4)}, [])


ARM_CALL = "bl\t0x900 <leaf>"
ARM_BEGINNING = (
    "paciasp", "stp\tx29, x30, [sp, #-48]!", "mov\tx29, sp", "stp\tx19, x20, [sp, #16]", "mov\tx19, x0",
    "mov\tw20, w1", "bl\t0x900 <leaf>",
)  # fmt: skip
ARM_END = ("ldp\tx19, x20, [sp, #16]", "ldp\tx29, x30, [sp], #48", "autiasp", "ret")
ARM_FIRST, ARM_SECOND = {"x0": ("x19", 8)}, {"x1": ("x20", 4)}
ARM_BOTH = {**ARM_FIRST, **ARM_SECOND}
HELD_ON_ARM = {
    "behind a call": ([*ARM_BEGINNING, "nop", *ARM_END], 0x11C, ARM_BOTH),
    "in front of the copies": ([*ARM_BEGINNING, "nop", *ARM_END], 0x110, {}),
    "given back": ([*ARM_BEGINNING, "nop", *ARM_END], 0x124, {}),
    "the one is written to": ([*ARM_BEGINNING, "add\tw20, w20, #0x1", ARM_CALL, *ARM_END], 0x11C, ARM_FIRST),
    "written to by an address": ([*ARM_BEGINNING, "ldr\tx0, [x19], #8", ARM_CALL, *ARM_END], 0x11C, ARM_SECOND),
    "the same, before": ([*ARM_BEGINNING, "str\tx0, [x19, #8]!", ARM_CALL, *ARM_END], 0x11C, ARM_SECOND),
    "the one is only read": (
        [*ARM_BEGINNING, "str\tx19, [x20]", "cmp\tx19, x20", "ldr\tx1, [x19, w20, sxtw #3]", *ARM_END],
        0x11C,
        ARM_BOTH,
    ),
    "an instruction that is not known": (
        [*ARM_BEGINNING, "ldaddal\tw1, w20, [x0]", ARM_CALL, *ARM_END],
        0x11C,
        ARM_FIRST,
    ),
    "a jump through a table": ([*ARM_BEGINNING, "br\tx16", *ARM_END], 0x11C, {}),
    "a trap": ([*ARM_BEGINNING, "brk\t#0x3e8", *ARM_END], 0x11C, ARM_BOTH),
    "a jump to the beginning": ([*ARM_BEGINNING, "cbz\tx19, 0x108 <f+8>", *ARM_END], 0x11C, {}),
    "given back before a call": ([*ARM_BEGINNING, "ldr\tx19, [sp, #16]", "bl\t0x900", *ARM_END], 0x11C, ARM_SECOND),
    "given back before a jump out": (
        [*ARM_BEGINNING, "nop", *ARM_END[:-1], "b\t0x900 <other>"], 0x11C, ARM_BOTH,
    ),
    "an argument that is changed first": (["add\tx0, x0, #1", *ARM_BEGINNING, *ARM_END], 0x120, ARM_SECOND),
    "no instruction": ([*ARM_BEGINNING, "udf\t#0", ".inst\t0x00000123 ; undefined", *ARM_END], 0x11C, {}),
}  # fmt: skip


@pytest.mark.parametrize("what", HELD_ON_ARM)
def test_which_registers_hold_arguments_on_aarch64(kept: Any, what: str) -> None:
    texts, pc, expected = HELD_ON_ARM[what]
    found = kept.kept([code(*texts)], pc, "aarch64")
    assert {name: tuple(one) for name, one in found.kept.items()} == expected
