"""Where a caller of AArch64 has a result made in memory, by instructions that compilers have written."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY

pytestmark = pytest.mark.pure

BEGIN = 0x1000
WITH_SP = ("sp", 0x30, None)


@pytest.fixture(scope="module")
def result_address() -> Any:
    """The function, which needs no gdb."""
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_helpers.result_address import result_address
    finally:
        sys.path.remove(str(ENTRY.parent))
    return result_address


def rows(text: str) -> list[tuple[int, str]]:
    return [(BEGIN + 4 * at, line.strip()) for at, line in enumerate(text.strip().split(";"))]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("add x8, sp, #0x30; mov w0, w20; bl 0x2000 <f>", WITH_SP),
        ("mov x0, x19; mov x8, sp; bl 0x2000", ("sp", 0, None)),
        ("add x0, sp, #0x1, lsl #12; add x0, x0, #0x20; mov x8, x0; bl 0x2000", ("sp", 0x1020, None)),
        ("sub x8, x29, #0x18; ldr x1, [x0, #8]; blr x1", ("x29", -0x18, None)),
        ("mov x20, x0; mov x8, x20; bl 0x2000", ("x20", 0, None)),  # as it is now, whatever it comes from
        ("add x19, x19, #8; mov x8, x19; bl 0x2000", ("x19", 0, None)),
        ("ldr x0, [sp, #24]; mov x8, x0; ldr w0, [sp, #28]; bl 0x2000", ("sp", 0, 24)),
        ("ldr x8, [sp, #24]; add x8, x8, #0x10; mov w1, #0x8  // #8; bl 0x2000", ("sp", 0x10, 24)),
        ("cbz x0, 0x1008; nop; add x8, sp, #0x30; bl 0x2000", WITH_SP),  # who jumps there passes by it
        ("add x8, sp, #0x40; bl 0x2000; add x8, sp, #0x30; bl 0x2000", WITH_SP),
    ],
)
def test_what_is_put_into_x8_before_a_call(
    result_address: Any, code: str, found: tuple[str, int, int | None]
) -> None:
    code_rows = rows(code)
    assert result_address(code_rows, code_rows[-1][0], False) == found


@pytest.mark.parametrize(
    "code",
    [
        "mov x0, x19; bl 0x2000",  # the call has no such result, or the caller passes its own x8 on
        "add x8, sp, #0x30; bl 0x2000; mov w0, #1; bl 0x2000",  # that of another call
        "add x8, sp, #0x30; str x8, [sp, #8]; bl 0x2000",  # it was a scratch register
        "add x8, sp, #0x30; add x1, x8, #8; bl 0x2000",
        "mov w8, #0x30; bl 0x2000",
        "adrp x8, 0x5000; bl 0x2000",
        "ldr x8, [x19, #8]; blr x8",  # it has the function's address
        "add x8, sp, #0x30; blr x8",
        "mov x8, x0; bl 0x2000",  # where x0 comes from is not seen
        "add x8, x0, x1; bl 0x2000",
        "mov x8, x19; mov x19, x0; bl 0x2000",  # the register has another value now
        "mov x8, sp; sub sp, sp, #0x10; bl 0x2000",
        "mov x8, sp; stp x0, x1, [sp, #-16]!; bl 0x2000",
        "mov x8, sp; ldp x0, x1, [sp], #16; bl 0x2000",
        "ldr x8, [sp, #24]; str x0, [sp, #24]; bl 0x2000",  # it may be written over
        "ldr x8, [x19, #24]; bl 0x2000",  # it may be anybody's memory
        "add x8, sp, #0x30; mov w0, #1; bl 0x2000; b.ne 0x1004",  # another way comes in between
        "add x8, sp, #0x30; bl 0x2000; cbz x0, 0x1004",
        "add x8, sp, #0x30; bti j; bl 0x2000",  # a switch leads there
        "add x8, sp, #0x30; b 0x1008; bl 0x2000",
        "add x8, sp, #0x30; tbz w0, #3, 0x2000; bl 0x2000",
        "add x8, sp, #0x30; mov w0, #1",  # no call
    ],
)
def test_what_is_not_known(result_address: Any, code: str) -> None:
    code_rows = rows(code)
    at = max(
        (i for i, (_, text) in enumerate(code_rows) if text.startswith("bl")), default=len(code_rows) - 1
    )
    assert result_address(code_rows, code_rows[at][0], False) is None


def test_a_call_that_is_not_there_has_no_result(result_address: Any) -> None:
    assert result_address(rows("add x8, sp, #0x30; bl 0x2000"), BEGIN + 0x100, True) is None


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("stp x29, x30, [sp, #-32]!; mov x29, sp; mov x19, x8; bl 0x2000", ("x19", 0, None)),
        ("add x8, x0, x1; mov x20, x8; cbz x0, 0x2000; bl 0x2000", ("x20", 0, None)),
        ("add x8, sp, #0x30; str x8, [sp, #8]; bl 0x2000", WITH_SP),
        ("add x8, sp, #0x30; tbz w0, #3, 0x2000; bl 0x2000", WITH_SP),
        ("mov x19, x8; mov x19, x0; bl 0x2000", None),
        ("mov x1, x8; bl 0x2000", None),
        ("mov w19, w8; bl 0x2000", None),
        ("mov x19, x8; bl 0x3000; bl 0x2000", None),  # x8 is another now
        ("mov x19, x8; br x1; bl 0x2000", None),
        ("mov x19, x8; b 0x1008; bl 0x2000", None),
        ("mov x19, x8; mov x0, x1; bl 0x2000; b.ne 0x1004", None),
    ],
)
def test_what_x8_holds_where_the_call_is_known_to_be_that_of_the_function(
    result_address: Any, code: str, found: tuple[str, int, int | None] | None
) -> None:
    code_rows = rows(code)
    at = max(i for i, (_, text) in enumerate(code_rows) if text.startswith("bl"))
    assert result_address(code_rows, code_rows[at][0], True) == found
