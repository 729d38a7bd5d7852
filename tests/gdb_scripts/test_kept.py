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
