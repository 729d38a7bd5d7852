"""What machine code tells of the call of a function: registers that are given, hidden results, what callers fill."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY

pytestmark = pytest.mark.pure


def module(name: str) -> Any:
    """A module of the helpers that needs no gdb."""
    sys.path.insert(0, str(ENTRY.parent))
    try:
        return importlib.import_module(f"dualdbg_helpers.{name}")
    finally:
        sys.path.remove(str(ENTRY.parent))


def code(*texts: str) -> Any:
    """Instructions of four bytes, from 0x100 on."""
    return module("entry_code").code_of([[(0x100 + 4 * at, text) for at, text in enumerate(texts)]])


FRAME = ("push   %rbp", "mov    %rsp,%rbp")
READ = {
    "a field, and a number": (
        ["add    0x8(%rdi),%esi", "lea    (%rsi,%rdx,1),%eax", "ret"], "rdi rdx rsi", "rdi", False,
    ),
    "what sets to zero reads nothing": (["xor    %esi,%esi", "or     $0xffffffffffffffff,%rdi", "ret"], "", "", False),
    "no more behind a write": (["mov    %eax,%esi", "mov    (%rsi),%eax", "ret"], "", "", False),
    "no more behind a call": (["call   0x900", "mov    (%rsi),%eax", "ret"], "", "", False),
    "only on every way": (
        ["test   %edi,%edi", "je     0x10c", "mov    %eax,%esi", "mov    (%rsi),%eax", "ret"], "rdi", "", False,
    ),
    "padding": (["nopw   0x0(%rdi,%rsi,1)", "push   %rcx", "ret"], "", "", False),
    "what was not optimised": (
        [*FRAME, "mov    %rdi,-0x8(%rbp)", "mov    %esi,-0xc(%rbp)", "mov    -0x8(%rbp),%rax", "mov    %rax,%rdi",
         "call   0x900", "leave", "ret"],
        "rdi rsi", "rdi", True,
    ),
    "what is volatile": (
        [*FRAME, "mov    %rdi,-0x8(%rbp)", "mov    %esi,-0xc(%rbp)", "mov    -0x8(%rbp),%rax", "pop    %rbp", "ret"],
        "rdi rsi", "", False,
    ),
    "a copy of what is used again": (
        [*FRAME, "mov    %rdi,-0x8(%rbp)", "mov    -0x8(%rbp),%rax", "mov    %rax,%rdi", "mov    %rax,%rsi",
         "call   0x900", "leave", "ret"],
        "rdi", "", False,
    ),
    "a copy to a register that was not free": (
        [*FRAME, "mov    %rsi,-0x8(%rbp)", "mov    -0x8(%rbp),%rax", "mov    %rdi,%rsi", "mov    %rax,%rdi",
         "call   0x900", "leave", "ret"],
        "rsi", "", False,
    ),
    "a double there and back": (
        [*FRAME, "movsd  %xmm0,-0x8(%rbp)", "movsd  -0x8(%rbp),%xmm0", "movq   %xmm0,%rax", "movq   %rax,%xmm0",
         "pop    %rbp", "ret"],
        "xmm0", "", True,
    ),
    "a number from the stack between the stores": (
        [*FRAME, "mov    %rdi,-0x8(%rbp)", "mov    %esi,%eax", "mov    0x10(%rbp),%edx", "mov    %al,-0xc(%rbp)",
         "mov    %dx,-0x10(%rbp)", "mov    -0x8(%rbp),%rax", "mov    $0x0,%eax", "ret"],
        "rdi rsi", "rdi", True,
    ),
    "rubbish in a register that nobody filled": (
        [*FRAME, "mov    %edi,-0x14(%rbp)", "mov    %rdx,%rsi", "and    %rcx,%rsi", "pop    %rbp", "ret"],
        "rdi", "", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_registers_that_are_given(what: str) -> None:
    texts, read, wide, exact = READ[what]
    found = module("entry_code").evidence(code(*texts))
    assert (" ".join(found.read), " ".join(found.wide), found.exact) == (read, wide, exact)


PASSED_ON = {
    "two of four": (["mov    %rsi,%rdi", "mov    %rcx,%rsi", "jmp    0x900"], [1, 3, 2, 3, 4, 5]),
    "by another register": (
        ["endbr64", "mov    %rdi,%rax", "mov    %rsi,%rdi", "mov    %rax,%rsi", "jmp    0x900 <f>"], [1, 0, 2, 3, 4, 5],
    ),
    "what is none": (["mov    %rax,%rdi", "jmp    0x900"], [-1, 1, 2, 3, 4, 5]),
    "all": (["jmp    0x900"], [0, 1, 2, 3, 4, 5]),
    "a half": (["mov    %esi,%edi", "jmp    0x900"], None),
    "a number more": (["mov    %rsi,%rdi", "mov    $0x1,%esi", "jmp    0x900"], None),
    "what is in memory": (["mov    (%rsi),%rdi", "jmp    0x900"], None),
    "what is changed on the way": (["add    %rsi,%rdi", "jmp    0x900"], None),
    "a call": (["mov    %rsi,%rdi", "call   0x900", "ret"], None),
    "on a condition": (["mov    %rsi,%rdi", "je     0x900"], None),
    "a loop": (["mov    %rsi,%rdi", "jmp    0x100"], None),
    "by an address": (["mov    %rsi,%rdi", "jmp    *%rax"], None),
    "two ways": (["jmp    0x900", "mov    %rsi,%rdi", "jmp    0xa00"], None),
}  # fmt: skip


@pytest.mark.parametrize("what", PASSED_ON)
def test_what_is_passed_on_by_a_jump(what: str) -> None:
    texts, arguments = PASSED_ON[what]
    found = module("entry_code").passed_on(code(*texts))
    assert found == ((0x900, arguments) if arguments is not None else None)


FOREIGN = {
    "a register that is given back": (["push   %rsi", "mov    %rcx,%rsi", "call   0x900", "pop    %rsi", "ret"], True),
    "a vector that is given back": (
        ["movaps %xmm6,(%rsp)", "movsd  0x8(%rcx),%xmm6", "movaps (%rsp),%xmm6", "ret"], True,
    ),
    "what is stored above the frame": ([*FRAME, "mov    %ecx,0x10(%rbp)", "pop    %rbp", "ret"], True),
    "what only makes room": (["push   %rsi", "call   0x900", "pop    %rdx", "ret"], False),
    "a vector that is an argument": ([*FRAME, "movaps %xmm6,-0x20(%rbp)", "pop    %rbp", "ret"], False),
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_functions_of_another_abi(what: str) -> None:
    texts, expected = FOREIGN[what]
    found = module("entry_code").evidence(code(*texts))
    assert found.foreign is expected
    kinds = ["double"] * 7
    assert places(kinds, False, False, evidence=found)[6] == (None if expected else "xmm6")


REACHES = {
    "the second word": (["add    0x10(%rsp),%edi", "ret"], 8),
    "behind a jump": (["push   %rbx", "je     0x10c", "mov    0x18(%rsp),%rax", "pop    %rbx", "ret"], 8),
    "behind a call that never returns": (
        ["je     0x110", "sub    $0x18,%rsp", "call   0x900", "nop", "mov    0x20(%rsp),%rax", "ret"], None,
    ),
    "behind pushes": (["push   %rbx", "sub    $0x10,%rsp", "mov    0x20(%rsp),%eax", "ret"], 0),
    "by the frame": ([*FRAME, "mov    0x18(%rbp),%eax", "ret"], 8),
    "its own": ([*FRAME, "sub    $0x20,%rsp", "mov    0x8(%rsp),%eax", "mov    -0x8(%rbp),%eax", "ret"], None),
    "where nothing is known": (["and    $0xfffffffffffffff0,%rsp", "mov    0x20(%rsp),%eax", "ret"], None),
    "only an address": (["lea    0x8(%rsp),%rax", "ret"], None),
}  # fmt: skip


BEGINS_WITH_FRAME = {
    "at once": ([*FRAME, "ret"], True),
    "behind an alignment of the stack": (["lea    0x8(%rsp),%r10", "push   -0x8(%r10)", *FRAME, "ret"], True),
    "not at once": (["push   %rbp", "mov    $0x7,%esi", "mov    %rsp,%rbp", "ret"], False),
    "none": (["push   %rbp", "mov    %rdi,%rbp", "ret"], False),
}  # fmt: skip


@pytest.mark.parametrize("what", BEGINS_WITH_FRAME)
def test_what_sets_up_its_frame_first(what: str) -> None:
    texts, expected = BEGINS_WITH_FRAME[what]
    assert module("entry_code").sets_frame_first(code(*texts)) is expected


@pytest.mark.parametrize("what", REACHES)
def test_how_far_a_function_reaches_into_the_stack(what: str) -> None:
    texts, expected = REACHES[what]
    reach = module("frame_offsets").reach(code(*texts))
    found = module("entry_code").evidence(code(*texts))._replace(stack=reach)
    assert reach == expected
    kept = expected is None or expected < 8
    assert places(["int"] * 7, False, False, evidence=found)[6] == ("0" if kept else None)


def test_where_a_loop_begins_at_the_entry_only_what_it_leaves_alone_is_known() -> None:
    found = module("entry_code").evidence(
        code("mov    (%rdi),%rsi", "lea    0x8(%rdi),%rdi", "jne    0x100", "ret")
    )
    assert places(["long*", "int", "double"], False, False, evidence=found) == [None, None, "xmm0"]
    assert places(["int", "long", "long double"], False, False, evidence=found) == [None, None, None]


NO_HIDDEN_RESULT = {
    "a number": (["mov    %esi,%eax", "ret"], True),
    "a field": (["mov    0x8(%rdi),%rax", "ret"], True),
    "nothing": (["mov    %esi,0x8(%rdi)", "ret"], True),
    "a sum": (["lea    (%rdi,%rsi,1),%rax", "ret"], True),
    "the address": (["mov    %rdi,%rax", "ret"], False),
    "the address, by a register that calls preserve": (
        ["push   %rbx", "mov    %rdi,%rbx", "call   0x900", "mov    %rbx,%rax", "pop    %rbx", "ret"], False,
    ),
    "the address, by the stack": (
        [*FRAME, "mov    %rdi,-0x38(%rbp)", "movss  %xmm0,-0x3c(%rbp)", "call   0x900", "mov    -0x38(%rbp),%rax",
         "leave", "ret"],
        False,
    ),
    "what a call has returned that had the address": (
        ["sub    $0x8,%rsp", "call   0x900", "add    $0x8,%rsp", "ret"], False,
    ),
    "what a call has returned that had not": (
        ["push   %rbx", "mov    %esi,%edi", "call   0x900", "pop    %rbx", "ret"], True,
    ),
    "to where another function returns": (["jmp    0x900"], False),
    "something else behind a call that never returns": (
        ["test   %edi,%edi", "jne    0x110", "call   0x900", "nop", "xor    %eax,%eax", "ret"], True,
    ),
    "nothing but what is behind such a call": (
        ["push   %rbx", "mov    %rdi,%rbx", "je     0x118", "mov    %rax,%rbx", "call   0x900", "nopl   0x0(%rax)",
         "mov    %rbx,%rax", "pop    %rbx", "ret"],
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NO_HIDDEN_RESULT)
def test_what_returns_something_else_has_no_hidden_result(what: str) -> None:
    texts, expected = NO_HIDDEN_RESULT[what]
    assert module("result_code").is_no_hidden_result(code(*texts)) is expected


FILLED = {
    "two arguments": (["mov    %rax,%rdi", "mov    $0x5,%esi"], "rdi rsi"),
    "one that is read again": (["mov    %rax,%rcx", "mov    %rcx,%rdi"], "rdi"),
    "what a division leaves": (["cqto", "idiv   %rcx", "mov    %rax,%rdi"], "rdi"),
    "what is read by an instruction that does not name it": (
        ["xor    %ecx,%ecx", "xor    %edx,%edx", "wrpkru", "mov    $0x5,%edi"],
        "rdi",
    ),
    "what comes from memory": (["mov    $0x5,%edi", "mov    0x8(%rax),%rsi"], "rdi"),
    "what comes from memory in front of another": (["mov    $0x5,%esi", "mov    0x8(%rax),%rdi"], "rdi rsi"),
    "a constant": (
        ["movsd  0x20(%rip),%xmm0        # 0x900", "mov    0x10(%rip),%rdi        # 0x1000"],
        "xmm0",
    ),
    "nothing before a call": (["mov    $0x5,%esi", "call   0x900", "xor    %edi,%edi"], "rdi"),
}


@pytest.mark.parametrize("what", FILLED)
def test_registers_that_a_caller_fills(what: str) -> None:
    texts, expected = FILLED[what]
    att = module("att")
    rows = [att.parsed(0x100 + 4 * at, text) for at, text in enumerate(texts)]
    assert " ".join(module("call_site").filled(rows, ["0x900" in text for text in texts])) == expected


NUMBERS = {
    "the last that is written": (["mov    $0x7,%esi", "mov    $0x5,%esi", "xor    %edi,%edi"], {"rsi": 5, "rdi": 0}),
    "all 64 bits": (["mov    $0xffffffffffffffff,%rdi", "movabs $0x200000001,%rsi", "mov    $0xffffffff,%edx"],
                    {"rdi": (1 << 64) - 1, "rsi": 0x200000001, "rdx": 0xFFFFFFFF}),
    "none of a part": (["mov    $0x5,%dil", "mov    $0x5,%esi", "mov    $0x1,%si"], {}),
    "none of what is computed": (["mov    $0x5,%esi", "lea    0x8(%rsi),%rsi", "mov    (%rax),%edi"], {}),
    "none before a call": (["mov    $0x5,%esi", "call   0x900", "mov    $0x6,%edi"], {"rdi": 6}),
}  # fmt: skip


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_that_a_caller_has_in_its_code(what: str) -> None:
    texts, expected = NUMBERS[what]
    att = module("att")
    rows = [att.parsed(0x100 + 4 * at, text) for at, text in enumerate(texts)]
    assert module("call_site").numbers(rows, ("rdi", "rsi", "rdx")) == expected


CAN_BE = {
    "bool": ([0, 1], [2, 0xFFFFFFFF]),
    "signed char": ([5, 0x7F, 0xFFFFFF80, 0xC8], [0x100, 0xFFFFFF00, 0x200000001]),
    "unsigned short": ([0xFFFF, 0], [0x10000, 0x200000001]),
    "int": ([0xFFFFFFFF, 0x7FFFFFFF, (1 << 64) - 1], [0x200000001, 1 << 63]),
    "long": ([1 << 63, 5], []),
    "int*": ([5, (1 << 64) - 1], []),
    "c10::ScalarType": ([6, 0xFFFFFFFF], [0x1000]),
    "double&": ([0, 8, 0xFFF8], [2, 0x10000, 0x488FC2BF24B1629]),
    "Thing const&": ([0, 2], [0x10000, (1 << 64) - 8]),
    "std::vector<long, std::allocator<long> > const&": ([0, 24], [1, 0x10000]),
    "std::shared_ptr<int>": ([], [0, 8, 0x10000]),
    "Copied": ([], [0, 8]),
    "Thing": ([0, 5, 1 << 63], []),
}


@pytest.mark.parametrize("kind", CAN_BE)
def test_numbers_that_arguments_can_be(kind: str) -> None:
    right, wrong = CAN_BE[kind]
    can_be = module("code_numbers").can_be
    assert [number for number in [*right, *wrong] if can_be(number, kind, ("Copied",))] == right


def test_numbers_in_the_code_of_the_caller_tell_what_is_passed_where() -> None:
    call = module("placing").Call
    kinds = ["std::shared_ptr<int>", "bool", "long"]
    assert places(kinds, False, None) == [None, None, None]
    assert places(kinds, False, None, call=call(numbers={"rsi": 1})) == ["rdi", "rsi", "rdx"]
    assert places(["bool", "long"], False, None, call=call(numbers={"rdi": 5})) == ["rsi", "rdx"]
    assert places(["long"] * 6, False, None, call=call(most=0)) == list(module("entry_code").INTEGERS)
    assert places(["long"] * 6, False, None, call=call(most=8)) == [None] * 6


def test_what_a_caller_keeps_over_a_call_is_no_argument() -> None:
    rows = code("mov    %rax,%rdi", "mov    $0x5,%ecx", "call   0x900", "add    %ecx,%eax", "ret")
    assert module("call_site").used_behind(rows, 0x10C, ("rdi", "rcx")) == {"rcx"}


KEPT = {
    "for another call": ["mov    $0x5,%edi", "call   0x900"],
    "for a jump": ["add    $0x8,%rsp", "jmp    0x900"],
    "to be returned": ["mov    %rax,%rdi", "ret"],
}


@pytest.mark.parametrize("what", KEPT)
def test_what_a_caller_keeps_over_a_call_without_naming_it(what: str) -> None:
    rows = code("mov    $0x5,%edx", "call   0x800", *KEPT[what])
    assert module("call_site").used_behind(rows, 0x108, ("rdx",)) == {"rdx"}


def places(parameters: list[str], hidden: bool | None, member: bool | None, **known: Any) -> list[str | None]:
    """Where the parameters are: registers, or the offset on the stack."""
    placing = module("placing")
    what = placing.Passing([(kind, kind) for kind in parameters], hidden, member, **known)
    rows = [row for _, kind, row in placing.agreed(what)]
    rows += [None] * (len(parameters) - len(rows))
    return [
        None if row is None else " ".join(map(str, row)) if hasattr(row, "offset") else words(row)
        for row in rows
    ]


def words(row: Any) -> str:
    return " ".join(word if isinstance(word, str) else f"xmm{word}" for word in row.words)


def test_an_argument_is_where_all_readings_agree() -> None:
    evidence = module("entry_code").Evidence
    assert places(["int", "double"], False, False) == ["rdi", "xmm0"]
    assert places(["int", "double"], False, True) == ["rsi", "xmm0"]
    assert places(["int", "double"], None, None) == [None, "xmm0"]
    assert places(["int"], False, None, evidence=evidence(("rsi",))) == ["rsi"]
    assert places(["int"], False, None, evidence=evidence(("rdi",), ("rdi",))) == ["rsi"]
    assert places(["int"], False, None, evidence=evidence(("rdi",), (), ("rdi",), True)) == ["rdi"]
    call = module("placing").Call
    assert places(["int"], False, None, call=call(("rdi", "rsi"))) == ["rsi"]
    assert places(["int"], False, None, call=call(("rsi", "rdx"))) == [None]  # perhaps for something else
    assert (
        places(["int"] * 6, False, False, call=call(("rcx", "rdx", "r8", "r9"))) == [None] * 6
    )  # another ABI
    assert places(["int"], False, None, call=call(registers=("rdi", "rdx"))) == ["rdi"]
    assert places(["std::optional<long>"], False, None, call=call(registers=("rdi", "rdx"))) == [None]
    assert places(["int"] * 6, False, None, call=call(words=(8,))) == ["rdi", "rsi", "rdx", "rcx", "r8", "r9"]
    assert places(["int"] * 6, False, None, call=call(words=(0, 8)))[5] is None
    assert places(["int"] * 6, False, None, call=call(least=8))[5] == "0"
    assert places(["Unknown", "int"], False, False) == [None, None]
    # What is in memory has 16 bytes at least, and is copied word by word, or to an address that was taken.
    kinds = ["Unknown", *["int"] * 7]
    assert places(kinds, False, False, call=call(words=(0, 8, 24), least=16))[7] == "8"
    assert places(kinds, False, False, call=call(words=(0, 8, 24), least=16, taken=(0,)))[7] is None
    assert places(["Unknown", "int"], False, False, by_address=("Unknown",)) == ["rdi", "rsi"]
    assert places(["int S::*", "void (*)(int)", "void (S::*)(int)"], False, False) == [
        "rdi",
        "rsi",
        "rdx rcx",
    ]
    assert places(["int", "..."], None, False, result="void") == ["rdi", None]
    assert places(["int"], None, False, result="std::vector<int, std::allocator<int> >") == ["rsi"]


def test_a_place_that_a_caller_may_have_left_is_none() -> None:
    """Clang puts nothing where the function does not use what it is given."""
    evidence = module("entry_code").Evidence(("rdi", "xmm1"))
    kinds = ["int", "long", "double", "double"]
    assert places(kinds, False, False, evidence=evidence) == ["rdi", "rsi", "xmm0", "xmm1"]
    found = places(kinds, False, False, evidence=evidence, callers_fill=False)
    assert found == ["rdi", None, None, "xmm1"]
    view = "std::basic_string_view<char, std::char_traits<char> >"
    assert places([view], False, False, evidence=evidence, callers_fill=False) == [None]
    assert places(["long double"], False, False, evidence=evidence, callers_fill=False) == [None]
