"""What a caller may have put into registers and on the stack for a call, by its machine code."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gdb_scripts.test_entry_code import FRAME, code, module

pytestmark = pytest.mark.pure

CALL = "call   0x900"  # of another function, which may write to all registers
FUNCTION = "call   0x700"  # the one whose call it is
EVERY = "r8 r9 rcx rdi rdx rsi xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7"
FILLED = {
    "what is written": (["mov    $0x1,%edi", "lea    0x8(%rsp),%rsi", FUNCTION], "r9 rdi rsi", ()),
    "what a call has lost": (["mov    $0x1,%edi", "mov    %rax,%r8", CALL, FUNCTION], "rdx xmm0 xmm1", ()),
    "what a call leaves alone": (["mov    %rax,%rcx", "call   0x800", FUNCTION], "r9 rcx rdx xmm0 xmm1", ()),
    "what counts calls leaves all alone": (["push   %rbx", CALL, FUNCTION], "r9 rdx xmm0 xmm1", ()),
    "on one way": (["je     0x108", "mov    $0x1,%edi", FUNCTION], "r9 rdi", ()),
    "without its name": (["cqto", FUNCTION], EVERY, ()),
    "by a string": (["rep stos %rax,%es:(%rdi)", FUNCTION], "r9 rcx rdi rsi", ()),
    "pushed": (["push   %rbx", "push   $0x5", "push   0x8(%rax)", FUNCTION], "r9", (0, 8)),
    "pushed, and not any more": (["push   $0x5", "pop    %rdi", "sub    $0x8,%rsp", FUNCTION], "r9 rdi", ()),
    "stored": (["sub    $0x28,%rsp", "mov    %eax,0x8(%rsp)", "movups %xmm0,0x10(%rsp)", FUNCTION],
               "r9 xmm0", (8, 16, 24)),
    "by the frame": ([*FRAME, "sub    $0x10,%rsp", "movq   $0x0,-0x8(%rbp)", FUNCTION], "r9", (8,)),
    "where the stack is not known": (["and    $0xfffffffffffffff0,%rsp", "push   $0x1", FUNCTION], "r9", None),
    "where the code is not known": (["jmp    *%rax", FUNCTION], None, None),
    "a register that is given back and was used": (["mov    %rdi,%rbx", "push   %rbx", FUNCTION], "r9 rdi", (0,)),
}  # fmt: skip


@pytest.mark.parametrize("what", FILLED)
def test_what_may_be_filled(what: str) -> None:
    """The caller has been given something in r9."""
    texts, registers, words = FILLED[what]
    state = module("caller_state")
    rows = code(*texts, "ret")
    call = 0x100 + 4 * (len(texts) - 1)

    def effect(one: Any) -> tuple[frozenset[str], frozenset[str]]:
        return state.ALL if one.target == 0x800 else frozenset(), state.RESULTS

    found = state.may_be_filled(rows, call, ("r9",), (), effect)
    assert found.registers == (None if registers is None else tuple(registers.split()))
    assert found.words == words


def test_nothing_is_known_where_exceptions_land_but_what_they_are() -> None:
    state = module("caller_state")
    rows = code("mov    $0x1,%edi", CALL, "ret", FUNCTION, "ret")
    assert state.may_be_filled(rows, 0x10C, (), (0x10C,), lambda one: (frozenset(), state.RESULTS)) == (
        tuple(sorted(state.RESULTS)),
        None,
        (),
    )


def test_where_something_may_have_been_copied_to() -> None:
    rows = code("sub    $0x28,%rsp", "lea    0x10(%rsp),%rdi", "mov    %rsp,%rsi", FUNCTION, "ret")
    state = module("caller_state")
    found = state.may_be_filled(rows, 0x10C, (), (), lambda one: (frozenset(), state.RESULTS))
    assert found.taken == (0, 16)


LEAST = {
    "two": (["push   $0x5", "push   %rax"], 16),
    "a register may only fill up": (["push   %rax"], 0),
    "on top of what fills up": (["push   %rax", "push   0x8(%rsp)"], 8),
    "moved": (["push   $0x5", "pop    %rdi"], 0),
    "an earlier call": (["push   $0x5", CALL], 0),
    "behind an alignment": (["push   -0x8(%r10)", *FRAME, "push   $0x1"], 8),
}  # fmt: skip


@pytest.mark.parametrize("what", LEAST)
def test_how_much_is_passed_on_the_stack(what: str) -> None:
    texts, expected = LEAST[what]
    rows = list(code(*texts).rows.values())
    assert module("caller_state").least_on_stack(rows) == expected
