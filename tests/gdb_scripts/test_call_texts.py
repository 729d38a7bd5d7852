"""What a call instruction calls, in gdb's own words for both machines."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY


@pytest.fixture(scope="module")
def texts() -> Any:
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_engine import call_texts
    finally:
        sys.path.remove(str(ENTRY.parent))
    return call_texts


@pytest.mark.parametrize(
    ("machine", "text", "target"),
    [
        ("i386:x86-64", "call   0x401126 <f>", {"address": 0x401126}),
        ("i386:x86-64", "bnd callq *0x2fe2(%rip)        # 0x404018 <puts@got.plt>", {"slot": 0x404018}),
        ("i386:x86-64", "notrack call *%rax", {"register": "rax"}),
        ("i386:x86-64", "call   *0x18(%rbx,%rcx,8)", {"memory": (0x18, "rbx", "rcx", 8)}),
        ("i386:x86-64", "jmp    0x401126 <f>", None),
        ("aarch64", "bl\t0x401126 <signal@plt>", {"address": 0x401126}),
        ("aarch64", "blr\tx1", {"register": "x1"}),
        ("aarch64", "blraa\tx19, x2", {"register": "x19"}),
        ("aarch64", "blraaz\tx3", {"register": "x3"}),
        ("aarch64", "blrab\tx4, sp", {"register": "x4"}),
        ("aarch64:armv8-a", "bl\t0x20", {"address": 0x20}),
        ("aarch64", "b\t0x401126 <f>", None),
        ("aarch64", "br\tx17", None),
        ("aarch64", "bl.foo\tx17", None),
    ],
)
def test_what_an_instruction_calls(
    texts: Any, machine: str, text: str, target: dict[str, Any] | None
) -> None:
    expected = None if target is None else texts.Target(**target)
    assert texts.called(machine, text) == expected
    assert texts.is_call(machine, text) == (target is not None)


ARM_STUB = [
    "adrp\tx16, 0x20000 <__libc_start_main@got.plt>",
    "ldr\tx17, [x16, #16]",
    "add\tx16, x16, #0x10",
    "br\tx17",
]


@pytest.mark.parametrize(
    ("machine", "stub", "target"),
    [
        ("i386:x86-64", ["endbr64", "bnd jmp *0x2f75(%rip)        # 0x3fd0 <f@got.plt>"], {"slot": 0x3FD0}),
        ("i386:x86-64", ["push   %rbp", "jmp    *0x2f75(%rip)        # 0x3fd0"], None),
        ("aarch64", ARM_STUB, {"slot": 0x20010}),
        ("aarch64", ["bti\tc", *ARM_STUB], {"slot": 0x20010}),
        ("aarch64", [ARM_STUB[0], "ldr\tx17, [x16]", "add\tx16, x16, #0x0", "br\tx17"], {"slot": 0x20000}),
        ("aarch64", [*ARM_STUB[:3], "autia1716", "br\tx17"], {"slot": 0x20010}),  # ld -z pac-plt
        ("aarch64", ["adrp\tx16, 0x9000000", "add\tx16, x16, #0x4c0", "br\tx16"], {"address": 0x90004C0}),
        ("aarch64", ["adrp\tx16, 0x20000", "ldr\tx17, [x16, #16]", "ret"], None),
        ("aarch64", ["paciasp", "stp\tx29, x30, [sp, #-16]!"], None),
        ("aarch64", [], None),
    ],
)
def test_where_a_stub_leads(texts: Any, machine: str, stub: list[str], target: dict[str, Any] | None) -> None:
    assert texts.behind_stub(machine, stub) == (None if target is None else texts.Target(**target))
